"""Checks against mutating Python objects in the loops and branches of a kernel.

The front end reads the body of a loop or branch once, however often the kernel executes it. What Python changes there
is changed once, while the kernel is read, so only an object that the same body makes may be changed in it.
"""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tirx_mini.ir import Span, TirxError

from .builder import Builder

_CONTAINERS = (list, dict, set, bytearray, deque)
_CHANGES = frozenset(
    "append extend insert pop remove clear sort reverse update setdefault popitem add discard difference_update "
    "intersection_update symmetric_difference_update appendleft extendleft popleft rotate".split()
)
"""The methods of Python's containers that change them."""


def check_kept(builder: Builder, owner: object, what: Callable[[], str], span: Span) -> None:
    """Reject a mutation of the Python object `owner` in a kernel loop or branch that did not create it.

    what: makes the text of the change, for the error page only, because it takes time.
    """
    kind = builder.outlives(owner)
    if kind is None:
        return
    changed = f"a Python {type(owner).__name__}"
    if kind == "loop":
        message = f"`{what()}` changes {changed}, but this loop is read once, so no iteration repeats the change"
    else:
        message = f"`{what()}` changes {changed}, but this branch is read whether or not the kernel takes it"
    raise TirxError(
        message,
        span,
        f"use a variable of the kernel: assign `n = 0` before the {kind} and `n = n + 1` in it, or an array, "
        "Tx.alloc_local",
    )


def check_call(
    builder: Builder, function: object, args: tuple[object, ...], what: Callable[[], str], span: Span
) -> None:
    """Reject a call that mutates a container or iterator in a kernel loop or branch that did not create it."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _CONTAINERS) and getattr(function, "__name__", "") in _CHANGES:
        check_kept(builder, owner, what, span)
    elif function is builtins.next and args and isinstance(args[0], Iterator):
        check_kept(builder, args[0], what, span)


def is_new(function: Any) -> bool:
    """Return whether a call may return a new object; containers return previously held ones."""
    return not isinstance(getattr(function, "__self__", None), _CONTAINERS) or function.__name__ == "copy"


def attributes(builder: Builder, function: object) -> Mapping[str, Any] | None:
    """Return a snapshot of the attributes that a method must not change in a kernel loop, or None.

    The objects of this package keep what changes in variables of the kernel.
    """
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, type) or type(owner).__module__.startswith("tirx_mini."):
        return None
    if not hasattr(function, "__code__") or builder.outlives(owner) != "loop":
        return None
    return dict(getattr(owner, "__dict__", {}))


def check_attributes(
    builder: Builder, function: Any, before: Mapping[str, object] | None, what: Callable[[], str], span: Span
) -> None:
    """Reject a method that changed its object's attributes, given a snapshot from before the call."""
    if before is None:
        return
    after = vars(function.__self__)
    if any(after.get(name, before) is not value for name, value in before.items()):
        check_kept(builder, function.__self__, what, span)
