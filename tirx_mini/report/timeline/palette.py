"""The colours of a timeline: what belongs to a pipeline stage has the colour of that stage."""

from __future__ import annotations

from ..palette import COLOURS, PAPER
from ..svg import Paint

STAGES = COLOURS
"""The fill of what belongs to a stage, by stage modulo their number; each is labelled with its stage all the same."""

PAINTS = {**PAPER, **{f"s{stage}": Paint("fill", colour, colour) for stage, colour in enumerate(STAGES)}}
"""The classes of every picture."""


def stage_class(stage: int | None) -> str:
    """The class of an element that belongs to a stage, or to none."""
    return "plain" if stage is None else f"s{stage % len(STAGES)}"
