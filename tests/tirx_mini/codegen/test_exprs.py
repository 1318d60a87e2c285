"""Expressions keep their value in C++, and print as a person would write them."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.tirx_mini.codegen.samples import TID, WARP, at, func, put, vector
from tirx_mini.codegen.exprs import ExprRenderer
from tirx_mini.codegen.helpers import Helpers
from tirx_mini.codegen.names import Names
from tirx_mini.codegen.signs import Signs
from tirx_mini.ir import (
    INT32,
    AddressOf,
    Binary,
    Bind,
    Cast,
    DataType,
    Expr,
    Seq,
    Var,
    binary,
    cast,
    const,
    int_value,
    rewrite,
    scalar,
    select,
    substitute,
    unary,
    wrap,
)

X, Y, Z = (Var(INT32, name) for name in "xyz")
REGS = vector("regs", 64, "float32", "local")
TILE = vector("tile", 64, "float16", "shared")


def renderer(body=None) -> ExprRenderer:
    kernel = func(body if body is not None else Seq(()))
    names = Names()
    for node in (X, Y, Z, REGS, TILE):
        names.define(node, node.name)
    return ExprRenderer(names, Signs(kernel), Helpers())


class CInt:
    """A C++ int on the GPU: division and remainder round towards zero, and sums wrap around."""

    def __init__(self, value: int) -> None:
        self.value = wrap(value, INT32)

    def __truediv__(self, other: CInt) -> CInt:
        quotient = abs(self.value) // abs(_int(other))
        return CInt(quotient if (self.value < 0) == (_int(other) < 0) else -quotient)

    def __mod__(self, other: CInt) -> CInt:
        return CInt(self.value - (self / other).value * _int(other))


def _int(value: CInt | int) -> int:
    return value.value if isinstance(value, CInt) else value


def _operators() -> None:
    for name in ("add", "sub", "mul", "and", "or", "xor", "rshift"):
        python = getattr(int, f"__{name}__")
        setattr(CInt, f"__{name}__", lambda a, b, f=python: CInt(f(a.value, _int(b))))
        setattr(CInt, f"__r{name}__", lambda a, b, f=python: CInt(f(_int(b), a.value)))
    CInt.__rtruediv__ = lambda a, b: CInt(_int(b)) / a
    CInt.__rmod__ = lambda a, b: CInt(_int(b)) % a
    CInt.__neg__ = lambda a: CInt(-a.value)
    CInt.__invert__ = lambda a: CInt(~a.value)


_operators()


def value_in_c(text: str, **variables: int) -> int:
    """The value of `text` in C++, evaluated by Python: where the two bind differently it has parentheses."""
    scope = {name: CInt(value) for name, value in variables.items()}
    scope |= {
        "min": lambda a, b: CInt(min(_int(a), _int(b))),
        "max": lambda a, b: CInt(max(_int(a), _int(b))),
        "tvm_builtin_floordiv": lambda a, b: CInt(_int(a) // _int(b)),
        "tvm_builtin_floormod": lambda a, b: CInt(_int(a) % _int(b)),
    }
    return _int(eval(text, scope))


def value_in_ir(expr: Expr, **variables: int) -> int:
    """The value of an expression by the rules of the IR, as its folding gives it."""
    values = {var: const(variables[var.name]) for var in (X, Y, Z)}
    folded = rewrite(substitute(expr, values), lambda e: binary(e.op, e.a, e.b) if isinstance(e, Binary) else e)
    value = int_value(folded)
    assert value is not None
    return value


def integers() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.sampled_from([X, Y, Z]), st.integers(-20, 20).map(const))
    divisors = st.integers(1, 33).map(const)

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.one_of(
            st.builds(binary, st.sampled_from(["+", "-", "*", "&", "|", "^", "min", "max"]), inner, inner),
            st.builds(binary, st.sampled_from(["//", "%"]), inner, divisors),
            st.builds(binary, st.just(">>"), inner, st.integers(0, 5).map(const)),
        )

    return st.recursive(leaves, grow, max_leaves=12)


@settings(max_examples=300)
@given(integers(), st.integers(-50, 50), st.integers(-50, 50), st.integers(-50, 50))
def test_integers_keep_their_value(expr: Expr, x: int, y: int, z: int) -> None:
    values = {"x": x, "y": y, "z": z}
    assert value_in_c(renderer()(expr), **values) == value_in_ir(expr, **values)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((WARP >> 2) == 0, "(warp_id_in_cta >> 2) == 0"),
        ((WARP % 4) == 3, "(warp_id_in_cta % 4) == 3"),
        (TID < 1, "((int)threadIdx.x) < 1"),
        ((TID % 32) == 0, "(((int)threadIdx.x) % 32) == 0"),
        (TID // 32, "((int)threadIdx.x) / 32"),
        (X // 32, "x >> 5"),
        (X % 32, "x & 31"),
        (X * 128 + Y + 1, "x * 128 + y + 1"),
        ((X + Y) * 3, "(x + y) * 3"),
        (X - (Y - Z), "x - (y - z)"),
        (binary("and", X < 3, Y == 0), "x < 3 && y == 0"),
        (binary("or", binary("and", X < 3, Y == 0), Z > 1), "(x < 3 && y == 0) || z > 1"),
        (select(X < 3, Y, Z), "x < 3 ? y : z"),
        (select(X < 3, Y, Z) + 1, "(x < 3 ? y : z) + 1"),
        (binary("max", at(TILE, X), 0), "__hmax(tile[x], __float2half_rn(0.0f))"),
        (binary("min", at(REGS, X), 0), "min(regs[x], 0.0f)"),
        (cast("float16", at(REGS, X)), "__float2half_rn(regs[x])"),
        (cast("float16x2", at(REGS, X * 2, 2)), "__float22half2_rn(*(float2*)(regs + x * 2))"),
        (cast("bfloat16", at(TILE, X)), "__float2bfloat16_rn(__half2float(tile[x]))"),
        (cast("int32", at(TILE, 0)), "(int)__half2float(tile[0])"),
        (cast("uint64", X), "(uint64_t)x"),
        (cast("bool", X & 1), "(x & 1) != 0"),
        (Cast(DataType("uint32"), AddressOf(DataType("handle"), TILE, (X,))), "tvm_builtin_shared_address(&tile[x])"),
        (const(0x8200010, "uint32"), "0x8200010u"),
        (const(-(2**31), "int32"), "(-2147483647 - 1)"),
        (const(1.5, "float32"), "1.5f"),
        (const(float("-inf"), "float32"), "__int_as_float(0xff800000)"),
        (const(0.5, "float16"), "__float2half_rn(0.5f)"),
    ],
)
def test_an_expression_prints_as_c_would_be_written(expr: Expr, text: str) -> None:
    assert renderer()(expr) == text


def test_natural_numbers_divide_with_plain_operators() -> None:
    tile = Var(INT32, "tile_id")
    render = renderer(Bind(tile, TID * 3 + WARP))
    render.names.define(tile, "tile_id")
    assert render(tile // 7) == "tile_id / 7"
    assert render((tile - 5) // 7) == "tvm_builtin_floordiv(tile_id - 5, 7)"


def test_a_scalar_counts_as_natural_until_a_store_refutes_it() -> None:
    stage, delta = scalar("stage", "int32"), scalar("delta", "int32")
    body = Seq(
        (put(stage, 0, const(0)), put(stage, 0, (at(stage, 0) + 1) % 3), put(delta, 0, const(1)), put(delta, 0, X - 1))
    )
    render = renderer(body)
    for buffer in (stage, delta):
        render.names.define(buffer, buffer.name)
    assert render(at(stage, 0) % 3) == "stage % 3"
    assert render(at(delta, 0) % 3) == "tvm_builtin_floormod(delta, 3)"


def test_a_negated_negation_is_no_decrement() -> None:
    """`--x` would change x."""
    render = renderer()
    assert render(unary("-", unary("-", X))) == "-(-x)"
    assert render(binary("-", Y, unary("-", X))) == "y - -x"
    assert "--" not in render(binary("*", unary("-", unary("-", unary("-", X))), Y))
