"""Which mbarrier should have ordered two accesses, for the reader of a race: where it is signalled and waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tirx_mini.ir import Span

from .barriers import Arrival, Mbarrier
from .shadow import Access

if TYPE_CHECKING:
    from .machine import Cluster

Notes = tuple[tuple[str, "Span | None"], ...]

_SIGNALS = {"MMA": ("commit",), "TMA load": ("TMA load", "expect_tx")}
"""What tells of the end of an asynchronous operation; of a thread's own accesses, its arrival does."""

_BEFORE = {"tcgen05.ld": ("commit",), "MMA": ("TMA load", "expect_tx")}
"""What an operation that reads what nobody has written should have waited for."""


def between(cluster: Cluster, earlier: Access, what: str, role: str) -> Notes:
    """Notes on the mbarrier that lies between two accesses; to be asked when the run is over, and all waits are known.

    what, role: of the access that was simulated later.
    """
    barriers = _barriers(cluster)
    # The simulation saw the two in one order, and they may be meant in the other.
    sides = (earlier.what, earlier.role), (what, role)
    for (first, by), (_, waiter) in (sides, sides[::-1]):
        kinds = _SIGNALS.get(first, ("arrive",))
        if notes := _never_waited(barriers, kinds, by):
            return notes
        for barrier, signal in _signalled(barriers, kinds, by):
            if (wait := barrier.waits.get(waiter)) is not None:
                return (
                    (f"{base_name(barrier)} is there to order the two: {waiter} waits for it here", wait.span),
                    (f"and {by} signals it here", signal.span),
                )
    return ()


def last_wait(cluster: Cluster, role: str) -> Notes:
    """A note on what a role waited for last, before now."""
    barriers = _barriers(cluster)
    waits = [(wait.time, barrier, wait.span) for barrier in barriers if (wait := barrier.waits.get(role)) is not None]
    if not waits:
        return ()
    _, barrier, span = max(waits, key=lambda wait: wait[0])
    return ((f"the last that {role} waited for is {base_name(barrier)}, here", span),)


def missing_wait(cluster: Cluster, what: str) -> Notes:
    """A note on a barrier that tells of what an operation reads, and that nobody waits for; for the end of the run."""
    return _never_waited(_barriers(cluster), _BEFORE.get(what, ()), None)


def _barriers(cluster: Cluster) -> list[Mbarrier]:
    return [barrier for cta in cluster.ctas for barrier in cta.mbarriers.values() if barrier.expected]


def _never_waited(barriers: Sequence[Mbarrier], kinds: Sequence[str], by: str | None) -> Notes:
    """A note on a barrier that is signalled, and that nobody waits for."""
    for barrier, signal in _signalled(barriers, kinds, by):
        if not barrier.waits and not barrier.waiters:
            return ((f"nobody waits for {base_name(barrier)}, which {signal.role} signals here", signal.span),)
    return ()


def _signalled(
    barriers: Sequence[Mbarrier], kinds: Sequence[str], by: str | None
) -> Iterator[tuple[Mbarrier, Arrival]]:
    """The barriers that got signals of some kinds by a role, or by any, each with one of those."""
    for barrier in barriers:
        for arrival in barrier.arrivals.values():
            if arrival.what in kinds and by in (arrival.role, None):
                yield barrier, arrival
                break


def base_name(barrier: Mbarrier) -> str:
    """`tma2mma` of `tma2mma[1]`."""
    return barrier.name.partition("[")[0]
