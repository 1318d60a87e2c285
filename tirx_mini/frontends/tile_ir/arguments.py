"""Classification and conversion of launch arguments."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tirx_mini.arguments import ArgumentError, is_tensor
from tirx_mini.records import dataclass

from .language import (
    DTYPES,
    ArraySpec,
    ConstantSpec,
    DType,
    ListAnnotation,
    ListSpec,
    RecordSpec,
    ScalarSpec,
    Spec,
    TileKernel,
    array_annotation,
    bool_,
    field_names,
    float32,
    from_numpy,
    from_torch,
    frozen,
    int32,
    int64,
    is_constant_parameter,
    item_annotations,
    metadata,
    metadata_of,
    numpy_dtype,
    parameters,
    scalar_annotation,
)

_ALIGNED = 16
"""Bytes that TMA and 16-byte accesses need addresses to be multiples of; larger alignments are not distinguished."""
_VIEWED_AS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "float8_e8m0fnu": "uint8"}
"""Types of PyTorch that NumPy lacks, and the integers that hold their bits."""


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments of a launch.

    specs: the compile-time description of each parameter.
    values: the arguments of the entry function, in order: arrays (NumPy; tensors of a GPU as they
        are) and numbers.
    given: the same, with PyTorch tensors as they were given.
    """

    specs: tuple[Spec, ...]
    values: tuple[Any, ...]
    given: tuple[Any, ...]


def arguments_of(kernel: TileKernel, args: Sequence[object]) -> Arguments:
    """Classify the arguments of a launch. Raises `ArgumentError` for an unsupported argument or a wrong count."""
    params = parameters(kernel)
    if len(args) != len(params):
        names = ", ".join(p.name for p in params)
        raise ArgumentError(f"{kernel.__name__} takes {len(params)} arguments ({names}), but {len(args)} were given")
    annotated = metadata(kernel)
    specs: list[Spec] = []
    values: list[Any] = []
    given: list[Any] = []
    for parameter, arg in zip(params, args, strict=True):
        meta = annotated.get(parameter.name, ())
        named = f"the argument `{parameter.name}` of {kernel.__name__}"
        specs.append(_spec(named, meta, arg, values, given))
    return Arguments(tuple(specs), tuple(values), tuple(given))


def _spec(named: str, meta: tuple[object, ...], arg: object, values: list[Any], given: list[Any]) -> Spec:
    if is_constant_parameter(meta):
        return ConstantSpec(_constant(named, arg))
    if is_record_argument(arg):
        frozen(type(arg))
        annotated = metadata(type(arg))
        items = [(name, getattr(arg, name)) for name in field_names(type(arg))]
        return RecordSpec(type(arg), tuple(
            _spec(f"`{name}` of {named}", annotated.get(name, ()), item, values, given) for name, item in items
        ))  # fmt: skip
    if isinstance(arg, tuple):
        metas = item_annotations(meta, len(arg))
        return tuple(_spec(f"item {i} of {named}", metas[i], item, values, given) for i, item in enumerate(arg))
    if isinstance(arg, list):
        return _list_spec(named, meta, arg, values, given)
    if isinstance(arg, np.ndarray) or is_tensor(arg) or hasattr(arg, "__dlpack__"):
        array = arg if _on_gpu(arg) else as_numpy(named, arg)
        values.append(array)
        given.append(arg)
        return _array_spec(_memory(named, array), array_annotation(meta))
    number = arg.item() if isinstance(arg, np.generic) else arg
    if isinstance(number, (bool, int, float)):
        spec = ScalarSpec(_scalar_type(named, number, scalar_annotation(meta)))
        values.append(number)
        given.append(number)
        return spec
    return ConstantSpec(_constant(named, arg))


