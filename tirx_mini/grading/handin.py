"""A hand-in: one file of kernels, alone or in a tar, read in memory without being written or executed."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import tarfile
import tokenize
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

from tirx_mini.course import architecture_in
from tirx_mini.hardware import BLACKWELL, HOPPER, architecture_of
from tirx_mini.records import dataclass

from .text import plain_line

MOST_SOURCE = 1 << 20
"""The maximum size of a file of kernels in bytes."""
MOST_ARCHIVE = 64 << 20
"""The maximum size of an archive, compressed and uncompressed, in bytes."""
MOST_MEMBERS = 1000
SUFFIXES = (".py", ".tar", ".tar.gz", ".tgz")
"""The suffixes of hand-in files; folders are hand-ins, too."""
FILES = (BLACKWELL.student_file, HOPPER.student_file)
ARCHIVE = "handin.tar"
MACOS = "__MACOSX"
"""The folder that macOS archives add beside their files."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_LAST = 8**11
"""The maximum time that a tar can store, in seconds since 1970, in the year 2242."""
_AGAIN = "make it again with `make handin`"


class HandInError(ValueError):
    """The error for an unreadable hand-in; one sentence states the problem and the fix."""


@dataclass(frozen=True)
class HandIn:
    """The files that a student handed in.

    name: of the file, as reports show it. file: `FILES[0]` or `FILES[1]`, by the GPU that it is for. source: its text.
    modified: when it was changed last, in seconds since 1970; None if that is not known.
    """

    name: str
    file: str
    source: str
    modified: float | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 of the source, in hexadecimal."""
        return hashlib.sha256(self.source.encode()).hexdigest()


def read_handin(path: Path) -> HandIn:
    """Read the hand-in in a Python file, a tar, or a folder with one of them.

    Raises `HandInError`, and `OSError` with a sentence where the machine cannot read it.
    """
    path = file_of(path)
    name = plain_line(path.name)
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise HandInError(f"the hand-in {plain_line(str(path))} {problem}")
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_ARCHIVE + 1)
        modified = _time(path.stat().st_mtime)
    except OSError as error:
        raise OSError(f"the hand-in {name} cannot be read: {error.strerror}") from None
    if path.suffix.lower() == ".py":
        return _checked(name, path.name, data, modified)
    if len(data) > MOST_ARCHIVE:
        raise HandInError(f"{name} has more than {MOST_ARCHIVE >> 20} MiB; {_AGAIN}")
    return _from_tar(name, data)


def packed(handin: HandIn) -> bytes:
    """Return the tar of a hand-in, with only the source as a member; equal hand-ins have equal tars."""
    data = handin.source.encode()
    member = tarfile.TarInfo(handin.file)
    member.size, member.mtime = len(data), int(handin.modified or 0)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def file_of(path: Path) -> Path:
    """Return the file of a hand-in, which is a file or a folder with one. Raises `HandInError`.

    In a folder, that is the only file with the name of a hand-in, at the top or else anywhere below, or else the only
    file with the suffix of one. Links are not followed: they lead to other hand-ins.
    """
    if not path.is_dir():
        return path
    names = (ARCHIVE, f"{ARCHIVE}.gz", *FILES)
    top = [path / name for name in names if (path / name).is_file() and not (path / name).is_symlink()]
    below = [] if top else list(islice(_files_below(path), MOST_MEMBERS + 1))
    name = plain_line(path.name)
    if len(below) > MOST_MEMBERS:
        raise HandInError(f"the folder {name} has more than {MOST_MEMBERS} files; leave the one that was handed in")
    found = top or [each for each in below if each.name in names]
    found = found or [each for each in below if each.name.lower().endswith(SUFFIXES)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise HandInError(f"the folder {name} has no {ARCHIVE} and no {' or '.join(FILES)}")
    shown = [plain_line(str(each.relative_to(path))) for each in found]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    raise HandInError(f"the folder {name} has {' and '.join(shown[:3])}{more}; leave one of them")


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, without links, hidden files and macOS archive folders."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != MACOS)
        for name in sorted(files):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _from_tar(name: str, data: bytes) -> HandIn:
    if data.startswith(_GZIP):
        data = _unpacked(name, data)
    elif data.startswith(_ZIP):
        raise HandInError(f"{name} is a ZIP archive, and a tar is expected; {_AGAIN}")
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            found = list(_kernels(name, archive))
            if len(found) != 1:
                raise HandInError(_not_one(name, found))
            (member,) = found
            if member.size > MOST_SOURCE:
                raise _too_large(PurePosixPath(member.name).name)
            stream = archive.extractfile(member)
            source = stream.read(MOST_SOURCE + 1) if stream is not None else b""
    except (tarfile.TarError, EOFError, ValueError, OverflowError, OSError) as error:
        if isinstance(error, HandInError):
            raise
        raise HandInError(f"{name} is not a tar that can be read; {_AGAIN}") from None
    return _checked(name, PurePosixPath(member.name).name, source, _time(member.mtime))


def _unpacked(name: str, data: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            found = stream.read(MOST_ARCHIVE + 1)
    except (OSError, EOFError, zlib.error):
        raise HandInError(f"{name} is not a gzip file that can be read; {_AGAIN}") from None
    if len(found) > MOST_ARCHIVE:
        raise HandInError(f"{name} has more than {MOST_ARCHIVE >> 20} MiB when it is unpacked; {_AGAIN}")
    return found


def _kernels(name: str, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members with the name of a kernel file; raises an error for an unexpected member."""
    for number, member in enumerate(archive):
        if number >= MOST_MEMBERS:
            raise HandInError(f"{name} has more than {MOST_MEMBERS} members; {_AGAIN}")
        place, shown = PurePosixPath(member.name), plain_line(member.name)
        if place.is_absolute() or ".." in place.parts:
            raise HandInError(f"{name} has a member outside of its folder, {shown}; {_AGAIN}")
        if not (member.isfile() or member.isdir()) or member.issparse():
            kind = "a link" if member.issym() or member.islnk() else "not a plain file"
            raise HandInError(f"{shown} in {name} is {kind}; {_AGAIN}")
        if member.isfile() and place.name in FILES:
            yield member


