"""The permitted system calls of a locked process; others fail with EPERM, or ENOENT for file lookups.

Those that Python needs to execute code that it has in memory. Missing are, among others, all that open files or
sockets, start processes or threads, send signals, trace or look into other processes, change limits, owners or modes.
So a fork bomb ends at its first fork, and nothing outlives the process.

The filter is a program for Linux's classic BPF (Linux: Documentation/userspace-api/seccomp_filter.rst). It is assembled
here instead of by libseccomp, whose Python binding needs a shared library that images with Python do not have.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence

from tirx_mini.records import dataclass

ALLOWED: Mapping[str, tuple[int | None, int | None]] = {
    "brk": (12, 214), "clock_getres": (229, 114), "clock_gettime": (228, 113), "clock_nanosleep": (230, 115),
    "close": (3, 57), "close_range": (436, 436), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
    "fadvise64": (221, 223), "fstat": (5, 80), "fstatfs": (138, 44), "futex": (202, 98), "getcwd": (79, 17),
    "getegid": (108, 177), "geteuid": (107, 175), "getgid": (104, 176), "getgroups": (115, 158), "getpgid": (121, 155),
    "getpgrp": (111, None), "getpid": (39, 172), "getppid": (110, 173), "getrandom": (318, 278),
    "getresgid": (120, 150), "getresuid": (118, 148), "getrlimit": (97, 163), "getrusage": (98, 165),
    "getsid": (124, 156), "gettid": (186, 178), "gettimeofday": (96, 169), "getuid": (102, 174), "lseek": (8, 62),
    "madvise": (28, 233), "membarrier": (324, 283), "mmap": (9, 222), "mprotect": (10, 226), "mremap": (25, 216),
    "munmap": (11, 215), "nanosleep": (35, 101), "pipe": (22, None), "pipe2": (293, 59), "poll": (7, None),
    "ppoll": (271, 73), "pread64": (17, 67), "pselect6": (270, 72), "read": (0, 63), "readv": (19, 65),
    "restart_syscall": (219, 128), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123), "sched_yield": (24, 124), "select": (23, None), "sigaltstack": (131, 132),
    "sysinfo": (99, 179), "time": (201, None), "times": (100, 153), "uname": (63, 160), "write": (1, 64),
    "writev": (20, 66),
}  # fmt: skip
"""The permitted calls with their x86-64 and AArch64 numbers (Linux: arch/x86/entry/syscalls, asm-generic/unistd.h)."""


HIDDEN: Mapping[str, tuple[int | None, int | None]] = {
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "getdents64": (217, 61), "lstat": (6, None),
    "newfstatat": (262, 79), "readlink": (89, None), "readlinkat": (267, 78), "stat": (4, None), "statfs": (137, 43),
    "statx": (332, 291),
}  # fmt: skip
"""The calls that query a file without opening it, which report that it does not exist."""


@dataclass(frozen=True)
class _Test:
    """A test of an argument's low or high 32 bits against `values`, after `mask`."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    high: bool = False


_FCNTL = _Test(1, (0, 1, 2, 3, 4, 1030))
"""The commands F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, without F_SETOWN, which sends signals."""
_IOCTL = _Test(1, (0x5401, 0x5421, 0x5450, 0x5451))
"""The requests TCGETS, which isatty uses, FIONBIO, FIONCLEX and FIOCLEX."""
_ONLY_READ = (_Test(0, (0,)), _Test(2, (0,)), _Test(2, (0,), high=True))
"""The tests for querying this process's limits without setting them."""
_OWN_STATUS = _Test(0, (0,), mask=0x80)
"""An exit status below 128; bubblewrap reports higher ones for processes ended by a signal."""
TESTED: Mapping[str, tuple[int, int, tuple[_Test, ...]]] = {
    "exit": (60, 93, (_OWN_STATUS,)),
    "exit_group": (231, 94, (_OWN_STATUS,)),
    "fcntl": (72, 25, (_FCNTL,)),
    "ioctl": (16, 29, (_IOCTL,)),
    "prlimit64": (302, 261, _ONLY_READ),
}
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The values AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 (Linux: include/uapi/linux/audit.h)."""
_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06  # BPF_LD|W|ABS, BPF_ALU|AND|K, BPF_JMP|JEQ|K, BPF_RET|K
_ALLOW, _REFUSE, _NOT_THERE = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOENT
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; both architectures are little-endian
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2


def architecture() -> str | None:
    """Return the machine's architecture if there is a table for it, else None."""
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine())
    return machine if sys.platform == "linux" and machine in AUDIT and sys.maxsize > 2**32 else None


def restrict() -> bool:
    """Restrict this process to the permitted system calls; return False if that is impossible."""
    machine = architecture()
    if machine is None:
        return False
    code = b"".join(struct.pack("=HBBI", *line) for line in program(machine))
    lines = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(lines))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) != 0:
        return False
    return libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER), header, zero, zero) == 0


Line = tuple[int, int, int, int]
"""An instruction of the filter: (code, jump distance if true, jump distance if false, operand)."""


def program(machine: str) -> list[Line]:
    """Return the filter for an architecture."""
    return list(_program(machine))


def _program(machine: str) -> Iterator[Line]:
    of = list(AUDIT).index(machine)
    yield _LOAD, 0, 0, _ARCH
    yield _EQUAL, 1, 0, AUDIT[machine]
    yield _RETURN, 0, 0, _REFUSE
    yield _LOAD, 0, 0, _NUMBER
    simple = [(numbers[of], _ALLOW) for numbers in ALLOWED.values()]
    simple += [(numbers[of], _NOT_THERE) for numbers in HIDDEN.values()]
    tested = [(row[:2][of], row[2]) for row in TESTED.values()]
    for number, tests in tested:
        block = list(_tested(tests))
        yield _EQUAL, 0, len(block), number
        yield from block
    for number, verdict in simple:
        if number is not None:
            yield _EQUAL, 0, 1, number
            yield _RETURN, 0, 0, verdict
    yield _RETURN, 0, 0, _REFUSE


def _tested(tests: Sequence[_Test]) -> Iterator[Line]:
    """Yield lines that allow the call if all tests pass, and refuse it otherwise."""
    for test in tests:
        yield _LOAD, 0, 0, _ARGUMENTS + 8 * test.argument + 4 * test.high
        yield _AND, 0, 0, test.mask
        for index, value in enumerate(test.values):
            yield _EQUAL, len(test.values) - index, 0, value
        yield _RETURN, 0, 0, _REFUSE
    yield _RETURN, 0, 0, _ALLOW
