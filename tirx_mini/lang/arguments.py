"""Argument checks of the kernel library's constructors."""

from __future__ import annotations

from typing import TypeAlias

from tirx_mini.ir import Buffer, Expr, TirxError
from tirx_mini.script import PoolAllocator
from tirx_mini.wording import described

Integer: TypeAlias = Expr | int
"""A number or truth value, known at compile time or at run time."""


def given(value: object) -> str:
    """Return the clause of a message that describes the given argument, instead of the expected one."""
    if isinstance(value, Buffer):
        return f"the buffer {value.name} is given"
    if isinstance(value, Expr):
        return f"`{described(value)}` is only known when the kernel runs"
    return f"{described(value)} is given"


def check_pool(owner: str, pool: object, call: str) -> None:
    """Reject anything but a shared-memory pool. `call`: the suggested call."""
    if not isinstance(pool, PoolAllocator):
        raise TirxError(
            f"the first argument of {owner} is the shared-memory pool that holds it, but {given(pool)}",
            hint=f"write {call}, with pool = Tx.PoolAllocator()",
        )


def check_count(what: str, value: object, call: str) -> None:
    """Reject anything but a positive compile-time integer."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return
    raise TirxError(f"{what} must be a positive integer that is known at compile time, but {given(value)}", hint=call)


def check_choice(what: str, value: object, choices: tuple[int, ...], hint: str | None = None) -> None:
    """Reject a number that is not in `choices`."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in choices:
        listed = f"{', '.join(map(str, choices[:-1]))} or {choices[-1]}"
        raise TirxError(f"{what} must be {listed}, but {given(value)}", hint=hint)


def check_label(what: str, value: object, call: str) -> None:
    """Reject a name that is not a string."""
    if not isinstance(value, str):
        raise TirxError(f"{what} must be a string, but {given(value)}", hint=f"write {call}")


def check_condition(what: str, value: object, hint: str) -> None:
    """Reject a condition that is neither a value of the kernel nor a bool."""
    if not isinstance(value, (Expr, bool)):
        raise TirxError(f"{what} must be a condition, but {given(value)}", hint=hint)