def _not_one(name: str, found: list[tarfile.TarInfo]) -> str:
    if not found:
        return f"{name} has no {' or '.join(FILES)}; {_AGAIN}"
    shown = [plain_line(member.name) for member in found[:3]]
    if len(set(shown)) == 1:
        return f"{name} has {len(found)} members {shown[0]}; {_AGAIN}"
    return f"{name} has {' and '.join(shown)}; hand in one of them"


def _time(value: float) -> float | None:
    """Return a time in seconds since 1970 if a tar can store it, else None."""
    return float(value) if math.isfinite(value) and 0 < value < _LAST else None


def _checked(name: str, file: str, data: bytes, modified: float | None) -> HandIn:
    """Return the hand-in from a file's bytes, which must be text that Python reads the same way."""
    shown = plain_line(file)
    if len(data) > MOST_SOURCE:
        raise _too_large(shown)
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise HandInError(f"{shown}:{line} is not in UTF-8; save the file as UTF-8") from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "another"
    if encoding.lower() not in ("utf-8", "utf-8-sig"):
        raise HandInError(f"{shown} has a comment that says another encoding than UTF-8; remove it")
    if "\0" in source:
        line = source.count("\n", 0, source.index("\0")) + 1
        raise HandInError(f"{shown}:{line} has a NUL character; remove it")
    if not source.strip():
        raise HandInError(f"{shown} is empty")
    kind = file if file in FILES else architecture_of(architecture_in(Path(file), source)).student_file
    return HandIn(name, kind, source, modified)


def _too_large(shown: str) -> HandInError:
    return HandInError(f"{shown} has more than {MOST_SOURCE >> 20} MiB; hand in the file of your kernels only")
