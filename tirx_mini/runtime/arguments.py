"""Checks of a call's arguments, before anything is launched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tirx_mini.ir import Buffer, PrimFunc, Var

ALIGNMENT = 16
"""Bytes that every buffer's first element must be aligned to: vector accesses and TMA rely on it."""


class ArgumentError(TypeError):
    """An argument does not fit the kernel's signature; the message is one sentence that says how to fix it."""


def check_call(func: PrimFunc, args: Sequence[Any], written: frozenset[int]) -> int:
    """The GPU to launch on; raises `ArgumentError` for the first argument that does not fit.

    args: tensors, numbers, or NumPy arrays, which are no further looked at. written: positions of the parameters that
    the kernel writes.
    """
    check_count(func, args)
    tensors = {
        i: arg
        for i, (arg, param) in enumerate(zip(args, func.params, strict=True))
        if isinstance(param, Buffer) and not isinstance(arg, np.ndarray)
    }
    for index, tensor in tensors.items():
        check_tensor(func, index, tensor)
    for index, param in enumerate(func.params):
        if isinstance(param, Var):
            check_scalar(func, index, args[index])
    check_overlap(func, tensors, written)
    return check_devices(func, tensors)


def check_count(func: PrimFunc, args: Sequence[Any]) -> None:
    """Raises `ArgumentError` unless there is one argument a parameter."""
    if len(args) != len(func.params):
        names = ", ".join(p.name for p in func.params)
        raise ArgumentError(f"{func.name} takes {len(func.params)} arguments ({names}), but {len(args)} were given")


def check_tensor(func: PrimFunc, index: int, tensor: Any) -> None:
    """Raises `ArgumentError` unless `tensor` can be passed for parameter `index`, a buffer, as it is."""
    param = func.params[index]
    assert isinstance(param, Buffer)
    here = f"argument {index + 1} ({param.name}) of {func.name}"
    if not hasattr(tensor, "data_ptr"):
        raise ArgumentError(f"{here} must be a tensor on the GPU, but it is a {type(tensor).__name__}")
    dtype = str(tensor.dtype).removeprefix("torch.")
    shape = tuple(tensor.shape)
    if tensor.device.type != "cuda":
        place = tensor.device.type.upper()
        raise ArgumentError(f"{here} is on the {place}, but the kernel runs on the GPU: pass {param.name}.cuda()")
    if dtype != param.dtype:
        fix = f"pass {param.name}.to(torch.{param.dtype})"
        raise ArgumentError(f"{here} has dtype {dtype}, but the kernel was written for {param.dtype}: {fix}")
    if shape != param.shape:
        fix = "build it for this size"
        raise ArgumentError(f"{here} has shape {_dims(shape)}, but the kernel is for {_dims(param.shape)}: {fix}")
    if not tensor.is_contiguous():
        fix = f"pass {param.name}.contiguous()"
        raise ArgumentError(f"{here} is not contiguous (its strides are {_dims(tensor.stride())}): {fix}")
    if tensor.data_ptr() % ALIGNMENT:
        fix = f"pass {param.name}.clone()"
        raise ArgumentError(f"{here} starts at an address that is no multiple of {ALIGNMENT} bytes: {fix}")


def check_scalar(func: PrimFunc, index: int, value: Any) -> int | float:
    """The number to pass for parameter `index`, a scalar; raises `ArgumentError` for anything else."""
    param = func.params[index]
    assert isinstance(param, Var)
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, (bool, int)) and not param.dtype.is_float:
        low = -(2 ** (param.dtype.bits - 1)) if param.dtype.is_signed else 0
        high = 2 ** (param.dtype.bits - param.dtype.is_signed) - 1
        if param.dtype.is_bool or low <= number <= high:
            return int(number)
    elif isinstance(number, (int, float)) and param.dtype.is_float:
        return float(number)
    here = f"argument {index + 1} ({param.name}) of {func.name}"
    raise ArgumentError(f"{here} must be a number of type {param.dtype}, but {value!r} was given")


def check_devices(func: PrimFunc, tensors: dict[int, Any]) -> int:
    """The one GPU that all tensors are on; raises `ArgumentError` where they are on several."""
    devices = {index: tensor.device.index for index, tensor in tensors.items()}
    if len(set(devices.values())) > 1:
        places = ", ".join(f"{func.params[i].name} on cuda:{d}" for i, d in devices.items())
        raise ArgumentError(f"the arguments of {func.name} are on different GPUs ({places}): move them to one")
    return next(iter(devices.values()), 0)


def check_overlap(func: PrimFunc, tensors: dict[int, Any], written: frozenset[int]) -> None:
    """Raises `ArgumentError` where a buffer that the kernel writes shares memory with another argument."""
    spans = {i: (t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for i, t in tensors.items()}
    for i in written & spans.keys():
        for j, (start, stop) in spans.items():
            if i != j and spans[i][0] < stop and start < spans[i][1]:
                a, b = func.params[i].name, func.params[j].name
                fix = "pass tensors that do not overlap"
                raise ArgumentError(f"{func.name} writes {a}, which shares memory with {b}: {fix}")


def _dims(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"
