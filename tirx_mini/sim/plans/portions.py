"""Portions of a launch: sets of clusters that are executed separately and then merged.

The time depends on all clusters at once, so one portion executes the whole launch for its time, with data for at most a
share of the clusters. The results are merged if no granule of an argument that one portion writes is read or written in
another. Otherwise, and if a portion has findings, the launch must be run as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress
from typing import NoReturn

import numpy as np

from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass, replace

from ..classes import MOST_CLASSES, Unequal
from ..gpu import Gpu
from ..machine import NO_TIME, NO_VALUES, WIDTHS
from ..outcome import Outcome
from ..outputs import Unwritten, unwritten_of
from ..setup import Part, Share
from ..timing import Clock
from .batches import BatchedGpu
from .kernel import BoundKernel
from .process import running


@dataclass(frozen=True)
class Piece:
    """A set of clusters that are executed together, with data. checked: whether they are executed for their findings,
    as representatives of equal clusters; otherwise others are checked.
    """

    clusters: range
    checked: bool = False


@dataclass(frozen=True)
class Marks:
    """The accesses of a portion's clusters to an argument that the kernel writes.

    written, read: masks of granules, one bit each, as from `numpy.packbits`. read: None if nothing was read. values: of
    the written granules, in order; None if they are in the argument itself.
    """

    written: np.ndarray
    read: np.ndarray | None
    granule: int
    values: np.ndarray | None


@dataclass(frozen=True)
class Portion:
    """A portion that ended without findings. marks: by the slot of the argument.

    known: the classes with a checked cluster. unknown: a representative of each other class, which is yet to be
    checked.
    """

    marks: dict[int, Marks]
    outcome: Outcome
    known: frozenset[Hashable]
    unknown: dict[Hashable, int]


def run_portion(machine: Gpu, *, keep: bool) -> Portion | None:
    """Execute the part of a launch that `machine` was made for; return None if it has findings.

    keep: whether to return the written values as well.
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
    kinds = machine.classes
    return Portion(marks, outcome, frozenset(kinds.known if kinds else ()), kinds.unknown if kinds else {})


def checked_portion(kernel: BoundKernel, clusters: range, *, keep: bool = False) -> Portion | None:
    """Execute a few equal clusters with checks, alone on the GPU; return None if they have findings."""
    setup = replace(kernel.limits, part=Part(clusters), equal=True)
    with Gpu(kernel.image, kernel.arrays, kernel.spec, setup) as machine:
        return run_portion(machine, keep=keep)


def all_checked(kernel: BoundKernel, unknown: Collection[int]) -> bool:
    """Return whether the representatives of all unchecked classes have no findings."""
    if len(unknown) > MOST_CLASSES:
        return False
    with suppress(Unequal), running():
        return all(checked_portion(kernel, range(number, number + 1)) for number in unknown)
    return False


def portion(kernel: BoundKernel, piece: Piece, *, keep: bool = False) -> Portion | None:
    """Execute some clusters with data, and check them unless they are equal.

    Returns None if there are findings.

    keep: whether to return the written values as well.
    """
    found = None if piece.checked else batch(kernel, piece.clusters, keep=keep)
    if found is not None:
        return found
    with suppress(Unequal), running():
        if piece.checked:
            return checked_portion(kernel, piece.clusters, keep=keep)
        equal = kernel.image.equal
        setup = replace(kernel.limits, part=Part(piece.clusters), time=NO_TIME, equal=equal)
        image = kernel.untimed_image if equal else kernel.image
        with Gpu(image, kernel.arrays, kernel.spec, setup) as machine:
            return run_portion(machine, keep=keep)
    return None


def batch(kernel: BoundKernel, clusters: range, *, keep: bool = False, whole: bool = False) -> Portion | None:
    """Execute equal clusters in batches; return None if they have findings or cannot be batched.

    whole: whether the clusters are nearly all of the launch.
    """
    if not (clusters and kernel.image.equal and kernel.image.batchable and kernel.divisible):
        return None
    with suppress(Unequal, ValueError), running():  # NumPy rejects lanes of one cluster beside those of several
        setup = replace(kernel.limits, pedantic=False, strips=kernel.strips)
        with BatchedGpu(kernel.untimed_image, kernel.arrays, kernel.spec, clusters, setup) as machine:
            if whole:
                kernel.begin(machine)
            return run_portion(machine, keep=keep)
    return None


class Timing:
    """The execution of a whole launch for its time."""

    def __init__(self, kernel: BoundKernel) -> None:
        self._kernel = kernel
        self._clock: Clock | None = None

    def run(self, share: range) -> Portion | None:
        """Execute the launch for its time, with data and checks for the clusters in `share`.

        Returns None if there are findings, or if the time depends on data. With an empty share, the whole launch is
        executed without data.
        """
        kernel = self._kernel
        with suppress(Unequal, TirxError), running():
            bare = BoundKernel(kernel.func, kernel.without_data, replace(kernel.alone, data=False))
            setup = replace(kernel.limits, equal=kernel.image.equal or not share)
            if share:
                setup = replace(setup, share=Share(share, bare.image), strips=kernel.strips)
            else:
                setup = replace(setup, values=NO_VALUES)
            timed = kernel if share else bare
            machine = Gpu(timed.image, timed.arrays, kernel.spec, setup)
            self._clock = machine.clock
            with machine:
                kernel.begin(machine)
                return run_portion(machine, keep=False)
        return None

    def stop(self) -> None:
        """Cancel `run` from any thread, because its result is no longer needed."""
        if self._clock is not None:
            self._clock.at(-1.0, None, _give_up)  # before all other events


def _give_up() -> NoReturn:
    raise Unequal


def together(kernel: BoundKernel, portions: Sequence[Portion]) -> Outcome | None:
    """Return the outcome of the whole launch, with the time of the first portion.

    Returns None if one portion reads or writes the output of another, or if the representative of an unchecked class
    has findings.
    """
    first, arrays = portions[0], kernel.arrays
    known = frozenset[object]().union(*(each.known for each in portions))
    unknown = {kind: number for each in portions for kind, number in each.unknown.items() if kind not in known}
    if not all_checked(kernel, unknown.values()):
        return None
    buffers = {buffer.slot: buffer for buffer in kernel.image.globals}
    found: list[Unwritten] = []
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
