"""Output that cannot be written or shown: the command prints a sentence, has a status, and writes nothing by halves."""

from __future__ import annotations

import errno
import io
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tirx_mini.__main__ import main
from tirx_mini.commands import reported

ROOT = Path(__file__).parents[3]
REFERENCES = str(ROOT / "kernels_ref")
KERNEL = f"{REFERENCES}/sm100/step01_single_tile.py:hgemm_v1"
GRADE = ("grade", "gemm_kernels.py", "--steps", "1")
WRITERS = {
    "check": ("check", KERNEL, "--json", "OUT.json"),
    "ladder": ("ladder", "--kernels", REFERENCES, "--steps", "1", "--json", "OUT.jsonl"),
    "trace": ("trace", KERNEL, "-o", "OUT.html"),
    "inspect": ("inspect", "1", "--kernels", REFERENCES, "-o", "OUT.cu"),
    "tileir": ("tileir", "vector_add", "1024", "-o", "OUT.txt"),
    "progress": ("progress", "--json", "OUT.json"),
    "handin": ("handin", "--no-score", "-o", "OUT.tar"),
    "grade --json": (*GRADE, "--json", "OUT.json"),
    "grade --html": (*GRADE, "--html", "OUT.html"),
    "grade --gradescope": (*GRADE, "--gradescope", "OUT.json"),
}
"""Every command that writes a file, with the words for that."""
FOLDERS = {
    "ladder --trace": ("ladder", "--kernels", REFERENCES, "--steps", "1", "--trace", "OUT"),
    "grade --cache": (*GRADE, "--cache", "OUT"),
    "grade --all": ("grade", "--all", "class", "--out", "OUT"),
}
"""Every command that writes files into a folder."""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has the skeleton, and a folder with the same hand-in."""
    (tmp_path / "class").mkdir()
    for folder in (tmp_path, tmp_path / "class"):
        (folder / "gemm_kernels.py").write_bytes((ROOT / "gemm_kernels.py").read_bytes())
    monkeypatch.chdir(tmp_path)


def called(words: tuple[str, ...], out: str) -> int:
    return main([word.replace("OUT", out) for word in words])


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_a_missing_folder_is_a_sentence_before_the_work(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(words, "none/x") == 2
    printed, name = capsys.readouterr(), f"x{Path(words[-1]).suffix}"
    assert printed.out == ""
    assert printed.err == f"error: there is no folder none for {name}: make it, or name another file\n"


@pytest.mark.parametrize("words", FOLDERS.values(), ids=FOLDERS)
def test_a_folder_that_cannot_be_made_is_a_sentence(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(words, "gemm_kernels.py/x") == 2
    assert capsys.readouterr().err == "error: gemm_kernels.py/x cannot be written: not a directory\n"


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_a_full_disk_is_a_sentence_and_leaves_no_half(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "out").mkdir()
    monkeypatch.setattr(os, "fsync", full)
    assert called(words, "out/x") == 2
    name = f"out/x{Path(words[-1]).suffix}"
    assert capsys.readouterr().err.endswith(f"error: {name} cannot be written: no space left on device\n")
    assert list((tmp_path / "out").iterdir()) == []


def test_timelines_of_rows_in_other_processes_are_written_whole_or_not_at_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By this process: a child is ended by force."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    words = ("ladder", "--kernels", REFERENCES, "--steps", "1-2", "--jobs", "2", "--trace", "OUT")
    assert called(words, "out") == 2
    assert "cannot be written: no space left on device\n" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


# -- standard output ---------------------------------------------------------------------------------------------------

FULL = "error: the output, or a temporary file, cannot be written: no space left on device\n"
PRINTERS = {"rich": ("explain",), "print": ("inspect", "--list-passes"), "argparse": ("ladder", "--help")}


def program(*words: str, stdout: Any) -> tuple[int, str]:
    """The status of a command of its own process, and what it says on standard error."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-m", "tirx_mini", *words], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True,
        env=environment | {"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("words", PRINTERS.values(), ids=PRINTERS)
def test_an_output_that_is_full_is_a_sentence(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", os.fdopen(os.open("/dev/full", os.O_WRONLY), "w"))
    assert main(list(words)) == 2
    assert capsys.readouterr().err == FULL


@pytest.mark.parametrize("words", PRINTERS.values(), ids=PRINTERS)
def test_a_reader_that_closes_the_output_ends_the_command_without_a_word(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``| head`` does."""
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writing, "w"))
    assert main(list(words)) == 141
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_python_has_nothing_to_add_at_the_end_of_the_process() -> None:
    with Path("/dev/full").open("wb") as full:
        assert program("explain", stdout=full) == (2, FULL)
    reading, writing = os.pipe()
    os.close(reading)
    assert program("explain", stdout=writing) == (141, "")
    os.close(writing)


def test_ascii_has_something_for_each_character_of_the_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "ascii"))
    assert main(["check", KERNEL, "--shape", "128,128,64"]) == 0
    assert b" us predicted on B200" in shown.getvalue()


def test_a_character_that_is_not_there_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "ascii"))

    def prints() -> int:
        print("512³ × 2 → 3 µs … é \udcff 语")
        return 0

    assert reported(prints) == 0
    assert shown.getvalue().splitlines() == [rb"512^3 x 2 -> 3 us ... e \udcff \u8bed"]


def test_an_error_that_is_a_mistake_of_the_kit_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> int:
        return len(Path("none").read_text())

    with pytest.raises(FileNotFoundError):
        reported(fails)

    def full() -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/x")

    assert reported(full) == 2
    assert capsys.readouterr().err == "error: /tmp/x cannot be written: no space left on device\n"


def test_without_a_folder_for_temporary_files_a_sentence_names_the_variable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def looks() -> int:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    assert reported(looks) == 2
    assert capsys.readouterr().err.endswith("make room, or name another one in TMPDIR\n")


def test_streams_that_are_closed_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["explain"]) == 0


# -- terminals ---------------------------------------------------------------------------------------------------------

NARROW = (
    ("explain", "TX107"), ("progress", "gemm_kernels.py"), ("inspect", "1", "--kernels", REFERENCES), ("trace", KERNEL),
)  # fmt: skip


@pytest.mark.parametrize("columns", [0, 1, 7])
def test_a_terminal_may_be_as_narrow_as_it_likes(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 0 columns are terminals that do not say how wide they are."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")
    for words in NARROW:
        assert main(list(words)) == 0
        assert capsys.readouterr().out.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="a terminal of its own is made")
def test_a_dumb_terminal_gets_text_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    monkeypatch.setattr(sys, "stdout", os.fdopen(theirs, "w"))
    monkeypatch.setenv("TERM", "dumb")
    assert main(["check", KERNEL, "--shape", "128,128,64"]) == 0
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"no findings" in shown and b"\033" not in shown
