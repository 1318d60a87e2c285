"""The grammar of a saved kernel: the fields of every class, and the valid values of each field."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any

from tirx_mini.ir import (
    BINARY_OPS,
    COURSE,
    LOOP_KINDS,
    NATIVE,
    PARENTS,
    REDUCE,
    SCOPE_KINDS,
    SCOPES,
    SPATIAL,
    SPECIALS,
    TIR,
    UNARY_OPS,
    Address,
    AddressOf,
    AllocBuffer,
    Binary,
    Bind,
    Block,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Continue,
    DataType,
    DeclBuffer,
    Evaluate,
    Expanded,
    Expr,
    For,
    Hint,
    If,
    Launch,
    PrimFunc,
    Ramp,
    Range,
    Region,
    Reinterpret,
    Return,
    Scope,
    ScopeIds,
    Select,
    Seq,
    Span,
    Special,
    Stmt,
    Str,
    TensorMap,
    TileCall,
    TileWrite,
    TirxError,
    Unary,
    Var,
    While,
    Written,
)
from tirx_mini.isa import NAMES, TABLE
from tirx_mini.layout import (
    Axis,
    ComposeLayout,
    Iter,
    Layout,
    Spec,
    Stride,
    SwizzleLayout,
    SwizzleMode,
    TileLayout,
)

FORMAT, VERSION = "tirx_mini kernel", 1
MOST_TEXT = 4096
"""The maximum length of a string, in characters."""
MOST_ELEMENTS = 1 << 40
"""The maximum number of elements of a buffer or layout."""

class SavedKernelError(ValueError):
    """An error for text that is not a saved kernel; the message gives the position and the expected token."""


class Unexpected(Exception):
    """The error for an invalid value; its argument states the expectation."""


Check = Callable[[Any], Any]
"""A check that takes a value and returns it as the node's field; it raises `Unexpected`."""


# -- what a field may hold ---------------------------------------------------------------------------------------------


def need(holds: object, expected: str) -> None:
    if not holds:
        raise Unexpected(expected)


