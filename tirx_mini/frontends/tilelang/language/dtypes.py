"""TileLang's dtypes: ``T.float16`` equals ``"float16"`` and has a width and a PyTorch dtype."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import DataType
from tirx_mini.pytorch import pytorch
from tirx_mini.script import DType, data_type

__all__ = ["dtype"]

_SHORT = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "uint": "uint32", "long": "int64",
          "short": "int16", "char": "int8", "float8_e4m3": "float8_e4m3fn"}  # fmt: skip
_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn", "handle",
)  # fmt: skip


class TileDType(DType):
    """A dtype such as ``T.float16``; calling it converts a value to the dtype."""

    def __eq__(self, other: object) -> bool:
        try:
            return self.dtype == (other.dtype if isinstance(other, DType) else dtype_of(other))
        except Exception:  # whatever is no dtype
            return False

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"T.{self.dtype}"

    @property
    def bits(self) -> int:
        """The width in bits."""
        return self.dtype.bits

    @property
    def bytes(self) -> int:
        """The width in bytes."""
        return self.dtype.itemsize

    itemsize = bytes

    @property
    def lanes(self) -> int:
        return self.dtype.lanes

    def as_torch(self) -> Any:
        """Return the corresponding PyTorch dtype."""
        return getattr(pytorch("a dtype of it"), str(self.dtype))


def dtype_of(dtype: Any) -> DataType:
    """Return the dtype for a name, a short name (``"float"``), or a dtype of TileLang, NumPy or PyTorch."""
    if isinstance(dtype, DType):
        return dtype.dtype
    if isinstance(dtype, str):
        return data_type(_SHORT.get(dtype, dtype))
    if dtype in (int, float, bool):
        return data_type({int: "int32", float: "float32", bool: "bool"}[dtype])
    return data_type(dtype)


DTYPES = {name: TileDType(data_type(name)) for name in _NAMES} | {
    short: TileDType(data_type(name)) for short, name in _SHORT.items()
}
DTYPES |= {
    f"{name}x{lanes}": TileDType(data_type(f"{name}x{lanes}"))
    for name in _NAMES if name not in ("bool", "handle", "float4_e2m1fn")
    for lanes in (2, 4, 8, 16)
}  # fmt: skip
"""The names of dtypes in `T`."""


def dtype(name: object) -> TileDType:
    """Return the TileLang dtype for a name or a dtype of NumPy or PyTorch."""
    return TileDType(dtype_of(name))
