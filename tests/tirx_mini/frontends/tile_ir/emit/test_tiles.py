"""Tiles that move, run in the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.frontends.tile_ir.emit import Blocks, Emitter, Pointers, Tile, View
from tirx_mini.frontends.tile_ir.emit.memory import load_block, load_gathered, store_block, store_scattered
from tirx_mini.frontends.tile_ir.emit.movement import broadcast, converted, permuted
from tirx_mini.frontends.tile_ir.emit.reductions import reduce
from tirx_mini.frontends.tile_ir.layouts import LinearLayout, Move, blocked, conversion, mma_accumulator
from tirx_mini.ir import INT32, Buffer, DataType, Expr, PrimFunc, Var, binary, const, select


class Kernel:
    """A kernel with global arrays, whose body a test emits."""

    def __init__(self, grid: tuple[int, ...] = (1,), warps: int = 4) -> None:
        self.emitter = Emitter(warps)
        self.ids = tuple(Var(INT32, f"b{axis}") for axis in "xyz"[: len(grid)])
        self.grid, self.buffers, self.arrays = grid, [], []
        for var, extent in zip(self.ids, grid, strict=True):
            self.emitter.analyzer = self.emitter.analyzer.bind(var, 0, extent - 1)

    def array(self, name: str, values: np.ndarray) -> Buffer:
        self.buffers.append(Buffer(name, values.shape, DataType(values.dtype)))
        self.arrays.append(values)
        return self.buffers[-1]

    def blocks(self, name: str, values: np.ndarray, tile: tuple[int, ...], padding: float | None = None) -> Blocks:
        strides = tuple(stride // values.itemsize for stride in values.strides)
        view = View(self.array(name, values), values.shape, strides)
        return Blocks(view, tile, tuple(range(len(tile))), padding)

    def func(self) -> PrimFunc:
        return PrimFunc("kernel", tuple(self.buffers), self.emitter.kernel_body(self.ids, self.grid))

    def run(self, gpu: str = "h100") -> None:
        report = tvm.simulate(self.func(), *self.arrays, gpu=gpu, schedules=5)
        assert not report.findings, report


def _random(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(math.prod(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_a_transposition_of_tiles_at_the_edge(dtype: str) -> None:
    rows, cols = 100, 96
    source = (_random(rows, cols) * 50).astype(dtype)
    result = np.zeros((cols, rows), dtype)
    kernel = Kernel((4, 3))
    a, b = kernel.blocks("A", source, (32, 32), 0), kernel.blocks("B", result, (32, 32))
    layout = blocked((32, 32), warps=4, vector=4)
    tile = permuted(load_block(kernel.emitter, a, kernel.ids, layout, "a"), (1, 0))
    store_block(kernel.emitter, b, kernel.ids[::-1], converted(kernel.emitter, tile, layout, "t"))
    kernel.run()
    assert (result == source.T).all()


_LAYOUTS = {
    "blocked": blocked((32, 64), warps=4, vector=4),
    "columns": blocked((32, 64), warps=4, vector=2, order=(0, 1)),
    "accumulator": mma_accumulator((32, 64), warps_m=2, warps_n=2),
    "lanes": LinearLayout((32, 64), (1, 2, 512, 1024), (64, 128, 4, 8, 16), (32, 256)),
    "replicas": LinearLayout((32, 64), (1, 2, 512, 4, 8, 16, 1024), (64, 128, 0, 0, 0), (32, 256)),
}


@pytest.mark.parametrize("target", _LAYOUTS)
@pytest.mark.parametrize("source", _LAYOUTS)
def test_a_conversion_moves_every_element(source: str, target: str) -> None:
    values, result = _random(32, 64), np.zeros((32, 64), "float32")
    kernel = Kernel()
    tile = load_block(kernel.emitter, kernel.blocks("A", values, (32, 64)), (const(0), const(0)), _LAYOUTS[source], "a")
    moved = converted(kernel.emitter, tile, _LAYOUTS[target])
    store_block(kernel.emitter, kernel.blocks("B", result, (32, 64)), (const(0), const(0)), moved)
    kernel.run()
    assert (result == values).all()


def test_the_test_has_each_kind_of_move() -> None:
    moves = {conversion(a, b).move for a in _LAYOUTS.values() for b in _LAYOUTS.values()}
    assert moves == {Move.NONE, Move.SHUFFLE, Move.SHARED}


def _sum(a: list[Expr], b: list[Expr]) -> list[Expr]:
    return [binary("+", a[0], b[0])]


def _argmax(a: list[Expr], b: list[Expr]) -> list[Expr]:
    better = binary("or", b[0] > a[0], binary("and", binary("==", b[0], a[0]), b[1] < a[1]))
    return [select(better, b[0], a[0]), select(better, b[1], a[1])]


@pytest.mark.parametrize("name", _LAYOUTS)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_sum_is_broadcast_to_what_was_summed(axis: int, name: str) -> None:
    values, result = _random(32, 64), np.zeros((32, 64), "float32")
    kernel = Kernel()
    e, layout = kernel.emitter, _LAYOUTS[name]
    tile = load_block(e, kernel.blocks("A", values, (32, 64)), (const(0), const(0)), layout, "a")
    (total,) = reduce(e, [tile], axis, _sum, "total")
    wide = broadcast(e, total.renamed(total.layout.expand_dims(axis)), layout)
    store_block(e, kernel.blocks("B", result, (32, 64)), (const(0), const(0)), wide)
    kernel.run()
    assert np.allclose(result, np.broadcast_to(values.sum(axis, keepdims=True), values.shape), atol=1e-5)


@pytest.mark.parametrize("name", ["blocked", "replicas"])
def test_a_maximum_and_its_place_go_together(name: str) -> None:
    values, where = _random(32, 64).round(1), np.zeros(64, "int32")
    kernel = Kernel()
    e, layout = kernel.emitter, _LAYOUTS[name]
    tile = load_block(e, kernel.blocks("A", values, (32, 64)), (const(0), const(0)), layout, "a")
    rows = Tile(layout, DataType("int32"), lambda r: e.coordinate(layout, 0, r))
    _, best = reduce(e, [tile, rows], 0, _argmax, "best")
    store_block(e, kernel.blocks("B", where, (64,)), (const(0),), converted(e, best, blocked((64,), warps=4)))
    kernel.run()
    assert (where == values.argmax(0)).all()


def _range(e: Emitter, layout: LinearLayout, start: Expr, function: Callable[[Expr], Expr]) -> Tile:
    return Tile(layout, DataType("int32"), lambda r: function(start + e.index(layout, r)))


def test_elements_are_gathered_and_scattered_by_pointers() -> None:
    count, extent = 200, 128
    values, result = _random(count), np.full(count, 7, "float32")
    kernel = Kernel((2,))
    e, layout = kernel.emitter, blocked((extent,), warps=4)
    first = kernel.ids[0] * extent
    places = _range(e, layout, first, lambda i: i)
    inside = Tile(layout, DataType("bool"), lambda r: places.at(r) < count)
    mirrored = _range(e, layout, first, lambda i: count - 1 - i)
    a, b = kernel.array("A", values), kernel.array("B", result)
    tile = load_gathered(e, Pointers(a, mirrored), inside, None, layout, "a")
    store_scattered(e, Pointers(b, places), tile, inside)
    kernel.run()
    assert (result == values[::-1]).all()
