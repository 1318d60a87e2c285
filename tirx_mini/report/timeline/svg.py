"""Still pictures of timelines, for slides and pages: one run, or two on one time axis."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.diagnose import Timeline

from ..svg import Picture, number
from .marks import RULES, WIDTH, Heading, Scale, axis, legend, patterns, wrapped
from .palette import PAINTS
from .panel import Panel
from .rows import window_of


def timeline_svg(
    timeline: Timeline, heading: Heading, ctas: Sequence[int], start: float | None = None, end: float | None = None
) -> str:
    """A picture of these CTAs from `start` to `end`, in cycles; without them, of the steady state of the first CTA.

    Raises `ValueError` for a window without any time, or outside of the run.
    """
    first, last = window_of(timeline, ctas[0])
    scale = _scale(first if start is None else start, last if end is None else end, timeline.cycles)
    notes = wrapped(heading.note, WIDTH - 32)
    panel = Panel(timeline, ctas, scale, top=86 + 16 * len(notes))
    height = panel.bottom + 40
    picture = Picture(WIDTH, height, heading.title, f"{heading.note} {panel.described()}".strip(), PAINTS, RULES)
    picture.rect(0, 0, WIDTH, height, "page")
    picture.raw(patterns())
    picture.text(16, 24, heading.title, "ink head")
    for line, note in enumerate(notes):
        picture.text(16, 42 + 16 * line, note, "ink")
    cycles = f"cycles {scale.start:,.0f} to {scale.end:,.0f} of {timeline.cycles:,.0f}"
    picture.text(16, panel.top - 44, f"{_names(timeline, ctas)}, {cycles}", "soft")
    legend(picture, panel.top - 25, _stages([panel]))
    picture.text(WIDTH - 8, panel.top - 8, "in this window", "soft small", text_anchor="end")
    axis(picture, scale, panel.top - 4, panel.bottom, heading.clock_ghz)
    panel.draw(picture)
    return str(picture)


def _scale(start: float, end: float, cycles: float) -> Scale:
    if not 0 <= start < end or start >= cycles:
        raise ValueError(
            f"no picture from cycle {number(start)} to {number(end)}: the run has cycles 0 to {number(cycles)}, and a "
            "picture begins before it ends"
        )
    return Scale(start, end)


def _names(timeline: Timeline, ctas: Sequence[int]) -> str:
    names = {item.cta: f"{item.name} on SM {item.sm}" for item in timeline.ctas}
    return " and ".join(names.get(cta, f"CTA {cta}") for cta in ctas)


def _stages(panels: Sequence[Panel]) -> list[int]:
    """The stages that are on the picture."""
    drawn = {interval.stage for panel in panels for level in panel.levels for interval, _ in level}
    return sorted(stage for stage in drawn if stage is not None)
