"""Targets and answers of the step pages: the reference reaches a target, the step before misses it, no page tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.kernels_ref.skeletons import ROOT
from tirx_mini.course import (
    STEPS,
    KernelRef,
    check_file,
    hints_of,
    kernel_of,
    places,
    reference_file,
)
from tirx_mini.diagnose import Resource
from tools.figures._runs import traced
from tools.figures._steps import MARGIN, between
from tools.figures.steps_drawings import Signalled, first_phases, roles_picture, signalled
from tools.pages import DOCS

BY_ONE = ("tma2mma", "mma2tma", "mma2ld")
"""The barriers of step 7 with one arrival in a phase."""
LATER = [step for step in STEPS if step > min(STEPS)]
THAT_ASK = [step for step in STEPS if step >= 5]
"""The steps whose pages must not have the reference's statements in order."""
IN_ORDER = 3
"""So many statements of the reference, one after the other, are its solution."""
_FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)
_TARGET = re.compile(r"\*\*Target\*\* at (.+?): at most \*\*([\d.]+) µs\*\* .* which is ([\d.]+) TFLOPS")
_TIME = re.compile(r"^\| (\d+ × \d+ × \d+) \| ([\d.]+) µs, ([\d.]+) TFLOPS", re.MULTILINE)
_CALL = re.compile(r"\w+")
IGNORED = {"meta_var", "move_to_next_stage", "warpgroup", "thread", "elect_sync", "valid", "range", "unroll", "ptr_to"}
"""Calls that open a scope, name a value or count: they order nothing."""
SPOKEN = {"try_wait": "wait", "gemm_async": "mma", "tma_load": "load", "read_tmem": "read"}
"""The names of calls on pages."""


def page(step: int) -> str:
    return (DOCS / f"steps/step{step:02}.md").read_text(encoding="utf-8")


def solutions() -> str:
    return (DOCS / "steps/solutions.md").read_text(encoding="utf-8")


def times(step: int) -> dict[str, tuple[float, float]]:
    """The predictions for the reference in the table of a page, which test_figures.py holds to be current."""
    return {shape: (float(us), float(rate)) for shape, us, rate in _TIME.findall(page(step))}


@pytest.mark.parametrize("step", LATER)
def test_the_reference_reaches_the_target_and_the_step_before_misses_it(step: int) -> None:
    match = _TARGET.search(" ".join(page(step).split()))
    assert match is not None
    shape, us, rate = match[1], float(match[2]), float(match[3])
    assert times(step)[shape][0] <= us
    before = times(step - 1)
    missed = before[shape][0] > us if shape in before else max(each[1] for each in before.values()) < rate
    assert missed, before


def test_a_target_is_a_round_number_between_two_times() -> None:
    assert between(104.9, 107.2) == 106
    assert between(21.8, 31.3) == 26
    assert between(10, 1000) <= 10 * MARGIN + 0.5
    assert 11.11111 <= between(11.11111, 11.11112) < 11.11112
    with pytest.raises(ValueError, match="a target lies between two times"):
        between(2, 2)


@cache
def statements(step: int) -> list[list[str]]:
    """For each TODO, the names of the calls of the reference's code, in its order."""
    text = reference_file(step, "sm100").read_text(encoding="utf-8")
    found = places(hints_of(step, "sm100"), kernel_of(ast.parse(text), step), text.splitlines())
    return [[name for statement in place.statements for name in _called(statement)] for place in found]


