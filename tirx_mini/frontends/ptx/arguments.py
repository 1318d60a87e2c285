"""Bind launch arguments to the kernel's parameters: constants, array pointers and tensor maps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tirx_mini.arguments import ArgumentError, TensorMap, is_tensor
from tirx_mini.ir import Buffer, DataType, Var
from tirx_mini.records import dataclass
from tirx_mini.sim import GlobalMemory

from .syntax import Declaration, Kernel

POINTER_BYTES = 8


@dataclass(frozen=True)
class Bound:
    """Kernel parameters bound to their argument values.

    params, args: the parameters of the lowered function and their argument values, in the same order.
    constants: the bytes of each parameter. pointers: (first byte, end, name of the array) of each pointer in it.
    arrays: the buffers by their names. maps: the variables of parameters that are tensor maps.
    """

    params: tuple[Buffer | Var, ...]
    args: tuple[Any, ...]
    constants: Mapping[str, bytes]
    pointers: Mapping[str, Sequence[tuple[int, int, str]]]
    arrays: Mapping[str, Buffer]
    maps: Mapping[str, Var]


def bind(kernel: Kernel, args: Sequence[object]) -> Bound:
    """Bind the arguments of a launch to the kernel's parameters. Raises `ArgumentError` for a mismatch."""
    if len(args) != len(kernel.parameters):
        names = ", ".join(parameter.name for parameter in kernel.parameters) or "none"
        raise ArgumentError(
            f"{kernel.name} takes {len(kernel.parameters)} arguments ({names}), but {len(args)} were given"
        )
    binding = _Binding(kernel)
    for number, (parameter, arg) in enumerate(zip(kernel.parameters, args, strict=True)):
        binding.add(number, parameter, arg)
    return binding.bound()


