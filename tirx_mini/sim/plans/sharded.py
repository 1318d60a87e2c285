"""A run with data in several processes.

Clusters that neither synchronise nor exchange data can be executed apart. The time depends on all of them at once, so
this process executes the whole launch for it, but at most a share of the clusters with data. The others are divided
into portions, which the other processes execute with data and with no regard to time, and in the end this one, too. The
results are put together where no granule of an argument that one portion writes is read or written in another. In any
other case, and where a portion finds anything to report, nothing is put together, and the launch has to be run as a
whole.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tirx_mini.ir import Call, PrimFunc
from tirx_mini.isa import instruction_of, prints
from tirx_mini.worker import Task, Team

from ..gpu import Gpu
from ..machine import WIDTHS, KernelImage
from ..outcome import Outcome
from ..outputs import unwritten_of

LEAST_PORTION = 1 / 16
"""Of the clusters that are divided: each portion is the part of the rest that a process would get, the last ones small,
so that all end at about the same time; each portion costs a machine.
"""
DATA = 1.1
"""How much time the data of clusters take, in that of their execution without, as a rule."""
UNTIMED = 1.4
"""How much all of it takes where memory takes no time."""
LEAST_SHARE = 1 / 64
"""Of the clusters, those that are executed with data and time: a wrong kernel shows there, as a rule."""


@dataclass(frozen=True)
class Piece:
    """Some clusters that are executed together, with data. checked: whether that is for what the checks find, of
    clusters that are alike; otherwise those are checked elsewhere.
    """

    clusters: range
    checked: bool = False


@dataclass(frozen=True)
class Marks:
    """What the clusters of a portion did to an argument that the kernel writes.

    written, read: which granules; a bit for each, as of `numpy.packbits`. read: None where nothing was read.
    values: of the granules that they wrote, in order; None where they are in the argument itself.
    """

    written: np.ndarray
    read: np.ndarray | None
    granule: int
    values: np.ndarray | None


@dataclass(frozen=True)
class Portion:
    """A portion that ended without anything to report. marks: by the slot of the argument.

    known: the kinds of its clusters of which one was checked. unknown: one of each other kind, which is to be checked.
    """

    marks: dict[int, Marks]
    outcome: Outcome
    known: frozenset[Hashable]
    unknown: dict[Hashable, int]


class Launch(Protocol):
    """A kernel with its arguments."""

    image: KernelImage
    arrays: list[np.ndarray]

    @property
    def divisible(self) -> bool:
        """Whether one run may execute some clusters with data, and others without."""
        ...

    def portion(self, piece: Piece, *, keep: bool = False) -> Portion | None:
        """What some clusters do, with data; checked if they are not alike. None where there is anything to report.

        keep: whether the values that they write are to be kept besides.
        """
        ...

    def timed(self, share: range) -> Portion | None:
        """The same of a share of the clusters, with the outcome of the whole launch."""
        ...

    def stop_timing(self) -> None:
        """Have `timed` end soon, in whichever thread: what it finds is not needed."""
        ...

    def all_checked(self, unknown: Collection[int]) -> bool:
        """Whether these clusters, one of each kind that no other one was checked of, have nothing to report."""
        ...


def separable(func: PrimFunc, image: KernelImage, arrays: Sequence[np.ndarray]) -> bool:
    """Whether the clusters of a kernel may be executed apart, as far as the program shows.

    They may not where they synchronise, take one another's place, print, or look at the time; nor where two arguments
    overlap in memory.
    """
    if image.grid_wide or prints(func):
        return False
    for node in func.nodes:
        entry = instruction_of(node) if isinstance(node, Call) else None
        if entry is not None and (entry.reads_clock or entry.cancels_launches or entry.opaque):
            return False
    return not any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2))


def run_portion(machine: Gpu, *, keep: bool) -> Portion | None:
    """Execute the part of a launch that `machine` was made for; None where there is anything to report.

    keep: whether the values that it writes are to be kept besides.
    """
    outcome = machine.run()
    if outcome.facts or outcome.blocked or outcome.open_orders or outcome.mixed or outcome.tested or machine.unread:
        return None
    marks: dict[int, Marks] = {}
    for slot, segment in machine.memory.segments.items():
        data, written, granule = machine.memory.bytes[slot], ~segment.untouched(), segment.granule
        if data.size % granule:
            return None
        readers = [numbers != 0 for numbers in segment.readers.values()]
        read = np.packbits(np.logical_or.reduce(readers)) if readers else None
        values = data.view(WIDTHS[granule])[written] if keep else None
        marks[slot] = Marks(np.packbits(written), read, granule, values)
    kinds = machine.kinds
    return Portion(marks, outcome, frozenset(kinds.known if kinds else ()), kinds.unknown if kinds else {})


def run_apart(
    launch: Launch,
    save: Callable[[Path], None],
    task: Task,
    payload: Callable[[Path, Piece], Any],
    jobs: int,
) -> Outcome | None:
    """The outcome of a launch whose clusters are executed in `jobs` processes; None where it has to be run as a whole.

    save: saves the launch in a folder. task, payload: what a process that is no copy of this one then executes for a
    portion. The arguments hold the results only where there is an outcome.
    """
    image = launch.image
    share, pieces = _shares(launch, jobs)
    found: list[Portion] = []

    def here(piece: Piece) -> Portion | None:
        return launch.portion(piece)

    def there(piece: Piece) -> Portion | None:
        return launch.portion(piece, keep=True)

    def first() -> None:
        portion = launch.timed(share)
        if portion is None:
            raise _NotPlain
        found.append(portion)

    def seen(portion: Portion | None) -> None:
        if portion is None:
            launch.stop_timing()

    @cache
    def saved() -> None:
        save(Path(folder))

    def given(piece: Piece) -> Any:
        with saving:
            saved()  # while this process begins to execute the launch
        return payload(Path(folder), piece)

    saving = threading.Lock()
    room = sum(buffer.nbytes for buffer in image.globals if buffer.written) * (1 + len(pieces) // 4)  # `Marks`
    with (
        tempfile.TemporaryDirectory(prefix="tirx_mini-") as folder, suppress(_NotPlain),
        Team(task, given, here, jobs, twin=there, room=room) as team,
    ):
        team.start()
        results = team.results(pieces, meanwhile=first, seen=seen)
        if all(result is not None for result in results.values()):
            return _together(launch, [*found, *results.values()])
    return None


def _shares(launch: Launch, jobs: int) -> tuple[range, list[Piece]]:
    """(the clusters that this process executes with data and time, what is left for all processes).

    Where that is none of clusters that are alike, the first and the last one are pieces that are checked.
    """
    image = launch.image
    clusters = image.launch.num_ctas // image.launch.cluster_size
    own = own_share(jobs) if launch.divisible and not image.wide else 0
    share = range(max(1, round(clusters * own)) if own else 0)
    checked = [] if share or not image.alike else sorted({0, clusters - 1})
    rest = range(share.stop + (0 in checked), clusters - (clusters - 1 in checked[1:]))
    pieces = [Piece(range(number, number + 1), checked=True) for number in checked]
    return share, pieces + [Piece(each) for each in _divided(rest, jobs)]


def wide_shares(image: KernelImage) -> tuple[range, range]:
    """(the clusters that one process executes with data and time, and those that it executes several at a time)."""
    return range(1), range(1, image.launch.num_ctas // image.launch.cluster_size)


def run_wide(launch: Launch, others: Portion, share: range) -> Outcome | None:
    """The outcome of a launch that one process executes, which has executed all clusters but a share; None likewise."""
    first = launch.timed(share)
    return None if first is None else _together(launch, [first, others])


def own_share(jobs: int) -> float:
    """Of the clusters, those of which this process computes the data, so that all processes end at the same time."""
    others = UNTIMED / (jobs - 1)
    return max(LEAST_SHARE, (others - 1) / (others + DATA))


class _NotPlain(Exception):
    """This process's share has something to report."""


