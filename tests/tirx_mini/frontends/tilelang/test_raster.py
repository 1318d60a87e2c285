"""OrderCtas: the order in which CTAs take tiles."""

from __future__ import annotations

import pytest

import tirx_mini.tilelang.language as T
from tirx_mini.frontends.tilelang.raster import order_ctas
from tirx_mini.ir import Bind, Expr, PrimFunc, ScopeIds, const, int_value, simplify, substitute, walk


def kernel(width: int, height: int, panel: int, order: str) -> PrimFunc:
    @T.prim_func
    def func(A: T.Tensor((height, width), "float32")):
        with T.Kernel(width, height, threads=32) as (bx, by):
            T.use_swizzle(panel, order=order)
            if T.get_thread_binding() == 0:
                A[by, bx] = 0.0

    return func


def places(func: PrimFunc) -> list[tuple[int, int]]:
    """The tile of each CTA, in the order of their numbers."""
    ids = next(node for node in walk(func.body) if isinstance(node, ScopeIds) and node.kind == "cta")
    first, second = (node.value for node in walk(func.body) if isinstance(node, Bind))
    width, height = ids.extents

    def known(expr: Expr, x: int, y: int) -> int:
        value = int_value(simplify(substitute(expr, dict(zip(ids.vars, (const(x), const(y)), strict=True)))))
        assert value is not None
        return value

    return [(known(first, x, y), known(second, x, y)) for y in range(height) for x in range(width)]


@pytest.mark.parametrize("order", ["row", "col"])
@pytest.mark.parametrize(("width", "height", "panel"), [(3, 4, 2), (4, 5, 2), (2, 3, 8), (5, 7, 3)])
def test_every_tile_is_taken_once(width: int, height: int, panel: int, order: str) -> None:
    found = places(order_ctas(kernel(width, height, panel, order)))
    assert sorted(found) == sorted((x, y) for x in range(width) for y in range(height))


def test_panels_are_taken_column_by_column_from_alternating_ends() -> None:
    found = places(order_ctas(kernel(3, 4, 2, "row")))
    assert found[:6] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] and found[6:8] == [(2, 2), (2, 3)]


def test_a_kernel_that_does_not_ask_keeps_its_order() -> None:
    @T.prim_func
    def func(A: T.Tensor((4, 4), "float32")):
        with T.Kernel(4, 4, threads=32) as (bx, by):
            A[by, bx] = 0.0

    assert order_ctas(func) is func
