"""Kernels with compile-time parameters (``@T.jit``), which `specialize` instantiates."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, overload

from tirx_mini.ir import DIALECT, PrimFunc, TirxError
from tirx_mini.records import dataclass

from .diagnostics import did_you_mean
from .handles import ConstexprMarker, OptionalType
from .kernels import caller_locals, reading
from .source import caller_span, check_function, source_of

constexpr = ConstexprMarker()
"""``N: T.constexpr``: a parameter of a `T.jit` kernel whose value `specialize` gives."""


def Optional(annotation: object) -> OptionalType:
    """Mark a parameter of a `T.jit` kernel as removable by ``specialize(B=None)``: ``B: T.Optional(T.handle)``."""
    return OptionalType(annotation)


@dataclass(frozen=True, eq=False)
class Jit:
    """A kernel with unbound `T.constexpr` parameters; ``kernel.specialize(N=1024)`` returns its `PrimFunc`.

    function: the Python function.
    caller: the local names at its definition.
    attrs: the attributes of its kernels.
    """

    function: Callable[..., Any]
    caller: Mapping[str, Any]
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def specialize(self, **values: object) -> PrimFunc:
        """Instantiate the kernel for given `T.constexpr` values; ``name=None`` removes a `T.Optional` parameter.

        Raises `TirxError` for a mistake in the kernel, and for a value that is missing or that no parameter takes.
        """
        __tracebackhide__ = True
        return reading(self.function, self.caller, self._given(values), self.attrs)

    def _given(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """Return all compile-time parameters with their values, given or default."""
        arguments = source_of(self.function).node.args
        every = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        unknown = next((name for name in values if name not in every), None)
        if unknown is not None:
            raise TirxError(
                f"{self.__name__} has no parameter `{unknown}`",
                caller_span(),
                did_you_mean(unknown, every) or f"its parameters are {', '.join(every)}",
            )
        return {**_defaults(self.function, arguments), **values}

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise TirxError(
            f"{self.__name__} is a T.jit kernel, which has no code before its T.constexpr parameters have values",
            caller_span(),
            f"write {self.__name__}.specialize(…), and compile what it returns",
        )


def _defaults(function: Callable[..., object], arguments: ast.arguments) -> dict[str, object]:
    names = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)]
    positional = function.__defaults__ or ()
    return dict(zip(names[len(names) - len(positional) :], positional, strict=True)) | (function.__kwdefaults__ or {})


@overload
def jit(function: Callable[..., object]) -> Jit: ...
@overload
def jit(
    *,
    private: bool = False,
    check_well_formed: bool = True,
    is_stir: bool = False,
    persistent: bool = False,
    dialect: str | None = None,
) -> Callable[[Callable[..., Any]], Jit]: ...
def jit(
    function: Callable[..., object] | None = None,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    is_stir: bool = False,
    persistent: bool = False,
    dialect: str | None = None,
) -> Any:
    """Defer parsing of a kernel until ``specialize(N=1024)`` provides its `T.constexpr` parameters (decorator).

    With ``from __future__ import annotations``, the shapes of its buffers may use these parameters:
    ``def add(A: T.Buffer((N,), "float32"), *, N: T.constexpr)``. `dialect` is that of
    `prim_func`; the other keyword arguments are accepted for compatibility with TVM and have no effect.
    """
    attrs = {} if dialect is None else {DIALECT: dialect}
    if function is None:
        return partial(_with_caller, attrs)
    check_function(function, "@T.jit")
    return Jit(function, caller_locals(2), attrs)


def _with_caller(attrs: Mapping[str, object], function: Callable[..., object]) -> Jit:
    check_function(function, "@T.jit")
    return Jit(function, caller_locals(2), attrs)
