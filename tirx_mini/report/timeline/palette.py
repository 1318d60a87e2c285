"""The colours of a timeline: elements of a pipeline stage share a colour."""

from __future__ import annotations

from ..palette import COLOURS, PAPER
from ..svg import Paint

STAGES = COLOURS
"""The fill of each stage, modulo the number of colours; elements are also labelled with their stage."""

PAINTS = {**PAPER, **{f"s{stage}": Paint("fill", colour, colour) for stage, colour in enumerate(STAGES)}}
"""The style classes of all timeline pictures."""


def stage_class(stage: int | None) -> str:
    """Return the style class of an element of a stage, or of no stage."""
    return "plain" if stage is None else f"s{stage % len(STAGES)}"
