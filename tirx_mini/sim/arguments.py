"""Conversion of kernel arguments, torch tensors or NumPy arrays, to the arrays of simulated global memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tirx_mini.arguments import (
    check_contiguous,
    check_count,
    check_device,
    check_scalar,
    check_type,
    check_writeable,
    is_tensor,
    not_an_array,
)
from tirx_mini.ir import Buffer, PrimFunc, Var, substitute
from tirx_mini.records import replace

from .machine import numpy_dtype

_BITS = {"bfloat16": ("int16", ml_dtypes.bfloat16), "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
         "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2)}  # fmt: skip
"""The torch dtypes that NumPy lacks: a torch dtype of the same width, and the NumPy dtype of the view."""


def named_apart(func: PrimFunc) -> PrimFunc:
    """Return a lowered function whose parameters and tensor maps have unique names."""
    named: list[Buffer | Var] = [*func.params, *(each.var for each in func.tensor_maps)]
    given = {each.name for each in named}
    if len(given) == len(named):
        return func
    new: dict[Buffer | Var, Buffer | Var] = {}
    taken: set[str] = set()
    for number, each in enumerate(named):
        name = each.name
        while name in taken or (name in given and name != each.name):
            name = f"{name}_{number}"
        taken.add(name)
        new[each] = replace(each, name=name) if name != each.name else each
    buffers = {old: each for old, each in new.items() if isinstance(old, Buffer) and isinstance(each, Buffer)}
    variables = {old: each for old, each in new.items() if isinstance(old, Var) and isinstance(each, Var)}
    maps = tuple(
        replace(each, var=variables[each.var], buffer=buffers.get(each.buffer, each.buffer))
        for each in func.tensor_maps
    )
    body = substitute(func.body, variables, buffers)
    return replace(func, params=tuple(new[param] for param in func.params), body=body, tensor_maps=maps)


def with_workspaces(func: PrimFunc, args: Sequence[object], data: bool) -> tuple[PrimFunc, Sequence[object]]:
    """Return a lowered kernel with its workspaces as parameters, and its arguments with arrays of zeros for them."""
    if not func.workspaces:
        return func, args
    count = len(func.params)
    if not data and not args:
        args = (None,) * count
    check_count(func, args)
    made = [np.zeros(buffer.shape, numpy_dtype(buffer.dtype)) if data else None for buffer in func.workspaces]
    return replace(func, params=(*func.params, *func.workspaces)), (*args, *made)


def bind_arguments(
    func: PrimFunc, args: Sequence[object], *, data: bool = True
) -> tuple[list[np.ndarray], tuple[object, ...]]:
    """Return (global buffers by slot, scalars in order).

    The arrays share memory with the arguments.

    data: whether they are read and written. Otherwise a buffer may be None, all arguments may be omitted, and the
    arrays are views of one byte.

    Raises `ArgumentError` if the number of arguments, a dtype, a shape, the memory layout or the device is wrong. The
    alignment of an array in host memory does not matter: simulated buffers have their own addresses.
    """
    if not data and not args and all(isinstance(param, Buffer) for param in func.params):
        args = (None,) * len(func.params)
    check_count(func, args)
    arrays: list[np.ndarray] = []
    scalars: list[object] = []
    for index, (param, arg) in enumerate(zip(func.params, args, strict=True)):
        if isinstance(param, Buffer) and not data:
            if arg is not None:
                _check_shape(func, index, arg)
            arrays.append(np.broadcast_to(np.zeros((), np.uint8), param.nbytes))
        elif isinstance(param, Buffer):
            arrays.append(_array(func, index, arg))
        else:
            scalars.append(_scalar(func, index, param, arg))
    return arrays, tuple(scalars)


def _check_shape(func: PrimFunc, index: int, arg: object) -> None:
    if not is_tensor(arg) and not isinstance(arg, np.ndarray):
        raise not_an_array(func, index, arg)
    check_type(func, index, arg)


def _array(func: PrimFunc, index: int, arg: object) -> np.ndarray:
    array: Any = arg
    tensor = is_tensor(arg)
    if tensor:
        check_device(func, index, arg, "cpu")
    elif not isinstance(arg, np.ndarray):
        raise not_an_array(func, index, arg)
    check_type(func, index, array)
    check_contiguous(func, index, array)
    if tensor:
        return from_torch(array)
    check_writeable(func, index, array)
    return array


def from_torch(value: object) -> np.ndarray:
    """Return a tensor of the host as an array that shares its memory."""
    tensor: Any = value
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _BITS:
        return tensor.detach().numpy()
    import torch

    same_width, kind = _BITS[name]
    return tensor.detach().view(getattr(torch, same_width)).numpy().view(kind)


def _scalar(func: PrimFunc, index: int, param: Var, arg: object) -> object:
    number = check_scalar(func, index, arg)
    return numpy_dtype(param.dtype).type(number) if param.dtype.is_float else number
