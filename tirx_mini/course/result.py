"""The comparison of D with A @ B.T: the tolerances of the course, and the finding about a wrong result."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tirx_mini.diagnose import Finding, Report, state_notes
from tirx_mini.ir import PrimFunc
from tirx_mini.report import explain_mismatch, wrong_result
from tirx_mini.sim import numpy_dtype

if TYPE_CHECKING:
    import torch  # its import takes longer than the check of a small kernel: only functions that need it import it

Matrix: TypeAlias = "torch.Tensor | npt.NDArray"
"""A tensor on a GPU; in the simulator, an array or a tensor in host memory."""

TOLERANCES: Mapping[str, tuple[float, float]] = MappingProxyType({"float16": (1e-3, 1e-2), "bfloat16": (1.6e-2, 1e-2)})
"""(rtol, atol) by dtype: one ulp of the result, and the effect of a different summation order near zero."""


def matches(A: Matrix, B: Matrix, D: Matrix, tolerance: tuple[float, float] | None = None) -> bool:
    """Return whether D equals A @ B.T within a tolerance, (rtol, atol), by default its dtype's."""
    rtol, atol = tolerance or TOLERANCES[_dtype(D)]
    return bool(np.allclose(_host(D), _host(_product(A, B, D)), rtol=rtol, atol=atol))


def wrong_finding(
    A: Matrix,
    B: Matrix,
    D: Matrix,
    kernel: PrimFunc | None = None,
    report: Report | None = None,
    tolerance: tuple[float, float] | None = None,
) -> Finding:
    """Return the finding about a mismatched D. kernel: for line numbers. report: of the run that wrote D."""
    rtol, atol = tolerance or TOLERANCES[_dtype(D)]
    got, want, a, b = (_host(matrix) for matrix in (D, _product(A, B, D), A, B))
    mismatch = explain_mismatch(got, want, a, b, rtol=rtol, atol=atol)
    if kernel is None:
        return wrong_result(mismatch)
    return wrong_result(mismatch, kernel, report.unwritten if report else (), state_notes(kernel))


def _product(A: Matrix, B: Matrix, D: Matrix) -> Matrix:
    """Return A @ B.T in D's type, from cuBLAS on a GPU, else from float32 sums."""
    if not isinstance(D, np.ndarray) and D.is_cuda:
        import torch

        return torch.matmul(cast("torch.Tensor", A), cast("torch.Tensor", B).T)
    product = _host(A) @ _host(B).T
    return product.astype(numpy_dtype(_dtype(D)))


def _dtype(matrix: Matrix) -> str:
    """Return the dtype name, as in "float16"."""
    return str(matrix.dtype).removeprefix("torch.")


def _host(matrix: Matrix) -> npt.NDArray[np.float32]:
    """Return the values in host memory, as float32."""
    return matrix.astype(np.float32) if isinstance(matrix, np.ndarray) else matrix.float().cpu().numpy()
