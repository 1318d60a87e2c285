"""Checks of a call's arguments that do not depend on where the kernel runs; each failure is one sentence with a fix.

The simulator and the CUDA runtime ask them before a kernel starts, and add what only one of them needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .ir import Buffer, PrimFunc

_DEVICES = {"cpu": "the CPU", "cuda": "the GPU"}


class ArgumentError(ValueError):
    """An argument does not fit its parameter. `str(error)` is one sentence that says which one and what to pass."""


def named(func: PrimFunc, index: int) -> str:
    """What sentences call an argument: "argument 1 (A) of gemm"."""
    return f"argument {index + 1} ({func.params[index].name}) of {func.name}"


def is_tensor(value: Any) -> bool:
    """Whether `value` is a PyTorch tensor, without importing PyTorch."""
    return hasattr(value, "data_ptr")


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
    given = repr(number) if isinstance(number, (int, float, str)) else _kind(number)
    raise ArgumentError(f"{named(func, index)} must be a number of type {dtype}, but {given} was given")


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _dims(shape: Sequence[int]) -> str:
    return str(tuple(map(int, shape)))
