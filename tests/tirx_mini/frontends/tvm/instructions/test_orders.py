"""Names with TVM 0.26's own parameters: each call means one of an instruction's own, or a sentence says why not."""

from __future__ import annotations

from typing import Any

import pytest

from tirx_mini.ir import INT32, UINT32, UINT64, Buffer, DataType, TirxError, Var, select, structural_equal
from tirx_mini.isa import NAMES, TABLE

R = Buffer("r", (64,), DataType("float32"), "local")
SMEM = Buffer("smem", (64, 64), DataType("float16"), "shared")
A = Buffer("A", (64,), DataType("float16"))
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
    (
        "tcgen05.mma", (T, U, U, T, I, 0, 0, 0), {**TYPES, "a_dtype": "float16", "use_a_tmem": False, "cta_group": 1},
        "tcgen05.mma.masked", (T, U, U, T, True, I, 0, 0, 0), {},
    ),
    (
        "tcgen05.mma", (T, T, U, T), {**TYPES, "a_dtype": "float16", "use_a_tmem": True, "cta_group": 2,
                                      "scale_input_d": 3},
        "tcgen05.mma.a_in_tmem.masked", (T, T, U, T, True, *[0] * 8), {"cta_group": 2, "scale_input_d": 3},
    ),
    *((
        "tcgen05.mma", (T, a, U, T), {**TYPES, "a_dtype": "float16", "use_a_tmem": a is T, "cta_group": 1,
                                      "weight_stationary": True},
        own, (T, a, U, T, True), {},
    ) for a, own in ((U, "tcgen05.mma.ws"), (T, "tcgen05.mma.ws.a_in_tmem"))),
    ("cp_async", (SMEM.ptr_to([0, 0]), A.ptr_to([0]), 16), {"prefetch_size": 128, "cache_hint": "evict_last"},
     "cp_async", (SMEM.ptr_to([0, 0]), A.ptr_to([0])), {"prefetch": 128, "cache_hint": "evict_last"}),
    ("cp_async", (SMEM.ptr_to([0, 0]), A.ptr_to([0]), 8), {"predicate": I, "fill_mode": "zero"},
     "cp_async.zfill", (SMEM.ptr_to([0, 0]), A.ptr_to([0]), select(I, 8, 0)), {"bytes": 8}),
    ("cp_async", (SMEM.ptr_to([0, 0]), A.ptr_to([0]), 4), {"fill_mode": "zero"},
     "cp_async.zfill", (SMEM.ptr_to([0, 0]), A.ptr_to([0]), 4), {"bytes": 4}),
    ("tcgen05.commit", (BAR.ptr_to([0]), 2), {"cta_mask": 3, "pred": None}, "tcgen05.commit",
     (BAR.ptr_to([0]), 2, 3), {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "args", "kwargs", "own", "own_args", "own_kwargs"), SAME)
def test_a_call_of_tvm_is_one_of_ours(
    path: str, args: Any, kwargs: Any, own: str, own_args: Any, own_kwargs: Any
) -> None:
    made = call(f"ptx.{path}", *args, **kwargs)
    assert structural_equal(made, call(f"ptx.{own}", *own_args, **own_kwargs))


@pytest.mark.parametrize(
    ("path", "args", "kwargs", "name", "always"),
    [
        ("tcgen05.mma", (T, U, U, T), {**TYPES, "a_dtype": "float16", "use_a_tmem": False, "cta_group": 1}, "pred",
         None),
        ("tcgen05.commit", (BAR.ptr_to([0]),), {}, "pred", None),
        ("cp_async", (SMEM.ptr_to([0, 0]), A.ptr_to([0]), 16), {}, "predicate", -1),
    ],
)
def test_a_call_may_have_a_condition(path: str, args: Any, kwargs: Any, name: str, always: Any) -> None:
    plain = call(f"ptx.{path}", *args, **kwargs)
    for given, expected in ((I, I), (always, None)):
        made, condition = NAMES[f"ptx.{path}"].guarded(*args, **kwargs, **{name: given})
        assert structural_equal(made, plain) and condition is expected


def test_an_address_of_tensor_memory_is_no_descriptor() -> None:
    with pytest.raises(TirxError, match=r"'a_desc' of tcgen05\.mma needs a shared-memory descriptor"):
        TABLE["tcgen05.mma"].bind((T, T, U, T, True), {})


def test_an_arrival_of_copies_is_pending_besides_others_unless_it_says_otherwise() -> None:
    made = [call("ptx.cp_async.mbarrier.arrive", BAR.ptr_to([0]), noinc=noinc) for noinc in (False, True)]
    assert [each.op for each in made] == ["cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.noinc"]
    assert call("ptx.cp_async.mbarrier.arrive", BAR.ptr_to([0])).op == "cp.async.mbarrier.arrive"


MMA = {**TYPES, "a_dtype": "float16", "use_a_tmem": False, "cta_group": 1}


@pytest.mark.parametrize(
    ("path", "args", "kwargs", "message"),
    [
        ("tcgen05.mma", (T, U, U, T), {**MMA, "scale_input_d": 16}, "scale_input_d is 16; it can be 0 to 15"),
        ("tcgen05.mma", (T, U, U, T), {**MMA, "a_dtype": "int8", "scale_input_d": 2}, "only the kinds f16 and tf32"),
        ("tcgen05.mma", (T, U, U, T, I), MMA, "lanes are words of 32 bits, 4 with cta_group=1, but 1 are given"),
        ("tcgen05.mma", (T, U, U, T), {**MMA, "cta_group": 2, "weight_stationary": True}, "it can only be"),
        ("tcgen05.mma", (T, U, U, T), {**MMA, "a_dtype": "float64"}, "'kind' of tcgen05.mma is 'float64'"),
        ("tcgen05.ld", (T, *elements(16, 2)), {"shape": "32x32b", "num": 16}, "registers of 'dst' of tcgen05.ld must"),
        ("tcgen05.ld", (T, *elements(8)), {"shape": "32x32b", "num": 16}, "16 registers, but 8 pointers are given"),
        ("tcgen05.ld", (T, *elements(8)), {"shape": "32x32b", "num": 8, "pack": True}, "'pack' of tcgen05.ld is True"),
    ],
)
def test_what_is_not_modelled_is_said(path: str, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        call(f"ptx.{path}", *args, **kwargs)
