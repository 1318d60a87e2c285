"""LLVM types and constants for those of the IR (LLVM Language Reference Manual)."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from tirx_mini.ir import DataType, TirxError

_SCALARS: Mapping[str, str] = {
    "bool": "i1", "float16": "half", "bfloat16": "bfloat", "float32": "float", "float64": "double",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def llvm_type(dtype: DataType) -> str:
    """Return the LLVM type of a value. Raises `TirxError` for types that CPUs do not support."""
    scalar = _SCALARS.get(str(dtype.scalar))
    if scalar is None:
        raise TirxError(f"a CPU does not compute with {dtype}", hint='convert it: A[i].astype("float32")')
    return scalar if dtype.lanes == 1 else f"<{dtype.lanes} x {scalar}>"


def memory_type(dtype: DataType) -> str:
    """Return the LLVM type of an element in memory, where a bool is a byte."""
    return llvm_type(dtype).replace("i1", "i8") if dtype.is_bool else llvm_type(dtype)


def constant(value: int | float | bool, dtype: DataType) -> str:
    """Return a scalar literal."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))
    # LLVM reads the bits of a double; for a narrower type it must be exactly representable in it.
    if dtype == "float32":
        value = struct.unpack("<f", struct.pack("<f", float(value)))[0]
    elif dtype != "float64":
        import numpy as np
        from ml_dtypes import bfloat16

        narrow = np.dtype(bfloat16) if dtype == "bfloat16" else np.dtype(np.float16)
        bits = int(np.array(value, narrow).view(np.uint16))
        return f"0x{'R' if dtype == 'bfloat16' else 'H'}{bits:04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"


def splat(text: str, dtype: DataType) -> str:
    """Return a vector literal with the same value in all lanes of `dtype`."""
    if dtype.lanes == 1:
        return text
    lane = llvm_type(dtype.scalar)
    return f"<{', '.join([f'{lane} {text}'] * dtype.lanes)}>"
