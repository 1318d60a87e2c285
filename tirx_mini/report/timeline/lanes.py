"""The lanes of a timeline: the warps of each role, and the engines, in the order of the data flow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tirx_mini.diagnose import Track, TrackKind
from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.records import dataclass

ENGINES = {TrackKind.TMA_LOAD: 1, TrackKind.TENSOR: 3, TrackKind.TMA_STORE: 5}
"""The positions of engines, each below the role that issues to it."""
ROLES = (("TMA", 0), ("loads", 0), ("all", 0), ("MMA", 2), ("write", 4))
LAST = 6
NAMES = {"all": "all roles", "": "other"}


@dataclass(frozen=True)
class Lane:
    """Tracks of one CTA shown as one: an engine, or the warps of a warpgroup with the same role.

    name: "MMA", "tensor core"; "write-back 1" if a CTA has several warpgroups of a role.
    """

    cta: int
    name: str
    tracks: tuple[Track, ...]


def role_name(role: str) -> str:
    """Return the display name of a role."""
    return NAMES.get(role, role)


def place_of(track: Track, role: str = "") -> int:
    """Return the position of a track in its CTA; a role is placed at the first engine that it issues to."""
    if track.kind in ENGINES:
        return ENGINES[track.kind]
    return next((place for word, place in ROLES if word in role), LAST)


def lanes_of(tracks: Iterable[Track], roles: Mapping[Track, str]) -> list[Lane]:
    """Return the lanes of the tracks by CTA, in the order of the data flow from loads to stores."""
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
