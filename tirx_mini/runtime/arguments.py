"""Argument checks for launches on a GPU, in addition to those of `tirx_mini.arguments`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tirx_mini.arguments import (
    ArgumentError,
    check_contiguous,
    check_count,
    check_device,
    check_scalar,
    check_type,
    check_writeable,
    is_tensor,
    is_tensor_map,
    named,
    not_an_array,
    tensor_map_of,
)
from tirx_mini.ir import Buffer, PrimFunc, Var

ALIGNMENT = 16
"""The required alignment of every buffer's first element in bytes, for vector accesses and TMA."""


def check_call(func: PrimFunc, args: Sequence[object], written: frozenset[int]) -> int:
    """Check a call's arguments and return the GPU to launch on; raises `ArgumentError` for the first mismatch.

    args: tensors, numbers, or NumPy arrays, which will be copied to the GPU. written: positions of the parameters that
    the kernel writes.
    """
    check_count(func, args)
    tensors: dict[int, Any] = {}
    for index, (param, arg) in enumerate(zip(func.params, args, strict=True)):
        if is_tensor_map(param):
            given, _ = tensor_map_of(func, index, arg)
            if not is_tensor(given.tensor):
                raise ArgumentError(f"the tensor of {named(func, index)} must be a PyTorch tensor on the GPU")
            check_device(func, index, given.tensor, "cuda")
            check_contiguous(func, index, given.tensor)
            tensors[index] = given.tensor
        elif isinstance(param, Var):
            check_scalar(func, index, arg)
        elif isinstance(arg, np.ndarray):
            check_type(func, index, arg)
            if index in written:
                check_writeable(func, index, arg)
        else:
            check_tensor(func, index, arg)
            tensors[index] = arg
    check_overlap(func, tensors, written)
    return check_devices(func, tensors)


def check_tensor(func: PrimFunc, index: int, tensor: Any) -> None:
    """Raise `ArgumentError` unless `tensor` can be passed unchanged for parameter `index`, a buffer."""
    assert isinstance(func.params[index], Buffer)
    if not is_tensor(tensor):
        raise not_an_array(func, index, tensor)
    check_device(func, index, tensor, "cuda")
    check_type(func, index, tensor)
    check_contiguous(func, index, tensor)
    if tensor.data_ptr() % ALIGNMENT:
        fix = f"pass {func.params[index].name}.clone()"
        raise ArgumentError(
            f"{named(func, index)} starts at an address that is not a multiple of {ALIGNMENT} bytes: {fix}"
        )


def check_devices(func: PrimFunc, tensors: dict[int, Any]) -> int:
    """Return the GPU that holds all tensors; raises `ArgumentError` if there are several."""
    devices = {index: tensor.device.index for index, tensor in tensors.items()}
    if len(set(devices.values())) > 1:
        places = ", ".join(f"{func.params[i].name} on cuda:{d}" for i, d in devices.items())
        raise ArgumentError(f"the arguments of {func.name} are on different GPUs ({places}): move them to one")
    return next(iter(devices.values()), 0)


def check_overlap(func: PrimFunc, tensors: dict[int, Any], written: frozenset[int]) -> None:
    """Raise `ArgumentError` if a buffer that the kernel writes shares memory with another argument."""
    spans = {i: (t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for i, t in tensors.items()}
    for i in written & spans.keys():
        for j, (start, stop) in spans.items():
            if i != j and spans[i][0] < stop and start < spans[i][1]:
                a, b = func.params[i].name, func.params[j].name
                fix = "pass tensors that do not overlap"
                raise ArgumentError(f"{func.name} writes {a}, which shares memory with {b}: {fix}")
