"""Runs for results alone, in which one warp goes round loops of products for its warpgroup."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from kernels_ref.sm90.extra_every_shape import hgemm
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.sim import Question, Simulation
from tirx_mini.sim.plans import Piece, portion
from tirx_mini.sim.translate import translate

SHAPES = {3: (512, 256, 256), 7: (512, 512, 512), 8: (512, 512, 512), 9: (512, 512, 512), 10: (1024, 768, 320)}


def reference(step: int) -> PrimFunc:
    return load_kernels(default_kernels(), "sm90")[step](*SHAPES.get(step, STEPS[step].shape(512)))


def results(kernel: PrimFunc, apart: bool) -> np.ndarray:
    """What the last argument holds after a run for results alone, or a whole one."""
    *inputs, output = make_arguments(kernel)
    simulation = Simulation(lower(kernel), [*inputs, output], Question(gpu_spec("h100")))
    simulation.keep()
    launch = simulation.image.launch
    if apart:
        found = portion(simulation, Piece(range(launch.num_ctas // launch.cluster_size)))
        assert found is not None
    else:
        assert not simulation.run().facts
    return np.asarray(output).view(np.uint16)


@pytest.mark.parametrize("step", range(3, 11))
def test_the_results_of_a_portion_are_those_of_the_launch(step: int) -> None:
    kernel = reference(step)
    assert ("leaders.follow" in translate(lower(kernel), untimed=True).source) is (step >= 7)  # a producer loads
    assert (results(kernel, True) == results(kernel, False)).all()


@pytest.mark.parametrize("shape", [(192, 256, 1536), (192, 704, 256), (1536, 512, 128)])
def test_so_are_those_of_the_kernel_for_every_shape(shape: tuple[int, int, int]) -> None:
    kernel = hgemm(*shape)
    assert (results(kernel, True) == results(kernel, False)).all()


KERNEL = """
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout

@T.prim_func(tirx=True)
def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((128, 32), "float32")):
    with T.kernel():
        bx = T.cta_id([1], parent="kernel")
        wg_id = T.warpgroup_id([1], parent="cta")
        warp_id = T.warp_id([4], parent="warpgroup")
        lane_id = T.thread_id([32], parent="warp")
        pool = T.PoolAllocator()
        layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
        smem = pool.alloc((64, 64), "float16", layout=layout)
        pool.commit()
        acc = T.alloc_local((32,), "float32")
        view = acc.view(64, 64, layout=wgmma_accumulator_layout(64, 64))
        with T.cta():
            T.copy(smem[:, :], A[:, :])
        T.cuda.cta_sync()
        for k in range(2):
            with T.warpgroup():
                T.ptx.wgmma.fence()
                T.gemm_async(view[:, :], smem[:, :], smem[:, :], accum=(k != 0), dispatch="wgmma")
                COMMIT
                WAIT
            LAST
        with T.warpgroup():
            T.ptx.wgmma.commit_group()
            T.ptx.wgmma.wait_group(0)
        for i in T.unroll(32):
            D[warp_id * 32 + i, lane_id] = acc[i]
"""


WAIT = "T.ptx.wgmma.wait_group(0)"


def kernel_with(last: str = "pass", commit: str = "T.ptx.wgmma.commit_group()", wait: str = WAIT) -> PrimFunc:
    return from_source(textwrap.dedent(KERNEL).replace("LAST", last).replace("COMMIT", commit).replace("WAIT", wait))


@pytest.mark.parametrize(
    ("last", "wait", "led"),
    [
        ("pass", WAIT, True),
        ("pass", "pass", False),  # of the MMAs alone: what follows commits them
        ("acc[0] = acc[0] * 2.0", WAIT, False),  # each warp has sums of its own
        ("D[warp_id, lane_id] = T.float32(0)", WAIT, False),
        ("T.cuda.warpgroup_sync(1)", WAIT, False),
    ],
)
def test_only_loops_of_nothing_but_products_are_led(last: str, wait: str, led: bool) -> None:
    assert ("leaders.follow" in translate(lower(kernel_with(last, wait=wait)), untimed=True).source) is led


@pytest.mark.parametrize(
    "last",
    [
        "twice: T.int32\n            twice = k * 2",
        "own = T.alloc_local((4,), 'float32')\n            own[k] = 1.0",
        "for i in range(2):\n                own = T.alloc_local((1,), 'int32')\n                own[0] = i",
    ],
)
def test_a_loop_may_declare_registers_of_its_own(last: str) -> None:
    found = np.zeros((128, 32), np.float32)
    simulation = Simulation(lower(kernel_with(last)), [np.eye(64, dtype=np.float16), found], Question(gpu_spec("h100")))
    assert portion(simulation, Piece(range(1))) is not None
    assert found.any()


@pytest.mark.parametrize("commit", ["T.ptx.wgmma.commit_group()", "pass"])
def test_a_loop_that_leaves_its_products_to_each_warp_to_commit_ends_the_run(commit: str) -> None:
    func = lower(kernel_with(commit=commit))
    assert "leaders.follow" in translate(func, untimed=True).source
    a, d = np.eye(64, dtype=np.float16), np.zeros((128, 32), np.float32)
    found = portion(Simulation(func, [a, d], Question(gpu_spec("h100"))), Piece(range(1)))
    assert (found is None) == (commit == "pass")
    assert d.any() != (commit == "pass")
