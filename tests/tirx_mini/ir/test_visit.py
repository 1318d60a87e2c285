"""Visitors: walking, rewriting and structural equality."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from tests.tirx_mini.ir.functions import functions
from tirx_mini.ir import (
    INT32,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    DataType,
    Evaluate,
    Expr,
    For,
    Mutator,
    PrimFunc,
    Ramp,
    Region,
    TileCall,
    Var,
    binary,
    children,
    const,
    rewrite,
    seq,
    structural_equal,
    substitute,
    walk,
)  # fmt: skip

X, Y = Var(INT32, "x"), Var(INT32, "y")
R = Buffer("r", (8,), DataType("float32"), "local")
SETTINGS = settings(max_examples=50)


@SETTINGS
@given(functions())
def test_the_default_mutator_returns_the_same_tree(func: PrimFunc) -> None:
    assert Mutator().func(func).body is func.body


@SETTINGS
@given(functions())
def test_walk_yields_parents_before_children(func: PrimFunc) -> None:
    order = {id(node): place for place, node in enumerate(walk(func.body))}
    for node in walk(func.body):
        assert all(order[id(child)] > order[id(node)] or _shared(func, child) for child in children(node))


def _shared(func: PrimFunc, node: object) -> bool:
    return sum(other is node for other in walk(func.body)) > 1


@SETTINGS
@given(functions())
def test_structural_equality_ignores_identity_and_names(func: PrimFunc) -> None:
    renamed = _Fresh().func(func)
    assert structural_equal(func, func)
    assert structural_equal(func.body, renamed.body) and structural_equal(renamed.body, func.body)


class _Fresh(Mutator):
    """Replaces every variable by a copy with another name."""

    def __init__(self) -> None:
        self.variables: dict[Var, Var] = {}

    def visit_Var(self, node: Var) -> Var:
        if node not in self.variables:
            self.variables[node] = replace(node, name=f"{node.name}_again")
        return self.variables[node]


def test_structural_equality_detects_every_difference() -> None:
    loop = For(X, const(0), Y, BufferStore(R, (X,), const(0.0)))
    assert not structural_equal(loop, replace(loop, kind="unrolled"))
    assert not structural_equal(loop, replace(loop, stop=X))
    assert not structural_equal(X + Y, X - Y) and not structural_equal(X + Y, Y)
    assert not structural_equal(binary("+", X, X), binary("+", X, Y))  # one variable is not two
    assert not structural_equal(const(1), const(True)) and not structural_equal(const(1), const(1, "int64"))
    assert structural_equal(X + Y, Y + X)  # variables are matched by position


def test_substitution_reaches_operands_options_and_regions() -> None:
    tile = Buffer("t", (16, 16), DataType("float16"))
    region = tile[X * 4 : X * 4 + 4, :]
    assert isinstance(region, Region)
    call = TileCall("copy", (region,), (("mbar", R.ptr_to([X])), ("cta_group", 1)))
    changed = substitute(call, {X: Y})
    assert [node for node in walk(changed) if isinstance(node, Var)] and X not in set(walk(changed))
    assert structural_equal(substitute(changed, {Y: X}), call)


def test_substitution_replaces_buffers_in_loads_and_stores() -> None:
    other = Buffer("s", (8,), DataType("float32"), "local")
    store = BufferStore(R, (X,), BufferLoad(R.dtype, R, (const(1),)))
    changed = substitute(store, {}, {R: other})
    assert changed.buffer is other and changed.value.buffer is other


def test_rewrite_visits_children_first() -> None:
    def double(expr: Expr) -> Expr:
        return const(2 * int(expr.value)) if isinstance(expr, Const) else expr

    bind = Bind(Y, Binary(INT32, "+", const(1), const(2)))
    assert repr(rewrite(bind, double)) == 'y = Tx.node("binary", "+", "int32", 2, 4)'


def test_seq_flattens_nested_sequences() -> None:
    bind = Bind(Y, X + 1)
    assert seq(bind) is bind
    nested = seq(seq(bind, bind), None, seq(bind))
    assert len(nested.stmts) == 3  # type: ignore[attr-defined]
    assert not isinstance(nested, Evaluate)


def test_a_load_indexed_by_a_ramp_is_a_vector() -> None:
    load = R[Ramp(INT32, X, 4)]
    assert isinstance(load, BufferLoad) and load.dtype == "float32x4"
