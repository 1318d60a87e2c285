"""Checks of a call's arguments that do not depend on where the kernel runs; each failure is one sentence with a fix.

The simulator and the CUDA runtime ask them before a kernel starts, and add what only one of them needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .ir import Buffer, IRModule, PrimFunc, extents_of, specialised, symbols

_DEVICES = {"cpu": "the CPU", "cuda": "the GPU"}


class ArgumentError(ValueError):
    """An argument does not fit its parameter. `str(error)` is one sentence that says which one and what to pass."""


LITTLE = 1 << 28
"""Bytes that any machine has: less is not worth the question."""


def check_room(nbytes: float, what: str) -> None:
    """Raises `ArgumentError` where the machine has less memory left than `what` takes; a clause such as "A, B and D".

    An operating system that grants more than it has would end the process in the middle of the run.
    """
    if nbytes <= LITTLE:
        return
    import psutil  # takes 10 ms

    left = psutil.virtual_memory().available
    if nbytes > left:
        raise ArgumentError(
            f"{what} takes about {nbytes / 2**30:.1f} GiB of memory, and this machine has {left / 2**30:.1f} GiB left: "
            "choose a smaller size, or predict the time alone, with `simulate(..., data=False, sampled=True)`"
        )


def kernel_of(given: Any, caller: str) -> PrimFunc:
    """The kernel that is given to `caller`, itself or in a module. Raises `TypeError` for anything else."""
    if isinstance(given, PrimFunc):
        return given
    if isinstance(given, IRModule):
        return given.main
    name = getattr(given, "__name__", "")
    inner = _kernel_in(given)
    if isinstance(inner, PrimFunc):
        around = f"`{name}`" if name else f"the functools.{type(given).__name__}"
        itself = f", `{name}.__wrapped__`" if hasattr(given, "__wrapped__") else ""
        text = f"{around} is a function around the kernel `{inner.name}`: pass the kernel itself{itself} to {caller}"
        span = inner.span
        raise TypeError(text if span is None else f"{text} ({span.file}, line {span.line})")
    if name == "<lambda>":
        text = "a lambda is not a kernel: write it as a function with `def`, and decorate that with @Tx.prim_func"
    elif hasattr(given, "__code__"):
        text = (
            f"`{name}` is a plain function, not a kernel: decorate it with @Tx.prim_func, or, if it returns a kernel, "
            f"call it and pass the result, {caller}({name}(…), …)"
        )
    elif isinstance(given, str):
        text = f"{given!r} is a string, not a kernel: pass the function that @Tx.prim_func decorates, without quotes"
    else:
        text = f"{caller} expects a kernel, a function decorated with @Tx.prim_func, but {_kind(given)} was given"
    code = getattr(given, "__code__", None)
    place = "" if code is None else f" ({code.co_filename}, line {code.co_firstlineno})"
    raise TypeError(text + place)


def _kernel_in(given: Any) -> Any:
    """The kernel that a function is wrapped around, by `functools.wraps`, `functools.partial` or a closure."""
    seen = 0
    while not isinstance(given, PrimFunc) and seen < 10:
        seen += 1
        inner = getattr(given, "__wrapped__", None) or getattr(given, "func", None)
        if inner is None:
            cells = [cell.cell_contents for cell in getattr(given, "__closure__", None) or () if _is_filled(cell)]
            return next((value for value in cells if isinstance(value, PrimFunc)), None)
        given = inner
    return given


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """The value of an option. Raises `ValueError` unless it is a whole number of at least `least`."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number of at least {least}, but {value!r} was given")


def named(func: PrimFunc, index: int) -> str:
    """What sentences call an argument: "argument 1 (A) of gemm"."""
    return f"argument {index + 1} ({func.params[index].name}) of {func.name}"


def is_tensor(value: Any) -> bool:
    """Whether `value` is a PyTorch tensor, without importing PyTorch."""
    return hasattr(value, "data_ptr")


def for_arguments(func: PrimFunc, args: Sequence[Any]) -> PrimFunc:
    """The kernel for the shapes of these arguments: `func` itself, unless some of its extents are symbolic.

    Raises `ArgumentError` where the arguments do not determine the extents.
    """
    if not symbols(func):
        return func
    check_count(func, args)
    try:
        return specialised(func, extents_of(func, [_shape_or_number(arg) for arg in args]))
    except ValueError as error:
        raise ArgumentError(str(error)) from None


