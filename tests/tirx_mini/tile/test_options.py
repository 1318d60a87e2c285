"""Options of tile primitives: each has values of its kind, and gets them when the call is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.tile.kernels import call, gmem, tmem
from tirx_mini.ir import INT32, AddressOf, Buffer, DataType, Expr, TileCall, TirxError, Var, const
from tirx_mini.tile import OPS, OPTIONS

A, T = gmem("A", (128, 64)), Buffer("T", (128, 64), DataType("float16"), "shared")
BARRIER = Buffer("bar", (1,), DataType("uint64"), "shared")
N = Var(INT32, "n")


def option(name: str, value: Any, op: str = "copy_async") -> Any:
    operands = (tmem()[:, :128], T, T) if op == "gemm_async" else (T, A)
    made = call(op, *operands, **{name: value})
    assert isinstance(made, TileCall)
    return made.option(name)


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("cta_group", 2, 2), ("cta_group", np.int64(2), 2), ("cta_group", const(2), 2), ("cta_mask", 3, 3),
        ("cta_mask", "warpx4", "warpx4"), ("cta_mask", N, N), ("dispatch", "tma", "tma"), ("oob", "zero", "zero"),
        ("prefetch_tensormap", 1, True), ("prefetch_tensormap", np.bool_(False), False), ("remote_cta_id", N, N),
        ("cache_hint", "evict_first", "evict_first"), ("tensormap_l2_promotion", A, A), ("mbar", None, None),
    ],
)  # fmt: skip
def test_a_value_of_the_kind_is_kept(name: str, given: Any, kept: Any) -> None:
    found = option(name, given)
    assert type(found) is type(kept) and (found is kept if isinstance(kept, (Expr, Buffer)) else found == kept)


@pytest.mark.parametrize(("given", "kept"), [(0, False), (True, True), (np.bool_(True), True), (N, N), (N == 0, None)])
def test_accum_is_a_condition(given: Any, kept: Any) -> None:
    found = option("accum", given, "gemm_async")
    assert found is (given if kept is None else kept)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("cta_group", "2", "an integer that is known at compile time, but '2' is given"),
        ("cta_group", N, "an integer that is known at compile time, but n is given"),
        ("cta_group", 1.5, "an integer that is known at compile time, but 1.5 is given"),
        ("cta_mask", A, "an integer or a string, but the buffer A is given"),
        ("dispatch", 3, "a string, but 3 is given"), ("oob", "one", "'zero', but 'one' is given"),
        ("prefetch_tensormap", 2, "True or False, but 2 is given"),
        ("use_tma_reduce", len, "'add', but the function len"),
        ("mbar", "bar", "an mbarrier, as in bar.ptr_to([stage]), but 'bar' is given"),
        ("mbar", A, "an mbarrier, as in bar.ptr_to([stage]), but A is in global memory"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_gets_a_page(name: str, given: Any, words: str) -> None:
    with pytest.raises(TirxError) as raised:
        option(name, given)
    assert words in raised.value.diagnostic.message and raised.value.diagnostic.hint is not None
    assert raised.value.about is given


@pytest.mark.parametrize("given", [0.5, "yes", A, A[0, 0], T[:, :]])
def test_so_does_another_kind_of_accum(given: Any) -> None:
    with pytest.raises(TirxError, match="accum of gemm_async must be a condition") as raised:
        option("accum", given, "gemm_async")
    assert "accum=(k != 0)" in str(raised.value)


def test_a_buffer_of_one_barrier_is_the_barrier() -> None:
    pointer = option("mbar", BARRIER)
    assert isinstance(pointer, AddressOf) and pointer.buffer is BARRIER


@pytest.mark.parametrize("op", OPS)
def test_every_option_has_a_kind(op: str) -> None:
    operands = [T if name not in OPS[op].values else 1 for name in OPS[op].operands]
    for name in OPS[op].options:
        if OPTIONS[name].type != "object | None":
            with pytest.raises(TirxError, match="a list is given"):
                call(op, *operands, **{name: [object()]})
