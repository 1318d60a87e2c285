"""Calling an instruction from a kernel: arguments become operands and modifiers, or a sentence says why not."""

from __future__ import annotations

from typing import Any

import pytest

from tirx_mini.ir import BOOL, INT32, UINT32, UINT64, AddressOf, Buffer, Const, DataType, Span, TirxError, Var
from tirx_mini.isa import NAMES

BAR = Buffer("bar", (4,), UINT64, "shared")
SLOT = Buffer("slot", (1,), UINT32, "shared")
REGS = Buffer("regs", (64,), DataType("float32"), "local")
A = Buffer("A", (8, 8), DataType("float16"))
I, F = Var(INT32, "i"), Var(DataType("float32"), "f")


def call(path: str, *args: Any, **kwargs: Any) -> Any:
    return NAMES[path].call(*args, **kwargs)


def test_arguments_by_place_and_by_name() -> None:
    one = call("ptx.mbarrier.init", BAR.ptr_to([1]), 128)
    two = call("ptx.mbarrier.init", count=128, bar=BAR.ptr_to([1]))
    for made in (one, two):
        assert made.op == "mbarrier.init" and made.attrs == ()
        assert isinstance(made.args[0], AddressOf) and isinstance(made.args[1], Const)
        assert made.args[1].value == 128 and made.args[1].dtype == UINT32


def test_modifiers_have_defaults_and_may_follow_the_operands() -> None:
    assert dict(call("ptx.tcgen05.commit", BAR.ptr_to([0])).attrs) == {"cta_group": 1, "cta_mask": None}
    assert dict(call("ptx.tcgen05.commit", BAR.ptr_to([0]), 2, 3).attrs) == {"cta_group": 2, "cta_mask": 3}
    assert dict(call("ptx.fence.proxy_async", "shared::cta").attrs) == {"space": "shared::cta"}
    assert dict(call("ptx.cp_async.bulk.wait_group", 0, read=True).attrs) == {"n": 0, "read": True}


def test_presets_of_a_name() -> None:
    sync = call("cuda.warpgroup_sync", 10)
    assert sync.op == "bar.sync" and [a.value for a in sync.args] == [10, 128]
    assert call("cuda.cta_sync").op == "bar.sync.all"


def test_one_name_for_two_instructions() -> None:
    assert call("ptx.mbarrier.arrive", BAR.ptr_to([0])).op == "mbarrier.arrive"
    remote = call("ptx.mbarrier.arrive", BAR.ptr_to([0]), cta_id=0, pred=True)
    assert remote.op == "mbarrier.arrive.remote" and remote.args[2].dtype == BOOL


@pytest.mark.parametrize("spelling", ["bar", "ptr", "mbar"])
def test_a_parameter_has_several_spellings(spelling: str) -> None:
    made = call("ptx.mbarrier.init", **{spelling: BAR.ptr_to([2]), "thread_count": 3})
    assert made.args[0].indices[0].value == 2 and made.args[1].value == 3
    with pytest.raises(TirxError, match="is given 'bar' twice"):
        call("ptx.mbarrier.init", BAR.ptr_to([2]), 3, **{spelling: BAR.ptr_to([0])})


def test_values_are_converted_to_the_operands_type() -> None:
    made = call("ptx.mbarrier.try_wait", BAR.ptr_to([0]), I)
    assert made.args[1].dtype == UINT32
    made = call("ptx.mbarrier.arrive", BAR.ptr_to([0]), 0, I)
    assert made.args[2].dtype == BOOL


def test_buffers_stand_for_their_first_element() -> None:
    assert isinstance(call("ptx.tcgen05.alloc", SLOT, 512).args[0], AddressOf)
    freed = call("ptx.tcgen05.dealloc", SLOT, 512)
    assert freed.args[0].dtype == UINT32 and not isinstance(freed.args[0], AddressOf)


def test_results_have_their_type() -> None:
    assert call("ptx.elect_sync").dtype == BOOL
    assert call("ptx.map_shared_rank", BAR.ptr_to([0]), 1).dtype == UINT32
    assert call("ptx.shfl.xor", F, 16).dtype == "float32"


@pytest.mark.parametrize(
    ("path", "args", "kwargs", "says"),
    [
        ("ptx.mbarrier.init", (BAR.ptr_to([0]),), {}, "needs 'count': an integer"),
        ("ptx.mbarrier.init", (BAR.ptr_to([0]), 1, 2), {}, "takes 2 arguments, but 3 are given"),
        ("ptx.mbarrier.init", (BAR.ptr_to([0]),), {"number": 1}, "has no parameter 'number'"),
        ("ptx.mbarrier.init", (BAR.ptr_to([0]), 1), {"count": 1}, "is given 'count' twice"),
        ("ptx.mbarrier.init", (A.ptr_to([0, 0]), 1), {}, "A is in global memory"),
        ("ptx.mbarrier.init", (F, 1), {}, "needs an mbarrier"),
        ("ptx.mbarrier.init", (BAR[1], 1), {}, "bar[1] is the value stored there"),
        ("ptx.tcgen05.alloc", (SLOT[0], 512), {}, "is the value stored there"),
        ("ptx.mbarrier.init", (BAR.ptr_to([0]), F), {}, "needs an integer"),
        ("ptx.mbarrier.init", (BAR.ptr_to([0]), "one"), {}, "'one' is given"),
        ("ptx.tcgen05.ld", (SLOT, 0), {}, "needs a pointer to a register buffer"),
        ("ptx.tcgen05.alloc", (SLOT, 512), {"cta_group": 3}, "it can be 1, 2"),
        ("ptx.cp_async.bulk.wait_group", (-1,), {}, "a whole number from 0 on"),
        ("ptx.wgmma.wait_group", (0.5,), {}, "a whole number from 0 on"),
        ("ptx.tcgen05.alloc", (SLOT, 512), {"cta_group": I}, "must be known at compile time"),
        ("ptx.fence.proxy_async", ("shared",), {}, "'shared'; it can be"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(path: str, args: tuple[Any, ...], kwargs: dict[str, Any], says: str) -> None:
    with pytest.raises(TirxError) as error:
        call(path, *args, span=Span("kernel.py", 7), **kwargs)
    assert says in error.value.diagnostic.message
    assert error.value.span is not None and error.value.span.line == 7