def _int(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        need(type(value) is int and low <= value <= high, f"an integer from {low} to {high}")
        return value

    return check


def _bool(value: Any) -> bool:
    need(type(value) is bool, "true or false")
    return value


def _number(value: Any) -> int | float | bool:
    need(type(value) in (bool, float) or (type(value) is int and -(2**63) <= value < 2**64), "a number of 64 bits")
    return value


def _name(value: Any) -> str:
    """Check a string that becomes a variable name, in Python and in CUDA."""
    fits = isinstance(value, str) and value.isascii() and value.isidentifier() and len(value) <= 200
    need(fits and not keyword.iskeyword(value), "an identifier")
    return value


def _text(value: Any) -> str:
    """Check the message of a print: printable characters and newlines."""
    fits = isinstance(value, str) and len(value) <= MOST_TEXT
    need(fits and all(c.isprintable() or c in "\n\t" for c in value), "a text that can be printed")
    return value


def _remark(value: Any) -> str:
    """Check a remark line, which becomes a comment in CUDA."""
    fits = isinstance(value, str) and len(value) <= MOST_TEXT and value.isprintable()
    need(fits and "*/" not in value and not value.endswith("\\"), "one line of text")
    return value


def _word(value: Any) -> str:
    """Check a modifier, as "tcgen05" or "shared::cta"."""
    need(isinstance(value, str) and re.fullmatch(r"[\w.:+-]{0,100}", value, re.ASCII), "a word")
    return value


def _dtype(value: object) -> DataType:
    try:
        dtype = DataType(value) if isinstance(value, str) else None
    except ValueError:
        dtype = None
    if dtype is None or dtype.lanes > 64:
        raise Unexpected("a dtype")
    return dtype


def _among(names: Any) -> Check:
    def check(value: Any) -> str:
        need(isinstance(value, str) and value in names, f"one of {', '.join(names)}")
        return value

    return check


def a(*classes: type) -> Check:
    def check(value: object) -> object:
        need(isinstance(value, classes), " or ".join(each.__name__ for each in classes))
        return value

    return check


def _many(item: Check) -> Check:
    def check(value: Any) -> tuple[object, ...]:
        need(isinstance(value, tuple), "a list")
        return tuple(map(item, value))

    return check


def optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _plain(value: object) -> object:
    """Check the value of an option or modifier: a node, a number, a word, or a tuple of them."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if value is None or isinstance(value, (bool, int, float)):
        return value if value is None else _number(value)
    return _word(value) if isinstance(value, str) else a(Expr, Buffer, Layout)(value)


def _pair(value: Any) -> tuple[str, Any]:
    need(isinstance(value, tuple) and len(value) == 2, "a name and a value")
    name = _name(value[0])
    return name, _text(value[1]) if name == "format" else _plain(value[1])


def _attribute(value: Any) -> tuple[str, Any]:
    """Check the attribute of a hint: a key such as "tirx.pipelined", and a value."""
    need(isinstance(value, tuple) and len(value) == 2, "a name and a value")
    need(bool(value[0]), "a word that is not empty")
    return _word(value[0]), _plain(value[1])


EXPANDED = ("print_buffer", "cuda.printf")
"""The calls of the language that expand to statements."""


def _argument(value: object) -> Any:
    return _text(value) if isinstance(value, str) else _plain(value)


def _written(value: Any) -> Written:
    """Check a written call: its path, operand positions, modifier names, and further positions."""
    need(isinstance(value, tuple) and len(value) == 4 and isinstance(value[0], str), "a path, places and names")
    need(value[0] in NAMES, "a path of the language")
    places = _many(_int(0, 255))
    return value[0], places(value[1]), _many(_name)(value[2]), places(value[3])


_index, _extent, _bytes = _int(-(2**63), 2**63), _int(1, 2**31), _int(0, 2**31)
_expr, _stmt, _buffer, _var = a(Expr), a(Stmt), a(Buffer), a(Var)
_exprs, _stmts, _pairs = _many(_expr), _many(_stmt), _many(_pair)
_three = _many(_extent)

# -- the grammar: one line a node --------------------------------------------------------------------------------------

GRAMMAR: Mapping[type, Mapping[str, Check]] = MappingProxyType({
    Span: {"file": _index, "line": _bytes, "column": _bytes, "end_line": _bytes, "end_column": _bytes,
           "inlined_at": optional(a(Span)), "library": _bool},
    Axis: {"name": _name},
    Iter: {"extent": _extent, "stride": _index, "axis": a(Axis)},
    Stride: {"value": _index, "axis": a(Axis)},
    Spec: {"dims": _many(_many(a(Iter))), "replica": _many(a(Iter)), "offset": _many(a(Stride))},
    TileLayout: {"spec": a(Spec)},
    SwizzleMode: {"name": _among(SwizzleMode.__members__)},
    SwizzleLayout: {"mode": a(SwizzleMode), "bits": _extent},
    ComposeLayout: {"swizzle": a(SwizzleLayout), "tile_layout": a(TileLayout)},
    Buffer: {"name": _name, "shape": _many(_extent), "dtype": _dtype, "scope": _among(SCOPES),
             "layout": optional(a(Layout)), "source": optional(_buffer), "byte_offset": _bytes,
             "allocated_addr": optional(_expr), "align": _bytes, "scalar": _bool,
             "elem_offset": optional(_expr)},
    Range: {"start": _expr, "extent": _expr},
    Var: {"dtype": _dtype, "name": _name},
    Const: {"dtype": _dtype, "value": _number},
    Str: {"dtype": _dtype, "value": _text},
    Special: {"dtype": _dtype, "name": _among(SPECIALS)},
    Unary: {"dtype": _dtype, "op": _among(UNARY_OPS), "value": _expr},
    Binary: {"dtype": _dtype, "op": _among(BINARY_OPS), "a": _expr, "b": _expr},
    Cast: {"dtype": _dtype, "value": _expr},
    Reinterpret: {"dtype": _dtype, "value": _expr},
    Select: {"dtype": _dtype, "cond": _expr, "a": _expr, "b": _expr},
    Ramp: {"dtype": _dtype, "base": _expr, "lanes": _int(1, 64)},
    BufferLoad: {"dtype": _dtype, "buffer": _buffer, "indices": _exprs},
    AddressOf: {"dtype": _dtype, "buffer": _buffer, "indices": _exprs},
    Address: {"dtype": _dtype, "value": _expr, "buffers": optional(_many(_buffer))},
    Region: {"dtype": _dtype, "buffer": _buffer, "ranges": _many(a(Range))},
    Call: {"dtype": _dtype, "op": _among(TABLE), "args": _exprs, "attrs": _pairs, "written": optional(_written)},
    Seq: {"stmts": _stmts},
    Bind: {"var": _var, "value": _expr},
    AllocBuffer: {"buffer": _buffer},
    DeclBuffer: {"buffer": _buffer},
    BufferStore: {"buffer": _buffer, "indices": _exprs, "value": _expr},
    Evaluate: {"call": a(Call)},
    If: {"cond": _expr, "then": _stmt, "orelse": optional(_stmt)},
    For: {"var": _var, "start": _expr, "stop": _expr, "body": _stmt, "step": _extent,
          "kind": _among(LOOP_KINDS), "parallel": _bool, "unroll": optional(_bool), "thread": _among(("", *SPECIALS))},
    Block: {"name": _name, "vars": _many(_var), "kinds": _many(_among((SPATIAL, REDUCE))),
            "domains": _many(a(Range)), "values": _exprs, "body": _stmt, "init": optional(_stmt),
            "reads": optional(_many(a(Region))), "writes": optional(_many(a(Region))), "predicate": optional(_expr),
            "allocs": _many(_buffer), "attrs": _many(_attribute)},
    While: {"cond": _expr, "body": _stmt},
    Break: {},
    Return: {},
    Continue: {},
    Hint: {"message": _remark, "attrs": _many(_attribute), "body": optional(_stmt)},
    Expanded: {"path": _among(EXPANDED), "args": _many(_argument), "body": _stmt},
    ScopeIds: {"vars": _many(_var), "extents": _many(_extent), "kind": _among(SCOPE_KINDS),
               "parent": _among(PARENTS), "preferred": _many(_extent)},
    Scope: {"kind": _among(SCOPE_KINDS), "body": _stmt, "parent": optional(_among(SCOPE_KINDS)),
            "filter": optional(_expr)},
    TileCall: {"op": _name, "operands": _exprs, "options": _pairs, "scope": optional(_among(SCOPE_KINDS))},
    TensorMap: {"var": _var, "buffer": _buffer, "dims": _many(_extent), "strides": _many(_index),
                "box": _many(_extent), "swizzle": _bytes, "l2_promotion": _bytes, "nan_fill": _bool,
                "offset": _bytes},
    TileWrite: {"buffer": optional(_buffer)},
    Launch: {"grid": _three, "threads": _extent, "cluster": _three, "smem_bytes": _bytes, "programmatic": _bool},
    PrimFunc: {"name": _name, "params": _many(a(Buffer, Var)), "body": _stmt, "attrs": _many(_attribute),
               "launch": optional(a(Launch)), "tensor_maps": _many(a(TensorMap)), "tile_writes": _many(a(TileWrite)),
               "spelling": _among((COURSE, NATIVE, TIR))},
})  # fmt: skip
"""The fields of every class except `span`, which all IR nodes have. A span's file is an index."""

CLASSES: Mapping[str, type] = MappingProxyType({each.__name__: each for each in GRAMMAR})


def _check_const(node: Const) -> None:
    value, dtype = node.value, node.dtype
    kind = bool if dtype.is_bool else int if dtype.is_integer else float
    need(type(value) is kind and dtype.lanes == 1, f"a value of {dtype}")
    if kind is int:
        low = -(1 << dtype.bits - 1) if dtype.is_signed else 0
        need(low <= value < low + (1 << dtype.bits), f"a value of {dtype}")


def _check_reinterpret(node: Reinterpret) -> None:
    need(node.dtype.nbytes == node.value.dtype.nbytes, f"a value of {node.dtype.nbytes} bytes")


def _check_special(node: Special) -> None:
    need(node.dtype == SPECIALS[node.name], f"{SPECIALS[node.name]} as the dtype of {node.name}")


def _check_buffer(buffer: Buffer) -> None:
    need(1 <= len(buffer.shape) <= 16 and buffer.size <= MOST_ELEMENTS, f"at most {MOST_ELEMENTS} elements")


def _check_spec(spec: Spec) -> None:
    need(math.prod(it.extent for dim in spec.dims for it in dim) <= MOST_ELEMENTS, f"at most {MOST_ELEMENTS} elements")


def _check_access(node: BufferLoad | AddressOf | BufferStore) -> None:
    need(len(node.indices) in (1, node.buffer.ndim), f"{node.buffer.ndim} indices of {node.buffer.name}")


def _check_address(node: Address) -> None:
    need(node.value.dtype.is_integer and node.value.dtype.lanes == 1, "an integer as the number of an address")


def _check_region(node: Region) -> None:
    need(len(node.ranges) == node.buffer.ndim, f"{node.buffer.ndim} ranges of {node.buffer.name}")


def _check_call(node: Call) -> None:
    need(len(dict(node.attrs)) == len(node.attrs), "each modifier once")
    try:
        TABLE[node.op].bind(node.args, dict(node.attrs))
    except TirxError as error:
        raise Unexpected(f"operands that fit: {error.diagnostic.message}") from None


def _check_scope_ids(node: ScopeIds) -> None:
    need(len(node.extents) in (0, len(node.vars)), "an extent for each variable, or none")
    need(len(node.preferred) in (0, len(node.extents)), "a preferred extent for each extent, or none")
    need((node.parent == "pair") <= (node.kind == "cta" and node.extents == (2,)), "the two CTAs of a pair")


def _check_launch(node: Launch) -> None:
    need(len(node.grid) == len(node.cluster) == 3, "three extents")


RULES: Mapping[type, Callable[[Any], None]] = MappingProxyType({
    Const: _check_const, Reinterpret: _check_reinterpret, Special: _check_special, Buffer: _check_buffer,
    Spec: _check_spec, BufferLoad: _check_access, Address: _check_address,
    AddressOf: _check_access, BufferStore: _check_access, Region: _check_region, Call: _check_call,
    ScopeIds: _check_scope_ids, Launch: _check_launch,
})  # fmt: skip
"""The consistency rules between the fields of a node."""


# -- the fields of a class ---------------------------------------------------------------------------------------------


@cache
def field_names(cls: type) -> tuple[str, ...]:
    own = tuple(GRAMMAR[cls])
    return (*own, "span") if issubclass(cls, (Expr, Stmt, Buffer, TensorMap, TileWrite, PrimFunc)) else own


@cache
def defaults(cls: type) -> dict[str, Any]:
    return {} if cls is SwizzleMode else {each.name: each.default for each in fields(cls)}
