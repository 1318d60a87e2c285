"""Checks of a call's arguments that are independent of the execution target, each with a one-sentence fix.

The simulator and the CUDA runtime run the checks before a kernel starts, and add their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tirx_mini.records import dataclass

from .ir import Buffer, DataType, IRModule, PrimFunc, Var, extents_of, specialised, symbols
from .ir import TensorMap as Encoded

_DEVICES = {"cpu": "the CPU", "cuda": "the GPU"}


class ArgumentError(ValueError):
    """The error for an argument that does not fit its parameter; one sentence names the argument and the fix."""


LITTLE = 1 << 28
"""The number of bytes below which available memory is not checked."""


def check_room(nbytes: float, what: str) -> None:
    """Raise `ArgumentError` if `what`, a clause such as "A, B and D", exceeds the available memory.

    An operating system that overcommits memory would kill the process in the middle of the run.
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


def kernel_of(given: object, caller: str) -> PrimFunc:
    """Return the kernel given to `caller`, itself or in a module. Raises `TypeError` for anything else."""
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


def _kernel_in(given: object) -> object:
    """Return the kernel wrapped by a function, through `functools.wraps`, `functools.partial` or a closure."""
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


def whole_number(name: str, value: object, least: int = 1) -> int:
    """Return the value of an option. Raises `ValueError` unless it is an integer of at least `least`."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number of at least {least}, but {value!r} was given")


def named(func: PrimFunc, index: int) -> str:
    """Return the name of an argument in messages: "argument 1 (A) of gemm"."""
    return f"argument {index + 1} ({func.params[index].name}) of {func.name}"


def is_tensor(value: object) -> bool:
    """Return whether `value` is a PyTorch tensor, without importing PyTorch."""
    return hasattr(value, "data_ptr")


TENSOR_MAP_CALL = "tirx_mini.TensorMap(A, box=(64, 128), swizzle=128)"
"""An example of a tensor map's construction, for messages."""


@dataclass(frozen=True, eq=False)
class TensorMap:
    """The argument for a parameter `T.handle("tensormap")`: a tensor, and its layout for TMA.

    The fields are the arguments of `cuTensorMapEncodeTiled` (CUDA driver API). Dimensions are innermost first, as the
    coordinates of a copy are.

    tensor: a PyTorch tensor or NumPy array, contiguous. The map begins at its first element.
    box: extents of one transfer, in elements.
    swizzle: the swizzle span in bytes: 0, 32, 64 or 128.
    dims: extents of the tensor that TMA sees, in elements; by default those of `tensor`.
    strides: distances between neighbours in dimensions 1 …, in bytes; by default those of a contiguous tensor.
    l2_promotion: the granularity of L2 fetches in bytes: 0, 64, 128 or 256.
    fill: the value of elements outside the tensor in a load.
    """

    tensor: Any
    box: Sequence[int]
    swizzle: int = 0
    dims: Sequence[int] | None = None
    strides: Sequence[int] | None = None
    l2_promotion: int = 128
    fill: Literal["zero", "nan"] = "zero"

    def encoded(self, var: Var, buffer: Buffer) -> Encoded:
        """Return the map of `buffer`, which holds the tensor, for the parameter `var`. Raises `ArgumentError`."""
        dims = tuple(map(int, self.dims)) if self.dims is not None else buffer.shape[::-1]
        strides, step = self.strides, buffer.dtype.itemsize
        if strides is None:
            strides = [step := step * extent for extent in dims[:-1]]
        if not len(dims) == len(self.box) == len(strides) + 1:
            raise ArgumentError(
                f"the tensor map {var.name} has {len(dims)} dims, a box of {len(self.box)} and {len(strides)} strides: "
                "give as many extents of the box as dims, and one stride less"
            )
        if self.fill not in ("zero", "nan") or (self.fill == "nan" and not buffer.dtype.is_float):
            raise ArgumentError(
                f"the tensor map {var.name} of {buffer.dtype} cannot fill with {self.fill!r}: pass fill="
                + ('"zero" or "nan"' if buffer.dtype.is_float else '"zero"')
            )
        if self.l2_promotion not in (0, 64, 128, 256):
            raise ArgumentError(f"the l2_promotion of the tensor map {var.name} is 0, 64, 128 or 256 bytes, not "
                                f"{self.l2_promotion!r}")  # fmt: skip
        box = tuple(map(int, self.box))
        return Encoded(
            var, buffer, dims, tuple(map(int, strides)), box, int(self.swizzle), self.l2_promotion, var.span,
            self.fill == "nan",
        )  # fmt: skip


def is_tensor_map(param: Buffer | Var) -> bool:
    """Return whether a parameter is a tensor map."""
    return isinstance(param, Var) and param.dtype == "tensormap"


