"""A failing step test names the command that shows the time of the kernel, and the command works."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tirx_mini.__main__ import main

ROOT = Path(__file__).parents[2]


def failing(kernels: Path, step: int, *options: str) -> str:
    """The output of a step test that fails."""
    test = f"tests/test_step{step:02}.py"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test, "--target", "sim"]
    result = subprocess.run(
        [*command, "--kernels", str(kernels), "--sizes", "1024", *options], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


def command_in(output: str) -> list[str]:
    (line,) = (line for line in output.splitlines() if line.strip().startswith("python -m tirx_mini trace"))
    return shlex.split(line)[3:]


def test_a_kernel_that_hangs_is_opened_by_the_command_that_its_test_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = tmp_path / "mine.py"
    kernels.write_text(Edit(7, "tma2mma.init(1)", "tma2mma.init(2)").source(), encoding="utf-8")
    output = failing(kernels, 7, "--sms", "4", "--seed", "3")
    assert "To see what each warp waits for:" in output
    command = command_in(output)
    assert command[1:] == [f"{kernels}:hgemm_v7", *"--shape 1024,1024,1024 --sms 4 --seed 3 -o step07.html".split()]
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    assert (tmp_path / "step07.html").is_file()


def test_a_kernel_that_is_too_slow_is_opened_by_the_command_that_its_test_names(tmp_path: Path) -> None:
    kernels = tmp_path / "mine.py"
    kernels.write_text(Edit(7, "PIPE_DEPTH = 2", "PIPE_DEPTH = 1").source(), encoding="utf-8")
    output = failing(kernels, 7)
    assert "To see where its time goes:" in output
    assert command_in(output)[-1] == "step07.html"
