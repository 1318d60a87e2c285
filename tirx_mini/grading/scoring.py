"""Points: the total of a step's parts, and the deduction for lateness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from .results import Graded, Late, Part, StepResult
from .rules import PARTS, Lateness, Rules

UNKNOWN_TIME = Late(
    None, 0.0, "when it was handed in is not known, so nothing is deducted for lateness: `--submitted` gives the time"
)


def scored(step: int, parts: Sequence[Part], rules: Rules, reproduce: str = "") -> StepResult:
    """Return the result of a step from its judged parts, in the order of `PARTS`."""
    points = rules.steps[step].points
    by_name = {part.name: part for part in parts}
    needed = [name for name in ("correctness", "implementation") if not by_name[name].passed]
    decided = rules.strict and any(not by_name[name].lost for name in needed)
    if any(part.lost for part in parts) and not decided:
        return StepResult(step, points, None, tuple(parts), reproduce=reproduce)
    if rules.strict and needed:
        return StepResult(step, points, 0.0, tuple(parts), _why(needed, parts), reproduce)
    share = sum(rules.weights[name] * by_name[name].score for name in PARTS)
    return StepResult(step, points, round(points * share, 2), tuple(parts), reproduce=reproduce)


def _why(needed: Sequence[str], parts: Sequence[Part]) -> str:
    """Return the reason that a step scores nothing although another part would have earned points."""
    if not any(part.score for part in parts):
        return ""
    wants = {"correctness": "is right", "implementation": "uses what the step teaches"}
    return f"a step scores only if it {' and '.join(wants[name] for name in needed)}"


def lateness(rules: Lateness, handed_in: float | None) -> Late | None:
    """Return the points that a late hand-in loses; None if it is in time, or nothing can be late.

    handed_in: None for an unknown time, which is reported and loses nothing.
    """
    if rules.due is None:
        return None
    if handed_in is None:
        return UNKNOWN_TIME
    over = handed_in - rules.due.timestamp()
    if over <= 0:
        return None
    days = math.ceil(over / 86_400)
    lost = 1.0 if days > rules.days else min(1.0, days * rules.per_day)
    when = datetime.fromtimestamp(handed_in, timezone.utc)
    due = rules.due.astimezone(timezone.utc)
    said = f"handed in at {when:%Y-%m-%d %H:%M} UTC, due at {due:%Y-%m-%d %H:%M} UTC: {lost:.0%} of the score is lost"
    return Late(days, lost, said)


def with_lateness(graded: Graded, rules: Lateness, handed_in: float | None) -> Graded:
    """Return the grade with the lateness of a hand-in at that time."""
    if rules.due is None:
        return graded
    late = lateness(rules, handed_in)
    return replace(graded, late=late, score=total(graded.steps, late))


def total(steps: Sequence[StepResult], late: Late | None) -> float | None:
    """Return the points of all steps minus lateness, or None if a step is not graded."""
    scores = [step.score for step in steps if step.score is not None]
    if len(scores) < len(steps):
        return None
    earned = math.fsum(scores)
    return round(earned * (1 - late.lost if late is not None else 1), 2)
