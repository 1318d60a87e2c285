"""Scalar and short-vector types under the names of TVM and NumPy.

A `DataType` is a string (``DataType("float16") == "float16"``), so it can be passed wherever a dtype name is
expected. It also has a width. ``"float16x8"`` has eight lanes of half precision: the type of one 16-byte access.
"""

from __future__ import annotations

import re
from functools import cache

from tirx_mini.wording import described, shortened

_PATTERN = re.compile(
    r"(bool|handle|tensormap|float8_e4m3fn|float8_e5m2|float8_e8m0fnu|float6_e2m3fn|float6_e3m2fn|float4_e2m1fn"
    r"|bfloat|float|uint|int)(\d*)(?:x(\d+))?"
)
_FIXED_BITS = {
    "bool": 8, "handle": 64, "tensormap": 1024, "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e8m0fnu": 8,
    "float6_e2m3fn": 8, "float6_e3m2fn": 8, "float4_e2m1fn": 4,
}  # fmt: skip
_WIDTHS = {"float": (16, 32, 64), "bfloat": (16,), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64)}

_DLPACK = {
    "int": 0, "uint": 1, "float": 2, "handle": 3, "tensormap": 3, "bfloat": 4, "bool": 6, "float8_e4m3fn": 10,
    "float8_e5m2": 12, "float8_e8m0fnu": 14, "float4_e2m1fn": 17,
}  # fmt: skip


def _parse(name: str) -> tuple[str, int, int]:
    match = _PATTERN.fullmatch(name)
    if match:
        code, bits, lanes = match.group(1), match.group(2), int(match.group(3) or 1)
        if code in _FIXED_BITS and not bits:
            return code, _FIXED_BITS[code], lanes
        if code in _WIDTHS and bits and int(bits) in _WIDTHS[code]:
            return code, int(bits), lanes
    raise ValueError(
        f"unknown dtype {described(shortened(name))}; use for example 'float16', 'bfloat16', 'float32', 'int32' or "
        "'uint64'"
    )


class DataType(str):
    """The type of a value: a code, a width in bits, and a number of lanes.

    The argument is a name, or a dtype of NumPy, ml_dtypes or PyTorch. Raises `ValueError` for anything else. Each type
    is a single object with precomputed properties.

    code: 'int', 'uint', 'float', 'bfloat', 'bool', 'handle', 'tensormap', or the name of a type of 8, 6 or 4 bits.
    bits: the width of one lane in memory: that of a byte for the types of 6 bits.
    lanes: how many values it has.
    itemsize: the size of one lane in bytes; 0 for the types of 4 bits, of which a byte holds two.
    nbytes: the size of all lanes in bytes.
    """

    __slots__ = (
        "bits", "code", "is_bool", "is_float", "is_handle", "is_integer", "is_signed", "itemsize", "lanes", "nbytes",
    )  # fmt: skip
    code: str
    bits: int
    lanes: int
    itemsize: int
    nbytes: int
    is_integer: bool
    is_signed: bool
    is_float: bool
    is_bool: bool
    is_handle: bool

    def __new__(cls, dtype: object) -> DataType:
        if type(dtype) is DataType:
            return dtype
        name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
        return _named(f"{name}32" if name in ("int", "uint", "float") else name)  # as TVM has them

    def __reduce__(self) -> tuple[type[DataType], tuple[str]]:
        return DataType, (str(self),)

    @property
    def type_code(self) -> int:
        """The number of the code in DLPack: 0 for int, 1 for uint, 2 for float, ….

        https://dmlc.github.io/dlpack/latest/c_api.html#c.DLDataTypeCode
        """
        return _DLPACK[self.code]

    @property
    def scalar(self) -> DataType:
        """The type of one lane."""
        return self.with_lanes(1)

    def with_lanes(self, lanes: int) -> DataType:
        if lanes == self.lanes:
            return self
        base = str(self).rsplit("x", 1)[0] if self.lanes > 1 else str(self)
        return DataType(base if lanes == 1 else f"{base}x{lanes}")


@cache
def _named(name: str) -> DataType:
    """Return the type of this name."""
    kind = str.__new__(DataType, name)
    kind.code, kind.bits, kind.lanes = code, bits, lanes = _parse(name)
    kind.itemsize, kind.nbytes = bits // 8, bits * lanes // 8
    kind.is_integer, kind.is_signed = code in ("int", "uint"), code == "int"
    kind.is_float = code.startswith(("float", "bfloat"))
    kind.is_bool, kind.is_handle = code == "bool", code == "handle"
    return kind


BOOL = DataType("bool")
INT32 = DataType("int32")
INT64 = DataType("int64")
UINT32 = DataType("uint32")
UINT64 = DataType("uint64")
FLOAT32 = DataType("float32")
HANDLE = DataType("handle")


def promote(a: DataType, b: DataType) -> DataType:
    """Return the common type of two operands as in C: floats over integers, then the wider, then the unsigned type."""
    if a.lanes * b.lanes > 1:
        return promote(a.scalar, b.scalar).with_lanes(max(a.lanes, b.lanes))
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a == b or a.code == "uint" else FLOAT32 if a.is_float else b
