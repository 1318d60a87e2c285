"""Registry of functions by name: `tvm.register_global_func`, `tvm.get_global_func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_REGISTERED: dict[str, Callable[..., Any]] = {}
"""The functions that programs have registered in this process, as in TVM."""


def register_global_func(
    func_name: str | Callable[..., object], f: Callable[..., object] | None = None, override: bool = False
) -> Any:
    """Register a function, directly or as a decorator, for `get_global_func`. Compilation uses none of them.

    Raises `ValueError` where the name is taken, unless `override` is set.
    """
    if callable(func_name):
        return register_global_func(func_name.__name__, func_name, override)

    def register(function: Callable[..., object]) -> Callable[..., Any]:
        if func_name in _REGISTERED and not override:
            raise ValueError(f"a function {func_name!r} is registered already; pass override=True to replace it")
        _REGISTERED[func_name] = function
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> Callable[..., Any] | None:
    """Return a registered function. If there is none, raise `ValueError`, or return None with `allow_missing`."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if allow_missing:
        return None
    raise ValueError(f"no function {name!r} is registered; those of TVM's runtime are not part of tirx_mini")