def _divided(clusters: range, jobs: int) -> Iterator[range]:
    least = max(1, round(len(clusters) * LEAST_PORTION))
    while clusters:
        count = max(least, len(clusters) // jobs)
        yield clusters[:count]
        clusters = clusters[count:]


def _together(launch: Launch, portions: Sequence[Portion]) -> Outcome | None:
    """The outcome of the whole, whose time is that of the first portion.

    None where what one portion writes is read or written in another, or where a cluster is to be checked of whose kind
    none was, and has anything to report.
    """
    first, arrays = portions[0], launch.arrays
    known = frozenset().union(*(each.known for each in portions))
    unknown = {kind: number for each in portions for kind, number in each.unknown.items() if kind not in known}
    if not launch.all_checked(unknown.values()):
        return None
    buffers = {buffer.slot: buffer for buffer in launch.image.globals}
    found = []
    for slot in portions[-1].marks:
        marks = [portion.marks[slot] for portion in portions if slot in portion.marks]
        granule = marks[0].granule
        target = arrays[slot].reshape(-1).view(np.uint8).view(WIDTHS[granule])
        parts = [_which(each.written, len(target)) for each in marks]
        writers = np.add.reduce([part.view(np.uint8) for part in parts], dtype=np.uint16)
        if (writers > 1).any() or any(
            (_which(each.read, len(target)) & (writers > part)).any()
            for each, part in zip(marks, parts, strict=True) if each.read is not None
        ):  # fmt: skip
            return None
        if not writers.any():
            return None  # the sentence about that needs the machine
        found.extend(unwritten_of(buffers[slot], writers == 0, granule))
        for each, part in zip(marks, parts, strict=True):
            if each.values is not None:
                target[part] = each.values
    return replace(first.outcome, open_orders=(), unwritten=tuple(found))


def _which(bits: np.ndarray, count: int) -> np.ndarray:
    return np.unpackbits(bits, count=count).view(np.bool_)
