"""The output streams of a command: unsupported characters are transliterated, and write errors end the command."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tirx_mini.files import OutputError, reason
from tirx_mini.pytorch import PyTorchMissing

NOT_WRITTEN = 2
"""The exit status if the output, or an output file, cannot be written."""
CLOSED = 141
"""The exit status after SIGPIPE: the reader closed the output, as ``| head`` does."""
INTERRUPTED = 130

_LIKE = {
    "×": "x", "·": "*", "–": "-", "—": "-", "−": "-", "…": "...", "“": '"', "”": '"', "‘": "'", "’": "'", "→": "->",
    "←": "<-", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "²": "^2", "³": "^3", "µ": "u", "μ": "u", "•": "*", "✓": "v",
    "✗": "x",
}  # fmt: skip
"""The ASCII spelling of the characters that the kit prints."""
_FULL = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EBADF)


def reported(main: Callable[[], int]) -> int:
    """Run a command and return its exit status; report a write error in a sentence on standard error."""
    _prepare()
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        return _silenced(CLOSED)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich has seen it
            return _silenced(CLOSED)
        raise
    except (OutputError, PyTorchMissing) as error:
        return _failed(str(error))
    except OSError as error:
        sentence = _explained(error)
        if not sentence:
            raise
        return _failed(sentence)
    except KeyboardInterrupt:
        return INTERRUPTED


def _explained(error: OSError) -> str:
    """Return a sentence on an operating system error, or "" for any other error."""
    if error.errno in _FULL:
        what = error.filename or "the output, or a temporary file,"
        return f"{what} cannot be written: {reason(error)}"
    if error.errno == errno.ENOENT and error.filename is None:  # of `tempfile`
        return "no folder takes temporary files: make room, or name another one in TMPDIR"
    return ""


def _failed(sentence: str) -> int:
    with suppress(OSError):
        print(f"error: {sentence}", file=sys.stderr, flush=True)
    with suppress(OSError):
        sys.stdout.flush()
        return NOT_WRITTEN
    return _silenced(NOT_WRITTEN)


def _silenced(status: int) -> int:
    """Discard buffered output, which Python would otherwise write at the end of the process."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return status


def _prepare() -> None:
    """Make both streams accept any text, and open closed ones; treat a width of 0 as unknown."""
    if not os.environ.get("COLUMNS", "").strip("0"):
        os.environ.pop("COLUMNS", None)
    codecs.register_error("tirx_mini", _likeness)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tirx_mini")


def _likeness(error: UnicodeError) -> tuple[str, int]:
    """Return the spelling of the characters that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_like, error.object[error.start : error.end])), error.end


def _like(char: str) -> str:
    plain = _LIKE.get(char, "")
    if not plain and char.isalpha():
        plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return plain or char.encode("ascii", "backslashreplace").decode()
