"""Grades in the formats of course systems.

Gradescope reads results.json (https://gradescope-autograders.readthedocs.io/en/latest/specs/). Autolab reads the last
line of the standard output; a line before it describes the feedback that it shows
(https://docs.autolabproject.com/features/formatted-feedback/).
"""

from __future__ import annotations

import json
from typing import Any

from tirx_mini.report import plain

from .pages import grade_page, headline
from .results import Graded, Part, StepResult


def gradescope(graded: Graded) -> dict[str, Any]:
    """Return the object of results.json, with a test for each step, and our score to include lateness.

    Where a step is not graded, there is no score at all, of which Gradescope says that the autograder failed: a sum of
    the others would pass for the student's.
    """
    late = graded.late.said if graded.late else ""
    said = [headline(graded).plain, graded.problem, graded.why_not, late, *graded.notes]
    return {
        **({"score": graded.score} if graded.score is not None else {}),
        "execution_time": round(graded.seconds),
        "output": "\n\n".join(filter(None, said)),
        "output_format": "text",
        "test_output_format": "text",
        "stdout_visibility": "hidden",
        "tests": [_test(step, scores=graded.score is not None) for step in graded.steps],
        "extra_data": {"grade": graded.as_dict()},
    }


def _test(step: StepResult, scores: bool) -> dict[str, object]:
    points = {"score": step.score, "max_score": step.points} if scores else {}
    return {
        "number": step.number,
        "name": f"{step.name.capitalize()}: {step.title}",
        **points,
        "status": "passed" if step.score == step.points else "failed",
        "output": _output(step),
    }


def _output(step: StepResult) -> str:
    """Return the findings, part by part."""
    lines: list[str] = []
    for part in step.parts:
        lines.append(f"{part.name} ({_word(part)}): {part.said}")
        lines += [f"\n{page.rstrip()}\n" for page in part.pages]
    lines += filter(None, [step.said])
    if step.printed:
        lines.append(f"the kernel printed:\n\n{step.printed}")
    if step.reproduce:
        lines.append(f"to see it again:\n\n    {step.reproduce}")
    return "\n".join(lines)


def _word(part: Part) -> str:
    if part.lost:
        return "not graded"
    return {True: "passed", False: "failed", None: "not judged"}[part.passed]


def autolab(graded: Graded) -> str:
    """Return text for standard output: the page, then the feedback and the scores, one JSON line each.

    The scores are those of the problems "Step 1" … "Step 10", or "Task a", lateness deducted. A step that is not graded
    has none.
    """
    kept = 1 - graded.late.lost if graded.late is not None else 1
    stages = {step.name.capitalize(): step for step in graded.steps}
    feedback: dict[str, Any] = {"_presentation": "semantic", "stages": list(stages)}
    for name, step in stages.items():
        feedback[name] = {part.name.capitalize(): _case(part) for part in step.parts}
    scores = {name: round(step.score * kept, 2) for name, step in stages.items() if step.score is not None}
    page = plain(grade_page(graded))
    return f"{page}\n{json.dumps(feedback)}\n{json.dumps({'scores': scores})}\n"


def _case(part: Part) -> dict[str, object]:
    return {"passed": True} if part.passed else {"passed": False, "hint": part.said}
