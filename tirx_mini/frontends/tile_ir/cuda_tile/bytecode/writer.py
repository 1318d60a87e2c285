"""Modules as bytecode, which NVIDIA's `tileiras` and the driver compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tirx_mini.ir import TirxError

from ...ssa import Module, Op, Region, Scalar, Type, Value
from .. import ops
from ..attributes import Bounded, Dense, DivBy, Hints, Predicate
from ..types import GatherScatterView, PartitionView, Ptr, StridedView, TensorView, Tile, Token
from . import codes
from .primitives import MAGIC, Table, fixed, section, signed_varint, varint, varints

DYNAMIC = -(1 << 63)
"""What stands for an extent or a stride that only the run knows."""


class _Tables:
    """The tables that all functions share."""

    def __init__(self) -> None:
        self.strings, self.types, self.constants = Table(), Table(), Table()

    def string(self, text: str) -> int:
        return self.strings.number(text.encode())

    def constant(self, value: Dense) -> int:
        data = _bytes_of(value)
        return self.constants.number(varint(len(data)) + data)

    def type(self, type_: Type) -> int:
        return self.types.number(self._type(type_))

    def function(self, params: Sequence[Value]) -> int:
        inputs = varints([self.type(v.type) for v in params])
        return self.types.number(bytes([codes.FUNCTION]) + inputs + varints([]))

    def _type(self, type_: Type) -> bytes:
        """A tag and its fields; from version 13.3 on, types with optional fields say which are there."""
        if isinstance(type_, Scalar):
            return varint(codes.SCALARS[type_.name])
        if isinstance(type_, Token):
            return bytes([codes.TOKEN])
        if isinstance(type_, Ptr):
            return bytes([codes.POINTER]) + varint(0) + varint(self.type(type_.pointee))
        if isinstance(type_, Tile):
            return bytes([codes.TILE]) + varint(self.type(type_.element)) + fixed(type_.shape, 8)
        if isinstance(type_, TensorView):
            sizes = (fixed((DYNAMIC if n is None else n for n in s), 8) for s in (type_.shape, type_.strides))
            return bytes([codes.TENSOR_VIEW]) + varint(0) + varint(self.type(type_.element)) + b"".join(sizes)
        if isinstance(type_, (PartitionView, GatherScatterView)):
            return self._view(type_)
        raise TirxError(f"the bytecode has no type {type_}")

    def _view(self, view: PartitionView | GatherScatterView) -> bytes:
        padding = b"" if view.padding is None else bytes([codes.PADDINGS[view.padding]])
        head = varint(int(bool(padding))) + fixed(view.tile, 4)
        array = varint(self.type(view.view))
        if isinstance(view, GatherScatterView):
            return bytes([codes.GATHER_SCATTER_VIEW]) + head + array + varint(view.sparse_dim) + padding
        if isinstance(view, StridedView):
            steps = fixed(view.traversal_strides, 4)
            return bytes([codes.STRIDED_VIEW]) + head + steps + array + fixed(view.dim_map, 4) + padding
        return bytes([codes.PARTITION_VIEW]) + head + array + fixed(view.dim_map, 4) + padding

    # attributes that say what they are

    def number(self, value: int, element: str = "i32") -> bytes:
        bits = Scalar(element).bits
        return bytes([codes.INTEGER_ATTR]) + varint(self.type(Scalar(element))) + varint(value % (1 << bits))

    def identity(self, value: Dense) -> bytes:
        if not Scalar(value.element).is_float:
            return self.number(int(value.values), value.element)
        bits = int.from_bytes(_bytes_of(value), "little")
        packed = bytes([bits]) if value.values.dtype.itemsize == 1 else signed_varint(bits)
        return bytes([codes.FLOAT_ATTR]) + varint(self.type(Scalar(value.element))) + packed

    def predicate(self, value: Predicate) -> bytes:
        if isinstance(value, DivBy):
            return bytes([codes.DIV_BY]) + varint(value.divisor) + _optional(value.every, value.along)
        if isinstance(value, Bounded):
            return bytes([codes.BOUNDED]) + _optional(value.lower, value.upper)
        return bytes([codes.SAME_ELEMENTS]) + fixed(value.groups, 8)

    def hints(self, hints: Hints) -> bytes:
        def one(values: Mapping[str, int | bool]) -> bytes:
            return bytes([codes.DICTIONARY]) + self.dictionary({n: self.hint(v) for n, v in values.items()})

        return self.dictionary({arch: one(values) for arch, values in hints.items()})

    def hint(self, value: int | bool) -> bytes:
        return bytes([codes.BOOL_ATTR, value]) if isinstance(value, bool) else self.number(value)

    def dictionary(self, items: Mapping[str, bytes]) -> bytes:
        return varint(len(items)) + b"".join(varint(self.string(name)) + value for name, value in items.items())


def _optional(*numbers: int | None) -> bytes:
    present = sum(1 << i for i, n in enumerate(numbers) if n is not None)
    return bytes([present]) + b"".join(signed_varint(n) for n in numbers if n is not None)


def _bytes_of(value: Dense) -> bytes:
    """Little-endian numbers, one where all are equal; i1 is packed in bits, tf32 is its upper 19 bits in 3 bytes."""
    if value.element == "i1":
        return (
            bytes([0xFF * int(value.values)])
            if not value.values.ndim
            else np.packbits(value.values, bitorder="little").tobytes()
        )
    if value.element == "tf32":
        numbers = value.values.reshape(-1).view(np.uint32) >> 13
        return b"".join(int(n).to_bytes(3, "little") for n in numbers)
    return np.ascontiguousarray(value.values).tobytes()


class _Function:
    """The body of a function. Values are numbered in the order in which they are defined; those of a region only count
    while it lasts."""

    def __init__(self, tables: _Tables) -> None:
        self.tables = tables
        self.numbers: dict[Value, int] = {}
        self.count = 0

    def define(self, values: Sequence[Value]) -> None:
        for value in values:
            self.numbers[value] = self.count
            self.count += 1

    def block(self, region: Region) -> bytes:
        return b"".join(map(self.op, region.ops))

    def op(self, op: Op) -> bytes:
        code = codes.CODES.get(op.kind.mnemonic)
        if code is None:
            raise TirxError(f"the bytecode has no operation {op.name}", op.span)
        parts = [varint(code.opcode), self.results(op)]
        if code.flags:
            parts.append(varint(sum(1 << i for i, n in enumerate(code.flags) if _given(op, n))))
        parts += [self.attribute(op, name) for name in code.attrs]
        parts += [self.operands(op, bool(code.flags)), self.regions(op)]
        self.define(op.results)
        return b"".join(parts)

    def results(self, op: Op) -> bytes:
        """The types of the results; their number first, where the kind has groups of values."""
        types = [self.tables.type(v.type) for v in op.results]
        grouped = any(f.variadic for f in (*op.kind.operands, *op.kind.results))
        return varints(types) if grouped else b"".join(map(varint, types))

    def operands(self, op: Op, flagged: bool) -> bytes:
        """Several groups state their sizes; a single one states the number of all operands."""
        groups = [f for f in op.kind.operands if f.variadic]
        optional = any(f.optional for f in op.kind.operands)
        each = len(groups) > 1 or (optional and flagged)
        if not each:
            numbers = [self.numbers[v] for v in op.operands]
            return varints(numbers) if groups or optional else b"".join(map(varint, numbers))
        parts = []
        for arg in op.args:
            if isinstance(arg, tuple):
                parts.append(varints([self.numbers[v] for v in arg]))
            elif arg is not None:
                parts.append(varint(self.numbers[arg]))
        return b"".join(parts)

    def regions(self, op: Op) -> bytes:
        if not op.regions:
            return b""
        parts = [varint(len(op.regions))]
        for region in op.regions:
            before = self.count
            self.define(region.params)
            params = varints([self.tables.type(v.type) for v in region.params])
            parts += [varint(1), params, varint(len(region.ops)), self.block(region)]
            self.count = before
        return b"".join(parts)

    def attribute(self, op: Op, name: str) -> bytes:
        value: Any = getattr(op, name)
        if name in codes.ENUMS:
            return b"" if value is None else bytes([codes.ENUMS[name][value]])
        if name in ("dim", "alignment", "num_elem"):
            return varint(value)
        if name in ("message", "str", "symbol"):
            return varint(self.tables.string(value))
        if name == "inbounds":
            return fixed(map(int, value or (False,) * len(op.index)), 1)
        if name == "optimization_hints":
            return b"" if value is None else self.tables.hints(value)
        return {
            "value": lambda: varint(self.tables.constant(value)),
            "predicate": lambda: self.tables.predicate(value),
            "permutation": lambda: fixed(value, 4),
            "identities": lambda: varint(len(value)) + b"".join(map(self.tables.identity, value)),
            "reverse": lambda: bytes([value]),
        }[name]()


def _given(op: Op, name: str) -> bool:
    value = getattr(op, name)
    return value is not None and value is not False


def write_bytecode(module: Module) -> bytes:
    """The bytecode of a module, without debug information. Raises `TirxError` for what it cannot hold."""
    tables = _Tables()
    entries = [op for op in module.ops if op.kind is ops.entry]
    functions = varint(len(entries)) + b"".join(_function(op, tables) for op in entries)
    variables = [op for op in module.ops if op.kind is ops.global_]
    sections = [(codes.FUNCTIONS, functions, 8)]
    if variables:
        sections.append((codes.GLOBALS, varint(len(variables)) + b"".join(_global(op, tables) for op in variables), 1))
    sections += [
        (codes.CONSTANTS, tables.constants.encoded(8), 8),
        (codes.TYPES, tables.types.encoded(4), 4),
        (codes.STRINGS, tables.strings.encoded(4), 4),
    ]
    written = MAGIC + bytes(codes.VERSION) + (0).to_bytes(2, "little")
    for number, data, alignment in sections:
        written += section(number, data, alignment, len(written))
    return written + bytes([codes.END])


def _function(op: Op, tables: _Tables) -> bytes:
    """Name, type, flags, debug information (none), hints, and the body after its length."""
    body = _Function(tables)
    body.define(op.body.params)
    flags = codes.ENTRY | (codes.HAS_HINTS if op.optimization_hints else 0)
    head = varint(tables.string(op.sym_name)) + varint(tables.function(op.body.params)) + bytes([flags]) + varint(0)
    if op.optimization_hints:
        head += bytes([codes.HINTS]) + tables.hints(op.optimization_hints)
    code = body.block(op.body)
    return head + varint(len(code)) + code


def _global(op: Op, tables: _Tables) -> bytes:
    """Name, type, value, alignment, visibility (public), and whether it is constant."""
    numbers = (tables.string(op.sym_name), tables.type(op.type), tables.constant(op.value), op.alignment)
    return b"".join(map(varint, numbers)) + bytes([0]) + varint(int(op.constant))
