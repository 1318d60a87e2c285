"""Accumulators that TMA cannot store: lanes exchange elements, and each stores vectors of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from kernels_ref.tile import moe
from tirx_mini.ir import BufferStore, Call, PrimFunc
from tirx_mini.passes import lower
from tirx_mini.tile_ir import ct, run, simulated

HALF, SINGLE = "float16", "float32"


@ct.kernel
def product_of_rows(
    a, b, ids, scale, c, SCALED: ct.Constant[bool], TM: ct.Constant[int], TN: ct.Constant[int],
):  # fmt: skip
    """C[ids] = A B, each row times its factor, if SCALED."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], 64)):
        left = ct.load(a, (m, k), shape=(TM, 64), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, ct.load(b, (k, n), shape=(64, TN), padding_mode=ct.PaddingMode.ZERO), acc)
    rows = m * TM + ct.arange(TM, dtype=ct.int32)
    if SCALED:
        acc = acc * ct.gather(scale, rows)[:, None]
    columns = n * TN + ct.arange(TN, dtype=ct.int32)
    ct.scatter(c, (ct.gather(ids, rows)[:, None], columns[None, :]), acc.astype(c.dtype))


def arguments(
    tile: tuple[int, int] = (128, 64), width: int = 128, dtype: str = HALF, scaled: bool = False
) -> tuple[tuple[Any, ...], tuple[int, int], np.ndarray]:
    """(arguments, grid, what C must be), where some rows have numbers out of range, and others none."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(HALF) for shape in ((2 * tile[0], 64), (64, width)))
    ids = rng.permutation(2 * tile[0]).astype("int32")
    ids[::7] = [2 * tile[0], -1, 1 << 20, -(1 << 30)] * (len(ids[::7]) // 4) + [9999] * (len(ids[::7]) % 4)
    scale = rng.integers(1, 3, len(ids)).astype(SINGLE)
    c = np.full((2 * tile[0], width), 77, dtype)
    want = c.copy()
    inside = (ids >= 0) & (ids < len(want))
    made = a.astype(SINGLE) @ b.astype(SINGLE) * (scale[:, None] if scaled else 1)
    want[ids[inside]] = made[inside].astype(dtype)
    return (a, b, ids, scale, c, scaled, *tile), (2, -(-width // tile[1])), want


def stores(func: PrimFunc, name: str) -> list[int]:
    """The elements of each store to an array."""
    found = (n for n in lower(func).nodes if isinstance(n, BufferStore) and n.buffer.root.name == name)
    return [store.value.dtype.lanes for store in found]


def shuffles(func: PrimFunc) -> int:
    return sum(isinstance(node, Call) and node.op == "shfl.xor" for node in lower(func).nodes)


@pytest.mark.parametrize(
    ("gpu", "tile", "width", "dtype", "lanes", "swaps"),
    [
        ("h100", (128, 128), 128, HALF, 8, 2), ("h100", (128, 64), 120, HALF, 8, 2),
        ("h100", (64, 64), 100, HALF, 4, 1), ("h100", (64, 64), 99, HALF, 1, 0), ("h100", (64, 64), 128, "int8", 16, 2),
        ("h100", (64, 64), 72, "int8", 8, 2), ("h100", (64, 128), 128, SINGLE, 2, 0),
        ("h100", (32, 64), 64, HALF, 2, 1), ("b200", (128, 64), 128, HALF, 8, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scaled", [False, True])
def test_scattered_rows(
    gpu: str, tile: tuple[int, int], width: int, dtype: str, lanes: int, swaps: int, scaled: bool
) -> None:
    args, grid, want = arguments(tile, width, dtype, scaled)
    func = run.compile(product_of_rows, args, gpu).func(grid)
    assert stores(func, "c") == [lanes] and shuffles(func) == swaps
    with simulated(gpu, schedules=2) as reports:
        ct.launch(None, grid, product_of_rows, args)
    assert not reports[0].findings
    np.testing.assert_array_equal(args[4], want)


@pytest.mark.parametrize("weighted", [False, True])
def test_an_expert_with_half_of_the_tokens_and_one_with_none(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    tokens, experts = ((rng.standard_normal(s) / 8).astype(HALF) for s in ((96, 128), (4, 128, 128)))
    chosen = np.concatenate([np.zeros(96, int), rng.choice([1, 3], 96)])  # nobody chooses expert 2
    numbers, owners = [], []
    for expert in range(4):
        mine = np.flatnonzero(chosen == expert)
        for first in range(0, len(mine), 64):
            numbers.append(np.pad(mine[first : first + 64], (0, max(0, first + 64 - len(mine))), constant_values=192))
            owners.append(expert)
    out, weights = np.zeros((192, 128), HALF), rng.random(192).astype(SINGLE)
    ids = np.concatenate(numbers).astype("int32")
    args = (tokens, experts, out, weights, ids, np.array(owners, "int32"), 2, weighted, 64, 128, 64)
    with simulated("h100") as reports:
        ct.launch(None, (len(owners),), moe.expert_gemm, args)
    assert not reports[0].findings
    want = np.einsum("rk,rnk->rn", tokens[np.arange(192) // 2].astype(SINGLE), experts[chosen].astype(SINGLE))
    want *= weights[:, None] if weighted else 1
    np.testing.assert_allclose(out.astype(SINGLE), want, rtol=2e-3, atol=3e-3)


@ct.kernel
def add_product(a, b, c, TN: ct.Constant[int]):
    """C += A B: the array is read, too, so that TMA does not store it."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((64, TN), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], 64)):
        acc = ct.mma(ct.load(a, (m, k), shape=(64, 64)), ct.load(b, (k, n), shape=(64, TN)), acc)
    ct.store(c, (m, n), (acc + ct.load(c, (m, n), shape=(64, TN)).astype(ct.float32)).astype(c.dtype))


