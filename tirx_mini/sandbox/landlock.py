"""Landlock, Linux's access control that a process puts on itself: from then on it opens what it was given, no more.

It has three system calls, for which glibc has no functions; their numbers are the same on all architectures (Linux:
Documentation/userspace-api/landlock.rst). A process that restricts itself needs no rights, and cannot undo it.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ONLY_VERSION = 1
_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_OF_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files each version has; later ones have those of version 5."""
_TCP = 0b11
"""To bind and to connect, from version 4 on."""
_SCOPED = 0b11
"""Abstract sockets and signals stay within the processes of the sandbox, from version 6 on."""


def version() -> int:
    """The version of Landlock's interface; 0 where there is none."""
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ONLY_VERSION)))


def restrict(readable: Iterable[str], listed: Iterable[str], writable: Iterable[str]) -> bool:
    """Let this thread, and what it starts, open nothing but these files and folders.

    readable: files and folders, with all below them. listed: folders whose entries' names may be read. writable: files
    that exist. Programs cannot be executed, except by those who hold them open. False where Landlock is missing.
    """
    abi = version()
    if abi == 0:
        return False
    handled = (1 << _OF_FILES[min(abi, 5)]) - 1
    attributes = struct.pack("=Q", handled)
    if abi >= 4:
        attributes += struct.pack("=Q", _TCP)
    if abi >= 6:
        attributes += struct.pack("=Q", _SCOPED)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE | _READ_DIR)
        for path in listed:
            _allow(ruleset, path, _READ_DIR)
        for path in writable:
            _allow(ruleset, path, _READ_FILE | _WRITE_FILE)
        return _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there, and so nothing to be read
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= ~_READ_DIR
        rule = struct.pack("=Qi", rights, place)
        _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    """A system call: what it returns, and -1 for an error."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return int(libc.syscall(ctypes.c_long(number), *arguments))
