"""What a process does to itself before it executes a stranger's code. It cannot undo any of it."""

from __future__ import annotations

import ctypes
import math
import signal
import sys
import time
from collections.abc import Collection
from typing import Any

from .landlock import restrict as restrict_files
from .limits import Limits
from .seccomp import restrict as restrict_calls
from .view import View, devices

LOCKS = ("rlimits", "landlock", "seccomp")
"""In the order in which they are put on; "rlimits" are the limits of POSIX."""

_PARENT_DEATH_SIGNAL = 1
_OPEN_FILES = 64
_MIB = 1 << 20


def lock(wanted: Collection[str], limits: Limits, view: View, folder: str) -> list[str]:
    """Put the locks on this process that are wanted and that the machine has; which they are.

    folder: of the hand-in, which may be read.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL))
    held = []
    if "rlimits" in wanted and _limit(limits):
        held.append("rlimits")
    on_linux = sys.platform == "linux"
    # Without a program of its own, a process gets no rights from one; Landlock and seccomp ask for that.
    if on_linux and wanted:
        ctypes.CDLL(None).prctl(38, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0)))
    if on_linux and "landlock" in wanted:
        readable = [*view.readable(), folder]
        if restrict_files(readable, view.listed(), devices()):
            held.append("landlock")
    if on_linux and "seccomp" in wanted and restrict_calls(writes="landlock" in held):
        held.append("seccomp")
    return held


def _limit(limits: Limits) -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    cpu_s = math.ceil(time.process_time()) + limits.cpu_s
    rows: list[tuple[Any, int, int]] = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),  # no file grows, not even in memory
        (resource.RLIMIT_NOFILE, _OPEN_FILES, _OPEN_FILES),
        (resource.RLIMIT_CPU, cpu_s, cpu_s + 1),  # first SIGXCPU, which says why, then SIGKILL
    ]
    if sys.platform == "linux":  # elsewhere the address space is not limited, or Python does not fit in
        rows.append((resource.RLIMIT_AS, limits.memory_mb * _MIB, limits.memory_mb * _MIB))
    for kind, *values in rows:
        _, most = resource.getrlimit(kind)
        soft, hard = (value if most == resource.RLIM_INFINITY else min(value, most) for value in values)
        resource.setrlimit(kind, (soft, hard))
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write that is too long is an error of the write
    return True
