"""The table of system calls has the numbers of Linux, and the filter does what it says."""

from __future__ import annotations

import ctypes

import pytest

from tirx_mini.sandbox.seccomp import ALLOWED as ALLOWED_CALLS
from tirx_mini.sandbox.seccomp import AUDIT, HIDDEN, TESTED, Line, program

# On x86-64.
READ, WRITE, SOCKET, CLONE, OPEN, OPENAT, PRLIMIT, FCNTL, EXIT, STAT = 0, 1, 41, 56, 2, 257, 302, 72, 231, 4
ALLOWED, REFUSED, NOT_THERE = 0x7FFF0000, 0x00050001, 0x00050002


def verdict(lines: list[Line], number: int, arguments: tuple[int, ...] = (), arch: int = AUDIT["x86_64"]) -> int:
    """What the filter returns for a call, as Linux executes it."""
    words = [number, arch, 0, 0]
    for value in (*arguments, *[0] * (6 - len(arguments))):
        words += [value & 0xFFFFFFFF, value >> 32]
    at, accumulator = 0, 0
    while True:
        code, true, false, operand = lines[at]
        at += 1
        if code == 0x20:
            accumulator = words[operand // 4]
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x15:
            at += true if accumulator == operand else false
        else:
            return operand


@pytest.mark.parametrize("of", [0, 1], ids=list(AUDIT))
def test_numbers_are_those_of_linux(of: int) -> None:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp, which knows them, is not installed")
    audit = list(AUDIT.values())[of]
    for name, row in {**ALLOWED_CALLS, **HIDDEN, **TESTED}.items():
        number = library.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(audit), name.encode())
        assert (number if number >= 0 else None) == row[of], name


@pytest.mark.parametrize("machine", list(AUDIT))
def test_jumps_stay_within_the_program(machine: str) -> None:
    lines = program(machine)
    assert len(lines) < 4096
    for at, (_, true, false, _) in enumerate(lines):
        assert max(true, false) < 256
        assert at + 1 + max(true, false) < len(lines) or lines[at][0] == 0x06


@pytest.mark.parametrize(
    ("number", "arguments", "expected"),
    [
        (READ, (), ALLOWED), (WRITE, (1,), ALLOWED), (SOCKET, (2, 1), REFUSED), (CLONE, (), REFUSED),
        (OPENAT, (0, 0, 0o2000000), REFUSED), (OPEN, (0, 0), REFUSED), (EXIT, (1,), ALLOWED), (EXIT, (137,), REFUSED),
        (STAT, (), NOT_THERE),
        (PRLIMIT, (0, 7, 0), ALLOWED), (PRLIMIT, (1, 7, 0), REFUSED), (PRLIMIT, (0, 7, 1 << 40), REFUSED),
        (FCNTL, (0, 3), ALLOWED), (FCNTL, (0, 8, 1), REFUSED), (0x40000000 + READ, (), REFUSED),
    ],
)  # fmt: skip
def test_calls(number: int, arguments: tuple[int, ...], expected: int) -> None:
    assert verdict(program("x86_64"), number, arguments) == expected


def test_another_architecture_is_refused() -> None:
    assert verdict(program("x86_64"), READ, arch=0x40000003) == REFUSED
