"""`handin` writes the tar that the grader reads, and prints what `grade` prints of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.commands import run_command
from tirx_mini.grading import read_handin

SKELETON = Path(__file__).parents[3] / "gemm_kernels.py"


def test_the_file_of_this_folder_is_written_and_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemm_kernels.py").write_bytes(SKELETON.read_bytes())
    assert run_command("handin", []) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("handin.tar: gemm_kernels.py from gemm_kernels.py, ")
    assert "0 of 100 points" in printed
    assert read_handin(tmp_path / "handin.tar").source == SKELETON.read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"gemm_kernels.py", "handin.tar"}


def test_another_file_and_another_tar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text("def hgemm_v1(M, N, K, dtype='float16'): ...\n")
    out = tmp_path / "mine.tar"
    assert run_command("handin", [str(tmp_path / "mine.py"), "-o", str(out), "--no-score"]) == 0
    assert "mine.tar: gemm_kernels.py from " in "".join(capsys.readouterr().out.splitlines())
    assert read_handin(out).file == "gemm_kernels.py"


@pytest.mark.parametrize(
    ("data", "said"), [(None, "does not exist"), (b"\xff", "mine.py:1 is not in UTF-8; save the file as UTF-8")]
)
def test_a_file_that_the_grader_cannot_read_is_not_packed(
    data: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if data is not None:
        (tmp_path / "mine.py").write_bytes(data)
    assert run_command("handin", [str(tmp_path / "mine.py"), "-o", str(tmp_path / "handin.tar")]) == 2
    assert said in capsys.readouterr().out
    assert not (tmp_path / "handin.tar").exists()