@pytest.mark.parametrize(("width", "lanes"), [(128, 8), (100, 4), (99, 1)])
def test_tiles_that_are_read_and_stored(width: int, lanes: int) -> None:
    rng = np.random.default_rng(2)
    a, b, c = (rng.integers(-2, 3, shape).astype(HALF) for shape in ((128, 64), (64, width), (128, width)))
    want = c.astype(SINGLE) + a.astype(SINGLE) @ b.astype(SINGLE)
    grid = 2, -(-width // 64)
    func = run.compile(add_product, (a, b, c, 64), "h100").func(grid)
    assert stores(func, "c") == [lanes]
    with simulated("h100") as reports:
        ct.launch(None, grid, add_product, (a, b, c, 64))
    assert not reports[0].findings
    np.testing.assert_array_equal(c, want.astype(HALF))


@ct.kernel
def sums_of_rows(a, b):
    """Of 16 sums, each thread has two that lie apart."""
    ct.store(b, (0,), ct.sum(ct.load(a, (0, 0), shape=(16, 64)), axis=1))


def test_what_lanes_exchange_makes_runs_longer() -> None:
    args = np.zeros((16, 64), SINGLE), np.zeros(16, SINGLE)
    func = run.compile(sums_of_rows, args, "h100").func((1,))
    assert stores(func, "b") == [1]
    assert shuffles(func) == 4, "one for each bit of the 16 lanes that share a row"


def up_projection() -> PrimFunc:
    tokens, experts = np.zeros((1024, 128), HALF), np.zeros((2, 8192, 128), HALF)
    out, weights = np.zeros((2048, 8192), HALF), np.zeros(2048, SINGLE)
    args = (tokens, experts, out, weights, np.zeros(2048, "int32"), np.zeros(16, "int32"), 2, False, 128, 256, 64)
    return run.compile(moe.expert_gemm, args, "h100").func((512,))


def test_instances_of_a_persistent_program_do_not_wait_for_stores() -> None:
    """A warpgroup stores while the other one still multiplies."""
    calls = {node.op for node in lower(up_projection()).nodes if isinstance(node, Call)}
    assert "bar.sync.all" in calls and "bar.sync" not in calls


@pytest.mark.compiler
def test_machine_code_of_masked_stores() -> None:
    """A store is one instruction under a predicate, at a constant distance from the address of its row."""
    sass = tvm.compile(tvm.IRModule({"main": up_projection()}), target="cuda:sm_90a").source("sass")
    found = [line for line in sass.splitlines() if "STG" in line]
    assert len(found) == 16 and all("STG.E.128" in line and "@" in line for line in found)
    assert sum("+0x" in line for line in found) == 14
    assert sum("SHFL.BFLY" in line for line in sass.splitlines()) == 64
