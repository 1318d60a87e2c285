"""The parts that the figures of some concept pages and guides share, and what they read off runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.figures import clusters, debugging, hopper
from tools.figures._references import patched
from tools.figures._sheet import COLOURS, PAINTS, on
from tools.figures.roofline import LogAxis


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors() -> None:
    axis = LogAxis(1, 100, 0, 200)
    assert [axis.at(value) for value in (0.5, 1, 10, 100, 200)] == pytest.approx([0, 0, 100, 200, 200])


def test_a_patch_replaces_what_is_there_once_and_nothing_else(tmp_path: Path) -> None:
    ref = patched(7, {"PIPE_DEPTH = 2": "PIPE_DEPTH = 3"}, tmp_path)
    assert "\nPIPE_DEPTH = 3\n" in ref.path.read_text(encoding="utf-8") and ref.name == "hgemm_v7"
    for missing in ("PIPE_DEPTH = 7", "PIPE_DEPTH"):
        with pytest.raises(ValueError, match="times"):
            patched(7, {missing: ""}, tmp_path)


def test_an_excerpt_marks_what_it_leaves_out_and_is_the_whole_where_nothing_is_found() -> None:
    text = "a\nb 1\nc\nb 2\nd"
    assert debugging.excerpt(text, (("b", 1), ("b", 1))) == "…\nb 1\n…\nb 2\n…"
    assert debugging.excerpt(text, (("a", 5),)) == text
    assert debugging.excerpt(text, (("z", 1),)) == text


def test_spans_that_touch_are_one() -> None:
    assert hopper.joined([(5, 7), (0, 2), (2, 3)], 0) == ((0, 3), (5, 7))
    assert hopper.joined([(5, 7), (0, 2), (2, 3)], 2) == ((0, 7),)


def test_the_ctas_of_a_pair_share_b_and_one_of_them_issues() -> None:
    first, second = clusters.shares(clusters.PAIR, 2)
    assert (first.a, first.b, first.d) == ("A[0:128, 0:64]", "B[0:128, 0:64]", "D[0:128, 0:256]")
    assert (second.a, second.b, second.d) == ("A[128:256, 0:64]", "B[128:256, 0:64]", "D[128:256, 0:256]")
    assert first.issues and not second.issues and first.barrier == second.barrier == "tma2mma[0] of CTA 0"
    assert clusters.loaded_by(clusters.ALONE) == 2 * clusters.loaded_by(clusters.PAIR)


def luminance(colour: str) -> float:
    """The relative luminance of `#rrggbb`, as WCAG 2.2 defines it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("fill", ["page", "lane", "plain", "mute", "gap", *(f"c{n}" for n in range(len(COLOURS)))])
def test_text_is_legible_on_each_fill_of_a_sheet(fill: str) -> None:
    text, ground = PAINTS[on(fill)], PAINTS[fill]
    for pair in ((text.light, ground.light), (text.dark, ground.dark)):
        dark, light = sorted(map(luminance, pair))
        assert (light + 0.05) / (dark + 0.05) >= 4.5
