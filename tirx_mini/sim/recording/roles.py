"""The roles of warps, derived from the operations that they issue."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from tirx_mini.isa import Completion, Memory

from ..timeline import Track
from .notes import COPY, GLOBAL_COPY, GLOBAL_LOAD, GLOBAL_STORE, Use, WarpLog

TMA, MMA, LOADS, WRITE_BACK = "TMA", "MMA", "loads", "write-back"
_ORDER = (TMA, LOADS, MMA, WRITE_BACK)


def roles_of(logs: Sequence[WarpLog]) -> dict[Track, str]:
    """Return the role of each warp: a combination of "TMA", "MMA", "write-back" and "loads", "all", or "other".

    The role is common to all warps with the same number in CTAs of the same rank, since a CTA may have no tile; and to
    a warpgroup that issues MMAs as a whole, since one of its warps may issue the stores of all.
    """
    issued = {log.track: frozenset(part for use in log.uses if (part := _part(use))) for log in logs}
    there = frozenset[str]().union(*issued.values())
    together = {(log.rank, _group(log)) for log in logs if any(map(_of_warpgroup, log.uses))}

    def peers_of(log: WarpLog) -> tuple[int, bool, int | None]:
        grouped = (log.rank, _group(log)) in together
        return log.rank, grouped, _group(log) if grouped else log.track.warp

    peers: dict[tuple[int, bool, int | None], set[str]] = {}
    for log in logs:
        peers.setdefault(peers_of(log), set()).update(issued[log.track])
    return {log.track: _name(peers[peers_of(log)], there) for log in logs}


def _group(log: WarpLog) -> int | None:
    """Return the index of the warp's warpgroup in the CTA."""
    return None if log.track.warp is None else log.track.warp // 4


def _of_warpgroup(use: Use) -> bool:
    """Return whether the action is an MMA that the warps of a warpgroup issue together."""
    return use.entry is not None and use.entry.completion is Completion.WGMMA_GROUP


def _name(parts: AbstractSet[str], there: frozenset[str]) -> str:
    if len(parts) > 1 and parts == there:
        return "all"
    return ", ".join(part for part in _ORDER if part in parts) or "other"


def _part(use: Use) -> str:
    """Return the role that a step indicates; "" for a step that occurs in every role."""
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
