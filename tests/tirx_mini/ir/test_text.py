"""Nodes show the text of the printer, which registers one function for each base class of nodes."""

from __future__ import annotations

import pytest

from tirx_mini.ir import INT32, Bind, Break, Expr, PrimFunc, Stmt, Var, expr_text, script, stmt_text
from tirx_mini.ir.text import node_text

X = Var(INT32, "x")
BIND = Bind(Var(INT32, "y"), X + 1)
FUNC = PrimFunc("kernel", (X,), Break())


def test_the_printer_registers_a_function_for_each_base_class() -> None:
    registered = {Expr: expr_text, Stmt: stmt_text, PrimFunc: script}
    assert {cls: function for cls, function in node_text.registry.items() if cls is not object} == registered


@pytest.mark.parametrize(
    ("node", "text"),
    [(X + 1, "x + 1"), (BIND, "y = x + 1"), (FUNC, script(FUNC))],
    ids=["expression", "statement", "function"],
)
def test_the_repr_of_a_node_is_its_text(node: object, text: str) -> None:
    assert repr(node) == text


def test_an_object_that_is_not_a_node_has_no_text() -> None:
    with pytest.raises(NotImplementedError, match="registers no text for int"):
        node_text(3)
