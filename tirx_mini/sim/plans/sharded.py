"""The plan of sharded clusters: several processes execute portions of the launch.

Clusters that neither synchronise nor exchange data can be executed separately. This process executes the whole launch
for its time, with data for at most a share of the clusters. The others are divided into portions, which the other
processes execute with data and without timing, and finally this one as well.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from tirx_mini.ir import Buffer
from tirx_mini.records import dataclass
from tirx_mini.worker import Team, Twin

from ..outcome import Outcome
from ..question import Circumstances
from .kernel import BoundKernel
from .plan import Plan, WholeLaunch, not_for_findings
from .portions import Piece, Portion, Timing, portion, together

WORTH_PROCESSES = 15_000
"""The number of iterations with data and checks that justifies starting processes."""
WORTH_TWINS = 4_000
"""The number of iterations that justifies processes forked from this one."""
LAUNCH = "launch.pickle"
LEAST_PORTION = 1 / 16
"""The smallest portion, as a share of the divided clusters: smaller portions balance better, but each costs a
machine.
"""
DATA = 1.1
"""The typical cost of data, relative to execution without data."""
UNTIMED = 1.4
"""The typical cost of an untimed execution with data, relative to a timed execution without data."""
LEAST_SHARE = 1 / 64
"""The minimum share of clusters executed with both data and time; most faulty kernels fail there."""


class ShardedClusters(Plan):
    """Divides the clusters of a launch among processes."""

    name = "clusters sharded over processes"
    assumes = "that no cluster reads or writes an element that another one writes"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`."""
        if kernel.question.jobs < 2:
            return "there is one process"
        if circumstances.seed is not None:
            return "the order of events is random, across all clusters"
        if reason := not_for_findings(kernel, circumstances):
            return reason
        if kernel.effort < (WORTH_TWINS if Twin.possible() else WORTH_PROCESSES):
            return "the launch is small"
        return kernel.inseparable

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome:
        """See `Plan.run`. A launch that cannot be merged has findings, or needs a single process."""
        outcome = run_sharded(kernel)
        if outcome is None:
            raise WholeLaunch
        return outcome

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        checks = ", and the checks of equal clusters" if kernel.image.equal else ""
        return f"the time of one process for {kernel.clusters} clusters, which {kernel.question.jobs} share{checks}"


def run_sharded(kernel: BoundKernel) -> Outcome | None:
    """Execute the clusters of a launch in several processes; return None if it must be run as a whole.

    The arguments hold the results only if there is an outcome.
    """
    image, jobs = kernel.image, kernel.question.jobs
    share, pieces = _shares(kernel, jobs)
    timing = Timing(kernel)
    found: list[Portion] = []

    def here(piece: Piece) -> Portion | None:
        return portion(kernel, piece)

    def there(piece: Piece) -> Portion | None:
        return portion(kernel, piece, keep=True)

    def first() -> None:
        timed = timing.run(share)
        if timed is None:
            raise _NotPlain
        found.append(timed)

    def seen(result: Portion | None) -> None:
        if result is None:
            timing.stop()

    @cache
    def saved() -> None:
        _save(kernel, Path(folder))

    def payload(piece: Piece) -> _Shard:
        with saving:
            saved()  # while this process begins to execute the launch
        return _Shard(Path(folder), piece)

    saving = threading.Lock()
    room = sum(buffer.nbytes for buffer in image.globals if buffer.written) * (1 + len(pieces) // 4)  # `Marks`
    with (
        tempfile.TemporaryDirectory(prefix="tirx_mini-") as folder, suppress(_NotPlain), _released(saving),
        Team(_in_child, payload, here, jobs, twin=there, room=room) as team,
    ):
        team.start()
        results = team.results(pieces, meanwhile=first, seen=seen)
        if all(result is not None for result in results.values()):
            return together(kernel, [*found, *results.values()])
    return None


@contextmanager
def _released(lock: threading.Lock) -> Generator[None]:
    """Wait on exit until no thread holds the lock, since a thread may still write to a temporary folder."""
    try:
        yield
    finally:
        with lock:
            pass


def _shares(kernel: BoundKernel, jobs: int) -> tuple[range, list[Piece]]:
    """Return the clusters that this process executes with data and time, and the pieces for all processes.

    If the clusters are equal and this process executes none with data, the first and the last one are checked pieces.
    """
    image, clusters = kernel.image, kernel.clusters
    own = own_share(jobs) if kernel.divisible and not image.batchable else 0
    share = range(max(1, round(clusters * own)) if own else 0)
    checked = [] if share or not image.equal else sorted({0, clusters - 1})
    rest = range(share.stop + (0 in checked), clusters - (clusters - 1 in checked[1:]))
    pieces = [Piece(range(number, number + 1), checked=True) for number in checked]
    return share, pieces + [Piece(each) for each in _divided(rest, jobs)]


def own_share(jobs: int) -> float:
    """Return the share of clusters whose data this process computes, chosen so that all processes end together."""
    others = UNTIMED / (jobs - 1)
    return max(LEAST_SHARE, (others - 1) / (others + DATA))


class _NotPlain(Exception):
    """The share of this process has findings."""


def _divided(clusters: range, jobs: int) -> Iterator[range]:
    least = max(1, round(len(clusters) * LEAST_PORTION))
    while clusters:
        count = max(least, len(clusters) // jobs)
        yield clusters[:count]
        clusters = clusters[count:]


@dataclass(frozen=True)
class _Shard:
    """A portion of a launch, as the payload for another process. folder: holds the launch."""

    folder: Path
    piece: Piece


def _in_child(shard: _Shard) -> Generator[None, None, Portion | None]:
    yield
    return portion(_loaded(shard.folder), shard.piece, keep=True)


def _save(kernel: BoundKernel, folder: Path) -> None:
    """Save the launch and its arguments for `_loaded`."""
    kinds = [(array.dtype, array.shape) for array in kernel.arrays]
    (folder / LAUNCH).write_bytes(pickle.dumps((kernel.func, kernel.scalars, kernel.alone, kinds)))
    for slot, array in enumerate(kernel.arrays):
        np.save(folder / f"{slot}.npy", array.reshape(-1).view(np.uint8))


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> BoundKernel:
    """Load the launch of a child's portions. It has private copies of the arguments."""
    func, scalars, question, kinds = pickle.loads((folder / LAUNCH).read_bytes())
    arrays = (
        np.load(folder / f"{slot}.npy", mmap_mode="c").view(dtype).reshape(shape)
        for slot, (dtype, shape) in enumerate(kinds)
    )
    numbers = iter(scalars)
    args = [next(arrays) if isinstance(param, Buffer) else next(numbers) for param in func.params]
    return BoundKernel(func, args, question)
