"""Memory layout of a kernel's variables: one shared allocation, with constants and globals as extra arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    AllocBuffer,
    Buffer,
    Cast,
    DataType,
    DeclBuffer,
    Expr,
    Span,
    Stmt,
    TirxError,
    cast,
    const,
)
from tirx_mini.records import dataclass
from tirx_mini.sim import GlobalMemory

from .arguments import Bound, bits_of, size_of
from .names import plain_name
from .opcodes import FLOATS
from .syntax import Declaration, Float, Immediate, Initial, Symbol

GENERIC_PARAMETERS = 3 << 56
"""The generic address of the first parameter; only tensor maps are named by their addresses."""


@dataclass(frozen=True)
class Variables:
    """The variables of a kernel, by name.

    shared: the allocation, None without one. views: its parts. arrays: of variables in global and constant memory, with
    their values. bound: the arguments.
    """

    shared: Buffer | None
    views: Mapping[str, Buffer]
    arrays: Mapping[str, tuple[Buffer, np.ndarray]]
    bound: Bound

    def declarations(self) -> list[Stmt]:
        if self.shared is None:
            return []
        return [AllocBuffer(self.shared), *(DeclBuffer(view) for view in self.views.values())]

    def buffer(self, name: str) -> Buffer | None:
        """Return the buffer of a variable."""
        if name in self.views:
            return self.views[name]
        return self.arrays[name][0] if name in self.arrays else None

    def space(self, name: str) -> str:
        """Return the state space of a variable."""
        return "shared" if name in self.views else "global" if name in self.arrays else "param"

    def address(self, name: str, span: Span | None) -> Expr:
        """Return the address of a variable in its state space."""
        if name in self.views:
            return cast("uint32", AddressOf(HANDLE, self.views[name], (const(0),)))
        if name in self.arrays:
            return Cast(DataType("int64"), AddressOf(HANDLE, self.arrays[name][0], (const(0),)))
        if name in self.bound.maps:
            return const(GENERIC_PARAMETERS + 128 * list(self.bound.maps).index(name), "int64")
        message = f"the address of {name} is taken, which the simulator does not place in memory"
        raise TirxError(message, span, kind="not-modelled")


def place(declared: Iterable[Declaration], bound: Bound, dynamic: int) -> Variables:
    """Allocate all variables. dynamic: bytes of dynamic shared memory."""
    variables = list(declared)
    shared = [each for each in variables if each.space == "shared"]
    views, total = _shared(shared, dynamic)
    pool = Buffer("shared_memory", (max(total, 1),), DataType("uint8"), "shared", align=1024) if total else None
    made = {name: _view(view, offset, pool) for name, (view, offset) in views.items() if pool is not None}
    stored = [each for each in variables if each.space in ("const", "global")]
    before = sum(isinstance(param, Buffer) for param in bound.params)
    addresses = {each.name: GlobalMemory.base(before + number) for number, each in enumerate(stored)}
    arrays = {each.name: _array(each, addresses) for each in stored}
    return Variables(pool, made, arrays, bound)


def _shared(shared: Sequence[Declaration], dynamic: int) -> tuple[dict[str, tuple[Buffer, int]], int]:
    """Lay out the shared variables, dynamically sized ones last, and return their offsets and the total size."""
    offset = 0
    found: dict[str, tuple[Buffer, int]] = {}
    for each in (one for one in shared if None not in one.shape):
        step = max(each.align, bits_of(each.type) * each.vector // 8, 1)
        offset = -(-offset // step) * step
        found[each.name] = (_buffer(each, size_of(each)), offset)
        offset += size_of(each)
    sized = [one for one in shared if None in one.shape]
    if sized:
        step = max((each.align or 16 for each in sized), default=16)
        offset = -(-offset // step) * step
        for each in sized:
            if dynamic:
                found[each.name] = (_buffer(each, dynamic), offset)
            else:
                found[each.name] = (_buffer(each, max(bits_of(each.type) // 8, 1)), offset)
    return found, offset + dynamic if dynamic else max(offset, *(o + b.nbytes for b, o in found.values()), 0)


def _buffer(declaration: Declaration, nbytes: int) -> Buffer:
    kind = declaration.type
    dtype = DataType(FLOATS.get(kind, f"{'int' if kind[0] == 's' else 'uint'}{max(8, min(64, bits_of(kind)))}"))
    shape = tuple(extent for extent in declaration.shape if extent is not None)
    if declaration.vector > 1:
        shape = (*shape, declaration.vector)
    count = max(1, nbytes // dtype.itemsize)
    whole = shape and prod(shape) == count
    return Buffer(plain_name(declaration.name), shape if whole else (count,), dtype, span=declaration.span)


def _view(buffer: Buffer, offset: int, pool: Buffer | None) -> Buffer:
    return Buffer(
        buffer.name, buffer.shape, buffer.dtype, "shared", source=pool, byte_offset=offset, span=buffer.span
    )  # fmt: skip


def _array(declaration: Declaration, addresses: Mapping[str, int]) -> tuple[Buffer, np.ndarray]:
    """Return the array of a global or constant variable, with its initial values. addresses: of all such variables."""
    buffer = _buffer(declaration, size_of(declaration))
    data = np.zeros(buffer.size, np.dtype(str(buffer.dtype)) if "bfloat" not in buffer.dtype else np.uint16)
    values = list(_flat(declaration.initial)) if declaration.initial is not None else []
    for place_, value in enumerate(values[: len(data)]):
        data[place_] = _value(value, data.dtype, declaration, addresses)
    return buffer, data.reshape(buffer.shape)


def _flat(initial: Any) -> Iterable[Initial]:
    if isinstance(initial, tuple):
        for each in initial:
            yield from _flat(each)
    else:
        yield initial


def _value(
    value: object, dtype: np.dtype, declaration: Declaration, addresses: Mapping[str, int]
) -> int | np.generic | np.ndarray:
    if isinstance(value, Symbol) and value.name in addresses and dtype.itemsize == 8:
        return addresses[value.name] + value.offset
    if isinstance(value, Immediate):
        bits = 8 * dtype.itemsize
        word = np.asarray(value.value & ((1 << bits) - 1), f"u{dtype.itemsize}")
        return word.view(dtype) if dtype.kind in "iu" else dtype.type(value.value)
    if isinstance(value, Float):
        number = np.asarray(value.bits, f"u{value.width // 8}").view(f"f{value.width // 8}")
        return number.astype(dtype)
    raise TirxError(
        f"{declaration.name} is initialised with an address, which the simulator does not place in memory",
        declaration.span, kind="not-modelled",
    )  # fmt: skip
