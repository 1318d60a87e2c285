"""Landlock, Linux's access control for the calling process, which blocks opening files.

It has three system calls, for which glibc has no functions; their numbers are the same on all architectures (Linux:
Documentation/userspace-api/landlock.rst). A process that restricts itself needs no rights, and cannot undo it.
"""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_ONLY_VERSION = 1

_OF_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""The number of file rights of each version; later versions have those of version 5."""
_TCP = 0b11
"""The rights to bind and to connect, from version 4 on."""
_SCOPED = 0b11
"""The scopes that confine abstract sockets and signals to the sandbox, from version 6 on."""


def version() -> int:
    """Return the version of Landlock's interface, or 0 if it is missing."""
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ONLY_VERSION)))


def restrict() -> bool:
    """Block opening, listing, executing, creating and removing files for this thread and its children; False without
    Landlock.
    """
    abi = version()
    if abi == 0:
        return False
    attributes = struct.pack("=Q", (1 << _OF_FILES[min(abi, 5)]) - 1)
    if abi >= 4:
        attributes += struct.pack("=Q", _TCP)
    if abi >= 6:
        attributes += struct.pack("=Q", _SCOPED)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        return _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0  # with no rule that allows a thing
    finally:
        os.close(ruleset)


def _call(number: int, *arguments: object) -> int:
    """Make a system call and return its result, or -1 for an error."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return int(libc.syscall(ctypes.c_long(number), *arguments))
