"""`tvm.ir.type`: types of non-buffer values in kernel annotations."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import DataType
from tirx_mini.script import tirx


def PrimType(dtype: object) -> Any:
    """Return the type of a scalar, such as ``Tx.float16``."""
    return getattr(tirx, str(DataType(str(dtype))))


def PointerType(element_type: object, storage_scope: str = "global") -> Any:
    """Return the type of a pointer to values of a type in a memory."""
    pointer: Any = tirx.handle
    return pointer(str(element_type), storage_scope or "global")


def TensorMapType() -> Any:
    """Return the type of a tensor map."""
    return tirx.handle("tensormap")
