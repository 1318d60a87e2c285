"""The tasks: what their kernels compute, for which problems, and within which time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from .task import Array, KernelTask, Parameter

_A, _B, _D = Parameter("A", "MK"), Parameter("B", "NK"), Parameter("D", "MN")
_ANY_N = [n for n in range(136, 520, 8) if n % 128]
_TILES = range(128, 513, 128)


def _bias_relu(a: Array, b: Array, bias: Array) -> Array:
    return np.maximum(a @ b.T + bias, 0)


def _large_sums(a: Array, b: Array, bias: Array) -> tuple[Array, ...]:
    """Let the rows of A share a part, and the bias take its products away again.

    The sums are then an order of magnitude larger than the results, which a sum of float16 misses.
    """
    shared = 16 * a[0]
    return a + shared, b, bias - b @ shared


def _product(a: Array, b: Array) -> Array:
    return a @ b.T


def _scaled(a: Array, b: Array, scale: Array) -> Array:
    return a @ b.T * scale


def _huge_sums(a: Array, b: Array, scale: Array) -> tuple[Array, ...]:
    """Let the sums exceed the range of float16, and the factors bring them back. All changes are powers of two."""
    return 2**7 * a, 2**7 * b, 2.0**-14 * scale


_FIRST = KernelTask(
    "a", "GEMM with bias and ReLU",
    """
Write `task_a(M, N, K)`, which returns a kernel with the parameters `A` (M, K), `B` (N, K) and `D` (M, N) of float16,
and `bias` (N,) of float32, in the order `A, B, bias, D`. It computes

    D = max(A @ B.T + bias, 0)

with float32 sums, to which the bias is added before they are rounded. M is a multiple of 128, K of 64, and **N of 8**:
the last tile of a row may be narrower than the others, and D may be narrower than one tile. The kernel reads nothing
outside of the four buffers, and writes every element of D.
""",
    (_A, _B, Parameter("bias", "N", "float32"), _D), _bias_relu,
    ((128, 72, 128), (256, 200, 192)), (1024, 1000, 2048), 17.0,
    ((_TILES, range(8, 128, 8), range(64, 513, 64)), (_TILES, _ANY_N, range(64, 513, 64)),
     (range(1664, 2049, 128), range(1544, 1656, 16), (64, 128))),
    inputs=_large_sums,
)  # fmt: skip

_SECOND = KernelTask(
    "b", "split-K",
    """
Write `task_b(M, N, K)`, which returns a kernel with the parameters `A` (M, K) and `B` (N, K) of float16, and `D` (M, N)
of **float32**, in this order. It computes

    D = A @ B.T

D holds zeros before the launch, and the kernel may read it. M and N are multiples of 128, and K of 64; K need not be a
multiple of anything else. The budget is for 256 × 256 × 16384: four tiles of D for 148 SMs.
""",
    (_A, _B, Parameter("D", "MN", "float32")), _product,
    ((128, 128, 256), (128, 256, 1088)), (256, 256, 16384), 12.0,
    (((128,), (128, 256), range(64, 512, 64)), ((256, 384), (128, 512), range(64 * 17, 64 * 41, 64)),
     ((1536, 1664), (1664, 1792), (64, 128))),
    zeroed=True,
)  # fmt: skip

_THIRD = KernelTask(
    "c", "a kernel that is wrong and slow",
    """
`tirx task c` writes `task_c.py`: a kernel with the parameters `A` (M, K), `B` (N, K) and `D` (M, N) of float16, and
`scale` (N,) of float32, in the order `A, B, scale, D`. It is meant to compute

    D = (A @ B.T) * scale

with a factor for each column of D, which multiplies the float32 sum. M and N are multiples of 128, and K of 64. The
kernel is wrong, and it is slow. Make it right for every problem, and **twice as fast** at 1024 × 1024 × 4096: it takes
42.1 µs, and the budget is half of that. Any other kernel with these parameters counts, too.
""",
    (_A, _B, Parameter("scale", "N", "float32"), _D), _scaled,
    ((256, 128, 128), (128, 384, 320)), (1024, 1024, 4096), 21.0,
    ((_TILES, _TILES, range(64, 513, 64)), ((1664, 1792), (1536, 1664), (64, 128)),
     ((128,), (128,), range(1024, 2049, 64))),
    handout="task_c.py.txt", inputs=_huge_sums,
)  # fmt: skip

TASKS: Mapping[str, KernelTask] = MappingProxyType({task.letter: task for task in (_FIRST, _SECOND, _THIRD)})
"""The tasks by letter."""
