"""Pairs of accesses to one location: the exemptions from conflict that do not depend on order."""

from __future__ import annotations

import numpy as np

from .actors import COLLECTIVE, ELECTED_LANE, LANES_TOGETHER, Access, Actor
from .clocks import RECEIVED, SEEN, WIDE, Agent
from .conflicts import ConflictKind
from .operations import Operation


def both_strong(earlier: Access | None, actor: Actor) -> bool:
    """Return whether two accesses are morally strong, and therefore no race even if unordered."""
    if earlier is None or earlier.strong is None or actor.strong is None:
        return False
    return actor.strong.together_with(earlier.strong)


def lacks_a_fence(earlier: Access, actor: Actor) -> bool:
    """Return whether an unordered strong read is of data that its thread takes to be written.

    The thread has seen a later write, and uses the value without a test.
    """
    if earlier.operation is not Operation.STORE or actor.operation is not Operation.LOAD or actor.tested:
        return False
    clocks = actor.agent.clocks
    return earlier.agent < clocks.shape[1] and clocks.item(SEEN, earlier.agent) >= earlier.epoch


def loses_a_reduction(earlier: Access, actor: Actor) -> bool:
    """Return whether one access is a store and the other an atomic operation whose result is unused."""
    for one, other in ((earlier, actor), (actor, earlier)):
        if one.operation is Operation.STORE and other.operation is Operation.ATOMIC and not other.decides:
            return True
    return False


def decides(actor: Actor) -> bool:
    """Return whether a strong access may synchronise lanes, because its result can decide what happens next."""
    return actor.decides or actor.operation is not Operation.LOAD


def in_one_queue(earlier: Access, actor: Actor) -> bool:
    """Return whether current tensor cores execute two operations of one thread in order without an ISA guarantee.

    This is known for an operation that overwrites the operands of the first one, and for copies to one location.
    """
    return not earlier.write or earlier.operation is actor.operation is Operation.TCGEN05_CP


_BY_THREADS = (Operation.STORE, Operation.ATOMIC, Operation.CP_ASYNC)


def unreceived(earlier: Access, actor: Actor, writes: bool, slots: bool) -> ConflictKind | None:
    """The scope that keeps what a thread wrote from a reader in another CTA, which it is ordered before; else None.

    The bytes of bulk copies come with their own signal, whose scope is that of the cluster. slots: whether a write
    after an access is one, too.
    """
    clocks = actor.agent.clocks
    if clocks.item(RECEIVED, earlier.agent) >= earlier.epoch:
        return None
    if writes:
        return ConflictKind.SLOT_SCOPE if slots and clocks.item(WIDE, earlier.agent) < earlier.epoch else None
    if not earlier.write or earlier.operation not in _BY_THREADS:
        return None
    if clocks.item(WIDE, earlier.agent) < earlier.epoch:
        return ConflictKind.RELEASE_SCOPE
    return ConflictKind.ACQUIRE_SCOPE


def meets(earlier: Access, actor: Actor) -> bool:
    """Return whether all lanes of an access happen before those of a later access by the same warp."""
    agent = actor.agent
    assert isinstance(agent, Agent)
    if earlier.agent == agent.index:
        return earlier.epoch <= agent.synced
    return agent.happens_after(earlier.agent, earlier.epoch)


def crossing(
    earlier: Access, hit: np.ndarray, lanes: np.ndarray | None, where: np.ndarray | slice, actor: Actor, writes: bool
) -> ConflictKind | None:
    """Return the conflict between different lanes of one warp at the granules `hit` of `where`, or None."""
    now = actor.lanes
    if lanes is None or now is None:
        return None
    before = lanes[where][hit]
    after = np.broadcast_to(np.asarray(now, np.int8), hit.shape)[hit]
    if actor.word & (actor.word - 1) or earlier.word & (earlier.word - 1):
        before, after = before & ~ELECTED_LANE, after & ~ELECTED_LANE  # whichever lane it is, both are its own
    cross = before != after
    if earlier.write and not writes and not actor.word & ~earlier.word:
        cross &= before != LANES_TOGETHER  # each lane reads its own write
    else:
        cross |= before == LANES_TOGETHER
    cross |= before == COLLECTIVE
    if not cross.any():
        return None
    elected = (before ^ after)[cross] == ELECTED_LANE
    return ConflictKind.ELECTED_LANE if elected.all() else ConflictKind.LANES