def tensor_map_of(func: PrimFunc, index: int, value: object) -> tuple[TensorMap, Encoded]:
    """Return the tensor map passed for a parameter, and its encoding. Raises `ArgumentError` for other values."""
    var = func.params[index]
    assert isinstance(var, Var)
    if not isinstance(value, TensorMap):
        raise ArgumentError(f"{named(func, index)} is a tensor map: pass {TENSOR_MAP_CALL}, not {_kind(value)}")
    tensor, here = value.tensor, f"the tensor of {named(func, index)}"
    if not is_tensor(tensor) and not isinstance(tensor, np.ndarray):
        raise ArgumentError(f"{here} must be a PyTorch tensor or a NumPy array, but it is {_kind(tensor)}")
    dtype = DataType(str(tensor.dtype).removeprefix("torch."))
    buffer = Buffer(f"{var.name}_tensor", tuple(map(int, tensor.shape)), dtype, span=var.span)
    return value, value.encoded(var, buffer)


def with_tensor_maps(func: PrimFunc, args: Sequence[object]) -> tuple[PrimFunc, Sequence[Any]]:
    """Return a kernel with its tensor maps' tensors as parameters, and its arguments with these tensors.

    A tensor that is passed several times, by itself or in maps, becomes one parameter. Raises `ArgumentError`.
    """
    if not any(map(is_tensor_map, func.params)) or len(args) != len(func.params):
        return func, args
    params: list[Buffer | Var] = []
    passed: list[object] = []
    maps = list(func.tensor_maps)
    for param, arg in zip(func.params, args, strict=True):
        if not is_tensor_map(param):
            params.append(param)
            passed.append(arg)
    for index, (param, arg) in enumerate(zip(func.params, args, strict=True)):
        if not is_tensor_map(param):
            continue
        given, encoded = tensor_map_of(func, index, arg)
        same = next((n for n, other in enumerate(passed) if other is given.tensor), None)
        if same is None:
            params.append(encoded.buffer)
            passed.append(given.tensor)
        else:
            buffer = params[same]
            assert isinstance(buffer, Buffer)
            encoded = replace(encoded, buffer=buffer)
        maps.append(encoded)
    return replace(func, params=tuple(params), tensor_maps=tuple(maps)), passed


def for_arguments(func: PrimFunc, args: Sequence[object]) -> PrimFunc:
    """Return the kernel for the shapes of these arguments: `func` itself if it has no symbolic extents.

    Raises `ArgumentError` if the arguments do not determine the extents.
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


def check_count(func: PrimFunc, args: Sequence[object]) -> None:
    """Raise `ArgumentError` unless there is one argument for each parameter."""
    if len(args) != len(func.params):
        names = ", ".join(param.name for param in func.params)
        raise ArgumentError(f"{func.name} takes {len(func.params)} arguments ({names}), but {len(args)} were given")


def not_an_array(func: PrimFunc, index: int, value: object) -> ArgumentError:
    """Return the error for a value that is passed for a buffer but has no elements."""
    return ArgumentError(f"{named(func, index)} must be a tensor or a NumPy array, but it is {_kind(value)}")


def check_device(func: PrimFunc, index: int, tensor: Any, device: str) -> None:
    """Raise `ArgumentError` unless a tensor is on `device`, "cuda" or "cpu"."""
    if tensor.device.type == device:
        return
    place = _DEVICES.get(tensor.device.type, tensor.device.type)
    where = "the kernel runs on the GPU" if device == "cuda" else "the simulator computes in main memory"
    raise ArgumentError(f"{named(func, index)} is on {place}, but {where}: pass {func.params[index].name}.{device}()")


def check_type(func: PrimFunc, index: int, array: Any) -> None:
    """Raise `ArgumentError` unless a tensor or NumPy array has the dtype and shape of its buffer parameter."""
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
    """Raise `ArgumentError` unless a tensor or NumPy array is contiguous in row-major order."""
    name = func.params[index].name
    if is_tensor(array):
        contiguous, strides, fix = array.is_contiguous(), array.stride(), f"{name}.contiguous()"
    else:
        strides = tuple(stride // array.itemsize for stride in array.strides)
        contiguous, fix = array.flags.c_contiguous, f"np.ascontiguousarray({name})"
    if not contiguous:
        raise ArgumentError(f"{named(func, index)} is not contiguous (its strides are {_dims(strides)}): pass {fix}")


def check_writeable(func: PrimFunc, index: int, array: np.ndarray) -> None:
    """Raise `ArgumentError` if a NumPy array is read-only."""
    if not array.flags.writeable:
        fix = f"pass {func.params[index].name}.copy()"
        raise ArgumentError(f"{named(func, index)} is read-only, and results are written in place: {fix}")


def check_scalar(func: PrimFunc, index: int, value: Any) -> bool | int | float:
    """Return the number to pass for a scalar parameter; raises `ArgumentError` if its type cannot represent it.

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
        raise ArgumentError(f"{named(func, index)} is a tensor map: pass {TENSOR_MAP_CALL}, not {_kind(value)}")
    given = repr(number) if isinstance(number, (int, float, str)) else _kind(number)
    raise ArgumentError(f"{named(func, index)} must be a number of type {dtype}, but {given} was given")


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _dims(shape: Sequence[int]) -> str:
    return str(tuple(map(int, shape)))
