"""The ladder: its steps and sizes, where kernels are found, what a row says, and the table."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tirx_mini.__main__ import main
from tirx_mini.commands import parse_steps
from tirx_mini.commands.ladder_table import ladder_table
from tirx_mini.course import (
    STEPS,
    KernelFileError,
    Row,
    Task,
    load_kernels,
    run_task,
    shape_text,
)
from tirx_mini.ir import TirxError

ROOT = Path(__file__).parents[3]
REFERENCES = ROOT / "kernels_ref"


@pytest.mark.parametrize(
    ("text", "steps"), [("3", (3,)), ("1-3", (1, 2, 3)), ("7,1-2,2", (1, 2, 7)), ("1-10", tuple(range(1, 11)))]
)
def test_lists_of_steps(text: str, steps: tuple[int, ...]) -> None:
    assert parse_steps(text) == steps


@pytest.mark.parametrize("text", ["", "x", "0", "11", "3-", "3-1", "1;2"])
def test_what_is_no_list_of_steps(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        parse_steps(text)


def test_a_size_sets_the_dimensions_that_a_step_leaves_free() -> None:
    assert STEPS[1].shape(512) == (128, 128, 64)
    assert STEPS[2].shape(512) == (128, 128, 512)
    assert STEPS[3].shape(512) == (512, 512, 512)


def test_the_assignments_sizes() -> None:
    assert [shape[2] for shape in STEPS[2].shapes] == [64, 512, 1024, 4096]
    assert [shape_text(shape) for shape in STEPS[3].shapes] == ["256", "512", "1024", "2048"]
    assert [shape_text(shape) for shape in STEPS[10].all_shapes(full=True)] == ["1024", "2048", "4096", "8192"]


def test_references_and_skeletons_have_every_step() -> None:
    assert list(load_kernels(REFERENCES)) == list(STEPS)
    assert list(load_kernels(ROOT / "gemm_kernels.py")) == list(STEPS)


def test_a_kernel_file_can_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "my_tiles.py").write_text("STEP = 4\n")
    (tmp_path / "mine.py").write_text("import my_tiles\n\ndef hgemm_v4(M, N, K):\n    return my_tiles.STEP\n")
    assert list(load_kernels(tmp_path / "mine.py")) == [4]


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "there is no kernel file"), ("x = 1\n", "defines no hgemm_v1"), ("def f(:\n", "mine.py:1")],
)
def test_a_file_that_has_no_kernels(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(KernelFileError, match=words):
        load_kernels(path)


MISTAKES = {
    "layout = tma_shared_layout('float16', SwizzleMode.SWIZZLE_128B_ATOM, (128,))": "and (128,) has no two dimensions",
    "layout = tma_shared_layout('float16', (128, 64))": "TypeError: tma_shared_layout() missing 1 required",
    "tile = TileLyout(S[128, 64])": "NameError: name 'TileLyout' is not defined",
    "assert M > 1 << 40, 'too small'": "AssertionError: too small",
    "raise NotImplementedError": "this kernel is not written yet",
}
"""Python statements around a kernel, and what is said of them."""

LAYOUTS = "from tirx_mini.layout import S, SwizzleMode, TileLayout, tma_shared_layout\n"


@pytest.fixture(params=MISTAKES)
def mistake(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, MISTAKES[request.param]


def assert_page(page: str, path: Path, line: int, mistake: tuple[str, str]) -> None:
    statement, words = mistake
    assert words in page and f"{path}:{line}:" in page and statement in page and "Traceback" not in page


def test_a_mistake_in_a_factory_is_a_page_with_its_line(tmp_path: Path, mistake: tuple[str, str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{LAYOUTS}\n\ndef hgemm_v4(M, N, K, dtype='float16'):\n    {mistake[0]}\n")
    with pytest.raises(TirxError) as caught:
        load_kernels(path)[4](128, 128, 64)
    assert_page(str(caught.value), path, 5, mistake)
    row = run_task(Task(path, 4, (128, 128, 64)))
    assert row.verdict == "fault"
    assert_page(row.detail, path, 5, mistake)


def test_a_mistake_in_a_file_is_a_page_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mistake: tuple[str, str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{LAYOUTS}M = 1\n{mistake[0]}\n\ndef hgemm_v4(M, N, K):\n    pass\n")
    assert main(["ladder", "--kernels", str(path)]) == 1
    assert_page(capsys.readouterr().out, path, 3, mistake)


def test_a_failure_inside_the_package_keeps_its_traceback(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from tirx_mini.course import load_kernels\n\ndef hgemm_v4(M, N, K):\n    load_kernels(M)\n")
    with pytest.raises(TypeError):
        load_kernels(path)[4](128, 128, 64)


def test_a_row_that_is_ok() -> None:
    row = run_task(Task(REFERENCES, 1, (128, 128, 64)))
    assert (row.verdict, row.findings, row.detail) == ("ok", 0, "")
    assert row.max_abs_error is not None and 0 < row.max_abs_error < 0.02
    assert row.time_us is not None and row.time_us > 0
    assert row.tflops == pytest.approx(2 * 128 * 128 * 64 / row.time_us / 1e6)


def test_a_shape_that_the_tiles_do_not_cover_is_refused() -> None:
    row = run_task(Task(REFERENCES, 3, (256, 200, 128)))
    assert row.verdict == "refused"
    assert row.detail == "hgemm_v3 needs N to be a multiple of 128, and N is 200"


def test_an_unfilled_skeleton_is_a_fault_that_names_the_todo() -> None:
    skeleton = ROOT / "gemm_kernels.py"
    row = run_task(Task(skeleton, 1, (128, 128, 64)))
    assert row.verdict == "fault"
    line = next(n for n, text in enumerate(skeleton.read_text().splitlines(), 1) if "# TODO" in text)
    assert f"TODO at line {line} is not filled in" in row.detail


def test_a_wrong_result_is_not_ok(tmp_path: Path) -> None:
    source = (REFERENCES / "sm100" / "step03_tiling.py").read_text()
    (tmp_path / "mine.py").write_text(source.replace("B[n_st : n_st", "B[m_st : m_st"))
    row = run_task(Task(tmp_path / "mine.py", 3, (256, 256, 64)))
    assert row.verdict == "wrong"
    assert "differs from A @ B.T" in row.detail


def test_the_table_fits_80_columns() -> None:
    rows = [
        Row(step, shape, "deadlock", 12, 0.125, 0.125, 123456.7, 1234.5, 0.55, 123.4)
        for step in STEPS
        for shape in STEPS[step].all_shapes(full=True)
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(ladder_table(rows, "b200"))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "128x128x4096" in text


def test_the_command_writes_one_object_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.json"
    options = ["--steps", "1-2", "--size", "128", "--jobs", "1", "--kernels", str(REFERENCES), "--json", str(path)]
    status = main(["ladder", *options])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert status == 0
    assert [(row["step"], row["shape"], row["verdict"]) for row in rows] == [
        (1, [128, 128, 64], "ok"),
        (2, [128, 128, 128], "ok"),
    ]
    assert "128x128x64" in capsys.readouterr().out


def test_the_command_says_what_it_cannot_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "--kernels", str(tmp_path / "none.py")]) == 2
    assert "there is no kernel file" in capsys.readouterr().out


def test_the_command_says_which_gpus_it_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "--gpu", "b1000", "--kernels", str(REFERENCES)]) == 2
    assert "unknown GPU 'b1000'" in capsys.readouterr().out


def test_a_row_that_is_not_ok_fails_the_command_and_shows_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "--steps", "1", "--kernels", str(ROOT / "gemm_kernels.py")]) == 1
    out = capsys.readouterr().out
    assert "fault" in out
    assert "is not filled in" in out
