"""The data of the drills, and the files that are made of them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from itertools import chain

import pytest

from tirx_mini.course import DRILLS, STEPS, findings_book, reference_file
from tirx_mini.course.drills import Drill, Symptom, deal, edited
from tirx_mini.course.drills.drill import MARK
from tirx_mini.course.drills.names import NAMES

EACH = list(chain.from_iterable(DRILLS.values()))
DIFF = re.compile(r"diff step=(\d+)(?: arch=(\w+))?")


def of_the_book() -> set[tuple[str, int, str]]:
    """(architecture, step, code) of each diff in the book of findings."""
    found: set[tuple[str, int, str]] = set()
    for section in findings_book().sections.values():
        for example in section.examples:
            if match := DIFF.match(f"{example.language} {example.info}"):
                found.add((match[2] or "sm100", int(match[1]), section.code))
    return found


def test_each_step_has_three_drills_and_each_of_hopper_one() -> None:
    blackwell, hopper = (Counter(drill.step for drill in drills) for drills in DRILLS.values())
    assert list(DRILLS) == ["sm100", "sm90"]
    assert set(blackwell) == set(hopper) == set(STEPS)
    assert min(blackwell.values()) >= 3


def test_a_third_is_slow_and_most_of_that_is_in_the_steps_about_time() -> None:
    slow = [drill for drill in EACH if drill.symptom is Symptom.SLOW]
    assert 3 * len(slow) >= len(EACH)
    steps = Counter(drill.step for drill in slow)
    assert sorted(step for step, _ in steps.most_common(3)) == [3, 6, 8]


def test_a_third_is_not_in_the_book_of_findings() -> None:
    known = of_the_book()
    new = [drill for drill in EACH if (drill.arch, drill.step, drill.first) not in known]
    assert len(known) > 30 and 3 * len(new) >= len(EACH)


def test_names_are_unique_and_causes_differ() -> None:
    assert max(Counter((drill.arch, drill.step, drill.name) for drill in EACH).values()) == 1
    assert all(len(set(drill.causes)) == 4 for drill in EACH)


@pytest.mark.parametrize("drill", EACH, ids=lambda drill: f"{drill.arch}-{drill.step}-{drill.name}")
def test_a_file_is_python_without_comments_whose_lines_are_those_of_the_mistake(drill: Drill) -> None:
    dealt = deal(drill, 1)
    assert deal(drill, 1) == dealt
    ast.parse(dealt.text)
    ast.parse(dealt.repaired)
    assert "#" not in dealt.text and MARK not in dealt.text
    broken = dealt.text.splitlines()
    assert dealt.lines and all(broken[line - 1].strip() for line in dealt.lines)
    assert dealt.text != dealt.repaired
    assert drill.causes[0].partition("`")[0] == dealt.causes[dealt.right - 1].partition("`")[0]


def test_seeds_give_other_names_and_constants() -> None:
    drill = next(drill for drill in EACH if drill.name == "depth of a side")
    texts = {seed: deal(drill, seed).text for seed in range(6)}
    assert len(set(texts.values())) == 6
    assert len({re.search(r"PIPE_DEPTH = (\d)", text)[1] for text in texts.values()}) > 1  # type: ignore[index]
    assert len({"tma2mma" in text for text in texts.values()}) == 2


def test_no_other_name_is_a_word_of_a_reference() -> None:
    others = set(chain.from_iterable(NAMES.values()))
    assert len(others) == sum(map(len, NAMES.values()))
    for arch in DRILLS:
        for step in STEPS:
            tree = ast.parse(reference_file(step, arch).read_text(encoding="utf-8"))
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            used |= {node.arg or "" for node in ast.walk(tree) if isinstance(node, ast.keyword)}
            assert not used & others


def test_a_sentence_has_the_names_of_the_file() -> None:
    drill = next(drill for drill in EACH if drill.name == "no wait")
    names = {seed: deal(drill, seed) for seed in range(6)}
    assert all(re.search(r"`(\w+)`", dealt.reason)[1] in dealt.text for dealt in names.values())  # type: ignore[index]


def test_an_edit_keeps_the_indentation() -> None:
    text = "a\n    if b:\n        c\nd\n"
    assert edited(text, "if b:\nc", "c  # 1\nif e:\n    f") == "a\n    c  # 1\n    if e:\n        f\nd\n"


@pytest.mark.parametrize("old", ["c", "x"])
def test_an_edit_that_fits_not_once_is_refused(old: str) -> None:
    with pytest.raises(ValueError, match="times"):
        edited("c\nc\n", old, "d")
