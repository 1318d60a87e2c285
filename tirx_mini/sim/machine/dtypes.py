"""The NumPy types of the IR's dtypes."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np

from tirx_mini.ir import DataType

Index = np.ndarray | int
"""The places of an access: one of all active lanes, or one of each lane."""
Number = np.ndarray | int | float
"""A value of all active lanes, or a value of each lane."""

_EXTENDED = {
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    "float6_e2m3fn": np.dtype(ml_dtypes.float6_e2m3fn),
    "float6_e3m2fn": np.dtype(ml_dtypes.float6_e3m2fn),
}


@cache
def numpy_dtype(dtype: str) -> np.dtype:
    """Return the NumPy type of one lane of `dtype` in memory."""
    name = str(DataType(dtype).scalar)
    if name == "handle":
        return np.dtype(np.uint64)
    return _EXTENDED.get(name) or np.dtype(name)
