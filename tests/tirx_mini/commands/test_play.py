"""The command `play`: its arguments, its sentences, and its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tirx_mini.commands.play import main

ROOT = Path(__file__).parents[3]


def test_without_the_extra_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert main([]) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith("error: play needs starlette: run `pip install") and "[play]" in said and said.count("\n") == 1
    )


@pytest.mark.parametrize(("arguments", "said"), [
    (["nothing.py"], "does not exist"), (["."], "is a folder"), (["latin.py"], "is not a text in UTF-8"),
])  # fmt: skip
def test_a_file_that_cannot_be_edited_is_said(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.py").write_bytes(b"# \xe4\n")
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--port", "x"], ["--port", "70000"], ["--allow-host", "http://a"]])
def test_a_bad_argument_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "is not" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "said"), [
    (["k.py", "--grid", "8"], "--grid is for kernels of CUDA C++ and PTX"),
    (["k.py", "-D", "N=4"], "--define is for kernels of CUDA C++ and PTX"),
    (["k.py", "--gpu", "h100"], "--gpu is for --export: the page has its own"),
    (["k.cu:scale<float>", "--size", "512"], "k.cu:scale<float> has the arguments of its launch: leave out --size"),
])  # fmt: skip
def test_an_option_of_other_kernels_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_it_serves_a_scratch_copy_until_ctrl_c_and_leaves_nothing(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "tirx_mini", "play", "--no-browser"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    work = tmp_path / "work"
    work.mkdir()
    process = subprocess.Popen(
        command, cwd=work, env=env, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.match(r"Ctrl-C ends the server of scratch\.py at (http://127\.0\.0\.1:\d+/)#token=([0-9a-f]{64})$", line)
    assert match is not None, line
    with urllib.request.urlopen(match[1]) as answer:
        assert b"<!doctype html>" in answer.read()[:100]
    request = urllib.request.Request(f"{match[1]}session", headers={"Authorization": f"Bearer {match[2]}"})
    with urllib.request.urlopen(request) as answer:
        assert b"hgemm_v1" in answer.read()
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert list(work.iterdir()) == [] and list(temporary.iterdir()) == []
