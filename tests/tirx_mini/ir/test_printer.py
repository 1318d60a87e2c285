"""The printer: readable text that parses back to an equal function."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tests.tirx_mini.ir.functions import functions
from tirx_mini.ir import (
    FLOAT32,
    INT32,
    Binary,
    Bind,
    Buffer,
    Call,
    Cast,
    Const,
    DataType,
    Expr,
    For,
    If,
    PrimFunc,
    Select,
    Str,
    Unary,
    Var,
    binary,
    cast,
    const,
    expr_text,
    instruction_path,
    seq,
    stmt_text,
    structural_equal,
)  # fmt: skip
from tirx_mini.script import from_source

X, Y = Var(INT32, "x"), Var(INT32, "y")
U = Var(DataType("uint32"), "u")
R = Buffer("r", (8,), FLOAT32, "local")
A = Buffer("A", (16, 32), DataType("float16"))


@settings(max_examples=150)
@given(functions())
def test_a_function_parses_back_equal(func: PrimFunc) -> None:
    text = func.script()
    again = from_source(text)
    assert structural_equal(func, again), text
    assert again.script() == text


TEXTS: dict[str, Expr] = {
    "x - (y - 1)": X - (Y - 1),
    "x - y - 1": X - Y - 1,
    "(x + 1) * -2": (X + 1) * -2,
    "x * (y // 4) % 3": X * (Y // 4) % 3,
    "-(x + y)": -(X + Y),
    "~x & 1": ~X & 1,
    "x < 3 and not (y == 1 or x == 2)": binary(
        "and", X < 3, Unary(DataType("bool"), "not", binary("or", Y == 1, X == 2))
    ),
    "(x < 3) == (y < 4)": binary("==", X < 3, Y < 4),
    "Tx.min(x, 3)": binary("min", X, 3),
    "u + 7": U + 7,
    "Tx.uint32(7)": const(7, "uint32"),
    "Tx.int64(-3)": const(-3, "int64"),
    'Tx.float32("inf")': const(math.inf),
    "0.5": const(0.5),
    "Tx.float16(0.5)": const(0.5, "float16"),
    'Tx.const(0.0, "float16x2")': Const(DataType("float16x2"), 0.0),
    "Tx.uint32(x)": cast("uint32", X),
    "Tx.if_then_else(x < 3, x, 0)": Select(INT32, X < 3, X, const(0)),
    "r[x + 1]": R[X + 1],
    "A.flat[x]": type(R[0])(A.dtype, A, (X,)),
    "A.ptr_to([x, 0])": A.ptr_to([X, 0]),
    "A[0:16, x * 8 : x * 8 + 8]": A[:, X * 8 : X * 8 + 8],
    "A[x, 0:32]": A[X, :],
    "Tx.ptx.cp_async.bulk.wait_group(n=0)": Call(INT32, "cp.async.bulk.wait_group", (), (("n", 0),)),
    'Tx.call("a b", x, mode="c")': Call(INT32, "a b", (X,), (("mode", "c"),)),
    '"a \\"word\\""': Str(DataType("handle"), 'a "word"'),
    # Operators would simplify these nodes, so they are printed explicitly.
    'Tx.node("binary", "*", "int32", x, 1)': Binary(INT32, "*", X, const(1)),
    'Tx.node("binary", "+", "int32", 2, 3)': Binary(INT32, "+", const(2), const(3)),
    'Tx.node("cast", "int32", 3)': Cast(INT32, const(3)),
    'Tx.node("unary", "-", "int32", 3)': Unary(INT32, "-", const(3)),
    'Tx.node("select", "int32", True, x, y)': Select(INT32, const(True), X, Y),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_an_expression(text: str) -> None:
    assert expr_text(TEXTS[text]) == text == repr(TEXTS[text])


@pytest.mark.parametrize("text", [t for t in TEXTS if t.startswith("Tx.node")])
def test_unsimplified_nodes_parse_back_unchanged(text: str) -> None:
    func = PrimFunc("k", (X, Y), Bind(Var(INT32, "z"), TEXTS[text]))
    assert structural_equal(func, from_source(func.script()))


def test_the_text_of_nested_statements() -> None:
    k = Var(INT32, "k")
    loop = For(k, const(0), X, If(k < 2, seq(), If(k < 3, Bind(Var(INT32, "x"), X + k))))
    assert stmt_text(loop).splitlines() == [
        "for k in range(x):",
        "    if k < 2:",
        "        pass",
        "    elif k < 3:",
        "        x_1 = x + k",
    ]  # fmt: skip
    assert repr(loop) == stmt_text(loop)


def test_names_are_unique_in_a_block_and_reused_after_it() -> None:
    first, second = Var(INT32, "k"), Var(INT32, "k")
    nested = For(first, const(0), X, For(second, const(0), first, Bind(Var(INT32, "z"), first + second)))
    assert "for k_1 in range(k)" in stmt_text(nested)
    one = For(first, const(0), X, seq())
    other = For(second, const(0), X, seq())
    assert stmt_text(seq(one, other)).count("for k in range(x):") == 2


def test_names_become_valid_identifiers() -> None:
    assert expr_text(Var(INT32, "a b")) == "a_b" and expr_text(Var(INT32, "lambda")) == "_lambda"
    assert expr_text(Var(INT32, "Tx")) == "_Tx" and expr_text(Var(INT32, "2nd")) == "_2nd"


def test_keywords_in_an_instruction_name_join_the_part_before() -> None:
    assert instruction_path("cp.async.bulk.commit_group") == "ptx.cp_async.bulk.commit_group"
    assert instruction_path("fence.proxy.async") == "ptx.fence.proxy_async"
    assert instruction_path("mbarrier.init") == "ptx.mbarrier.init"
