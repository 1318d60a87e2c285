"""Atomic writing of a command's files, whatever ends the process or fills the disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class OutputError(Exception):
    """The error for a file, or the standard output, that cannot be written; the message is a sentence."""


def output_file(text: str) -> Path:
    """Return the output file named by an argument. Raises `OutputError` if it is known to fail."""
    path = Path(text)
    with _explained(path):
        if path.is_dir():
            raise OutputError(f"{path} is a folder: name a file in it")
        if not path.parent.is_dir():
            raise OutputError(f"there is no folder {path.parent} for {path.name}: make it, or name another file")
        place = path if _is_device(path) else path.parent
        if not os.access(place, os.W_OK):
            raise OutputError(f"{place} may not be written to: name a file elsewhere")
    return path


def output_folder(path: Path) -> Path:
    """Return the folder, created if missing. Raises `OutputError`."""
    with _explained(path):
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path} is a file: name a folder")
        path.mkdir(parents=True, exist_ok=True)
    return path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically: concurrent readers, or readers after a crash, see the old or the new file.

    Write directly to a path that is not a regular file, such as /dev/stdout. Raises `OutputError`.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with _writing, _explained(path):
        if _is_device(path):
            with path.open("wb") as stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data)  # a link stays one


def no_more_writes(patience_s: float) -> None:
    """Wait until no file is half-written, and prevent further writes, for the end of the process."""
    _writing.acquire(timeout=patience_s)


def writing() -> bool:
    """Return whether a file is half-written now."""
    return _writing.locked()


def reason(error: OSError) -> str:
    """Return the system's reason for an error, as part of a sentence."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


_writing = threading.Lock()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Convert system errors to `OutputError` within the block."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from None


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _replace(path: Path, data: bytes) -> None:
    """Write to a temporary file with the same permissions, and replace the file by it."""
    beside = path.with_name(f".{os.urandom(6).hex()}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            with suppress(FileNotFoundError):
                beside.chmod(path.stat().st_mode & 0o7777)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
