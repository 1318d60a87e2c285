"""The irreversible locks that a process sets on itself before it executes untrusted code."""

from __future__ import annotations

import contextlib
import ctypes
import math
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

from .landlock import restrict as restrict_files
from .limits import Limits
from .seccomp import restrict as restrict_calls

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows
    resource = None

LOCKS = ("landlock", "rlimits", "seccomp")
"""The locks in the order of their activation; "rlimits" are the POSIX limits."""

_PARENT_DEATH_SIGNAL, _NO_NEW_PRIVS = 1, 38
_MIB = 1 << 20


def lock(wanted: Collection[str], limits: Limits) -> list[str]:
    """Activate the requested locks that the machine supports, and return their names.

    Each of the three, where the machine has it, lets the process open no file from now on.
    """
    on_linux = sys.platform == "linux"
    if on_linux:
        _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        with contextlib.suppress(OSError):  # where memory is short, this process ends, and not the grader
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    held = []
    # Without a program of its own, a process gets no rights from one; Landlock and seccomp ask for that.
    if on_linux and wanted:
        _prctl(_NO_NEW_PRIVS, 1)
    if on_linux and "landlock" in wanted and restrict_files():
        held.append("landlock")
    if "rlimits" in wanted and _limit(limits):
        held.append("rlimits")
    if on_linux and "seccomp" in wanted and restrict_calls():
        held.append("seccomp")
    return held


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, *(ctypes.c_ulong(each) for each in (value, 0, 0, 0)))


def _limit(limits: Limits) -> bool:
    if resource is None:
        return False
    cpu_s = math.ceil(time.process_time()) + limits.cpu_s
    rows: list[tuple[Any, int, int]] = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),  # no file grows, not even in memory
        (resource.RLIMIT_NOFILE, 0, 0),  # files that are open stay so
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
