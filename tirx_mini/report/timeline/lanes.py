"""The lanes of a timeline: the warps of one role, and each engine, in the order in which the data flow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tirx_mini.diagnose import Track, TrackKind
from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.records import dataclass

ENGINES = {TrackKind.TMA_LOAD: 1, TrackKind.TENSOR: 3, TrackKind.TMA_STORE: 5}
"""Where engines stand: each below the role that issues to it."""
ROLES = (("TMA", 0), ("loads", 0), ("all", 0), ("MMA", 2), ("write", 4))
LAST = 6
NAMES = {"all": "all roles", "": "other"}


@dataclass(frozen=True)
class Lane:
    """Tracks of one CTA that a reader sees as one: an engine, or the warps of a warpgroup that have the same role.

    name: "MMA", "tensor core"; "write-back 1" where a CTA has several warpgroups of a role.
    """

    cta: int
    name: str
    tracks: tuple[Track, ...]


def role_name(role: str) -> str:
    """The name of a row of this role, for a reader: some need more words than the timeline has for them."""
    return NAMES.get(role, role)


def place_of(track: Track, role: str = "") -> int:
    """The place of a track among the tracks of its CTA: a role by the first of the engines to which it issues."""
    if track.kind in ENGINES:
        return ENGINES[track.kind]
    return next((place for word, place in ROLES if word in role), LAST)


def lanes_of(tracks: Iterable[Track], roles: Mapping[Track, str]) -> list[Lane]:
    """The lanes of these tracks by CTA, from the loads through the tensor core to the stores."""
    found: dict[tuple[int, int, int, str], list[Track]] = {}
    for track in sorted(tracks, key=lambda track: (track.cta, track.warp or 0)):
        name = str(track.kind) if track.warp is None else role_name(roles.get(track, ""))
        group = 0 if track.warp is None else track.warp // WARPGROUP_WARPS
        found.setdefault((track.cta, place_of(track, name), group, name), []).append(track)
    alike = Counter((cta, name) for cta, _, _, name in found)
    numbers: Counter[tuple[int, str]] = Counter()
    lanes: list[Lane] = []
    for (cta, _, _, name), members in sorted(found.items(), key=lambda item: item[0]):
        several = alike[cta, name] > 1
        lanes.append(Lane(cta, f"{name} {numbers[cta, name]}" if several else name, tuple(members)))
        numbers[cta, name] += 1
    return lanes
