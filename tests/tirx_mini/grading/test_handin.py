"""A hand-in is one file of kernels; whatever else is in an archive is refused in a sentence, and nothing is written."""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tirx_mini.grading import MOST_MEMBERS, HandIn, HandInError, packed, read_handin

SOURCE = "def hgemm_v1(M, N, K, dtype='float16'): ...\n"


def member(name: str, data: bytes | str = SOURCE, **changes: object) -> tuple[tarfile.TarInfo, bytes]:
    data = data.encode() if isinstance(data, str) else data
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), 1_700_000_000
    for key, value in changes.items():
        setattr(info, key, value)
    return info, data


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(HandInError) as error:
        read_handin(path)
    (line,) = str(error.value).splitlines()
    assert line.isprintable()
    return line


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "gemm_kernels.py"
    path.write_text(SOURCE)
    os.utime(path, (5, 5))
    handin = read_handin(path)
    assert handin == HandIn("gemm_kernels.py", "gemm_kernels.py", SOURCE, 5.0)
    assert len(handin.digest) == 64


@pytest.mark.parametrize("name", ["gemm_kernels.py", "./gemm_kernels.py", "work/gemm_kernels.py"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_tar(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    path = tar(tmp_path / "handin.tar", member("work/._gemm_kernels.py", b"\xff"), member(name))
    path.write_bytes(pack(path.read_bytes()))
    assert read_handin(path) == HandIn("handin.tar", "gemm_kernels.py", SOURCE, 1_700_000_000.0)


def test_a_folder(tmp_path: Path) -> None:
    assert "no handin.tar and no gemm_kernels.py" in refusal(tmp_path)
    tar(tmp_path / "handin.tar", member("gemm_kernels_sm90.py"))
    assert read_handin(tmp_path).file == "gemm_kernels_sm90.py"
    (tmp_path / "gemm_kernels.py").write_text(SOURCE)
    assert refusal(tmp_path).endswith("has handin.tar and gemm_kernels.py; leave one of them")


@pytest.mark.parametrize("name", ["handin/gemm_kernels.py", "gemm_kernels (1).py", "a/b/Handin-1.tar", "mine.PY"])
def test_a_folder_has_its_only_file_anywhere_and_under_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(HandIn("x", "gemm_kernels.py", SOURCE)) if path.suffix == ".tar" else SOURCE.encode())
    for other in ("readme.txt", ".git/gemm_kernels.py", "__MACOSX/handin/gemm_kernels.py", "handin/._gemm_kernels.py"):
        (tmp_path / other).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / other).write_bytes(b"\xff")
    assert read_handin(tmp_path).source == SOURCE
    (tmp_path / "other.py").write_text(SOURCE)
    if path.name != "gemm_kernels.py":
        assert re.search(r" has .* and .*; leave one of them$", refusal(tmp_path))


def test_a_folder_with_very_many_files_is_refused(tmp_path: Path) -> None:
    for number in range(MOST_MEMBERS + 1):
        (tmp_path / f"{number}.txt").touch()
    assert refusal(tmp_path).endswith("has more than 1000 files; leave the one that was handed in")


def test_a_time_that_no_tar_can_store_is_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    os.utime(path, (1 << 35, 1 << 35))
    assert read_handin(path).modified is None and packed(read_handin(path))


def test_a_link_in_a_folder_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(SOURCE)
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "gemm_kernels.py").symlink_to(tmp_path / "other.py")
    assert "has no handin.tar" in refusal(tmp_path / "alice")


def test_a_file_with_another_name_is_for_the_gpu_of_its_instructions(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "hopper.py").write_text(SOURCE + "Tx.ptx.wgmma.fence()\n")
    assert read_handin(tmp_path / "mine.py").file == "gemm_kernels.py"
    assert read_handin(tmp_path / "hopper.py").file == "gemm_kernels_sm90.py"


def test_the_mark_of_windows_editors_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "gemm_kernels.py").write_text(SOURCE, encoding="utf-8-sig")
    assert read_handin(tmp_path / "gemm_kernels.py").source == SOURCE


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"x = 1\ny = '\xff'\n", "gemm_kernels.py:2 is not in UTF-8; save the file as UTF-8"),
        (b"\xff\xfex\0", "gemm_kernels.py:1 is not in UTF-8; save the file as UTF-8"),
        (b"# coding: utf-7\nx = 1\n", "has a comment that says another encoding than UTF-8; remove it"),
        (b"# coding: nonsense\n", "has a comment that says another encoding than UTF-8; remove it"),
        (b"x = 1\n\0", "gemm_kernels.py:2 has a NUL character; remove it"),
        (b" \n", "gemm_kernels.py is empty"),
        (b"#" * (1 << 21), "gemm_kernels.py has more than 1 MiB; hand in the file of your kernels only"),
    ],
)  # fmt: skip
def test_texts_that_are_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "gemm_kernels.py"
    path.write_bytes(data)
    assert refusal(path).endswith(said)
    assert refusal(tar(tmp_path / "handin.tar", member("gemm_kernels.py", data))).endswith(said)


def test_what_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "handin.tar").endswith("does not exist")


def test_what_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "handin.tar"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "is a ZIP archive, and a tar is expected" in refusal(path)
    path.write_bytes(b"nonsense" * 100)
    assert "is not a tar that can be read" in refusal(path)
    path.write_bytes(gzip.compress(bytes(3000))[:20])
    assert "is not a gzip file that can be read" in refusal(path)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_archives_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    import random

    draw = random.Random(seed)
    path = tar(tmp_path / "handin.tar", member("a/b.txt", "x" * 700), member("gemm_kernels.py"))
    data = bytearray(path.read_bytes()[: draw.choice((4096, 1500, 10240))])
    for _ in range(draw.randrange(1, 30)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    path.write_bytes(data)
    try:
        assert read_handin(path).source
    except HandInError as error:
        assert str(error)


def test_the_tar_of_a_hand_in_is_the_same_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE + "# ü\n", encoding="utf-8")
    os.utime(path, (1_700_000_000.5, 1_700_000_000.5))
    handin = read_handin(path)
    data = packed(handin)
    path.chmod(0o600)
    assert packed(read_handin(path)) == data
    (tmp_path / "handin.tar").write_bytes(data)
    again = read_handin(tmp_path / "handin.tar")
    assert (again.source, again.digest, again.file) == (handin.source, handin.digest, "gemm_kernels.py")
    assert again.modified == 1_700_000_000.0
    with tarfile.open(tmp_path / "handin.tar") as archive:
        (member,) = archive
        assert (member.name, member.uid, member.gid, member.uname, member.mode) == ("gemm_kernels.py", 0, 0, "", 0o644)
