"""Which mbarrier should have ordered two accesses, for the reader of a race: where it is signalled and waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tirx_mini.ir import Span

from .barriers import Arrival, Mbarrier
from .shadow import Access, Actor

if TYPE_CHECKING:
    from .machine import Cluster

Notes = tuple[tuple[str, "Span | None"], ...]

_SIGNALS = {"MMA": ("commit",), "TMA load": ("TMA load", "expect_tx")}
"""What tells of the end of an asynchronous operation; of a thread's own accesses, its arrival does."""


def order_notes(cluster: Cluster, earlier: Access | None, actor: Actor) -> Notes:
    """Notes on the mbarrier that lies between two accesses, or on the last one waited for before a single access."""
    barriers = [barrier for cta in cluster.ctas for barrier in cta.mbarriers.values() if barrier.expected]
    if earlier is None:
        return _last_wait(barriers, actor.role)
    # The simulation saw the two in one order, and they may be meant in the other.
    pairs = [(earlier, actor), (actor, earlier)]
    for first, _ in pairs:
        for barrier, signal in _signalled(barriers, first):
            if barrier.phase and not barrier.waits:
                return ((f"nobody has waited for {base_name(barrier)}, which {first.role} signals here", signal.span),)
    for first, second in pairs:
        for barrier, signal in _signalled(barriers, first):
            if (wait := barrier.waits.get(second.role)) is not None:
                return (
                    (f"{base_name(barrier)} is there to order the two: {second.role} waits for it here", wait.span),
                    (f"and {first.role} signals it here", signal.span),
                )
    return ()


def _last_wait(barriers: Sequence[Mbarrier], role: str) -> Notes:
    waits = [(wait.time, barrier, wait.span) for barrier in barriers if (wait := barrier.waits.get(role)) is not None]
    if not waits:
        return ()
    _, barrier, span = max(waits, key=lambda wait: wait[0])
    return ((f"before that, {role} waited for {base_name(barrier)} here", span),)


def _signalled(barriers: Sequence[Mbarrier], by: Access | Actor) -> Iterator[tuple[Mbarrier, Arrival]]:
    """The barriers that were told of the end of operations such as `by`, each with the arrival that told it."""
    kinds = _SIGNALS.get(by.what, ("arrive",))
    for barrier in barriers:
        for arrival in barrier.arrivals.values():
            if arrival.role == by.role and arrival.what in kinds:
                yield barrier, arrival
                break


def base_name(barrier: Mbarrier) -> str:
    """`tma2mma` of `tma2mma[1]`."""
    return barrier.name.partition("[")[0]
