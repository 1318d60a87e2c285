"""The file that the page edits: read, and written only where nobody else has changed it."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

from tirx_mini.course import KernelRef, architecture_in, default_kernels, student_file
from tirx_mini.files import write_whole
from tirx_mini.hardware import GPUS, architecture_of
from tirx_mini.records import dataclass

from .problems import PlayError

SCRATCH = "scratch.py"
"""The file that is edited without any, once it is saved."""
MOST_BYTES = 1 << 20


class SourceError(PlayError):
    """The error for a file that cannot be edited; the message is one sentence."""


@dataclass(frozen=True)
class Version:
    """A file's text with plain newlines, and the digest of its bytes; "" where there is no file yet."""

    text: str
    digest: str


class Changed(Exception):
    """The error for a file that was changed elsewhere. now: what it holds."""

    def __init__(self, now: Version) -> None:
        super().__init__("the file was changed elsewhere")
        self.now = now


class Source:
    """A file. kernel: the one that is shown first, or "". scratch: the text of a file that is not yet saved."""

    def __init__(self, path: Path, kernel: str = "", scratch: str | None = None) -> None:
        self.path, self.kernel, self._scratch = path, kernel, scratch
        self._lock = threading.Lock()

    @staticmethod
    def of(ref: KernelRef | None) -> Source:
        """Return the named file, else the student's in the working directory, else a scratch copy of step 1.

        Raises `SourceError` for a file that cannot be edited.
        """
        path, kernel = (None, "") if ref is None else (ref.path, ref.name)
        if path is None:
            here = Path(student_file().name)
            path = here if here.is_file() else None
        if path is None:
            return Source(Path(SCRATCH), scratch=None if Path(SCRATCH).exists() else _first_step())
        if path.is_dir():
            raise SourceError(f"{path} is a folder: name a file of kernels")
        if not path.is_file():
            raise SourceError(f"the kernel file {path} does not exist")
        source = Source(path, kernel)
        source.read()
        return source

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def writable(self) -> bool:
        return os.access(self.path if self.path.exists() else self.path.absolute().parent, os.W_OK)

    def read(self) -> Version:
        """Return what the file holds. Raises `SourceError`."""
        data = self._bytes()
        if data is None:
            return Version(self._scratch or "", "")
        if len(data) > MOST_BYTES:
            raise SourceError(f"{self.path} is larger than {MOST_BYTES >> 20} MiB")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise SourceError(f"{self.path} is not a text in UTF-8") from None
        return Version(text.replace("\r\n", "\n"), hashlib.sha256(data).hexdigest())

    def save(self, text: str, digest: str) -> str:
        """Write the file, and return its digest. digest: of the version that the text was made from.

        Raises `Changed` if the file is another one by now, and `OutputError` if it cannot be written.
        """
        with self._lock:
            data = self._bytes()
            now = "" if data is None else hashlib.sha256(data).hexdigest()
            if now != digest:
                raise Changed(self.read())
            windows = data is not None and b"\r\n" in data
            written = (text.replace("\n", "\r\n") if windows else text).encode()
            write_whole(self.path, written)
            return hashlib.sha256(written).hexdigest()

    def ladder(self, text: str) -> str:
        """Return the GPU on which the kernels of a text run first."""
        arch = architecture_of(architecture_in(self.path, text))
        return next(name for name, gpu in GPUS.items() if architecture_of(gpu.arch) == arch)

    def _bytes(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error.strerror}") from None


def _first_step() -> str:
    found = sorted((default_kernels() / "sm100").glob("step01_*.py"))
    return found[0].read_text(encoding="utf-8") if found else ""
