"""Two runs side by side: figures of both timelines, sentences that name the difference, and a picture of both."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tirx_mini.diagnose import Activity, Interval, Timeline, Track, TrackKind
from tirx_mini.report.timeline import Comparison, Heading, Run, against_svg, against_text, as_data, compare

from .pictures import boxes, words
from .timelines import MMA, Ring

SHALLOW = Run("shallow", Ring(depth=2, tiles=3).timeline(), clock_ghz=2.0)
DEEP = Run("deep", Ring(depth=4, tiles=3).timeline(), clock_ghz=2.0)


@pytest.fixture(scope="module")
def deeper() -> Comparison:
    return compare(SHALLOW, DEEP)


def waits(timeline: Timeline, family: str) -> float:
    """µs that the MMA warp waits for it, at 2 GHz."""
    return sum(
        item.cycles for item in timeline.intervals
        if item.track == MMA and item.activity is Activity.WAIT and item.name.startswith(family)
    ) / 2e3  # fmt: skip


def test_a_wait_for_the_same_barrier_is_compared_in_us_of_the_run(deeper: Comparison) -> None:
    old, new = waits(SHALLOW.timeline, "tma2mma"), waits(DEEP.timeline, "tma2mma")
    assert new < 0.6 * old
    (row,) = [row for row in deeper.differences if (row.who, row.what) == ("MMA warp", "tma2mma")]
    assert row.before == pytest.approx(old) and row.after == pytest.approx(new)
    less = f"The MMA warp waits {100 * (1 - new / old):.0f} % less for tma2mma: {old:.1f} → {new:.1f} µs."
    assert less in deeper.sentences


def test_the_first_sentences_are_of_the_time_and_the_tensor_core(deeper: Comparison) -> None:
    old, new = (run.timeline.cycles / 2e3 for run in (SHALLOW, DEEP))
    less = f"{100 * (1 - new / old):.0f} % less"
    assert deeper.sentences[0] == f"deep takes {less} than shallow: {old:.1f} → {new:.1f} µs."
    busy = 3 * 8 * 256 / 2e3
    assert deeper.sentences[1] == (
        f"The tensor core is busy {100 * busy / new:.0f} % of the time, before {100 * busy / old:.0f} %."
    )


def test_a_slower_run_is_said_to_be_slower() -> None:
    slower = compare(replace(DEEP, time_us=3.0), replace(SHALLOW, time_us=7.5)).sentences
    assert slower[0] == "shallow takes 2.5 times as long as deep: 3.0 → 7.5 µs."
    assert any(sentence.startswith("The MMA warp waits 2.2 times as long for tma2mma") for sentence in slower)


def test_a_run_against_itself_has_no_difference() -> None:
    same = compare(SHALLOW, replace(SHALLOW, name="again"))
    assert same.sentences[0].startswith("again takes as long as shallow")
    assert same.sentences[-1] == "No wait differs by 2 % of the time."
    assert same.differences and all(row.change == 0 for row in same.differences)


def renamed(timeline: Timeline, old: str, new: str) -> Timeline:
    """The same with the barriers of another name."""

    def name(text: str) -> str:
        return text.replace(old, new)

    return replace(
        timeline,
        intervals=tuple(
            replace(i, name=name(i.name), barrier=i.barrier and replace(i.barrier, name=name(i.barrier.name)))
            for i in timeline.intervals
        ),
        changes=tuple(replace(c, barrier=replace(c.barrier, name=name(c.barrier.name))) for c in timeline.changes),
    )


def test_barriers_of_other_names_are_matched_by_what_they_wait_for() -> None:
    old = renamed(SHALLOW.timeline, "tma2mma", "tma_bar")
    comparison = compare(replace(SHALLOW, timeline=old), DEEP)
    (row,) = [row for row in comparison.differences if (row.who, row.what) == ("MMA warp", "TMA loads")]
    assert row.names == ("tma_bar", "tma2mma") and row.before == pytest.approx(waits(old, "tma_bar"))
    assert any("for TMA loads (tma_bar before, tma2mma now): " in sentence for sentence in comparison.sentences)


def test_a_role_is_matched_with_the_warp_that_had_its_work() -> None:
    """Before, one warp loaded and multiplied: it is what the MMA warp and the TMA warp are compared with."""
    everything = {track: ("TMA, MMA" if track == MMA else role) for track, role in SHALLOW.timeline.roles.items()}
    before = replace(SHALLOW, timeline=replace(SHALLOW.timeline, roles=everything))
    (row,) = [row for row in compare(before, DEEP).differences if (row.who, row.what) == ("MMA warp", "tma2mma")]
    assert row.before == pytest.approx(waits(SHALLOW.timeline, "tma2mma"))


def test_what_is_gone_and_what_is_new_are_said() -> None:
    def kept(timeline: Timeline) -> Timeline:
        gone = [i for i in timeline.intervals if not (i.track == MMA and i.activity is Activity.WAIT)]
        return replace(timeline, intervals=tuple(gone))

    without = replace(SHALLOW, timeline=kept(SHALLOW.timeline))
    us = waits(SHALLOW.timeline, "tma2mma")
    gone = f"The MMA warp no longer waits for TMA loads (tma2mma): {us:.1f} µs before."
    new = f"The MMA warp now waits for TMA loads (tma2mma): {us:.1f} µs, before not at all."
    assert gone in compare(SHALLOW, without).sentences and new in compare(without, SHALLOW).sentences


def test_two_ctas_that_do_the_same_do_not_double_the_times(deeper: Comparison) -> None:
    timeline = SHALLOW.timeline
    twin = replace(
        timeline,
        intervals=(*timeline.intervals, *(replace(i, track=replace(i.track, cta=1)) for i in timeline.intervals)),
        ctas=(*timeline.ctas, replace(timeline.ctas[0], cta=1)),
        roles={**timeline.roles, **{replace(track, cta=1): role for track, role in timeline.roles.items()}},
    )
    for row, twice in zip(deeper.differences, compare(replace(SHALLOW, timeline=twin), DEEP).differences, strict=True):
        assert twice == replace(row, before=pytest.approx(row.before))


def test_a_cta_without_a_tile_does_not_count(deeper: Comparison) -> None:
    timeline = SHALLOW.timeline
    empty = replace(timeline.ctas[0], cta=1)
    lone = Interval(replace(MMA, cta=1), Activity.WAIT, "bar.sync 0", 0, timeline.cycles)
    more = replace(
        timeline, intervals=(lone, *timeline.intervals), ctas=(*timeline.ctas, empty),
        roles={**timeline.roles, replace(MMA, cta=1): "MMA"},
    )  # fmt: skip
    assert compare(replace(SHALLOW, timeline=more), DEEP).sentences == deeper.sentences


def test_a_run_that_hangs_is_said_to_hang() -> None:
    hung = Run("mine", Ring().timeline(stuck=True), clock_ghz=2.0)
    first = compare(DEEP, hung).sentences[0]
    assert first == f"mine hangs after {hung.timeline.cycles / 2e3:.1f} µs."


def test_the_data_for_the_page_are_json(deeper: Comparison) -> None:
    data = json.loads(json.dumps(as_data(deeper)))
    assert data["sentences"] == list(deeper.sentences) and data["after"] == {"name": "deep", "us": DEEP.whole_us}
    assert {row["who"] for row in data["differences"]} >= {"MMA warp", str(TrackKind.TENSOR), "write-back warps"}


def test_the_text_has_the_sentences_and_a_table_in_eighty_columns(deeper: Comparison) -> None:
    lines = against_text(deeper).splitlines()
    assert lines[: len(deeper.sentences)] == list(deeper.sentences) and max(map(len, lines)) <= 80
    old, new = waits(SHALLOW.timeline, "tma2mma"), waits(DEEP.timeline, "tma2mma")
    (row,) = [line for line in lines if line.startswith("MMA warp: waits for tma2mma")]
    assert row.split()[-2:] == [f"{old:.1f}", f"{new:.1f}"]
    header = next(line for line in lines if line.endswith("deep"))
    assert header.index("shallow") + len("shallow") == row.rindex(f"{old:.1f}") + len(f"{old:.1f}")


def test_long_names_do_not_make_the_table_wider(deeper: Comparison) -> None:
    long = compare(replace(SHALLOW, name="a_kernel_with_quite_a_long_name_of_its_own"), DEEP)
    assert max(map(len, against_text(long).splitlines())) <= 80


@pytest.mark.parametrize("role", ["all", "TMA, MMA"])
def test_a_warp_with_several_roles_has_a_name_that_reads(role: str) -> None:
    roles = {track: (role if track == MMA else name) for track, name in SHALLOW.timeline.roles.items()}
    both = [replace(run, timeline=replace(run.timeline, roles=roles)) for run in (SHALLOW, DEEP)]
    name = {"all": "issuing", "TMA, MMA": "TMA and MMA"}[role]
    assert any(f"The {name} warp waits" in sentence for sentence in compare(*both).sentences)


def test_what_keeps_the_tensor_core_from_work_is_named_first_and_idle_warps_last(deeper: Comparison) -> None:
    idle = Track(0, TrackKind.WARP, 6)
    stands = Interval(idle, Activity.WAIT, "bar.sync 0", 0, SHALLOW.timeline.cycles)
    intervals, roles = (stands, *SHALLOW.timeline.intervals), {**SHALLOW.timeline.roles, idle: "other"}
    crowded = replace(SHALLOW.timeline, intervals=intervals, roles=roles)
    sentences = compare(replace(SHALLOW, timeline=crowded), DEEP).sentences
    assert sentences[2].startswith("The MMA warp") and sentences == deeper.sentences


def test_the_picture_has_both_runs_on_one_axis(deeper: Comparison) -> None:
    svg = against_svg(deeper, Heading("shallow against deep", 2.0), ([0], [0]))
    shown = words(svg)
    assert set(deeper.sentences) <= set(shown) and shown.count("tensor core") == 2
    assert "shallow, 7.5 µs" in shown and "deep, 4.3 µs" in shown
    first = min(boxes(svg, "MMA, stage 0: 256 cycles from 890"), key=lambda box: box[2])
    again = max(boxes(svg, "MMA, stage 0: 256 cycles from 890"), key=lambda box: box[2])
    assert first[0] == again[0] and first[2] < again[2]


def test_a_part_of_both_runs_can_be_shown_and_a_wrong_one_is_refused(deeper: Comparison) -> None:
    heading = Heading("shallow against deep", 2.0)
    assert len(boxes(against_svg(deeper, heading, ([0], [0]), 1000, 3000), "MMA")) < 30
    with pytest.raises(ValueError, match="no picture from cycle 90000"):
        against_svg(deeper, heading, ([0], [0]), 90000, 99000)
