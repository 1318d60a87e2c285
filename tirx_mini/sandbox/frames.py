"""Messages between the two processes: a four-byte length, then the content."""

from __future__ import annotations

import struct
from typing import IO

_LENGTH = struct.Struct(">I")


class TooLong(ValueError):
    """The error for a message longer than the reader's limit."""


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Send one message. Raises `OSError` if the reader, or another thread here, has closed the stream."""
    try:
        stream.write(_LENGTH.pack(len(data)) + data)
        stream.flush()
    except ValueError:
        raise BrokenPipeError("the stream is closed") from None


def read_frame(stream: IO[bytes], most: int) -> bytes:
    """Read the next message, of at most `most` bytes. Raises `TooLong`, and `EOFError` at the end."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    if length > most:
        raise TooLong(f"a message of {length} bytes, where at most {most} are expected")
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    try:
        data = stream.read(length)
    except ValueError:  # another thread has closed the stream
        raise EOFError from None
    if len(data) < length:
        raise EOFError
    return data