def _shape_or_number(value: Any) -> Sequence[int] | int | None:
    shape = getattr(value, "shape", None)
    if shape:
        return tuple(int(extent) for extent in shape)
    return int(value) if hasattr(value, "__int__") else None


def check_count(func: PrimFunc, args: Sequence[Any]) -> None:
    """Raises `ArgumentError` unless there is one argument a parameter."""
    if len(args) != len(func.params):
        names = ", ".join(param.name for param in func.params)
        raise ArgumentError(f"{func.name} takes {len(func.params)} arguments ({names}), but {len(args)} were given")


def not_an_array(func: PrimFunc, index: int, value: Any) -> ArgumentError:
    """The error of a value that is given for a buffer and has no elements to read or write."""
    return ArgumentError(f"{named(func, index)} must be a tensor or a NumPy array, but it is {_kind(value)}")


def check_device(func: PrimFunc, index: int, tensor: Any, device: str) -> None:
    """Raises `ArgumentError` unless a tensor is on `device`, "cuda" or "cpu"."""
    if tensor.device.type == device:
        return
    place = _DEVICES.get(tensor.device.type, tensor.device.type)
    where = "the kernel runs on the GPU" if device == "cuda" else "the simulator computes in main memory"
    raise ArgumentError(f"{named(func, index)} is on {place}, but {where}: pass {func.params[index].name}.{device}()")


def check_type(func: PrimFunc, index: int, array: Any) -> None:
    """Raises `ArgumentError` unless a tensor or NumPy array has the dtype and the shape of its parameter, a buffer."""
    param, here = func.params[index], named(func, index)
    assert isinstance(param, Buffer)
    wanted, dtype = str(param.dtype), str(array.dtype).removeprefix("torch.")
    if dtype != wanted:
        fix = f"{param.name}.to(torch.{wanted})" if is_tensor(array) else f'{param.name}.astype("{wanted}")'
        raise ArgumentError(f"{here} has dtype {dtype}, but the kernel was written for {wanted}: pass {fix}")
    if tuple(array.shape) != param.shape:
        given, built = _dims(array.shape), _dims(param.shape)
        raise ArgumentError(f"{here} has shape {given}, but the kernel is for {built}: build it for this size")


def check_contiguous(func: PrimFunc, index: int, array: Any) -> None:
    """Raises `ArgumentError` unless the elements of a tensor or NumPy array lie in memory in row-major order."""
    name = func.params[index].name
    if is_tensor(array):
        contiguous, strides, fix = array.is_contiguous(), array.stride(), f"{name}.contiguous()"
    else:
        strides = tuple(stride // array.itemsize for stride in array.strides)
        contiguous, fix = array.flags.c_contiguous, f"np.ascontiguousarray({name})"
    if not contiguous:
        raise ArgumentError(f"{named(func, index)} is not contiguous (its strides are {_dims(strides)}): pass {fix}")


def check_writeable(func: PrimFunc, index: int, array: np.ndarray) -> None:
    """Raises `ArgumentError` where a NumPy array is read-only."""
    if not array.flags.writeable:
        fix = f"pass {func.params[index].name}.copy()"
        raise ArgumentError(f"{named(func, index)} is read-only, and results are written in place: {fix}")


def check_scalar(func: PrimFunc, index: int, value: Any) -> bool | int | float:
    """The number to pass for a scalar parameter; raises `ArgumentError` for one that its type cannot hold.

    value: a number, also as a NumPy scalar or a tensor of one element.
    """
    dtype = func.params[index].dtype
    number = value.item() if hasattr(value, "item") and np.prod(getattr(value, "shape", ())) == 1 else value
    if isinstance(number, int) and not dtype.is_float:
        low = -(2 ** (dtype.bits - 1)) if dtype.is_signed else 0
        high = 2 ** (dtype.bits - dtype.is_signed) - 1
        if dtype.is_bool:
            return bool(number)
        if low <= number <= high:
            return int(number)
    elif isinstance(number, (int, float)) and dtype.is_float:
        return float(number)
    if dtype == "tensormap":
        raise ArgumentError(
            f"{named(func, index)} is a tensor map, which a host program of CUDA makes: in the kernel, write "
            'A_map = T.tvm_stack_alloca("tensormap", 1) and T.call_packed("runtime.cuTensorMapEncodeTiled", A_map, …)'
        )
    given = repr(number) if isinstance(number, (int, float, str)) else _kind(number)
    raise ArgumentError(f"{named(func, index)} must be a number of type {dtype}, but {given} was given")


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _dims(shape: Sequence[int]) -> str:
    return str(tuple(map(int, shape)))
