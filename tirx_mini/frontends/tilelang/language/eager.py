"""The eager style of `tilelang.jit`, in which a function's body declares its tensor parameters.

    @tilelang.jit
    def scale(A, factor: float = 2.0):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
            ...
        return B

The body is read twice: up to `T.Kernel` with symbols for the constants, to find the types of the parameters, and then
with the constants that the shapes of the arguments give.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from tirx_mini.ir import Buffer, PrimFunc, TirxError, Var, as_expr, int_value
from tirx_mini.records import dataclass
from tirx_mini.script import BufferType, Untyped, current, read

from ..dialect import TILELANG
from .dtypes import dtype_of
from .memory import dynamic

__all__ = ["const", "empty"]


@dataclass
class _Reading:
    """The parser's state while it reads a function.

    values: the constants by their names; None while they are symbols.
    symbols: the symbols, by their names.
    outputs: the tensors of `T.empty`.
    """

    values: Mapping[str, int] | None = None
    symbols: dict[str, Var] = field(default_factory=dict)
    outputs: list[Buffer] = field(default_factory=list)


RETURNED = "returned"
"""The attribute of a function with what it returns."""
_READING: ContextVar[_Reading | None] = ContextVar("eager", default=None)


class SignatureIsRead(BaseException):
    """Stops the first parse of a function once its parameters have types."""

    def __init__(self, params: tuple[Any, ...]) -> None:
        self.params = params


def const(name: str, dtype: object = "int32") -> Any:
    """Declare constants deduced from the arguments' shapes: ``M, N = T.const("M, N")``."""
    reading = _READING.get()
    if reading is None:
        raise TirxError("T.const is for functions of tilelang.jit whose arguments are tensors", hint="use T.dynamic")
    names = [part.strip() for part in name.replace(",", " ").split()]
    found = []
    for part in names:
        if reading.values is None:
            found.append(reading.symbols.setdefault(part, dynamic(part, dtype)))
        else:
            found.append(reading.values[part])
    return found[0] if len(found) == 1 else tuple(found)


def empty(*shape: Any, dtype: Any = "float32") -> Buffer:
    """Allocate an output tensor, which the kernel writes and the call returns."""
    reading, builder = _READING.get(), current("T.empty")
    if len(shape) == 2 and isinstance(shape[0], (tuple, list)):
        shape, dtype = tuple(shape[0]), shape[1]
    elif len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    if reading is None:
        raise TirxError("T.empty is for functions of tilelang.jit whose arguments are tensors")
    extents = tuple(extent if (n := int_value(as_expr(extent))) is None else n for extent in shape)
    made = BufferType(extents, dtype_of(dtype)).buffer(builder.take_name("out"))
    builder.params.append(made)
    reading.outputs.append(made)
    return made


def at_launch() -> None:
    """Signal that the parse has reached `T.Kernel`, so that all parameters have types."""
    reading = _READING.get()
    if reading is not None and reading.values is None:
        raise SignatureIsRead(tuple(current("T.Kernel").params))


@dataclass(frozen=True)
class Signature:
    """The tensors and constants of a function.

    tensors: the types of its parameters that are tensors.
    outputs: the tensors that a call returns.
    constants: the symbols of its constants.
    """

    tensors: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    constants: Mapping[str, Var]


def signature_of(function: Callable[..., Any], given: Mapping[str, Any]) -> Signature:
    """Parse a function up to its launch and return the types of its parameters.

    given: the values of the other parameters; tensors are left out.
    """
    reading = _Reading()
    token = _READING.set(reading)
    try:
        _read(function, given)
    except SignatureIsRead as found:
        tensors = [param for param in found.params if param not in reading.outputs]
        return Signature(tuple(tensors), tuple(reading.outputs), reading.symbols)
    finally:
        _READING.reset(token)
    raise TirxError(f"{function.__name__} has no T.Kernel, so it is no kernel")


def kernel_of(
    function: Callable[..., object], given: Mapping[str, object], values: Mapping[str, int]
) -> tuple[PrimFunc, tuple[int, ...]]:
    """Parse a function as a kernel for given constants, and return it with the indices of its outputs."""
    reading = _Reading(values)
    token = _READING.set(reading)
    try:
        func = _read(function, given)
    finally:
        _READING.reset(token)
    returned = dict(func.attrs).get(RETURNED, ())
    numbers = {param: number for number, param in enumerate(func.params)}
    if any(not isinstance(value, Buffer) or value not in reading.outputs for value in returned):
        raise TirxError(f"{function.__name__} can only return tensors that T.empty made")
    return func.without_attr(RETURNED), tuple(numbers[value] for value in returned)


def _read(function: Callable[..., object], given: Mapping[str, object]) -> PrimFunc:
    parameters = {name: given.get(name, Untyped()) for name in inspect.signature(function).parameters}
    return read(function, {}, None, {TILELANG: True}, keeps_numbers=True, parameters=parameters)
