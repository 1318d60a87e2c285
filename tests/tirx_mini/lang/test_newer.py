"""Pipelines, roles and tensor-memory pools: their IR and their errors."""

from __future__ import annotations

import pytest

from tests.tirx_mini.script.reading import error_in, printed
from tirx_mini import lang

NAMES = {name: getattr(lang, name) for name in lang.__all__}
POOL = "shared = SMEMPool()\n"
COMMIT = "\nshared.commit()\n"

BECOMES = {
    "with WarpRole(warp_id, 3):\n    phase = 1": "if warp_id == 3:\n    phase = 1",
    "with WarpgroupRole(wg_id, 1, regs=40):\n    phase = 1": (
        "if wg_id == 1:\n    Tx.ptx.setmaxnreg.dec(count=40)\n    phase = 1"
    ),
    "with WarpgroupRole(wg_id, (0, 2), regs=232, increase=True):\n    phase = 1": (
        "if 0 <= wg_id and wg_id < 2:\n    Tx.ptx.setmaxnreg.inc(count=232)\n    phase = 1"
    ),
}


@pytest.mark.parametrize("body", BECOMES)
def test_a_role_is_a_branch(body: str) -> None:
    assert printed(body, **NAMES) == BECOMES[body]


def test_a_pipeline_has_two_rings_of_barriers() -> None:
    text = printed(
        f'{POOL}ring = Pipeline(shared, 2, full="tma", empty="mbar", init_empty=128, empty_phase_offset=1){COMMIT}'
        "ring.full.arrive(0, tx_count=64)\nring.empty.arrive(1)\nring.empty.wait(0, phase)",
        **NAMES,
    )
    full, empty = "ring_full", "ring_empty"
    for line in (
        f"Tx.ptx.mbarrier.init({full}.ptr_to([1]), Tx.uint32(1))",
        f"Tx.ptx.mbarrier.init({empty}.ptr_to([1]), Tx.uint32(128))",
        f"Tx.ptx.mbarrier.arrive.expect_tx({full}.ptr_to([0]), Tx.uint32(64))",
        f"Tx.ptx.mbarrier.arrive({empty}.ptr_to([1]))",
        f"Tx.ptx.mbarrier.try_wait({empty}.ptr_to([0]), Tx.uint32(phase ^ 1))",
    ):
        assert line in text, text


def test_the_leader_initialises_the_barriers() -> None:
    text = printed(f"{POOL}full = MBarrier(shared, 1, leader=lane_id == 5)\nfull.init(2){COMMIT}", **NAMES)
    assert "if lane_id == 5:\n    Tx.ptx.mbarrier.init(full.ptr_to([0]), Tx.uint32(2))" in text


def test_remote_selects_the_barrier_of_another_cta() -> None:
    body = f"{POOL}full = TMABar(shared, 1)\nempty = MBarrier(shared, 1, 1){COMMIT}"
    text = printed(
        f"{body}full.arrive(0, tx_count=64, remote=1, pred=lane_id == 0)\nempty.arrive(0, remote=1)", **NAMES
    )
    assert "if lane_id == 0:\n    Tx.ptx.mbarrier.arrive.expect_tx(Tx.ptx.mapa(full.ptr_to([0]), Tx.uint32(1))" in text
    assert "Tx.ptx.mbarrier.arrive.remote(empty.ptr_to([0]), Tx.uint32(1), True)" in text


def test_tensor_memory_tiles_have_consecutive_columns() -> None:
    body = f"{POOL}tmem = TMEMPool(shared, total_cols=256, alloc_warp=4){COMMIT}"
    uses = "a = tmem.alloc((128, 64))\nb = tmem.alloc((128, 128), 'float16')\ntmem.commit()\ntmem.dealloc()"
    text = printed(body + uses, **NAMES)
    assert "allocated_addr=tmem_addr_1[0]," in text and "allocated_addr=tmem_addr_1[0] + 64," in text, text
    assert text.count("if Tx.warp_id_in_cta == 4:") == 2
    assert "Tx.ptx.tcgen05.alloc(tmem_addr_1.ptr_to([0]), Tx.uint32(256), cta_group=1)" in text, text
    assert "Tx.ptx.tcgen05.dealloc(tmem_addr_1[0], Tx.uint32(256), cta_group=1)" in text


MISTAKES = {
    f"{POOL}ring = Pipeline(shared, 2, full='tmem', empty='mbar'){COMMIT}": "full of Pipeline must be",
    f"{POOL}tmem = TMEMPool(shared, total_cols=64){COMMIT}a = tmem.alloc((128, 128))": "columns 0 to 127",
    f"{POOL}a = shared.alloc_tcgen05_mma_AB((128, 64), swizzle_mode='128B'){COMMIT}": 'swizzle_mode must be "auto"',
}


@pytest.mark.parametrize("body", MISTAKES)
def test_a_mistake_in_a_library_call_is_reported(body: str) -> None:
    assert MISTAKES[body] in str(error_in(body, **NAMES))
