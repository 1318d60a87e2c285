"""The mbarrier that should have ordered two accesses: its signals and waits, as notes on a race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tirx_mini.sim import Access, Arrival, Mbarrier, Operation, ResidentCluster, Signal

from .kind import Notes

_SIGNALS: Mapping[Operation, tuple[Signal, ...]] = MappingProxyType({
    Operation.TCGEN05_MMA: (Signal.COMMIT,),
    Operation.TCGEN05_CP: (Signal.COMMIT,),
    Operation.TMA_LOAD: (Signal.TMA_LOAD, Signal.EXPECT_TX),
    Operation.BULK_COPY: (Signal.BULK_COPY, Signal.EXPECT_TX),
    Operation.ST_ASYNC: (Signal.ST_ASYNC, Signal.EXPECT_TX),
})  # fmt: skip
"""The signals that end an asynchronous operation; a thread's own accesses end with its arrival."""

_BEFORE: Mapping[Operation, tuple[Signal, ...]] = MappingProxyType({
    Operation.TCGEN05_LD: (Signal.COMMIT,),
    Operation.TCGEN05_MMA: (Signal.TMA_LOAD, Signal.EXPECT_TX),
    Operation.TCGEN05_CP: (Signal.TMA_LOAD, Signal.EXPECT_TX),
})  # fmt: skip
"""The signals that an operation should have awaited before it reads uninitialised memory."""

_WHOLE_WARP = (Operation.WGMMA, Operation.TCGEN05_LD)
"""Operations of all lanes of a warp, so that the wait of one lane does not order them."""


def between(cluster: ResidentCluster, earlier: Access, operation: Operation, role: str) -> Notes:
    """Return notes on the mbarrier between two accesses; called at the end of the run, when all waits are known.

    operation, role: of the later simulated access.
    """
    barriers = _barriers(cluster)
    # The simulation saw the two in one order, and they may be meant in the other.
    sides = (earlier.operation, earlier.role), (operation, role)
    for (first, by), (then, waiter) in (sides, sides[::-1]):
        signals = _SIGNALS.get(first, (Signal.ARRIVE,))
        if notes := _never_waited(barriers, signals, by):
            return notes
        if first not in _SIGNALS and by == waiter:  # a barrier that a warp signals and awaits itself hands nothing over
            continue
        for barrier, signal in _signalled(barriers, signals, by):
            if (wait := barrier.history.waits.get(waiter)) is not None:
                who = f"only one thread of {waiter}" if wait.lanes == 1 and then in _WHOLE_WARP else waiter
                return (
                    (f"{barrier.element.buffer} is there to order the two: {who} waits for it here", wait.span),
                    (f"and {by} signals it here", signal.span),
                )
        if first in _SIGNALS and (notes := _others_wait(barriers, signals, by, waiter)):
            return notes
    return ()


def _others_wait(barriers: Sequence[Mbarrier], signals: Sequence[Signal], by: str | None, waiter: str) -> Notes:
    """Return notes on a barrier that signals the end of an operation, but that only other roles of the CTA await.

    by: the role whose operation is signalled; None for any role.
    """
    for barrier, signal in _signalled(barriers, signals, by):
        for wait in barrier.history.waits.values():
            if wait.role.partition(" of CTA")[2] == waiter.partition(" of CTA")[2]:
                return (
                    (f"{waiter} never waits for {barrier.name}, which {signal.role} signals here", signal.span),
                    (f"{wait.role} waits for it here", wait.span),
                )
    return ()


def missing_wait(cluster: ResidentCluster, operation: Operation, role: str) -> Notes:
    """Return notes on a barrier that signals an operation's input, but that `role` never awaits.

    The function is called at the end of the run.
    """
    barriers, signals = _barriers(cluster), _BEFORE.get(operation, ())
    if notes := _never_waited(barriers, signals, None):
        return notes
    told = [barrier for barrier, _ in _signalled(barriers, signals, None)]
    if any(role in barrier.history.waits for barrier in told):
        return ()
    return _others_wait(told, signals, None, role)


def is_signalled_before(cluster: ResidentCluster, operation: Operation) -> bool:
    """Return whether a barrier received signals that an operation should await; called at the end of the run."""
    return any(_signalled(_barriers(cluster), _BEFORE.get(operation, ()), None))


def _barriers(cluster: ResidentCluster) -> list[Mbarrier]:
    return [barrier for barrier in cluster.mbarriers() if barrier.expected]


def _never_waited(barriers: Sequence[Mbarrier], signals: Sequence[Signal], by: str | None) -> Notes:
    """Return a note on a barrier that is signalled but never awaited."""
    for barrier, signal in _signalled(barriers, signals, by):
        if not barrier.history.waits and not barrier.waiters:
            return ((f"no thread waits for {barrier.name}, which {signal.role} signals here", signal.span),)
    return ()


def _signalled(
    barriers: Sequence[Mbarrier], signals: Sequence[Signal], by: str | None
) -> Iterator[tuple[Mbarrier, Arrival]]:
    """Yield the barriers with such signals by a role, or by any, each with one signal."""
    for barrier in barriers:
        for arrival in barrier.history.arrivals.values():
            if arrival.signal in signals and by in (arrival.role, None):
                yield barrier, arrival
                break