def size_of(declaration: Declaration) -> int:
    """Return the size of a variable or parameter in bytes, or the size of one element if the launch sets the extent."""
    count = declaration.vector * prod(extent for extent in declaration.shape if extent is not None)
    return count * max(1, bits_of(declaration.type) // 8)


@lru_cache(maxsize=256)
def bits_of(kind: str) -> int:
    """Return the width of a PTX type in bits, or 0 if the word is not a type."""
    if kind == "pred":
        return 8
    digits = re.search(r"\d+", kind)
    number = int(digits[0]) if digits else 0
    return number * 2 if kind.endswith("x2") else number


class _Binding:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.given: list[tuple[Buffer | Var, Any]] = []
        self.constants: dict[str, bytes] = {}
        self.pointers: dict[str, list[tuple[int, int, str]]] = {}
        self.arrays: dict[str, Buffer] = {}
        self.maps: dict[str, Var] = {}
        self.tables: list[tuple[np.ndarray, tuple[str, ...]]] = []

    def bound(self) -> Bound:
        buffers = [param.name for param, _ in self.given if isinstance(param, Buffer)]
        slots = {name: slot for slot, name in enumerate(buffers)}
        for table, names in self.tables:
            table[:] = [GlobalMemory.base(slots[name]) if name else 0 for name in names]
        params = tuple(param for param, _ in self.given)
        args = tuple(arg for _, arg in self.given)
        return Bound(params, args, self.constants, self.pointers, self.arrays, self.maps)

    def add(self, number: int, parameter: Declaration, arg: object) -> None:
        size, name = size_of(parameter), parameter.name
        shown = shown_name(number, name)
        if isinstance(arg, TensorMap):
            if size != 128:
                raise ArgumentError(f"{shown} of {self.kernel.name} has {size} bytes: it is not a tensor map")
            self.maps[name] = Var(DataType("tensormap"), shown, span=parameter.span)
            self.given.append((self.maps[name], arg))
            self.constants[name] = bytes(size)
            return
        self.pointers[name] = []
        if parameter.shape and isinstance(arg, (tuple, list)):
            data = self._packed(parameter, shown, arg)
        else:
            data = self._value(parameter, shown, 0, size, arg)
        if len(data) > size:
            raise ArgumentError(f"{shown} of {self.kernel.name} has {size} bytes, but {len(data)} are given")
        self.constants[name] = data + bytes(size - len(data))

    def _packed(self, parameter: Declaration, shown: str, values: Sequence[object], first: int = 0) -> bytes:
        """Return the bytes of a struct argument, with each value aligned to its own size; a tuple is a struct in it.

        first: the offset of the struct in the parameter.
        """
        data = b""
        for place, value in enumerate(values):
            if isinstance(value, tuple):
                data += bytes(-len(data) % _alignment(value))
                data += self._packed(parameter, f"{shown}_{place}", value, first + len(data))
                continue
            width = _alignment(value)
            data += bytes(-len(data) % width)
            data += self._value(parameter, f"{shown}_{place}", first + len(data), width, value)
        return data + bytes(-len(data) % _alignment(tuple(values)))

    def _value(self, parameter: Declaration, shown: str, offset: int, size: int, arg: Any) -> bytes:
        """Return the bytes of the value at `offset` in a parameter; pointers are encoded as zeros."""
        if isinstance(arg, (bytes, bytearray)):
            return bytes(arg)
        if is_array(arg) and (size != POINTER_BYTES or (parameter.shape and not offset)) and arg.nbytes == size:
            return np.asarray(arg).tobytes()
        if is_array(arg):
            if size != POINTER_BYTES:
                raise ArgumentError(f"{shown} of {self.kernel.name} has {size} bytes: pass a number, not an array")
            self.pointers[parameter.name].append((offset, offset + size, self._array(shown, arg)))
            return bytes(size)
        if arg is None:
            return bytes(size)
        if isinstance(arg, (list, tuple)) and size == POINTER_BYTES:
            return self._value(parameter, shown, offset, size, self._table(shown, arg))
        return self._number(parameter, shown, size, arg)

    def _number(self, parameter: Declaration, shown: str, size: int, arg: object) -> bytes:
        kind = parameter.type
        if not isinstance(arg, (bool, int, float, np.generic)):
            raise ArgumentError(
                f"{shown} of {self.kernel.name} is a .{kind}: pass an array or a number, not {type(arg).__name__}"
            )
        if isinstance(arg, np.generic) and arg.dtype.itemsize == size:
            return arg.tobytes()
        if kind.startswith("f") or isinstance(arg, (float, np.floating)):
            return np.asarray(arg, f"f{size}").tobytes()
        value = int(arg)
        if not -(1 << (8 * size - 1)) <= value < 1 << 8 * size:
            raise ArgumentError(f"{shown} of {self.kernel.name} has {8 * size} bits: {value} does not fit")
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _table(self, shown: str, arrays: Sequence[Any]) -> np.ndarray:
        """Return the array of the pointers to arrays; None is a null pointer."""
        table = np.zeros(max(1, len(arrays)), np.uint64)
        names = [self._array(f"{shown}_{place}", each) if is_array(each) else "" for place, each in enumerate(arrays)]
        self.tables.append((table[: len(arrays)], tuple(names)))
        return table

    def _array(self, shown: str, arg: Any) -> str:
        """Return the buffer name of an array; an array passed twice maps to one buffer."""
        for param, given in self.given:
            if given is arg:
                return param.name
        shape = tuple(map(int, arg.shape)) or (1,)
        buffer = Buffer(shown, shape, DataType(str(arg.dtype).removeprefix("torch.")), span=self.kernel.span)
        self.arrays[shown] = buffer
        self.given.append((buffer, arg if getattr(arg, "shape", ()) else arg.reshape(1)))
        return shown


def _alignment(value: object) -> int:
    """Return the alignment of a value in a struct, which is its size unless it is a struct itself."""
    if isinstance(value, tuple):
        return max(map(_alignment, value), default=1)
    if is_array(value) or isinstance(value, list):
        return POINTER_BYTES
    return 4 if type(value) in (int, float) else np.asarray(value).dtype.itemsize


def shown_name(number: int, name: str) -> str:
    """Return a parameter's name for messages, shortened if NVVM generated it."""
    return f"param_{number}" if re.fullmatch(r".*_param_\d+", name) else name


def is_array(value: object) -> bool:
    return is_tensor(value) or (isinstance(value, np.ndarray) and not isinstance(value, np.generic))
