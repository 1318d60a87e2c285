"""A kernel's arguments: torch tensors and NumPy arrays as the arrays that the simulated global memory is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tirx_mini.ir import Buffer, DataType, PrimFunc, Var, wrap

from .machine import numpy_dtype

_BITS = {"bfloat16": ("int16", ml_dtypes.bfloat16), "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
         "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2)}  # fmt: skip
"""torch dtypes that NumPy has no name for: the torch dtype of the same width, and what NumPy then sees it as."""


class ArgumentError(ValueError):
    """An argument that does not fit its parameter. `str(error)` is one sentence."""


def bind_arguments(func: PrimFunc, args: Sequence[Any]) -> tuple[list[np.ndarray], tuple[Any, ...]]:
    """(global buffers by slot, scalars in order). The arrays share memory with the arguments.

    Raises `ArgumentError` where the number of arguments, a dtype, a shape, the layout in memory or the device is wrong.
    """
    if len(args) != len(func.params):
        names = ", ".join(param.name for param in func.params)
        raise ArgumentError(f"{func.name} takes {len(func.params)} arguments ({names}), but {len(args)} are given")
    arrays: list[np.ndarray] = []
    scalars: list[Any] = []
    for param, arg in zip(func.params, args, strict=True):
        if isinstance(param, Buffer):
            arrays.append(_array(param, arg))
        else:
            scalars.append(_scalar(param, arg))
    return arrays, tuple(scalars)


def _array(param: Buffer, arg: Any) -> np.ndarray:
    array = _from_torch(param, arg) if type(arg).__module__.partition(".")[0] == "torch" else arg
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"{param.name} must be a torch tensor or a NumPy array, but it is a {type(arg).__name__}")
    expected = numpy_dtype(param.dtype)
    if array.dtype != expected:
        raise ArgumentError(f"{param.name} must be {param.dtype}, but it is {array.dtype}")
    if array.shape != param.shape:
        raise ArgumentError(f"{param.name} must have the shape {_text(param.shape)}, but it has {_text(array.shape)}")
    if not array.flags.c_contiguous:
        raise ArgumentError(f"{param.name} must be contiguous; pass {param.name}.contiguous() or a copy of it")
    if not array.flags.writeable:
        raise ArgumentError(f"{param.name} is read-only; pass a copy of it")
    return array


def _from_torch(param: Buffer, tensor: Any) -> np.ndarray:
    if not hasattr(tensor, "detach"):
        raise ArgumentError(
            f"{param.name} must be a torch tensor or a NumPy array, but it is a {type(tensor).__name__}"
        )
    if tensor.device.type != "cpu":
        raise ArgumentError(
            f"{param.name} is on {tensor.device}, and the simulator computes in main memory; pass {param.name}.cpu()"
        )
    if not tensor.is_contiguous():
        raise ArgumentError(f"{param.name} must be contiguous; pass {param.name}.contiguous()")
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _BITS:
        return tensor.detach().numpy()
    import torch

    same_width, kind = _BITS[name]
    return tensor.detach().view(getattr(torch, same_width)).numpy().view(kind)


def _scalar(param: Var, arg: Any) -> Any:
    value = arg.item() if hasattr(arg, "item") else arg
    if not isinstance(value, (bool, int, float)):
        raise ArgumentError(f"{param.name} must be a number, but it is a {type(arg).__name__}")
    dtype = DataType(param.dtype)
    if dtype.is_integer:
        if value != int(value) or wrap(int(value), dtype) != int(value):
            raise ArgumentError(f"{param.name} must be {dtype}, and {value} is not")
        return int(value)
    return bool(value) if dtype.is_bool else numpy_dtype(dtype).type(value)


def _text(shape: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
