"""Programs whose dots the tensor core of an SM computes, with their pipelines and agents, in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.frontends.tile_ir.context import UNSPECIALIZED, Options
from tirx_mini.frontends.tile_ir.nv_tileas import pipeline_ops as pipe
from tirx_mini.ir import ScopeIds, walk

from .texts import TYPES, Program, random

GPUS = ("h100", "b200")
CORES = {"h100": "wgmma", "b200": "tcgen05"}


def gemm(
    shape: tuple[int, int, int],
    tile: tuple[int, int, int],
    *,
    dtype: str = "float16",
    sums: str = "float32",
    turned: str = "",
    steps: int | None = None,
    options: Options | None = None,
) -> tuple[Program, np.ndarray, np.ndarray]:
    """(program, what it writes, what that should be) of C = A B.

    turned: which of the operands, "a", "b" or both, is stored transposed. steps: iterations along K.
    """
    (m, n, k), (rows, cols, inner) = shape, tile
    a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
    c = np.zeros((m, n), sums)
    program = Program((-(-m // rows), -(-n // cols)), options)
    left, right = np.ascontiguousarray(a.T if "a" in turned else a), np.ascontiguousarray(b.T if "b" in turned else b)
    a_tiles = program.array("a", left, rows, inner, order=(1, 0) if "a" in turned else ())
    b_tiles = program.array("b", right, inner, cols, order=(1, 0) if "b" in turned else ())
    c_tiles = program.array("c", c, rows, cols)
    kind = TYPES[dtype]
    total = f"tensor<{rows}x{cols}x{TYPES[sums]}>"
    program.add(f"%n = arith.constant {-(-k // inner) if steps is None else steps} : i32")
    program.add(f"%zeros = arith.constant dense<0.0> : {total}")
    program.add(f"%sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zeros) -> ({total}) : i32 {{")
    program.load("left", "a", a_tiles, "%x", "%i")
    program.load("right", "b", b_tiles, "%i", "%y")
    operands = f"tensor<{rows}x{inner}x{kind}>, tensor<{inner}x{cols}x{kind}>, {total}"
    program.add(f"%next = dot %left, %right, %s : {operands} scf.yield %next : {total} }}")
    program.store("sum", "c", c_tiles, "%x", "%y")
    depth = k if steps is None else steps * inner
    return program, c, a[:, :depth].astype(np.float32) @ b[:depth].astype(np.float32)


CASES = [
    ((256, 256, 256), (128, 128, 64), ""),
    ((256, 512, 192), (128, 256, 64), ""),
    ((512, 128, 128), (256, 128, 32), ""),
    ((200, 136, 72), (128, 64, 64), ""),
    ((128, 128, 128), (128, 128, 64), "a"),
    ((128, 128, 128), (128, 128, 64), "b"),
    ((128, 128, 128), (128, 128, 64), "ab"),
]


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(("shape", "tile", "turned"), CASES)
def test_gemm(gpu: str, shape: tuple[int, int, int], tile: tuple[int, int, int], turned: str) -> None:
    program, c, expected = gemm(shape, tile, turned=turned)
    program.run(gpu, schedules=5)
    assert np.allclose(c, expected, atol=2e-3)
    assert not program.context.notes
    assert CORES[gpu] in program.kernel(gpu).script()


@pytest.mark.parametrize("gpu", GPUS)
def test_bfloat16(gpu: str) -> None:
    program, c, expected = gemm((128, 128, 128), (128, 128, 64), dtype="bfloat16")
    program.run(gpu)
    assert np.allclose(c, expected, atol=2e-3) and CORES[gpu] in program.kernel(gpu).script()


@pytest.mark.parametrize("options", [None, Options(agents=UNSPECIALIZED)])
def test_sums_of_float16(options: Options | None) -> None:
    program, c, exact = gemm((128, 128, 256), (128, 128, 64), sums="float16", options=options)
    program.run("h100", schedules=5)
    assert np.allclose(c, exact, rtol=1e-2, atol=0.1)
    assert 'dispatch="wgmma"' in program.kernel("h100").script()


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(("n", "k"), [(100, 128), (128, 100), (100, 100)])
def test_rows_that_tma_cannot_address_pass_through_registers(gpu: str, n: int, k: int) -> None:
    program, c, expected = gemm((128, n, k), (128, 128, 64))
    program.run(gpu, schedules=5)
    assert np.allclose(c, expected, atol=2e-3)
    if gpu == "h100":
        assert all("200 bytes apart, which is not a multiple of 16" in note.message for note in program.context.notes)
        assert len(program.context.notes) == (n == 100) + (k == 100)


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(("stages", "steps"), [(1, 3), (2, 3), (3, 0), (3, 1), (None, 6)])
def test_without_agents(gpu: str, stages: int | None, steps: int) -> None:
    options = Options(agents=UNSPECIALIZED, num_stages=stages)
    program, c, expected = gemm((64, 64, 192), (64, 64, 32), steps=steps, options=options)
    program.run(gpu, schedules=5)
    assert np.allclose(c, expected, atol=2e-3)
    module = program.module(gpu)
    assert not list(module.find(pipe.agent_switch)) and list(module.find(pipe.elect_one))


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_loops_with_few_iterations(gpu: str, steps: int) -> None:
    program, c, expected = gemm((128, 128, 128), (128, 128, 64), steps=steps)
    program.run(gpu)
    assert np.allclose(c, expected, atol=2e-3)


@pytest.mark.parametrize("gpu", GPUS)
def test_one_stage_is_released_before_the_next_iteration(gpu: str) -> None:
    program, c, expected = gemm((128, 128, 192), (128, 128, 64), options=Options(num_stages=1))
    program.run(gpu, schedules=5)
    assert np.allclose(c, expected, atol=2e-3)


def test_as_many_stages_as_there_is_room_for() -> None:
    def stages(tile: tuple[int, int, int], **options: int) -> int:
        program, *_ = gemm((512, 512, 512), tile, options=Options(**options))
        (pipeline,) = program.module("h100").find(pipe.create_pipeline)
        return pipeline.result.type.stages

    assert stages((128, 256, 64)) == 4
    assert stages((128, 128, 64)) == 7
    assert stages((64, 64, 64)) == 8
    assert stages((128, 256, 64), num_stages=2) == 2


@pytest.mark.parametrize("gpu", GPUS)
def test_ctas_take_several_instances(gpu: str) -> None:
    tile = (64, 64, 64) if gpu == "h100" else (128, 32, 64)
    program, c, expected = gemm((896, 832, 128), tile)
    func = program.kernel(gpu)
    program.run(gpu, schedules=1)
    assert np.allclose(c, expected, atol=2e-3)
    (grid,) = (node.extents for node in walk(func.body) if isinstance(node, ScopeIds) and node.kind == "cta")
    assert grid == ({"h100": 132, "b200": 148}[gpu],)


def test_persistence_can_be_refused() -> None:
    program, *_ = gemm((256, 256, 256), (128, 128, 64), options=Options(dynamic_persistent=False))
    assert not list(program.module("h100").find(pipe.get_cta_slot))
