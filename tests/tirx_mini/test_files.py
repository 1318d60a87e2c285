"""A file is there whole or not at all; what cannot be written is a sentence."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
from pathlib import Path

import pytest

from tirx_mini.files import OutputError, no_more_writes, output_file, output_folder, write_whole

posix = pytest.mark.skipif(os.name == "nt", reason="rights, links and devices are those of POSIX")


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.txt", "a ³\n")
    write_whole(tmp_path / "b.tar", b"\x00\xff\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "a ³\n".encode()
    assert (tmp_path / "b.tar").read_bytes() == b"\x00\xff\r\n"


def test_a_name_that_is_no_text_is_spelled(tmp_path: Path) -> None:
    """A file name that is not UTF-8 is in a report as Python reads it: with surrogates, which have no encoding."""
    write_whole(tmp_path / "a.json", json.dumps({"path": "\udcff.py"}, ensure_ascii=False))
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"path": "\udcff.py"}


@posix
def test_a_full_disk_leaves_the_old_file_and_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=re.escape(f"{path} cannot be written: no space left on device")):
        write_whole(path, "new")
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"] and path.read_text() == "old"


@posix
def test_an_interruption_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.txt", "new")
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_new_file_has_usual_rights_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch()
    old.chmod(0o640)
    for path in (new, old):
        write_whole(path, "text")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    usual = tmp_path / "usual"
    usual.touch()
    assert new.stat().st_mode == usual.stat().st_mode


@posix
def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "text"


@posix
def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """Nothing takes the place of /dev/stdout."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(output_file(str(tmp_path / "pipe")), "text")
    assert os.read(reader, 10) == b"text" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_device_that_is_full_is_an_error() -> None:
    with pytest.raises(OutputError, match="/dev/full cannot be written: no space left on device"):
        write_whole(Path("/dev/full"), "text")


def test_a_file_that_cannot_be_there_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for text, sentence in (
        (tmp_path / "none" / "x", f"there is no folder {tmp_path / 'none'} for x: make it, or name another file"),
        (tmp_path / "file" / "x", f"there is no folder {tmp_path / 'file'} for x: make it, or name another file"),
        (tmp_path, f"{tmp_path} is a folder: name a file in it"),
        (tmp_path / ("x" * 300), f"{tmp_path / ('x' * 300)} cannot be written: file name too long"),
    ):
        with pytest.raises(OutputError) as refused:
            output_file(str(text))
        assert str(refused.value) == sentence
    assert output_file(str(tmp_path / "x")) == tmp_path / "x" and output_file(os.devnull) == Path(os.devnull)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(OutputError, match="may not be written to: name a file elsewhere"):
        output_file(str(tmp_path / "x"))


def test_a_folder_is_made_or_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert output_folder(tmp_path / "a" / "b").is_dir()
    with pytest.raises(OutputError, match="is a file: name a folder"):
        output_folder(tmp_path / "file")
    with pytest.raises(OutputError, match="cannot be written: "):
        output_folder(tmp_path / "file" / "x")


def test_at_the_end_of_a_process_no_write_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_mini.files._writing", threading.Lock())
    no_more_writes(0.1)
    no_more_writes(0.01)  # another thread that waits for ever may hold it
    thread = threading.Thread(target=write_whole, args=(tmp_path / "a", "text"), daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive() and list(tmp_path.iterdir()) == []
