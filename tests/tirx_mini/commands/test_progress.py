"""``python -m tirx_mini progress``: the table, its JSON, and bad input."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tests.kernels_ref.skeletons import ROOT, filled_in
from tirx_mini.__main__ import main
from tirx_mini.commands.progress import progress_table
from tirx_mini.course import STEPS, Standing, State


@pytest.fixture
def one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which step 1 is done, and step 2 does not build."""
    text = filled_in("sm100", [1, 2]).replace("accum=(k != 0), dispatch", "accum=(kk != 0), dispatch", 1)
    (tmp_path / "gemm_kernels.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("state", State)
def test_the_table_fits_80_columns(state: State) -> None:
    codes = ("TX107", "TX201", "TX202")
    rows = [Standing(step, state, 1234, 12, 12, codes, (2048,) * 3, 1234.5, 1000.1) for step in STEPS]
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(progress_table(rows))
    text = console.export_text()
    assert max(map(len, map(str.rstrip, text.splitlines()))) <= 80 and "…" not in text
    assert "TX107 +2" in text and "123%" in text and "12/12" in text


def test_the_command_prints_the_table_and_what_is_next(one_step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["progress", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("gemm_kernels.py, on a modelled B200: 1 of 10 steps are right and fast\n")
    lines = [line.split() for line in out.splitlines()]
    assert ["1", "single", "tile", "right", "and", "fast", "1/1", "0.41", "100%"] in lines
    assert ["2", "K", "loop", "does", "not", "build", "TX403"] in lines
    assert ["3", "tiling", "not", "begun"] in lines
    check = "python -m tirx_mini check gemm_kernels.py:hgemm_v2 --shape 128,128,64"
    assert out.endswith(f"\nnext: see why step 2 does not build:\n\n    {check}\n")


def test_the_table_is_also_json(one_step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["progress", "--jobs", "1", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert "right and fast" in captured.err
    data = json.loads(captured.out)
    assert (data["file"], data["gpu"], data["problem"], data["next"]["step"]) == ("gemm_kernels.py", "b200", "", 2)
    assert [step["state"] for step in data["steps"]] == ["right and fast", "does not build"] + ["not begun"] * 8
    assert data["steps"][0]["shape"] == [128, 128, 64] and data["steps"][0]["share"] == 1
    assert "kk" in data["steps"][1]["detail"] and data["steps"][1]["failing"] == "128x128x64"
    path = one_step / "out.json"
    assert main(["progress", "--jobs", "1", "--json", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == data


def test_a_file_that_cannot_be_loaded_is_shown_with_the_reason(
    one_step: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = one_step / "gemm_kernels.py"
    path.write_text(path.read_text(encoding="utf-8") + "import nothing_like_this\n", encoding="utf-8")
    assert main(["progress"]) == 0
    out = capsys.readouterr().out
    assert out.count("not loaded") == 2 and "nothing_like_this" in out
    assert out.endswith("next: correct the mistake that keeps the file from being loaded, and run this again.\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.py"], "the kernel file none.py does not exist"),
        (["."], ". is a folder; name the file that you fill in"),
        (["--gpu", "h100"], "the kernels in gemm_kernels.py are for sm_100a, and H100 is a GPU of sm_90a"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], words: str, one_step: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["progress", *arguments]) == 2
    assert capsys.readouterr().out == f"error: {words}\n"


def test_the_skeleton_needs_no_pytorch() -> None:
    program = (
        "import sys; sys.modules['torch'] = None; from tirx_mini.__main__ import main; sys.exit(main(['progress']))"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
