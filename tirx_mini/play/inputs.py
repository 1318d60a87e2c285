"""The random data of runs, and their exact products: a process keeps those of its last run for the next one."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from tirx_mini.course import make_arguments
from tirx_mini.ir import Buffer, PrimFunc
from tirx_mini.report import exact_product

MOST_BYTES = 64 << 20
"""The maximum size of what is kept of the data, and of a product."""


@cache
def inputs() -> Inputs:
    """Return those of this process."""
    return Inputs()


class Inputs:
    """The data of the last kernel, and the last product. Kernels of the same parameters have the same data."""

    def __init__(self) -> None:
        self._key: object = None
        self._arrays: list[npt.NDArray] = []
        self._factors: tuple[npt.NDArray, npt.NDArray] | None = None
        self._product: npt.NDArray[np.float64] | None = None

    def arguments(self, kernel: PrimFunc) -> list[npt.NDArray]:
        """Return the arrays of `make_arguments`, which the caller may change. Raises what it raises."""
        key = tuple((param.dtype, param.shape) for param in kernel.params if isinstance(param, Buffer))
        if key != self._key or len(key) != len(kernel.params):
            arrays = make_arguments(kernel)
            if sum(array.nbytes for array in arrays) > MOST_BYTES:
                return arrays
            self._key, self._arrays = key, arrays
        return [array.copy() for array in self._arrays]

    def product(self, a: npt.NDArray, b: npt.NDArray) -> npt.NDArray[np.float64]:
        """Return the `exact_product` of the arrays, which nobody may change."""
        kept = self._product
        if kept is not None and self._factors is not None and all(map(_same, (a, b), self._factors)):
            return kept
        product = exact_product(a, b)
        if product.nbytes <= MOST_BYTES and a.nbytes + b.nbytes <= MOST_BYTES:
            product.flags.writeable = False
            self._factors, self._product = (a.copy(), b.copy()), product
        return product


def _same(one: npt.NDArray, other: npt.NDArray) -> bool:
    """Return whether two arrays have the same bits."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    return np.array_equal(np.ascontiguousarray(one).view(np.uint8), other.view(np.uint8))
