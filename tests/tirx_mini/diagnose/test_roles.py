"""Roles in findings: the names of a timeline, with the warps at their first mention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernels_ref.edits import SHAPES, SMS, Edit, HopperEdit
from tirx_mini import simulate
from tirx_mini.diagnose import Finding, StuckRole, warp_roles, with_roles
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T

LADDERS = [*((edit, "b200") for edit in (Edit(step) for step in (7, 8, 9, 10))),
           *((edit, "h100") for edit in (HopperEdit(step) for step in (7, 8, 9, 10)))]  # fmt: skip


@pytest.mark.parametrize(("edit", "gpu"), LADDERS, ids=lambda one: f"{one.step}" if isinstance(one, Edit) else one)
def test_the_roles_are_those_of_the_timeline(edit: Edit, gpu: str, tmp_path: Path) -> None:
    kernel = edit.kernel(tmp_path)
    timeline = simulate(kernel, gpu=gpu_spec(gpu).with_sms(SMS), data=False, trace=True).trace
    assert timeline is not None
    drawn = {track.warp: role for track, role in timeline.roles.items() if role != "other"}
    assert warp_roles(lower(kernel)) == drawn


@pytest.mark.parametrize("step", [1, 4, 6])
def test_where_a_warp_does_all_no_warp_has_a_role(step: int, tmp_path: Path) -> None:
    assert warp_roles(lower(Edit(step).kernel(tmp_path, SHAPES[step]))) == {}


DISPATCHED = Edit(
    7, "            tma2mma.init(1)\n",
    "            if wg_id == 1:\n                if lane_id == 0:\n                    job[warp_id] = warp_id\n"
    "            tma2mma.init(1)\n",
    then=(
        ("            Dsmem = pool", '            job = pool.alloc((4,), "int32")\n            Dsmem = pool'),
        ("if warp_id == 3:", "if job[warp_id] == 3:"), ("elif warp_id == 0:", "elif job[warp_id] == 0:"),
        ("mma2tma.arrive(stage, cta_group=1, cta_mask=1)", "Tx.ptx.mbarrier.arrive(mma2tma.ptr_to([stage]))"),
    ),
)  # fmt: skip
"""Each warp of a warpgroup reads from memory whether it loads or multiplies; a stage is released before its product."""


def test_warps_whose_work_a_value_decides_have_no_role(tmp_path: Path) -> None:
    M, N, K = 128, 128, 256
    kernel = DISPATCHED.kernel(tmp_path, (M, N, K))
    assert warp_roles(lower(kernel)) == dict.fromkeys(range(4), "write-back")
    A, B, D = np.ones((M, K), np.float16), np.ones((N, K), np.float16), np.zeros((M, N), np.float16)
    races = [error.message for error in simulate(kernel, A, B, D).errors if error.kind == "race"]
    said = "the MMA of warp 0 of warpgroup 1 of CTA 0 reads Asmem"
    assert any(said in race and "the TMA load of warp 3 of warpgroup 1" in race for race in races), races


def finding(message: str, **details: object) -> Finding:
    return Finding("race", "error", message, None, details)


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> PrimFunc:
    return lower(Edit(10).kernel(tmp_path_factory.mktemp("ten")))


def renamed(func: PrimFunc, message: str, **details: object) -> Finding:
    return with_roles([finding(message, **details)], func)[0]


def test_the_first_mention_has_the_warp(ten: PrimFunc) -> None:
    one = renamed(
        ten, "warp 3 of warpgroup 2 of CTA 1 waits", hint="let warp 3 of warpgroup 2 arrive",
        notes=(("warp 3 of warpgroup 2 waits here", None),),
    )  # fmt: skip
    assert one.message == "TMA (warp 3 of warpgroup 2) of CTA 1 waits"
    assert one.in_warps == "warp 3 of warpgroup 2 of CTA 1 waits"
    assert one.details["hint"] == "let TMA arrive"
    assert one.details["notes"] == (("TMA waits here", None),)


def test_two_warps_of_one_role_are_told_apart(ten: PrimFunc) -> None:
    message = "warp 0 of warpgroup 2 waits for warp 1 of warpgroup 2, and warp 0 of warpgroup 2 for warpgroup 0"
    mma = "MMA (warp 0 of warpgroup 2)"
    assert renamed(ten, message).message == (
        f"{mma} waits for MMA (warp 1 of warpgroup 2), and {mma} for write-back (warpgroup 0)"
    )


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("warps 0 and 1 of warpgroup 2 wait", "MMA (warps 0 and 1 of warpgroup 2) wait"),
        ("warps 2 and 3 of warpgroup 2 wait", "warps 2 and 3 of warpgroup 2 wait"),
        ("warp 2 of warpgroup 2 waits", "warp 2 of warpgroup 2 waits"),
        ("4×, by 4 warps of warpgroup 1", "4×, by write-back (4 warps of warpgroup 1)"),
        ("the MMA of warp 1 of warpgroup 2", "the MMA of warp 1 of warpgroup 2"),
        ("the TMA load of warp 3 of warpgroup 2", "the TMA load of warp 3 of warpgroup 2"),
        ("the TMA store of warp 0 of warpgroup 0", "the TMA store of write-back (warp 0 of warpgroup 0)"),
        ("warp 1 of a warpgroup reads lane 32", "warp 1 of a warpgroup reads lane 32"),
    ],
)
def test_names_in_sentences(said: str, named: str, ten: PrimFunc) -> None:
    assert renamed(ten, said).message == named


def test_the_order_is_a_sentence_of_its_own(ten: PrimFunc) -> None:
    found = Finding("race", "error", "warp 3 of warpgroup 2 writes", None, {}, "if warp 3 of warpgroup 2 is late")
    (one,) = with_roles([found], ten)
    assert (one.message, one.order) == ("TMA (warp 3 of warpgroup 2) writes", "if TMA (warp 3 of warpgroup 2) is late")


def test_the_blocked_list_has_the_names(ten: PrimFunc) -> None:
    stuck = StuckRole(
        "warp 3 of warpgroup 2", None, "mma2tma[0]", so_far=("arrive of line 3: 1×, by warp 3 of warpgroup 2",),
        providers=("the commit of line 9 is up to warpgroup 0, which waits at line 4",),
    )  # fmt: skip
    one = renamed(ten, "no way on", cycle=("warp 3 of warpgroup 2 waits",), stuck=(stuck,))
    assert one.details["cycle"] == ("TMA (warp 3 of warpgroup 2) waits",)
    (role,) = one.details["stuck"]
    assert (role.role, role.so_far) == ("TMA", ("arrive of line 3: 1×, by TMA",))
    assert role.providers == ("the commit of line 9 is up to write-back (warpgroup 0), which waits at line 4",)


def test_in_a_cta_of_one_warpgroup_warps_are_counted_in_the_cta() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        words = T.alloc_shared((32,), "float32")
        if warp == 0:
            words[lane] = A[lane]
        if warp == 1:
            D[lane] = words[lane]

    (error,) = simulate(kernel, np.ones(32, np.float32), np.zeros(32, np.float32)).errors
    assert "the load of write-back (warp 1) reads words[0] to words[31]" in error.message, error
    assert "the store of loads (warp 0)" in error.message or "the store of loads (warp 0)" in str(error.details), error
    assert renamed(lower(kernel), "the lanes of warp 0; warp 2 waits").message == "the lanes of warp 0; warp 2 waits"
