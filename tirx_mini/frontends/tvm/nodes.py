"""Constructors of TVM's expression nodes, such as ``tvm.tirx.Var("x", "int32")`` and ``tvm.tirx.Add(a, b)``.

Each is a class, so that ``isinstance(expr, tvm.tirx.Add)`` asks whether the expression is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirx_mini.ir import Binary as OwnBinary
from tirx_mini.ir import Buffer, Const, DataType, Expr, binary, cast, const, select, unary
from tirx_mini.ir import Cast as OwnCast
from tirx_mini.ir import Select as OwnSelect
from tirx_mini.ir import Str as OwnStr
from tirx_mini.ir import Unary as OwnUnary
from tirx_mini.ir import Var as OwnVar
from tirx_mini.script import is_reading, tirx

Range = tirx.Range

_BINARY = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "FloorDiv": "//", "FloorMod": "%", "Min": "min",
    "Max": "max", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "And": "and", "Or": "or",
}  # fmt: skip


class _Kind(type):
    """The metaclass of constructors. `make` builds a node, and `of` tests whether a node is of this kind."""

    make: Callable[..., Expr]
    of: Callable[[Any], bool]

    def __call__(cls, *args: object, span: object = None, **kwargs: object) -> Expr:
        return cls.make(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.of(instance)


def _kind(name: str, doc: str, make: Callable[..., Expr], of: Callable[[Any], bool]) -> object:
    return _Kind(name, (), {"__doc__": doc, "make": staticmethod(make), "of": staticmethod(of)})


def _binary(name: str, op: str) -> object:
    doc = f"``a {op} b``." if not op.isalpha() else f"{op} of `a` and `b`."
    return _kind(name, doc, lambda a, b: binary(op, a, b), lambda node: isinstance(node, OwnBinary) and node.op == op)


def _var(name: str | None = None, ty: object = None, *, name_hint: str | None = None, dtype: object = None) -> Expr:
    kind = ty if ty is not None else dtype
    return OwnVar(DataType(str(getattr(kind, "dtype", kind or "int32"))), name or name_hint or "v")


def _number(node: object, kind: str) -> bool:
    return isinstance(node, Const) and (node.dtype.is_float if kind == "float" else not node.dtype.is_float)


def decl_buffer(
    shape: Any, dtype: Any = "float32", name: str = "buffer", *args: Any, scope: str = "", **options: Any
) -> Buffer:
    """Declare a buffer: by `Tx.decl_buffer` inside a kernel, standalone outside."""
    if is_reading():
        return tirx.decl_buffer(shape, dtype, *args, scope=scope or None, **options)
    extents = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    return Buffer(name, extents, DataType(str(dtype)), scope or "global")


def __getattr__(name: str) -> Any:
    if name not in _KINDS:
        raise AttributeError(name)
    return _KINDS[name]


def __dir__() -> list[str]:
    return sorted([*_KINDS, "Range", "decl_buffer"])


_KINDS: dict[str, Any] = {name: _binary(name, op) for name, op in _BINARY.items()} | {
    "Var": _kind("Var", "A variable.", _var, lambda node: isinstance(node, OwnVar)),
    "SizeVar": _kind("SizeVar", "A variable that is not negative.", _var, lambda node: isinstance(node, OwnVar)),
    "IntImm": _kind(
        "IntImm", "An integer.", lambda dtype, value: const(int(value), str(dtype)), lambda node: _number(node, "int")
    ),
    "FloatImm": _kind(
        "FloatImm", "A number.", lambda dtype, value: const(float(value), str(dtype)),
        lambda node: _number(node, "float"),
    ),
    "StringImm": _kind(
        "StringImm", "A text.", tirx.StringImm, lambda node: isinstance(node, OwnStr)
    ),
    "Cast": _kind(
        "Cast", "A value of another type.", lambda dtype, value: cast(str(dtype), value),
        lambda node: isinstance(node, OwnCast),
    ),
    "Not": _kind(
        "Not", "``not a``.", lambda a: unary("not", a), lambda node: isinstance(node, OwnUnary) and node.op == "not"
    ),
    "Select": _kind("Select", "A choice.", select, lambda node: isinstance(node, OwnSelect)),
}  # fmt: skip
