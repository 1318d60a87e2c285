"""Lanes are in the order in which the data flow, and a warpgroup of one role is one lane."""

from __future__ import annotations

from tirx_mini.diagnose import Track, TrackKind
from tirx_mini.report.timeline.lanes import lanes_of


def warps(cta: int, roles: dict[int, str]) -> dict[Track, str]:
    return {Track(cta, TrackKind.WARP, warp): role for warp, role in roles.items()}


def test_lanes_follow_the_data() -> None:
    roles = warps(0, {0: "write-back", 1: "write-back", 4: "MMA", 5: "", 7: "TMA"})
    engines = [Track(0, kind) for kind in (TrackKind.TMA_STORE, TrackKind.TENSOR, TrackKind.TMA_LOAD)]
    lanes = lanes_of([*roles, *engines], roles)
    assert [lane.name for lane in lanes] == [
        "TMA", "TMA loads", "MMA", "tensor core", "write-back", "TMA stores", "other",
    ]  # fmt: skip
    assert [track.warp for track in lanes[4].tracks] == [0, 1]


def test_warpgroups_of_one_role_have_numbers() -> None:
    roles = warps(0, dict.fromkeys(range(8), "write-back")) | warps(1, {0: "write-back"})
    lanes = lanes_of(roles, roles)
    assert [(lane.cta, lane.name, len(lane.tracks)) for lane in lanes] == [
        (0, "write-back 0", 4), (0, "write-back 1", 4), (1, "write-back", 1),
    ]  # fmt: skip
