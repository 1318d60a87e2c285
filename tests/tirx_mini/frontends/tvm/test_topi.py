"""`tvm.topi`: operators against NumPy, and what is not provided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.compat.tvm import imports
from tirx_mini.ir import TirxError


@pytest.fixture(autouse=True)
def topi() -> Iterator[Any]:
    with imports():
        from tvm import topi  # type: ignore[import-not-found]

        yield topi


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def computed(outputs: list[te.Tensor], inputs: list[te.Tensor], *arrays: np.ndarray) -> list[np.ndarray]:
    results = [np.zeros(tensor.shape, np.float32) for tensor in outputs]
    te.build(te.create_schedule([tensor.op for tensor in outputs]), [*inputs, *outputs], "llvm")(*arrays, *results)
    return results


def test_elements_places_and_sums(topi):
    A, B = te.placeholder((4, 6), name="A"), te.placeholder((6,), name="B")
    joined = topi.concatenate([A, topi.add(A, B)], axis=1)
    outputs = [
        topi.multiply(topi.maximum(A, 0.0), B), topi.transpose(A), topi.reshape(A, (3, -1)), joined,
        topi.sum(A, axis=1, keepdims=True), topi.max(A, axis=(0, 1)), topi.squeeze(topi.expand_dims(B, 0)),
        topi.where(topi.greater(A, 1.0), A, topi.negative(A)), topi.clip(A, -1.0, 2.0), topi.broadcast_to(B, (2, 6)),
    ]  # fmt: skip
    a, b = values(4, 6), values(6, seed=1)
    expected = [
        np.maximum(a, 0) * b, a.T, a.reshape(3, 8), np.concatenate([a, a + b], 1), a.sum(1, keepdims=True),
        a.max(keepdims=True)[0], b, np.where(a > 1, a, -a), np.clip(a, -1, 2), np.broadcast_to(b, (2, 6)),
    ]  # fmt: skip
    for result, want in zip(computed(outputs, [A, B], a, b), expected, strict=True):
        np.testing.assert_array_equal(result, want)


def test_products_and_softmax(topi):
    A, B, W = (te.placeholder(shape, name=name) for shape, name in (((2, 4, 6), "A"), ((2, 6, 3), "B"), ((5, 6), "W")))
    first = topi.reshape(A, (8, 6))
    outputs = [topi.matmul(A, B), topi.nn.dense(first, W), topi.nn.softmax(A), topi.nn.log_softmax(A, axis=1)]
    a, b, w = values(2, 4, 6), values(2, 6, 3, seed=1), values(5, 6, seed=2)
    product, dense, soft, logs = computed(outputs, [A, B, W], a, b, w)
    np.testing.assert_array_equal(product, a @ b)
    np.testing.assert_array_equal(dense, a.reshape(8, 6) @ w.T)
    np.testing.assert_allclose(soft, np.exp(a) / np.exp(a).sum(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(logs, a - np.log(np.exp(a).sum(1, keepdims=True)), rtol=1e-5, atol=1e-6)


def test_convolutions_and_pools(topi):
    X, W, D = (
        te.placeholder(shape, name=name)
        for shape, name in (((1, 2, 9, 9), "X"), ((3, 2, 3, 3), "W"), ((2, 1, 3, 3), "D"))
    )
    conv = topi.nn.conv2d(X, W, strides=2, padding=1, dilation=1)
    depthwise = topi.nn.depthwise_conv2d_nchw(X, D, 1, 0, 1)
    pooled = topi.nn.pool2d(topi.nn.relu(X), (3, 3), (3, 3), pool_type="max")
    means = topi.nn.pool2d(X, 3, 3, pool_type="avg")
    x, w, d = values(1, 2, 9, 9), values(3, 2, 3, 3, seed=1), values(2, 1, 3, 3, seed=2)
    results = computed([conv, depthwise, pooled, means], [X, W, D], x, w, d)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    np.testing.assert_array_equal(results[0], np.einsum("nchwij,ocij->nohw", seen, w))
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    np.testing.assert_array_equal(results[1], np.einsum("nchwij,cij->nchw", seen, d[:, 0]))
    tiles = x.reshape(1, 2, 3, 3, 3, 3)
    np.testing.assert_array_equal(results[2], np.maximum(tiles.max((3, 5)), 0))
    np.testing.assert_allclose(results[3], tiles.mean((3, 5)), rtol=1e-6)


def test_what_is_not_provided_or_does_not_fit(topi):
    A, B = te.placeholder((4, 6), name="A"), te.placeholder((5,), name="B")
    for call, message in (
        (lambda: topi.add(A, B), r"topi.add: the shapes \(4, 6\) and \(5,\) do not broadcast"),
        (lambda: topi.matmul(A, A), "4 rows"),
        (lambda: topi.reshape(A, (5, 5)), "has 24 elements, and"),
        (lambda: topi.argsort, "topi.argsort is not provided"),
        (lambda: topi.nn.lstm, "topi.nn.lstm is not provided"),
        (lambda: topi.nn.conv2d(A, A, data_layout="NHWC"), "topi.nn.conv2d of NHWC is not provided"),
    ):
        with pytest.raises(TirxError, match=message):
            call()
