"""Conditions on the threads of a CTA."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.ir import BOOL, Binary, Cast, DataType, Expr, Var, cast, const, special
from tirx_mini.sim import selected, thread_values

WARPS = 4
THREAD, WARP, CTA = special("threadIdx.x"), special("warp_id_in_cta"), special("clusterCtaIdx.x")
WORD, INT = DataType("uint32"), DataType("int32")
NUMBERS = np.arange(WARPS * 32).reshape(WARPS, 32)


def below(expr: Expr, value: int, dtype: DataType) -> Binary:
    return Binary(BOOL, "<", expr, const(value, dtype))


@pytest.mark.parametrize(
    ("expr", "values"),
    [
        (Binary(WORD, "+", Cast(WORD, THREAD), const(0xFFFFFFFF, WORD)), (NUMBERS - 1) % (1 << 32)),
        (Cast(INT, Binary(WORD, "+", Cast(WORD, THREAD), const(0xFFFFFFFF, WORD))), NUMBERS - 1),
        (Binary(INT, "<<", Cast(INT, THREAD), const(31, INT)), np.where(NUMBERS % 2, -(1 << 31), 0)),
        (Binary(WORD, "-", const(0, WORD), Cast(WORD, THREAD)), -NUMBERS % (1 << 32)),
    ],
)
def test_numbers_wrap_at_the_bits_of_their_type(expr: Expr, values: np.ndarray) -> None:
    found = thread_values(expr, WARPS)
    assert found is not None
    np.testing.assert_array_equal(np.broadcast_to(found, values.shape), values)


def test_a_condition_is_seen_through_the_names_of_its_parts() -> None:
    role, test = Var(WORD, "role"), Var(BOOL, "test")
    bound = {role: cast(WORD, WARP), test: below(role, 2, WORD)}
    holds, fails = selected(test, WARPS, lambda var: None if var is test else np.arange(WARPS)[:, None], bound)
    np.testing.assert_array_equal(holds, NUMBERS < 64)
    np.testing.assert_array_equal(fails, NUMBERS >= 64)
    assert selected(test, WARPS)[0].all() and selected(test, WARPS)[1].all()


@pytest.mark.parametrize("op", ["==", "!="])
def test_bits_of_a_thread_and_of_a_cta_that_are_tested_at_once(op: str) -> None:
    """`(warp & 2 | cta) == 0` is what NVRTC makes of `warp < 2 && cta == 0`."""
    joined = Var(WORD, "joined")
    either = Binary(WORD, "|", Binary(WORD, "&", Cast(WORD, WARP), const(2, WORD)), Cast(WORD, CTA))
    zero = Binary(BOOL, op, Cast(INT, joined), const(0, INT))
    holds, fails = selected(zero, WARPS, bound={joined: either})
    never, always = (holds, fails) if op == "==" else (fails, holds)
    np.testing.assert_array_equal(never, NUMBERS < 64)
    assert always.all()
