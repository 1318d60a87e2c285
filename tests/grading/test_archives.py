"""Hostile archives: each is refused in a sentence, at once, and nothing of it is written anywhere."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tirx_mini.grading import HandInError, read_handin

SOURCE = b"def hgemm_v1(M, N, K, dtype='float16'): ...\n"
GOOD = "gemm_kernels.py"
Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, data: bytes = SOURCE, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = -1) -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data) if size < 0 else size
    return info, data


def tar(*members: Member, form: int = tarfile.GNU_FORMAT) -> bytes:
    """An archive as its headers say, also where they lie."""
    blocks = [info.tobuf(form) + data + bytes(-len(data) % 512) for info, data in members]
    return b"".join(blocks) + bytes(1024)


def sparse() -> bytes:
    """A member of 10 GB, of which one block is stored, in GNU's old format."""
    info = tarfile.TarInfo(GOOD)
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 512
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (0, 512)
    header[483:495] = b"\x80" + (10 << 30).to_bytes(11, "big")
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header[:512])
    return bytes(header) + SOURCE.ljust(512, b"#") + bytes(1024)


def pax(**records: str) -> bytes:
    info = tarfile.TarInfo(GOOD)
    info.size, info.pax_headers = len(SOURCE), dict(records)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(SOURCE))
    return out.getvalue()


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "outside": (lambda: tar(member(f"../{GOOD}")), r"has a member outside of its folder, ../gemm_kernels.py"),
    "outside within": (lambda: tar(member(f"a/../../{GOOD}")), "has a member outside of its folder"),
    "absolute": (lambda: tar(member(f"/tmp/{GOOD}")), "has a member outside of its folder"),
    "a link": (lambda: tar(member(GOOD, b"", tarfile.SYMTYPE, "/etc/passwd")), "gemm_kernels.py in .* is a link"),
    "a hard link": (lambda: tar(member(GOOD, b"", tarfile.LNKTYPE, "/etc/passwd")), "is a link"),
    "a link to a folder": (
        lambda: tar(member("a", b"", tarfile.SYMTYPE, "/tmp"), member(f"a/{GOOD}")), "a in handin.tar is a link"
    ),
    "a device": (lambda: tar(member(GOOD, b"", tarfile.CHRTYPE)), "is not a plain file"),
    "a pipe": (lambda: tar(member(GOOD, b"", tarfile.FIFOTYPE)), "is not a plain file"),
    "sparse, 10 GB": (sparse, "is not a plain file|is not a tar that can be read"),
    "10 GB that are not there": (lambda: tar(member(GOOD, size=10 << 30)), "more than 1 MiB|can be read"),
    "10 GB before it": (lambda: tar(member("a", b"", size=10 << 30), member(GOOD)), "has no gemm|can be read"),
    "two of them": (lambda: tar(member(GOOD), member(GOOD)), "has 2 members gemm_kernels.py"),
    "two in folders": (lambda: tar(member(f"a/{GOOD}"), member(f"b/{GOOD}")), "has a/gemm_kernels.py and b/"),
    "for two GPUs": (lambda: tar(member(GOOD), member("gemm_kernels_sm90.py")), "hand in one of them"),
    "another name": (lambda: tar(member("kernels.py")), "has no gemm_kernels.py or gemm_kernels_sm90.py"),
    "a folder of the name": (lambda: tar(member(GOOD, b"", tarfile.DIRTYPE)), "has no gemm_kernels.py"),
    "not UTF-8": (lambda: tar(member(GOOD, b"x = '\xe9'\n")), "gemm_kernels.py:1 is not in UTF-8"),
    "UTF-7": (lambda: tar(member(GOOD, b"# coding: utf-7\n+AGEAYgBj-")), "says another encoding than UTF-8"),
    "2 MB": (lambda: tar(member(GOOD, b"#" * (2 << 20))), "has more than 1 MiB"),
    "many members": (lambda: tar(*[member(f"{number}") for number in range(2000)]), "has more than 1000 members"),
    "a name that is no text": (lambda: tar(member("\x1b[2J\u202e/../x")), "has a member outside of its folder"),
    "a pickle": (lambda: pickle.dumps(os.system), "is not a tar that can be read"),
    "a bomb": (lambda: gzip.compress(bytes(80 << 20), 1), "has more than 64 MiB when it is unpacked"),
    "two bombs": (lambda: gzip.compress(gzip.compress(bytes(1 << 20))), "is not a tar that can be read"),
    "a path of its own": (lambda: pax(path="/etc/cron.d/gemm_kernels.py"), "has a member outside of its folder"),
    "a size of its own": (lambda: pax(size="99999999999999999999"), "can be read|more than 1 MiB"),
    "nothing": (lambda: b"", "is not a tar that can be read"),
    "zeros": (lambda: bytes(10240), "has no gemm_kernels.py"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_archive_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    make, said = REFUSED[name]
    path = tmp_path / "handin.tar"
    path.write_bytes(make())
    begun = time.process_time()
    with pytest.raises(HandInError, match=said) as error:
        read_handin(path)
    assert time.process_time() - begun < 5
    assert str(error.value).isprintable()
    assert list(tmp_path.iterdir()) == [path]


def test_a_sparse_file_of_10_gb_is_not_read(tmp_path: Path) -> None:
    for name in ("handin.tar", "gemm_kernels.py"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(10 << 30)
        with pytest.raises(HandInError, match="has more than"):
            read_handin(tmp_path / name)


@pytest.mark.parametrize("mtime", ["inf", "nan", "-5", "1e300"])
def test_a_time_that_cannot_be_is_none(mtime: str, tmp_path: Path) -> None:
    (tmp_path / "handin.tar").write_bytes(pax(mtime=mtime))
    assert read_handin(tmp_path / "handin.tar").modified is None


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "handin.tar")
    with pytest.raises(HandInError, match="is not a file"):
        read_handin(tmp_path / "handin.tar")
    with pytest.raises(HandInError, match=r"has no handin.tar"):
        read_handin(tmp_path)
