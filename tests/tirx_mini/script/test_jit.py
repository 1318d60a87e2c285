"""`T.jit`: kernels whose compile-time parameters `specialize` gives."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import goes_round
from tirx_mini.ir import Buffer, TirxError
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

pytestmark = pytest.mark.compiler


@T.jit
def scale(A: T.Buffer((N,), "float32"), B: T.Optional(T.handle), n: T.int32, *, N: T.constexpr, F: T.constexpr = 2):  # noqa: F821
    if B is not None:
        C = T.match_buffer(B, (N,), "float32")
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([N])
    if B is not None:
        C[tx] = A[tx] * F
    else:
        A[tx] = A[tx] * F + n


def test_the_values_are_part_of_the_kernel() -> None:
    kernel = scale.specialize(N=64)
    assert [p.shape for p in kernel.params if isinstance(p, Buffer)] == [(64,), (64,)]
    goes_round(kernel)
    a, c = np.ones(64, np.float32), np.zeros(64, np.float32)
    assert tirx_mini.simulate(kernel, a, c, 0).verdict == "ok" and (c == 2).all()


def test_none_removes_an_optional_parameter() -> None:
    kernel = scale.specialize(N=32, F=3, B=None)
    assert len(kernel.params) == 2
    goes_round(kernel)
    a = np.ones(32, np.float32)
    assert tirx_mini.simulate(kernel, a, 4).verdict == "ok" and (a == 7).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "without `N`, which has no default"),
        ({"N": 32, "M": 1}, "scale has no parameter `M`"),
        ({"N": 32, "B": 3}, "`B` is a parameter of the compiled kernel"),
        ({"N": 32, "n": 3}, "`n` is a parameter of the compiled kernel"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, int], message: str) -> None:
    with pytest.raises(TirxError) as raised:
        scale.specialize(**values)
    assert message in raised.value.diagnostic.message and raised.value.span is not None


def test_a_kernel_without_values_is_not_called() -> None:
    with pytest.raises(TirxError, match="has no code before its"):
        scale(np.zeros(4))


def test_constexpr_needs_jit() -> None:
    with pytest.raises(TirxError) as raised:
        from_source('@T.prim_func\ndef kernel(A: T.Buffer((4,), "float32"), N: T.constexpr):\n    pass')
    assert "decorate the kernel with @T.jit" in (raised.value.diagnostic.hint or "")


def test_options_and_values_of_any_kind() -> None:
    @T.jit(persistent=True)
    def cast(A: T.Buffer((32,), dt), N: T.constexpr[int] = 32, dt: T.constexpr = "float16"):  # noqa: F821
        T.device_entry()
        T.cta_id([1])
        tx = T.thread_id([N])
        A[tx] = T.cast(tx, dt)

    a = np.zeros(32, np.float16)
    assert tirx_mini.simulate(cast.specialize(), a).verdict == "ok" and (a == np.arange(32)).all()
    assert cast.specialize(dt="float32").params[0].dtype == "float32"
