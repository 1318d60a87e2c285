"""Scalar and short-vector types, with the names that TVM and NumPy use.

A `DataType` is a string (``DataType("float16") == "float16"``), so it can be passed wherever a dtype name is
expected. It also has a width. ``"float16x8"`` has eight lanes of half precision: the type of one 16-byte access.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

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


@cache
def _parse(name: str) -> tuple[str, int, int]:
    match = _PATTERN.fullmatch(name)
    if match:
        code, bits, lanes = match.group(1), match.group(2), int(match.group(3) or 1)
        if code in _FIXED_BITS and not bits:
            return code, _FIXED_BITS[code], lanes
        if code in _WIDTHS and bits and int(bits) in _WIDTHS[code]:
            return code, int(bits), lanes
    raise ValueError(f"unknown dtype {name!r}; use for example 'float16', 'bfloat16', 'float32', 'int32' or 'uint64'")


class DataType(str):
    """The type of a value: a code, a width in bits, and a number of lanes.

    The argument is a name, or a dtype of NumPy, ml_dtypes or PyTorch. Raises `ValueError` for anything else.
    """

    __slots__ = ()

    def __new__(cls, dtype: Any) -> DataType:
        name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
        name = f"{name}32" if name in ("int", "uint", "float") else name  # as TVM has them
        _parse(name)
        return super().__new__(cls, name)

    @property
    def code(self) -> str:
        """'int', 'uint', 'float', 'bfloat', 'bool', 'handle', 'tensormap', or the name of a type of 8, 6 or 4 bits."""
        return _parse(self)[0]

    @property
    def type_code(self) -> int:
        """The number of the code in DLPack: 0 for int, 1 for uint, 2 for float, ….

        https://dmlc.github.io/dlpack/latest/c_api.html#c.DLDataTypeCode
        """
        return _DLPACK[self.code]

    @property
    def bits(self) -> int:
        """The width of one lane in memory, in bits: that of a byte for the types of 6 bits."""
        return _parse(self)[1]

    @property
    def lanes(self) -> int:
        return _parse(self)[2]

    @property
    def itemsize(self) -> int:
        """The size of one lane in bytes; 0 for the types of 4 bits, of which a byte holds two."""
        return self.bits // 8

    @property
    def nbytes(self) -> int:
        """The size of all lanes in bytes."""
        return self.bits * self.lanes // 8

    @property
    def scalar(self) -> DataType:
        """The type of one lane."""
        return self.with_lanes(1)

    def with_lanes(self, lanes: int) -> DataType:
        base = str(self).rsplit("x", 1)[0] if self.lanes > 1 else str(self)
        return DataType(base if lanes == 1 else f"{base}x{lanes}")

    @property
    def is_integer(self) -> bool:
        return self.code in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.code == "int"

    @property
    def is_float(self) -> bool:
        return self.code.startswith(("float", "bfloat"))

    @property
    def is_bool(self) -> bool:
        return self.code == "bool"

    @property
    def is_handle(self) -> bool:
        return self.code == "handle"


BOOL = DataType("bool")
INT32 = DataType("int32")
INT64 = DataType("int64")
UINT32 = DataType("uint32")
UINT64 = DataType("uint64")
FLOAT32 = DataType("float32")
HANDLE = DataType("handle")
