"""The roles of warps, derived from the operations that they issue."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.isa import Completion

from ..roles import LOADS, WRITE_BACK, part_of, role_named
from ..timeline import Track
from .notes import COPY, GLOBAL_COPY, GLOBAL_LOAD, GLOBAL_STORE, Use, WarpLog


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
    return {log.track: role_named(peers[peers_of(log)], there) for log in logs}


def _group(log: WarpLog) -> int | None:
    """Return the index of the warp's warpgroup in the CTA."""
    return None if log.track.warp is None else log.track.warp // 4


def _of_warpgroup(use: Use) -> bool:
    """Return whether the action is an MMA that the warps of a warpgroup issue together."""
    return use.entry is not None and use.entry.completion is Completion.WGMMA_GROUP


def _part(use: Use) -> str:
    """Return the part that a step indicates; "" for a step that occurs in every role."""
    if use.entry is None:
        return WRITE_BACK if use in (GLOBAL_STORE, GLOBAL_COPY) else LOADS if use in (GLOBAL_LOAD, COPY) else ""
    return part_of(use.entry)
