"""Names with TVM 0.26's own parameters: each call means one of an instruction's own, or a sentence says why not."""

from __future__ import annotations

from typing import Any

import pytest

from tirx_mini.ir import INT32, UINT32, UINT64, Buffer, DataType, TirxError, Var, structural_equal
from tirx_mini.isa import NAMES

R = Buffer("r", (64,), DataType("float32"), "local")
SMEM = Buffer("smem", (64, 64), DataType("float16"), "shared")
BAR = Buffer("bar", (4,), UINT64, "shared")
T, U, I = Var(UINT32, "t"), Var(UINT64, "u"), Var(INT32, "i")
TYPES = {"d_dtype": "float32", "b_dtype": "bfloat16"}


def call(path: str, *args: Any, **kwargs: Any) -> Any:
    return NAMES[path].call(*args, **kwargs)


def elements(count: int, step: int = 1) -> list[Any]:
    return [R[i * step] for i in range(count)]


SAME: list[tuple[str, tuple[Any, ...], dict[str, Any], str, tuple[Any, ...], dict[str, Any]]] = [
    ("tcgen05.ld", (T, *elements(16)), {"shape": "32x32b", "num": 16}, "tcgen05.ld", (R.ptr_to([0]), T), {"num": 16}),
    (
        "tcgen05.ld", (T, *elements(8)), {"shape": "16x64b", "num": 8, "row": 16, "col": I},
        "tcgen05.ld", (R.ptr_to([0]), T + (16 << 16) + I.astype("uint32")), {"num": 8, "shape": "16x64b"},
    ),
    (
        "tcgen05.st", (T, *(R.ptr_to([i]) for i in range(4))), {"shape": "32x32b", "num": 4},
        "tcgen05.st", (T, R.ptr_to([0])), {"num": 4},
    ),
    (
        "tcgen05.mma", (T, U, U, T), {**TYPES, "a_dtype": "bfloat16", "use_a_tmem": False, "cta_group": 2},
        "tcgen05.mma", (T, U, U, T, True), {"cta_group": 2},
    ),
    (
        "tcgen05.mma", (T, T, U, T), {**TYPES, "a_dtype": "float8_e4m3fn", "use_a_tmem": True, "cta_group": 1,
                                      "enable_input_d": I},
        "tcgen05.mma.a_in_tmem", (T, T, U, T, I), {"kind": "f8f6f4"},
    ),
    (
        "tcgen05.mma.block_scale", (T, U, U, T, T, T),
        {**TYPES, "a_dtype": "float8_e4m3fn", "sfa_dtype": "float8_e8m0fnu", "sfb_dtype": "float8_e8m0fnu",
         "use_a_tmem": False, "cta_group": 1, "enable_input_d": 0},
        "tcgen05.mma.block_scale", (T, U, U, T, T, T, False), {},
    ),
    ("tcgen05.cp", (T, U), {"shape": "128x256b", "col": 4}, "tcgen05.cp", (T + 4, U), {"shape": "128x256b"}),
    ("mbarrier.arrive", (BAR.ptr_to([0]),), {"remote": 1}, "mbarrier.arrive", (BAR.ptr_to([0]), 1, True), {}),
    ("mbarrier.arrive", (BAR.ptr_to([0]),), {"count": 3}, "mbarrier.arrive.count", (BAR.ptr_to([0]), 3), {}),
    ("mbarrier.arrive", (BAR.ptr_to([0]),), {"sem": "release", "scope": "cta"}, "mbarrier.arrive",
     (BAR.ptr_to([0]),), {}),
    ("mbarrier.arrive.expect_tx", (BAR.ptr_to([0]), 64), {"remote": 1, "pred": I}, "mbarrier.arrive.expect_tx.remote",
     (BAR.ptr_to([0]), 64, 1, I), {}),
    ("mbarrier.complete_tx", (BAR.ptr_to([0]), 64), {}, "mbarrier.complete_tx", (BAR.ptr_to([0]),), {"bytes": 64}),
    ("mbarrier_test_wait_parity", (BAR.ptr_to([0]), 1), {}, "mbarrier.test_wait", (BAR.ptr_to([0]), 1), {}),
    ("cp_async.mbarrier.arrive", (BAR.ptr_to([0]),), {"noinc": True}, "cp_async.mbarrier.arrive.noinc",
     (BAR.ptr_to([0]),), {}),
    ("cp_async.mbarrier.arrive", (BAR.ptr_to([0]),), {}, "cp_async.mbarrier.arrive", (), {"bar": BAR.ptr_to([0])}),
    ("barrier.cluster.arrive", ("relaxed",), {}, "barrier.cluster.arrive.relaxed", (), {}),
    ("barrier.cluster.wait", (True,), {}, "barrier.cluster.wait", (), {}),
    ("tcgen05.commit", (BAR.ptr_to([0]), 2), {"cta_mask": 3, "pred": None}, "tcgen05.commit",
     (BAR.ptr_to([0]), 2, 3), {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "args", "kwargs", "own", "own_args", "own_kwargs"), SAME)
def test_a_call_of_tvm_is_one_of_ours(
    path: str, args: Any, kwargs: Any, own: str, own_args: Any, own_kwargs: Any
) -> None:
    made = call(f"ptx.{path}", *args, **kwargs)
    assert structural_equal(made, call(f"ptx.{own}", *own_args, **own_kwargs))


def test_an_arrival_of_copies_is_pending_besides_others_unless_it_says_otherwise() -> None:
    made = [call("ptx.cp_async.mbarrier.arrive", BAR.ptr_to([0]), noinc=noinc) for noinc in (False, True)]
    assert [each.op for each in made] == ["cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.noinc"]
    assert call("ptx.cp_async.mbarrier.arrive", BAR.ptr_to([0])).op == "cp.async.mbarrier.arrive"


MMA = {**TYPES, "a_dtype": "float16", "use_a_tmem": False, "cta_group": 1}


@pytest.mark.parametrize(
    ("path", "args", "kwargs", "message"),
    [
        ("tcgen05.mma", (T, U, U, T), {**MMA, "scale_input_d": 2}, "'scale_input_d' of tcgen05.mma is 2; it"),
        ("tcgen05.mma", (T, U, U, T), {**MMA, "pred": I}, "'pred' of tcgen05.mma is i; it can only be None"),
        ("tcgen05.mma", (T, U, U, T, I), MMA, "'disable_output_lane' of tcgen05.mma"),
        ("tcgen05.mma", (T, U, U, T), {**MMA, "a_dtype": "float64"}, "'kind' of tcgen05.mma is 'float64'"),
        ("tcgen05.ld", (T, *elements(16, 2)), {"shape": "32x32b", "num": 16}, "registers of 'dst' of tcgen05.ld must"),
        ("tcgen05.ld", (T, *elements(8)), {"shape": "32x32b", "num": 16}, "16 registers, but 8 pointers are given"),
        ("tcgen05.ld", (T, *elements(8)), {"shape": "32x32b", "num": 8, "pack": True}, "'pack' of tcgen05.ld is True"),
    ],
)
def test_what_is_not_modelled_is_said(path: str, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        call(f"ptx.{path}", *args, **kwargs)
