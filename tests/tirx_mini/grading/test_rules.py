"""The rules of grading: what the package ships, what a teacher changes, and what a mistake in the file is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tirx_mini.course import STEPS, TIME_TOLERANCE, Case
from tirx_mini.grading import PARTS, Rules, RulesError, load_rules


def written(tmp_path: Path, text: str) -> Rules:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return load_rules(path)


def test_the_shipped_rules_are_those_of_the_assignment() -> None:
    rules = load_rules()
    assert [rules.steps[number].points for number in STEPS] == [5, 5, 10, 10, 10, 10, 15, 5, 15, 15]
    assert rules.total == 100 and rules.strict
    assert (rules.rtol, rules.atol) == (1e-3, 1e-2)
    assert tuple(rules.weights) == PARTS
    assert {step.slower for step in rules.steps.values()} == {TIME_TOLERANCE}
    assert rules.lateness.due is None


def test_a_teacher_writes_only_what_differs(tmp_path: Path) -> None:
    rules = written(tmp_path, 'strict = false\nslower = 0.5\n[points]\n7 = 20\n[lateness]\ndue = 2026-12-01T23:59:00Z')
    assert not rules.strict
    assert rules.steps[7].points == 20 and rules.steps[8].points == 5 and rules.total == 105
    assert rules.steps[1].slower == 0.5
    assert rules.lateness.due is not None and rules.lateness.due.utcoffset() == timedelta(0)
    assert rules.lateness.per_day == load_rules().lateness.per_day


def test_slower_may_differ_by_step(tmp_path: Path) -> None:
    rules = written(tmp_path, "[slower]\n9 = 1\n")
    assert rules.steps[9].slower == 1 and rules.steps[8].slower == TIME_TOLERANCE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("points = 3", r"mine.toml: \[points\] must be a table, not 3"),
        ("[points]\n11 = 3", r"mine.toml: \[points\] 11: there is no step '11'"),
        ("[points]\n3 = -1", r"mine.toml: \[points\] 3: expected a number of at least 0, found -1"),
        ("[points]\n3 = true", r"\[points\] 3: expected a number"),
        ("[points]\n3 = nan", r"\[points\] 3: expected a number"),
        ("pionts = {}", "mine.toml: there is no 'pionts'; the keys are strict, "),
        ("[parts]\nstyle = 1", r"mine.toml: \[parts\] style: the keys of this table are correctness, "),
        ("[parts]\ncorrectness = 0.9", r"the shares in \[parts\] must sum to 1, and they sum to 1.4"),
        ("strict = 1", "mine.toml: strict: expected true or false, found 1"),
        ("[lateness]\ndue = 2026-12-01", r"\[lateness\] due: expected a time as in"),
        ("[sizes]\n3 = 1024", r"\[sizes\] 3: expected { data = "),
        ("[sizes]\n3 = { data = [], timed = 1024 }", r"\[sizes\] 3: expected at least one size in data"),
        ("[sizes]\n2 = { data = [64], timed = [256, 128, 64] }", "256x128x64 is no size of step 2, which may choose K"),
        ("[judge]\nseconds = 0", r"\[judge\] seconds: expected a number above 0, found 0"),
        ("[student]\ncolour = 3", r"\[student\] colour: the keys of this table are seconds, "),
        ("strict = ", r"mine.toml cannot be read: Invalid value \(at (line 1, column 10|end of document)\)"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RulesError, match=message) as caught:
        written(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match=r"no\.toml does not exist"):
        load_rules(tmp_path / "no.toml")


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_judged_on_small_problems_and_by_choice_on_all(step: int) -> None:
    rules, course = load_rules(), STEPS[step]
    few = {case for case in course.cases("sm100") if not case.timed}
    cases = rules.cases(step, "sm100")
    assert {(case.shape, case.sms) for case in cases} >= {(case.shape, case.sms) for case in few}
    assert max(max(case.shape) for case in cases if case.sms is None) <= (4096 if step == 2 else 1024)
    assert {case.shape for case in rules.cases(step, "sm100", full=True)} >= set(course.all_shapes(full=True))
    on_gpu = rules.cases(step, "sm100", gpu=True)
    assert {case.shape for case in on_gpu} >= set(course.all_shapes(full=True))
    assert all(case.sms is None for case in on_gpu)


def test_no_case_is_judged_twice() -> None:
    rules = load_rules()
    for step in STEPS:
        cases = rules.cases(step, "sm90", full=True)
        assert len(cases) == len({(case.shape, case.sms) for case in cases})


def test_a_teacher_chooses_the_sizes(tmp_path: Path) -> None:
    rules = written(tmp_path, "[sizes]\n3 = { data = [384], timed = [512, 256, 1024] }\n")
    assert Case((384, 384, 384), timed=False) in rules.cases(3, "sm100")
    assert Case((512, 512, 512), timed=False) not in rules.cases(3, "sm100")
    assert rules.timed(3) == ((512, 256, 1024),)


def test_rules_that_say_the_same_have_one_digest(tmp_path: Path) -> None:
    default = load_rules()
    assert written(tmp_path, "# nothing differs\nstrict = true\n").digest == default.digest
    assert written(tmp_path, "[points]\n3 = 11\n").digest != default.digest
    assert written(tmp_path, "[lateness]\ndue = 2026-12-01T23:59:00Z\n").digest != default.digest
