"""Computations that several tests schedule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tirx_mini as tvm
from tirx_mini import te


class MatMul(NamedTuple):
    A: te.Tensor
    B: te.Tensor
    C: te.Tensor
    k: te.IterVar

    @property
    def args(self) -> list[te.Tensor]:
        return [self.A, self.B, self.C]


def matmul(M: int = 64, N: int = 64, K: int = 64, dtype: str = "float32") -> MatMul:
    A = te.placeholder((M, K), dtype, "A")
    B = te.placeholder((K, N), dtype, "B")
    k = te.reduce_axis((0, K), "k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), "C")
    return MatMul(A, B, C, k)


def lines(module: tvm.IRModule) -> list[str]:
    """The statements of the only function, without its head."""
    text = module.main.script().splitlines()
    body = text[next(number for number, line in enumerate(text) if "func_attr" in line) + 1 :]
    return [line[4:] for line in body]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    """Small whole numbers, whose sums and products are exact in float32."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def threads(*names: str) -> list[te.IterVar]:
    return [te.thread_axis(name) for name in names]
