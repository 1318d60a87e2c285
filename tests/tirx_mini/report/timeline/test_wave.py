"""The wave: blocks on the rows of their SMs, and what is said of an uneven end."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tirx_mini.diagnose import CtaTime, Tile, Timeline
from tirx_mini.report.timeline import Heading, wave_note, wave_svg, wave_text

from .pictures import SVG, boxes, words


def persistent(sms: int, tiles: int, cycles: float = 1000.0) -> Timeline:
    """One CTA for each SM; tile t is computed by CTA t modulo `sms`, each in so many cycles."""
    made = [Tile(t % sms, cycles * (t // sms), cycles * (t // sms + 1), f"tile {t}") for t in range(tiles)]
    ends = {sm: max((t.end for t in made if t.cta == sm), default=0.0) for sm in range(sms)}
    ctas = tuple(CtaTime(sm, f"CTA ({sm}, 0)", sm, sm, 0, 0.0, ends[sm]) for sm in range(sms))
    return Timeline(ctas=ctas, tiles=tuple(made), cycles=max(ends.values()))


def test_each_tile_is_a_block_in_the_row_of_its_sm() -> None:
    svg = wave_svg(persistent(4, 6), Heading("wave", 2.0), sms=4)
    rows = [boxes(svg, f"SM {sm}: ") for sm in range(4)]
    assert [len(row) for row in rows] == [2, 2, 1, 1]
    tops = [{top for _, _, top, _ in row} for row in rows]
    assert all(len(top) == 1 for top in tops) and sorted(tops, key=min) == tops
    (first, second) = rows[0]
    assert first[3] == "s0" and second[3] == "s1" and first[1] == pytest.approx(second[0], abs=0.01)
    assert boxes(svg, "SM 1: CTA (1, 0), tile 5, cycles 1,000 to 2,000")


def test_the_note_counts_tiles_idle_sms_and_the_tail() -> None:
    assert wave_note(persistent(4, 6), 5, clock_ghz=2.0) == (
        "6 tiles on 5 SMs: 2 SMs have 1 tile, 2 SMs have 2 tiles, 1 SM has none. The SMs work 60 % of the time. The "
        "first of them runs out of work 500 ns before the end, after 50 % of the time."
    )
    assert wave_note(persistent(1, 1), 1, 2.0) == (
        "1 tile on 1 SM: 1 SM has 1 tile. The SMs work 100 % of the time. Those that have work end together."
    )


def test_the_note_is_on_the_picture_and_in_its_description() -> None:
    svg = wave_svg(persistent(4, 6), Heading("wave", 2.0), sms=4)
    note = wave_note(persistent(4, 6), 4, 2.0)
    assert note in svg.split("</desc>")[0] and note.split(".")[0] in " ".join(words(svg))


def test_a_run_without_tiles_shows_its_ctas_and_those_that_live_at_once_lie_below_one_another() -> None:
    ctas = tuple(CtaTime(c, f"CTA ({c}, 0)", 0, c, 0, 100.0 * c, 100.0 * c + 300) for c in range(3))
    timeline = Timeline(ctas=ctas, cycles=500.0)
    svg = wave_svg(timeline, Heading("wave", 2.0), sms=1)
    assert len({top for _, _, top, _ in boxes(svg, "SM 0: CTA")}) == 3 and "1st CTA" in words(svg)
    (row,) = [line for line in wave_text(timeline, Heading("wave", 2.0), 1).splitlines() if line.startswith("SM 0")]
    assert row.split()[-1] == "1" * 41 + "2" * 13 + "3" * 14
    assert wave_note(timeline, 1, 2.0).startswith("3 CTAs on 1 SM: 1 SM has 3 CTAs. The SMs work 100 % of the time.")


def test_a_run_in_which_no_cta_began_says_so() -> None:
    assert wave_note(Timeline(), 4, 2.0) == "No CTA has run."
    assert "No CTA has run." in words(wave_svg(Timeline(), Heading("wave", 2.0), sms=4))


def test_a_tile_may_begin_a_little_before_the_one_above_it_ends() -> None:
    """The next CTA of an SM gets tensor memory when the one before frees it, shortly before that one's end."""
    ends = ((0, 0.0, 1000.0), (1, 990.0, 2000.0))
    ctas = tuple(CtaTime(cta, f"CTA ({cta}, 0)", 0, cta, 0, 0.0, end) for cta, _, end in ends)
    tiles = tuple(Tile(cta, start, end, f"tile {cta}") for cta, start, end in ends)
    svg = wave_svg(Timeline(ctas=ctas, tiles=tiles, cycles=2000.0), Heading("wave", 2.0), sms=1)
    assert len({top for _, _, top, _ in boxes(svg, "SM 0")}) == 1 and len(boxes(svg, "SM 0")) == 2


def test_a_cta_without_a_tile_is_no_block() -> None:
    timeline = persistent(4, 3)
    assert len(timeline.ctas) == 4
    assert wave_note(timeline, 4, 2.0).startswith("3 tiles on 4 SMs: 3 SMs have 1 tile, 1 SM has none.")
    assert not boxes(wave_svg(timeline, Heading("wave", 2.0), sms=4), "SM 3")


def test_a_large_wave_stays_small() -> None:
    svg = wave_svg(persistent(148, 4096), Heading("wave", 2.0), sms=148)
    lines = [path.get("d", "") for path in ET.fromstring(svg).iter(f"{SVG}path")]
    assert sum(line.count("M") for line in lines) == 4096 and len(lines) == 8
    assert len(svg) < 100_000 and "and again" in words(svg)


def test_the_text_has_a_row_for_some_sms_and_a_digit_for_each_tile() -> None:
    lines = wave_text(persistent(50, 75), Heading("wave", 2.0), sms=50).splitlines()
    rows = [line for line in lines if line.startswith("SM ")]
    assert len(rows) == 25 and rows[0].startswith("SM 0–1") and max(map(len, lines)) <= 80
    assert rows[0][12:] == "1" * 34 + "2" * 34 and rows[-1][12:] == "1" * 34
    assert "75 tiles on 50 SMs" in " ".join(lines)
