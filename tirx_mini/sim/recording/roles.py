"""What a warp is for, by what it issues."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from tirx_mini.isa import Completion, Memory

from ..timeline import Track
from .notes import COPY, GLOBAL_COPY, GLOBAL_LOAD, GLOBAL_STORE, Use, WarpLog

TMA, MMA, LOADS, WRITE_BACK = "TMA", "MMA", "loads", "write-back"
_ORDER = (TMA, LOADS, MMA, WRITE_BACK)


def roles_of(logs: Sequence[WarpLog]) -> dict[Track, str]:
    """The role of each warp: "TMA", "MMA", "write-back", "loads" or several, "all" where it has each, else "other".

    It is that of all warps with its number in CTAs with its rank, since a CTA may have no tile to work on.
    """
    issued = {log.track: frozenset(filter(None, map(_part, log.uses))) for log in logs}
    there = frozenset().union(*issued.values())
    peers: dict[tuple[int, int | None], set[str]] = {}
    for log in logs:
        peers.setdefault((log.rank, log.track.warp), set()).update(issued[log.track])
    return {log.track: _name(peers[log.rank, log.track.warp], there) for log in logs}


def _name(parts: AbstractSet[str], there: frozenset[str]) -> str:
    if len(parts) > 1 and parts == there:
        return "all"
    return ", ".join(part for part in _ORDER if part in parts) or "other"


def _part(use: Use) -> str:
    """What a step belongs to; "" for what every role does."""
    entry = use.entry
    if entry is None:
        return WRITE_BACK if use in (GLOBAL_STORE, GLOBAL_COPY) else LOADS if use in (GLOBAL_LOAD, COPY) else ""
    if entry.completion in (Completion.COMMIT, Completion.WGMMA_GROUP):
        return MMA
    if Memory.GLOBAL in entry.writes or (Memory.TENSOR in entry.reads and entry.completion is Completion.TCGEN05_WAIT):
        return WRITE_BACK
    if Memory.GLOBAL in entry.reads and Memory.SHARED in entry.writes:
        return TMA if entry.completion is Completion.MBARRIER else LOADS
    return ""
