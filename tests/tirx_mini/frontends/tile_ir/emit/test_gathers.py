"""Products of gathered rows: cp.async into the stages of a pipeline, beside the TMA of the other operand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tirx_mini as tvm
from kernels_ref.tile import moe
from tirx_mini.frontends.tile_ir.context import UNSPECIALIZED, Options
from tirx_mini.frontends.tile_ir.nv_tileas import pipeline_ops as pipe
from tirx_mini.ir import BufferStore, Call, Evaluate, Mutator, Stmt, seq
from tirx_mini.passes import lower
from tirx_mini.tile_ir import ct, run, simulated

from .texts import TYPES, Program, random

GPUS = ("h100", "b200")


def gathered(
    tile: tuple[int, int, int], *, height: int = 100, depth: int = 192, dtype: str = "float16",
    options: Options | None = None,
) -> tuple[Program, np.ndarray, np.ndarray]:  # fmt: skip
    """(program, what it writes, what that should be) of C = A[ids] B. Some numbers of rows are out of range."""
    rows, cols, inner = tile
    kind, sums = TYPES[dtype], f"tensor<{rows}x{cols}xf32>"
    a, b = random(height, depth, dtype=dtype), random(depth, cols, dtype=dtype)
    ids = np.random.default_rng(1).integers(-3, height + 9, 2 * rows).astype("int32")
    c = np.zeros((2 * rows, cols), "float32")
    program = Program((2, 1), options)
    numbers = program.array("ids", ids, rows)
    program.array("a", a)
    program.add(f"%a_16 = assume div_by<16>, %a : ptr<{kind}>")
    right = program.array("b", b, inner, cols, padding="zero")
    out = program.array("c", c, rows, cols)
    program.load("rows", "ids", numbers, "%x")
    program.add(f"%n = arith.constant {-(-depth // inner)} : i32 %step = arith.constant {inner} : i32")
    program.add(f"%zeros = arith.constant dense<0.0> : {sums}")
    program.add(f"%sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zeros) -> ({sums}) : i32 {{")
    program.add("%column = arith.muli %i, %step : i32")
    program.gather("left", "a", "rows", "%column", (rows, inner), a)
    program.load("right", "b", right, "%i", "%y")
    operands = f"tensor<{rows}x{inner}x{kind}>, tensor<{inner}x{cols}x{kind}>, {sums}"
    program.add(f"%next = dot %left, %right, %s : {operands} scf.yield %next : {sums} }}")
    program.store("sum", "c", out, "%x", "%y")
    there = (ids >= 0) & (ids < height)
    left = np.where(there[:, None], a[np.clip(ids, 0, height - 1)], 0)
    return program, c, left.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize(
    ("gpu", "tile"),
    [("h100", (128, 256, 64)), ("h100", (64, 64, 32)), ("b200", (128, 128, 64)), ("b200", (128, 64, 32))],
)
def test_gathered_rows_are_multiplied(tile: tuple[int, int, int], gpu: str) -> None:
    program, c, expected = gathered(tile)
    program.run(gpu, schedules=5)
    assert np.allclose(c, expected, atol=3e-3)
    assert not program.context.notes
    script = program.kernel(gpu).script()
    assert "cp_async.zfill" in script and "cp_async.mbarrier.arrive.noinc" in script
    assert {"h100": "wgmma", "b200": "tcgen05"}[gpu] in script


@pytest.mark.parametrize("depth", [72, 200])
def test_columns_beyond_the_end_are_zero(depth: int) -> None:
    program, c, expected = gathered((128, 64, 64), depth=depth)
    program.run()
    assert np.allclose(c, expected, atol=3e-3) and "cp_async.zfill" in program.kernel().script()


def test_rows_that_are_not_aligned_pass_through_registers() -> None:
    program, c, expected = gathered((128, 64, 32), depth=100)
    program.run()
    assert np.allclose(c, expected, atol=3e-3) and "cp_async.zfill" not in program.kernel().script()
    assert "16 aligned bytes of the array" in " ".join(note.message for note in program.context.notes)


def test_a_program_without_agents_gathers_through_registers() -> None:
    program, c, expected = gathered((128, 64, 32), options=Options(agents=UNSPECIALIZED))
    program.run()
    assert np.allclose(c, expected, atol=3e-3) and "cp_async.zfill" not in program.kernel().script()


def test_the_pipeline_has_both_operands() -> None:
    program, _, _ = gathered((128, 128, 64))
    (func,) = program.module("h100").ops
    (made,) = [op for op in func.body.walk() if op.kind is pipe.create_pipeline]
    ring = made.result.type
    assert ring.stages > 4 and (ring.producer, ring.consumer) == ("cp_async", "wgmma")
    assert [tensor.shape for tensor in ring.tensors] == [(64, 128), (128, 64)]
    (switch,) = [op for op in func.body.walk() if op.kind is pipe.agent_switch]
    assert dict(switch.agents) == {"producer": 4, "compute": 4}


class Unfenced(Mutator):
    """A kernel without its proxy fences."""

    def stmt(self, stmt: Stmt) -> Stmt:
        fence = isinstance(stmt, Evaluate) and isinstance(stmt.call, Call) and stmt.call.op == "fence.proxy.async"
        return seq() if fence else super().stmt(stmt)


@pytest.mark.parametrize("gpu", GPUS)
def test_without_the_fence_the_checker_finds_the_hazard(gpu: str) -> None:
    """cp.async writes through the generic proxy, and the tensor core reads through the async proxy."""
    program, _, _ = gathered((128, 64, 64))
    kernel = program.kernel(gpu)
    report = tvm.simulate(replace(kernel, body=Unfenced().stmt(kernel.body)), *program.arrays, gpu=gpu)
    assert "proxy" in " ".join(finding.message for finding in report.findings)


def test_warps_that_load_exchange_nothing() -> None:
    """Rows and columns of a tile are counted by one range, which each needs in a layout of its own."""
    tokens, experts = np.zeros((96, 128), "float16"), np.zeros((2, 64, 128), "float16")
    out, weights = np.zeros((192, 64), "float16"), np.zeros(192, "float32")
    numbers, chosen = np.zeros(192, "int32"), np.zeros(3, "int32")
    args = (tokens, experts, out, weights, numbers, chosen, 2, False, 64, 64, 64)
    program = run.compile(moe.expert_gemm, args, "h100")
    producer = program.text("nv_tileas").split("agent producer warps(4)")[1].split("agent compute")[0]
    assert producer.count("make_range") == 2 and "convert_layout" not in producer


def test_rows_that_are_scattered_are_stored_as_vectors() -> None:
    tokens, experts = np.zeros((256, 128), "float16"), np.zeros((2, 256, 128), "float16")
    out, weights = np.zeros((512, 256), "float16"), np.zeros(512, "float32")
    args = (tokens, experts, out, weights, np.zeros(512, "int32"), np.zeros(4, "int32"), 2, False, 128, 256, 64)
    func = run.compile(moe.expert_gemm, args, "h100").func((4, 1, 1))
    stores = [n for n in lower(func).nodes if isinstance(n, BufferStore) and n.buffer.root.name == "C"]
    assert [store.value.dtype.lanes for store in stores] == [8]


@pytest.mark.parametrize(("gpu", "tile"), [("h100", 64), ("b200", 128)])
def test_experts_of_square_tiles(gpu: str, tile: int) -> None:
    """Rows and columns of a tile are the same range, which threads need in two layouts."""
    rng = np.random.default_rng(0)
    tokens = (rng.standard_normal((3 * tile // 2, 640)) / 8).astype("float16")
    experts = (rng.standard_normal((2, 128, 640)) / 8).astype("float16")
    out, weights = np.zeros((3 * tile, 128), "float16"), np.zeros(3 * tile, "float32")
    numbers = rng.permutation(3 * tile).astype("int32")
    chosen = np.array([0, 1, 1], "int32")
    args = (tokens, experts, out, weights, numbers, chosen, 2, False, tile, tile, 64)
    with simulated(gpu, schedules=5) as reports:
        ct.launch(None, (3 * 128 // tile,), moe.expert_gemm, args)
    assert not reports[0].findings
    for number, expert in enumerate(chosen):
        rows = numbers[tile * number : tile * number + tile]
        want = tokens[rows // 2].astype("float32") @ experts[expert].astype("float32").T
        np.testing.assert_allclose(out[rows].astype("float32"), want, rtol=2e-3, atol=3e-3)


def test_threads_compute_ranges_rather_than_exchange_them() -> None:
    tokens, experts = np.zeros((256, 128), "float16"), np.zeros((2, 128, 128), "float16")
    out, weights = np.zeros((512, 128), "float16"), np.zeros(512, "float32")
    args = (tokens, experts, out, weights, np.zeros(512, "int32"), np.zeros(4, "int32"), 2)
    plain = run.compile(moe.expert_gemm, (*args, False, 128, 128, 64), "b200").text("nv_tileas", (4,))
    assert "convert_layout" not in plain and plain.count("make_range") == 4


@ct.kernel
def from_the_first(a, b, ids, c, N: ct.Constant[int]):
    """Rows of `a` that follow the one that the first of `ids` names."""
    numbers = ct.load(ids, (0,), shape=(16,))
    rows = ct.extract(numbers, (0,), shape=(1,)).item() + ct.arange(64, dtype=ct.int32)
    acc = ct.zeros((64, N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], 64)):
        left = ct.gather(a, (rows[:, None], (k * 64 + ct.arange(64, dtype=ct.int32))[None, :]))
        acc = ct.mma(left, ct.load(b, (k, 0), shape=(64, N)), acc)
    ct.store(c, (0, 0), acc)


def test_a_row_that_threads_exchange_is_gathered_through_registers() -> None:
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal(shape) / 8).astype("float16") for shape in ((80, 128), (128, 64)))
    c = np.zeros((64, 64), "float32")
    with simulated("h100") as reports:
        ct.launch(None, (1,), from_the_first, (a, b, np.full(16, 5, "int32"), c, 64))
    assert not reports[0].findings
    np.testing.assert_allclose(c, a[5:69].astype("float32") @ b.astype("float32"), atol=2e-3)
