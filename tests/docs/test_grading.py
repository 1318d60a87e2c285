"""What docs/grading.md says of rules and results is so."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from tirx_mini.course import STEPS
from tirx_mini.grading import Graded, JudgeLimits, Part, StepResult, load_rules
from tirx_mini.sandbox import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "grading.md").read_text(encoding="utf-8")


def row(key: str) -> str:
    return next(line for line in PAGE.splitlines() if line.startswith(f"| `{key}`"))


def test_the_example_of_rules_is_accepted(tmp_path: Path) -> None:
    (example,) = re.findall(r"```text\n(strict.*?)```", PAGE, re.DOTALL)
    (tmp_path / "course.toml").write_text(example)
    rules = load_rules(tmp_path / "course.toml")
    assert rules.total == 110 and not rules.strict and rules.steps[7].timed == (4096, 4096, 4096)


def test_the_defaults_are_those_of_the_table() -> None:
    rules, student = load_rules(), Limits()
    assert row("[points]").endswith(f"| {' '.join(str(int(rules.steps[step].points)) for step in STEPS)} |")
    timed = {rules.steps[step].timed for step in STEPS if STEPS[step].free == "MNK"}
    assert timed == {(2048, 1536, 768)} and "2048 × 1536 × 768" in row("[sizes]")
    limits = (student.seconds, student.total_s, student.cpu_s, student.memory_mb, student.output_kb)
    assert row("[student]").endswith(f"| {', '.join(f'{limit:g}' for limit in limits)} |")
    judge = ", ".join(f"{getattr(rules.judge, each.name):g}" for each in fields(JudgeLimits))
    assert row("[judge]").endswith(f"| {judge} |")


def test_every_field_of_the_results_is_described() -> None:
    described = PAGE.partition("### Results as JSON")[2]
    for cls in (Graded, StepResult, Part):
        assert all(f"`{each.name}`" in described for each in fields(cls))
