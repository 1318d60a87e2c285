"""Tile primitives of TVM that are several of ours, against NumPy, in the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.script import tirx as T

X, Y = (np.random.default_rng(seed).uniform(0.5, 2, (32, 8)).astype(np.float32) for seed in (0, 1))


def kernel(work: Callable[..., None]) -> PrimFunc:
    """Threads with a row each of two matrices: `work` sets a row of registers, and one number."""

    @T.prim_func
    def made(
        A: T.Buffer((32, 8), "float32"), B: T.Buffer((32, 8), "float32"), D: T.Buffer((32, 8), "float32"),
        R: T.Buffer((32, 1), "float32"),
    ):  # fmt: skip
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        a = T.alloc_local((8,), "float32")
        b = T.alloc_local((8,), "float32")
        d = T.alloc_local((8,), "float32")
        r = T.alloc_local((1,), "float32")
        T.thread.copy(a[:], A[tx, :])
        T.thread.copy(b[:], B[tx, :])
        T.thread.fill(d[:], 0.0)
        T.thread.fill(r[:], 0.0)
        work(a, b, d, r)
        T.thread.copy(D[tx, :], d[:])
        T.thread.copy(R[tx, :], r[:])

    return made


def run(work: Callable[..., None]) -> tuple[Any, Any]:
    d, r = np.zeros((32, 8), np.float32), np.zeros((32, 1), np.float32)
    report = tvm.simulate(kernel(work), X.copy(), Y.copy(), d, r)
    assert report.verdict == "ok" and not report.findings, report.findings
    return d, r[:, 0]


CHAINS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "tiles": (("b", "a", "add", "mul", False), lambda: (Y + X) * X),
    "numbers": ((2.0, 3.0, "sub", "add", False), lambda: 2 - X + 3),
    "quotients": ((2.0, "b", "fdiv", "max", False), lambda: np.maximum(2 / X, Y)),
    "reversed": (("b", "b", "min", "sub", True), lambda: Y - np.minimum(Y, X)),
    "a number reversed": ((2.0, 3.0, "mul", "fdiv", True), lambda: 3 / (2 * X)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain(name: str) -> None:
    (first, second, op0, op1, reverse), expected = CHAINS[name]

    def work(a: Any, b: Any, d: Any, r: Any) -> None:
        named = {"a": a, "b": b}
        operands = (named.get(first, first)[:] if first in named else first, named[second][:] if second in named
                    else second)  # fmt: skip
        T.thread.binary_chain(d[:], a[:], *operands, op0, op1, reverse)

    np.testing.assert_allclose(run(work)[0], expected(), 1e-6)


@pytest.mark.parametrize(("op", "reduction"), [("sub", "sum"), ("mul", "max"), ("add", "min")])
def test_an_operation_before_a_reduction(op: str, reduction: str) -> None:
    def work(a: Any, b: Any, d: Any, r: Any) -> None:
        T.thread.binary_reduce(d[:], r[:], a[:], b[:], op, reduction, reduce_axes=-1)

    d, r = run(work)
    expected = {"sub": X - Y, "mul": X * Y, "add": X + Y}[op]
    np.testing.assert_allclose(d, expected, 1e-6)
    np.testing.assert_allclose(r, getattr(expected, reduction)(1), 1e-5)


def test_a_function_before_a_reduction() -> None:
    def work(a: Any, b: Any, d: Any, r: Any) -> None:
        T.thread.unary_reduce(d[:], r[:], a[:], "exp2", "sum", bias=1.0, scale=-2.0)

    d, r = run(work)
    np.testing.assert_allclose(d, 2.0 ** (1 - 2 * X), 1e-5)
    np.testing.assert_allclose(r, (2.0 ** (1 - 2 * X)).sum(1), 1e-5)


def test_a_reduction_with_the_other_sign() -> None:
    _, r = run(lambda a, b, d, r: T.thread.reduce_negate(r[:], a[:], "max"))
    np.testing.assert_array_equal(r, -X.max(1))


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda a, b, d, r: T.thread.binary_chain(d[:], a[:], 1.0, 2.0, "pow", "add"), "'pow' is not an operation"),
        (lambda a, b, d, r: T.thread.unary_reduce(d[:], r[:], a[:], "silu", "sum", scale=2.0), "silu has no scale"),
        (lambda a, b, d, r: T.thread.reduce_negate(r[:], a[:], "sum", accum=True), "has no accum=True here"),
        (lambda a, b, d, r: T.thread.binary_reduce(d[:], r[:], 1.0, 2.0, "add", "sum"), "needs a tile"),
    ],
)
def test_what_is_refused(work: Callable[..., None], message: str) -> None:
    with pytest.raises(TirxError, match=message):
        kernel(work)