def _called(node: ast.AST) -> Iterator[str]:
    """The last parts of the names of calls, in the order of the text, with the barrier or the state of a method."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
        parts = ast.unparse(call.func).split(".")
        if parts[-1] not in IGNORED:
            names = parts[-1:] if parts[0] == "Tx" else parts[-2:]
            yield " ".join(SPOKEN.get(name, name) for name in names)


def told(text: str, step: int) -> list[list[str]]:
    """The runs of statements of the reference that a passage has in their order."""
    words = [SPOKEN.get(word, word) for word in _CALL.findall(text.lower())]
    runs: list[list[str]] = []
    for calls in statements(step):
        for start in range(len(calls) - IN_ORDER + 1):
            run = calls[start : start + IN_ORDER]
            if len(set(run)) == IN_ORDER and _in_order(run, words):
                runs.append(run)
    return runs


def _in_order(run: list[str], words: list[str]) -> bool:
    """Return whether a text has the calls one after the other. The words of a call may stand in any order."""
    rest = iter(words)
    for call in run:
        missing = set(call.split())
        while missing:
            word = next(rest, None)
            if word is None:
                return False
            missing.discard(word)
    return True


def passages(text: str) -> list[str]:
    """The blocks of a page outside of folded text: paragraphs, lists, code, and rows of tables."""
    blocks = [block for block in re.split(r"\n\s*\n", _FOLDED.sub("", text)) if not block.startswith("<!--")]
    return [part for block in blocks for part in (block.splitlines() if block.startswith("|") else [block])]


@pytest.mark.parametrize("step", THAT_ASK)
def test_no_page_has_the_statements_of_the_reference_in_order(step: int) -> None:
    found = [(run, block) for block in passages(page(step)) for run in told(block, step)]
    assert found == []


def test_statements_in_order_are_seen() -> None:
    reference = (ROOT / "kernels_ref/sm100/step07_warp_specialized.py").read_text(encoding="utf-8")
    role = reference[reference.index("mma2ld.wait(") : reference.index("# All warps must")]
    assert told(role, 7)
    assert told("`mma2ld.wait`, `after_thread_sync`, then `ld2mma`", 7) == []
    chain = "wait mma2ld → after_thread_sync → read tensor memory → before_thread_sync → arrive ld2mma → store"
    assert ["mma2ld wait", "after_thread_sync", "read"] in told(chain, 7)
    loop = "wait(tma_bar[stage], phase_tma);  fence.after_thread_sync\nMMA from this stage\nwait(mma_bar, phase_mma)"
    assert ["wait", "after_thread_sync", "mma"] in told(loop, 5)


@pytest.mark.parametrize("step", LATER)
def test_the_solution_is_on_the_page_of_solutions_alone(step: int) -> None:
    section = solutions().partition(f"\n## Step {step}\n")[2].partition("\n## ")[0]
    assert f"<!-- figures: step{step:02}-diff -->" in section
    assert "```diff" not in page(step) and "What changed" not in page(step)


@pytest.mark.parametrize("step", STEPS)
def test_pitfalls_follow_the_test(step: int) -> None:
    text = page(step)
    assert text.index("tests/test_step") < text.index("\n## Pitfalls\n")
    assert "The test is green." in text.partition("\n## Pitfalls\n")[2][:40]


def test_the_barriers_of_step_7_are_read_off_the_reference() -> None:
    assert signalled() == (
        Signalled("tma2mma", "TMA", "MMA", 1, 0), Signalled("mma2tma", "MMA", "TMA", 1, 1),
        Signalled("mma2ld", "MMA", "write-back", 1, 0), Signalled("ld2mma", "write-back", "MMA", 128, 1),
    )  # fmt: skip
    assert first_phases() == {"tma": 1, "mma": 0, "ld": 1, "wb": 0}


def test_the_drawing_with_blanks_has_no_answer() -> None:
    barriers = signalled()
    blank, filled = (roles_picture(barriers, answers) for answers in (False, True))
    for barrier in barriers:
        for answer in (barrier.name, f"count: {barrier.count}", barrier.begins):
            assert answer in filled and answer not in blank
    assert blank.count("count: ____") == 4


def test_the_figures_that_step_8_starts_from_are_those_of_its_bound_and_of_step_7() -> None:
    text = page(8)
    given = text.partition("\n## Predict")[2].partition("\n## ")[0]
    bound = re.search(r"of the ([\d.]+) µs from a load", text)
    assert bound is not None and f"a round trip of {bound[1]} µs" in given
    assert f"the time of step 7 at 2048, {times(7)['2048 × 2048 × 2048'][0]} µs" in given
    assert "| 2 | | | | 31.3 µs |" in given and times(7)["2048 × 2048 × 2048"][0] == 31.3


def test_the_model_of_step_8_is_near_the_simulator() -> None:
    rows = re.findall(r"^\| (\d) \| \d+ KiB \| ([\d.]+) µs \| ([\d.]+) µs \| ([\d.]+) µs", solutions(), re.MULTILINE)
    found = {int(depth): tuple(map(float, figures)) for depth, *figures in rows}
    assert list(found) == [2, 3, 4, 5, 6]
    for model, large, _ in found.values():
        assert large / 1.05 <= model <= large * 1.05
    assert found[3][2] < 1.1 * found[4][2], "at 1024, four stages are hardly better than three"


@pytest.mark.parametrize("kept", ["stage", "phase_tma", "phase_mma"])
def test_what_survives_a_tile_of_step_6_is_tested_by_the_command_of_its_page(kept: str, tmp_path: Path) -> None:
    command = re.search(r"check gemm_kernels\.py:hgemm_v6 --shape (\S+) --sms (\d+)", page(6))
    assert command is not None
    m, n, k = map(int, command[1].split(","))
    loop = "            while tile_scheduler.valid():\n"
    path = tmp_path / "mine.py"
    path.write_text(Edit(6, loop, f"{loop}                {kept} = 0\n").source(), encoding="utf-8")
    assert not check_file(KernelRef(path, "hgemm_v6"), shape=(m, n, k), sms=int(command[2]), trace=False).ok


BLANKS = {
    **{(f"{name}.init(1)\n", f"{name}.init({count})\n"): "TX107" for name in BY_ONE for count in (2, 128)},
    ("ld2mma.init(128)", "ld2mma.init(256)"): "TX107",
    ("ld2mma.init(128)", "ld2mma.init(64)"): "TX116",
    ("ld2mma.init(128)", "ld2mma.init(1)"): "TX123",
    **{
        (f"{name}_phase.init(is_producer={right})", f"{name}_phase.init(is_producer={not right})"): "TX108"
        for name, right in (("tma", True), ("mma", False), ("ld", True), ("wb", False))
    },
}
"""Wrong answers to the blanks of step 7, each with the first code."""


@pytest.mark.parametrize("wrong", BLANKS, ids=lambda wrong: wrong[1].strip())
def test_a_wrong_blank_of_step_7_has_the_code_of_its_page(wrong: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(Edit(7, *wrong).source(), encoding="utf-8")
    report = check_file(KernelRef(path, "hgemm_v7"), shape=(512, 512, 256), sms=4, trace=False).report
    assert report.findings[0].code == BLANKS[wrong]
    assert BLANKS[wrong] in page(7).partition("`check` tests each blank")[2].partition("\n\n")[0]


def test_at_1024_most_of_the_time_of_step_8_is_around_its_loop() -> None:
    """The page of solutions says why a fourth stage gains little there."""
    bound = traced(8, (1024, 1024, 1024)).report.bound
    assert bound is not None and "take most of the time" in solutions()
    assert sum(share.share for share in bound.shares if share.resource in (Resource.LAUNCH, Resource.WRITE_BACK)) > 0.5