def _list_spec(named: str, meta: tuple[object, ...], arg: list[Any], values: list[Any], given: list[Any]) -> ListSpec:
    element = next((metadata_of(m.element) for m in meta if isinstance(m, ListAnnotation)), ())
    items = [_spec(f"item {i} of {named}", element, item, values, given) for i, item in enumerate(arg)]
    arrays = tuple(item for item in items if isinstance(item, ArraySpec))
    if not arrays or len(arrays) < len(items):
        raise ArgumentError(f"{named} is a list, which must consist of arrays: pass numbers as a tuple")
    if len({(array.dtype, len(array.shape)) for array in arrays}) > 1:
        raise ArgumentError(f"{named} is a list, whose arrays must have one dtype and one number of dimensions")
    return ListSpec(arrays)


def is_record_argument(value: object) -> bool:
    """Return whether an argument is a dataclass object or named tuple, whose fields are passed separately."""
    if isinstance(value, (type, DType)):
        return False
    return dataclasses.is_dataclass(value) or (isinstance(value, tuple) and hasattr(value, "_fields"))


def _constant(named: str, value: object) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, tuple):
        return tuple(_constant(f"item {i} of {named}", item) for i, item in enumerate(value))
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(
            f"{named} is {type(value).__name__}, which is not a constant: pass a number or a tuple"
        ) from None
    return value


def _scalar_type(named: str, value: bool | int | float, wanted: DType | None) -> DType:
    """Return the type in which a number is passed: the annotated one, else int32, float32 or bool_."""
    dtype = wanted or (bool_ if isinstance(value, bool) else int32 if isinstance(value, int) else float32)
    if dtype.is_integer and not dtype.limits[0] <= value <= dtype.limits[1]:
        fix = "annotate the parameter with ct.ScalarInt64" if dtype == int32 else "pass a smaller number"
        raise ArgumentError(f"{named} is {value}, which is not a {dtype}: {fix}")
    return dtype


@dataclass(frozen=True)
class _Memory:
    """The memory layout of an array. strides: in elements. address: in bytes."""

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int


def _memory(named: str, array: Any) -> _Memory:
    if _on_gpu(array):
        return _Memory(_dtype_of_tensor(array), tuple(array.shape), tuple(array.stride()), array.data_ptr())
    dtype = from_numpy(array.dtype)
    if dtype is None:
        raise ArgumentError(f"{named} has the dtype {array.dtype}, which kernels do not have")
    if any(s % array.itemsize or s < 0 for s in array.strides):
        raise ArgumentError(f"{named} has the strides {array.strides} in bytes: pass a copy")
    return _Memory(dtype, array.shape, tuple(s // array.itemsize for s in array.strides), array.ctypes.data)


def _array_spec(memory: _Memory, index_dtype: DType | None) -> ArraySpec:
    longest = max([0, *memory.shape, *memory.strides])
    wide = index_dtype or (int32 if longest <= int32.limits[1] else int64)
    alignment = math.gcd(memory.address, _ALIGNED) if math.prod(memory.shape) else _ALIGNED
    return ArraySpec(memory.dtype, memory.shape, memory.strides, alignment, wide)


def _on_gpu(value: Any) -> bool:
    return is_tensor(value) and value.device.type == "cuda"


def _dtype_of_tensor(tensor: Any) -> DType:
    found = from_torch(tensor.dtype)
    if found is None:
        raise ArgumentError(f"a tensor has the dtype {tensor.dtype}, which kernels do not have")
    return found


def as_numpy(named: str, value: Any) -> np.ndarray:
    """Return a NumPy array that shares the argument's memory. Raises `ArgumentError` if it is not in host memory."""
    if isinstance(value, np.ndarray):
        return value
    if not is_tensor(value):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise ArgumentError(f"{named} is {type(value).__name__}, which NumPy cannot read: {error}") from None
    if value.device.type != "cpu":
        raise ArgumentError(f"{named} is on {value.device}, but the simulator computes in main memory: pass `.cpu()`")
    import torch

    name = str(value.dtype).removeprefix("torch.")
    tensor = value.detach()
    if name not in _VIEWED_AS:
        return tensor.numpy()
    dtype = next(t for t in DTYPES if t.name == name)
    return tensor.view(getattr(torch, _VIEWED_AS[name])).numpy().view(numpy_dtype(dtype))


__all__ = ["Arguments", "arguments_of", "as_numpy"]
