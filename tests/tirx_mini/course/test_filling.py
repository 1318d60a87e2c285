"""The reference's code stands for the open TODOs of a step, so that a check can judge those that are filled in."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Collection
from pathlib import Path

import pytest

from tirx_mini.commands import run_command
from tirx_mini.course import (
    STEPS,
    KernelRef,
    check_file,
    code_of,
    filling,
    hints_of,
    load_kernel,
    load_kernels,
    matched,
    todos_in,
)
from tirx_mini.grading.canonical import kernel_key
from tirx_mini.hardware import BLACKWELL, HOPPER
from tirx_mini.passes import lower

ROOT = Path(__file__).parents[3]
LADDERS = {architecture.kernels: architecture for architecture in (BLACKWELL, HOPPER)}


def written(folder: Path, arch: str, step: int, numbers: Collection[int]) -> Path:
    """A student's file in which TODOs of a step are filled in with the code of hint 3."""
    name = LADDERS[arch].student_file
    text = (ROOT / name).read_text(encoding="utf-8")
    lines, hints = text.splitlines(), hints_of(step, arch)
    for number, todo in sorted(matched(hints, todos_in(text)[step]).items(), reverse=True):
        if number in numbers:
            dots = lines[todo.dots - 1]
            code = textwrap.dedent(code_of(hints[number - 1], hints, step, arch))
            lines[todo.dots - 1] = textwrap.indent(code, dots[: len(dots) - len(dots.lstrip())])
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arch", "step"), [(arch, step) for arch in LADDERS for step in STEPS if len(hints_of(step, arch)) > 1]
)
def test_with_any_of_its_todos_filled_in_a_step_is_the_reference(arch: str, step: int, tmp_path: Path) -> None:
    count = len(hints_of(step, arch))
    rng = random.Random(step)
    numbers = rng.sample(range(1, count + 1), rng.randrange(1, count))
    path, name = written(tmp_path, arch, step, numbers), f"hgemm_v{step}"
    filled = filling(path, name)
    assert filled is not None and filled.yours == f"{len(numbers)} of {count} yours"
    kernel = load_kernel(KernelRef(path, name), stand_ins=filled.by_line)
    reference = load_kernels(ROOT / "kernels_ref", arch)[step](*STEPS[step].shapes[0])
    assert kernel_key(lower(kernel)) == kernel_key(lower(reference))


@pytest.mark.parametrize("numbers", [(), range(1, 7)])
def test_a_step_that_is_not_begun_or_is_finished_is_not_filled_in(numbers: Collection[int], tmp_path: Path) -> None:
    assert filling(written(tmp_path, "sm100", 5, numbers), "hgemm_v5") is None


def test_a_todo_that_is_begun_is_the_readers(tmp_path: Path) -> None:
    path = written(tmp_path, "sm100", 5, [1, 2])
    assert filling(path, "hgemm_v5") is not None
    lines = path.read_text(encoding="utf-8").splitlines()
    dots = next(iter(filling(path, "hgemm_v5").open.values())).dots  # type: ignore[union-attr]
    lines.insert(dots - 1, lines[dots - 1].replace("...", "mine = 0"))
    path.write_text("\n".join(lines), encoding="utf-8")
    assert filling(path, "hgemm_v5") is None


def test_other_files_and_names_are_not_filled_in(tmp_path: Path) -> None:
    path = written(tmp_path, "sm100", 5, [1])
    assert filling(path, "kernel") is None and filling(path, "") is None
    assert filling(tmp_path / "missing.py", "hgemm_v5") is None


def test_a_finding_in_code_that_stands_for_a_todo_names_the_todo_and_does_not_quote_it(tmp_path: Path) -> None:
    path = written(tmp_path, "sm100", 1, [1, 2, 3, 4, 6, 7])
    text = path.read_text(encoding="utf-8").replace("init(mma_bar.ptr_to([0]), 1)", "init(mma_bar.ptr_to([0]), 2)", 1)
    path.write_text(text, encoding="utf-8")
    checked = check_file(KernelRef(path, "hgemm_v1"), fill=True)
    first = checked.report.findings[0]
    assert checked.report.verdict == "deadlock" and checked.report.yours == "6 of 7 yours"
    page = first.diagnostic.render()
    assert "is TODO 5, for which the reference's code stands" in page
    assert "try_wait(mma_bar" not in page and "kernels_ref" not in page


def test_check_and_trace_fill_in_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ref = f"{written(tmp_path, 'sm100', 2, [2, 3])}:hgemm_v2"
    assert run_command("check", [ref]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("step 2: 2 of 5 yours; the reference's code stands for TODOs 1 (line ")
    assert "hgemm_v2: ok so far: 2 of 5 yours" in said
    assert run_command("trace", [ref]) == 0
    assert "hgemm_v2 on B200, 2 of 5 yours" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert run_command("trace", [ref, "-o", str(page)]) == 0
    assert "hgemm_v2 · 2 of 5 yours" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    for command in ("check", "trace"):
        assert run_command(command, [ref, "--no-fill"]) == 1
        assert "TX402" in "".join(capsys.readouterr())
