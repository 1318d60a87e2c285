"""Static pictures of timelines, for slides and pages: one run, or two on one time axis."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.diagnose import Timeline

from ..svg import Picture, number
from .against import Comparison
from .marks import RULES, WIDTH, Heading, Scale, axis, legend, patterns, wrapped
from .palette import PAINTS
from .panel import Panel
from .rows import window_of


def timeline_svg(
    timeline: Timeline, heading: Heading, ctas: Sequence[int], start: float | None = None, end: float | None = None
) -> str:
    """Return a picture of the CTAs from `start` to `end` in cycles, by default of the steady state of the first CTA.

    Raises `ValueError` for an empty window, or one outside the run.
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


def against_svg(
    comparison: Comparison,
    heading: Heading,
    ctas: tuple[Sequence[int], Sequence[int]],
    start: float | None = None,
    end: float | None = None,
) -> str:
    """Return a picture of two runs on one time axis, in full or from `start` to `end` in cycles.

    Raises `ValueError` like `timeline_svg`.
    """
    runs = (comparison.before, comparison.after)
    whole = max(run.timeline.cycles for run in runs)
    scale = _scale(0.0 if start is None else start, whole if end is None else end, whole)
    notes = [line for sentence in comparison.sentences for line in wrapped(sentence, WIDTH - 32)]
    panels: list[Panel] = []
    top = 66.0 + 16 * len(notes)
    for run, shown in zip(runs, ctas, strict=True):
        panels.append(Panel(run.timeline, shown, scale, top=top + 24, strips=False))
        top = panels[-1].bottom + 10
    height = panels[-1].bottom + 40
    described = " ".join(f"{run.name}. {panel.described()}" for run, panel in zip(runs, panels, strict=True))
    picture = Picture(WIDTH, height, heading.title, f"{' '.join(comparison.sentences)} {described}", PAINTS, RULES)
    picture.rect(0, 0, WIDTH, height, "page")
    picture.raw(patterns())
    picture.text(16, 24, heading.title, "ink head")
    for line, note in enumerate(notes):
        picture.text(16, 42 + 16 * line, note, "ink")
    legend(picture, panels[0].top - 36, _stages(panels))
    axis(picture, scale, panels[0].top - 4, panels[-1].bottom, heading.clock_ghz)
    for run, panel in zip(runs, panels, strict=True):
        words = f"{run.name}, {run.whole_us:.1f} µs"
        picture.text(16, panel.top - 8, words, "ink head")
        picture.text(30 + 9.2 * len(words), panel.top - 8, _names(run.timeline, panel.ctas), "soft")
        panel.draw(picture)
        if scale.sees(run.timeline.cycles, whole + 1) and run.timeline.stuck is None:
            x = scale.x(run.timeline.cycles)
            picture.add("line", x1=x, x2=x, y1=panel.top - 4, y2=panel.bottom - 4, class_="arrow")
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
    """Return the stages in the picture."""
    drawn = {interval.stage for panel in panels for level in panel.levels for interval, _ in level}
    return sorted(stage for stage in drawn if stage is not None)
