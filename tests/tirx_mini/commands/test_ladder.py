"""``python -m tirx_mini ladder``: its table, its files, and bad input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tirx_mini.__main__ import main
from tirx_mini.commands.ladder_table import ladder_table
from tirx_mini.course import STEPS, Row, Task, with_timelines

ROOT = Path(__file__).parents[3]
REFERENCES = ROOT / "kernels_ref"


@pytest.mark.parametrize(("verdict", "time_us"), [("deadlock", 123456.7), ("incomplete", 1234.5), ("clock", 3256.1)])
def test_the_table_fits_80_columns(verdict: str, time_us: float) -> None:
    rows = [
        Row(step, shape, verdict, 12, 0.125, 0.125, time_us, 1234.5, 0.55, 123.4)
        for step in STEPS
        for shape in (*STEPS[step].all_shapes(full=True), *STEPS[step].clock_shapes())
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


def test_a_kernel_that_is_not_wholly_modelled_has_a_status_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function of CUDA that returns nothing: the result is right as far as anybody knows."""
    path = tmp_path / "mine.py"
    text = (REFERENCES / "sm100" / "step01_single_tile.py").read_text(encoding="utf-8")
    sync = "            Tx.cuda.cta_sync()\n"
    path.write_text(text.replace(sync, f'{sync}            Tx.cuda.func_call("note", source_code="")\n', 1))
    assert main(["ladder", "--steps", "1", "--kernels", str(path)]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "1 128x128x64 incomplete 1 0.0" in out and "does not model the CUDA function note" in out


def test_a_run_ends_at_the_budget_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--steps", "1", "--jobs", "1", "--kernels", str(REFERENCES), "--budget", "201"]
    assert main(["ladder", *options]) == 3
    assert "its budget of 201 iterations" in " ".join(capsys.readouterr().out.split())


def test_a_large_size_is_predicted_and_the_caption_says_what_that_means(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--steps", "10", "--size", "4096", "--sms", "148", "--jobs", "1", "--kernels", str(REFERENCES)]
    assert main(["ladder", *options]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "10 4096 clock 0 – " in out and "clock: the time alone; values and hazards are not checked" in out


def test_a_missing_kernel_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "--kernels", str(tmp_path / "none.py")]) == 2
    assert "none.pydoesnotexist" in "".join(capsys.readouterr().out.split())  # the line may break anywhere


def test_an_unknown_gpu_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "--gpu", "b1000", "--kernels", str(REFERENCES)]) == 2
    assert "unknown GPU 'b1000'" in capsys.readouterr().out


def test_a_row_that_is_not_ok_fails_the_command_and_shows_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "--steps", "1", "--kernels", str(ROOT / "gemm_kernels.py")]) == 1
    out = capsys.readouterr().out
    assert "fault" in out
    assert "is not filled in" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "99"], f"argument --steps: step 99 does not exist; the steps are 1 to {max(STEPS)}"),
        (["--size", "0"], "argument --size: '0' is not a positive number"),
    ],
)
def test_a_wrong_argument_is_explained(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["ladder", *arguments])
    assert words in capsys.readouterr().err


def test_why_and_what_if_say_more_of_each_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.json"
    options = ["--steps", "1,7", "--size", "256", "--jobs", "1", "--kernels", str(REFERENCES), "--json", str(path)]
    assert main(["ladder", *options, "--why", "--what-if", "PIPE_DEPTH=1"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    assert "What bounds each step" in said and "a loop over K" in said
    assert "step 7, 256: what if PIPE_DEPTH = 1 (now 2): " in said and "step 1, " not in said
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 2 and all(row["why"] for row in rows)


def test_a_constant_that_no_step_has_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "--steps", "7", "--kernels", str(REFERENCES), "--what-if", "DEPTH=1"]) == 2
    assert "hgemm_v7 has no constant DEPTH; it has BLK_K = 64" in " ".join(capsys.readouterr().out.split())


def test_trace_writes_the_timeline_of_each_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "timelines"
    options = ["--steps", "1,7", "--size", "128", "--sms", "4", "--jobs", "1", "--kernels", str(REFERENCES)]
    assert main(["ladder", *options, "--trace", str(folder), "--trace-as", ".txt"]) == 0
    assert "wrote 2 timelines to" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["step01.txt", "step07.txt"]
    assert (folder / "step07.txt").read_text(encoding="utf-8").startswith("hgemm_v7 on B200")


def test_timelines_of_one_step_at_several_shapes_have_names_of_their_own(tmp_path: Path) -> None:
    tasks = [Task(REFERENCES, 7, shape) for shape in ((256, 256, 256), (512, 512, 512), (4096, 4096, 4096))]
    names = [task.timeline and task.timeline.name for task in with_timelines(tasks, tmp_path)]
    assert names == ["step07_256x256x256.html", "step07_512x512x512.html", None]


def test_a_file_is_no_folder_for_timelines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").touch()
    assert main(["ladder", "--steps", "1", "--kernels", str(REFERENCES), "--trace", str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'x'} is a file: name a folder\n"
