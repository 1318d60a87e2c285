"""Data types of tiles and arrays, and their promotion rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from tirx_mini.records import dataclass

from .errors import TileTypeError, TileValueError


@dataclass(frozen=True)
class DType:
    """The element type of an array or tile.

    In tile code, calling one makes a strictly typed constant, or converts a tile: ``ct.int16(5)``.

    name: as in ``ct.float16``.
    element: the element type of cuda_tile, as "f16". Integers have no sign there: operations do.
    kind: "b" boolean, "i" signed, "u" unsigned, "f" floating point.
    bitwidth: bits of an element in registers; a boolean has 1.
    arithmetic: whether operators accept it. Narrow floats are for storage and for `mma`.
    """

    name: str
    element: str
    kind: str
    bitwidth: int
    arithmetic: bool = True

    def __call__(self, value: object) -> Any:
        """Return a NumPy scalar of this type, in host code."""
        return numpy_dtype(self).type(value)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<DType '{self.name}'>"

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def is_integer(self) -> bool:
        """Return whether it is a signed or unsigned integer, excluding booleans."""
        return self.kind in "iu"

    @property
    def signedness(self) -> str:
        """The signedness of cuda_tile's integer operations on this type."""
        return "signed" if self.kind == "i" else "unsigned"

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest integer."""
        if self.kind == "i":
            return -(1 << (self.bitwidth - 1)), (1 << (self.bitwidth - 1)) - 1
        return 0, (1 << self.bitwidth) - 1


bool_ = DType("bool_", "i1", "b", 1)
int8 = DType("int8", "i8", "i", 8)
int16 = DType("int16", "i16", "i", 16)
int32 = DType("int32", "i32", "i", 32)
int64 = DType("int64", "i64", "i", 64)
uint8 = DType("uint8", "i8", "u", 8)
uint16 = DType("uint16", "i16", "u", 16)
uint32 = DType("uint32", "i32", "u", 32)
uint64 = DType("uint64", "i64", "u", 64)
float16 = DType("float16", "f16", "f", 16)
bfloat16 = DType("bfloat16", "bf16", "f", 16)
float32 = DType("float32", "f32", "f", 32)
float64 = DType("float64", "f64", "f", 64)
tfloat32 = DType("tfloat32", "tf32", "f", 32, False)
float8_e4m3fn = DType("float8_e4m3fn", "f8E4M3FN", "f", 8, False)
float8_e5m2 = DType("float8_e5m2", "f8E5M2", "f", 8, False)
float8_e8m0fnu = DType("float8_e8m0fnu", "f8E8M0FNU", "f", 8, False)
float4_e2m1fn = DType("float4_e2m1fn", "f4E2M1FN", "f", 4, False)
float8_e5m3fnu = DType("float8_e5m3fnu", "f8E5M3FNU", "f", 8, False)

DTYPES: tuple[DType, ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, tfloat32,
    float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float8_e5m3fnu, float4_e2m1fn,
)  # fmt: skip

_NUMPY: Mapping[DType, np.dtype[Any]] = MappingProxyType({
    bool_: np.dtype(np.bool_), bfloat16: np.dtype(ml_dtypes.bfloat16), tfloat32: np.dtype(np.float32),
    float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn), float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
    float8_e8m0fnu: np.dtype(ml_dtypes.float8_e8m0fnu), float4_e2m1fn: np.dtype(ml_dtypes.float4_e2m1fn),
    **{t: np.dtype(t.name) for t in DTYPES if t.arithmetic and t not in (bool_, bfloat16)},
})  # fmt: skip


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """Return the NumPy type of an array of `dtype`. Raises `TileTypeError` if there is none."""
    found = _NUMPY.get(dtype)
    if found is None:
        raise TileTypeError(f"an array of {dtype} cannot be an argument: NumPy has no such type")
    return found


def from_numpy(dtype: Any) -> DType | None:
    """Return the element type for a NumPy dtype, or None."""
    wanted = np.dtype(dtype)
    return next((t for t in DTYPES if t is not tfloat32 and _NUMPY.get(t) == wanted), None)


def from_torch(dtype: object) -> DType | None:
    """Return the type for a PyTorch dtype, or None for any other value, without importing PyTorch."""
    kind = type(dtype)
    if (kind.__module__, kind.__qualname__) != ("torch", "dtype"):
        return None
    name = str(dtype).removeprefix("torch.")
    return next((t for t in DTYPES if t.name == {"bool": "bool_"}.get(name, name)), None)


def stands_for(value: object) -> DType | None:
    """Return the type for a NumPy or PyTorch dtype or a NumPy scalar class, or None for other values."""
    if isinstance(value, np.dtype):
        return from_numpy(value)
    if isinstance(value, type):
        return next((t for t, d in _NUMPY.items() if t is not tfloat32 and d.type is value), None)
    return from_torch(value)


_FLOAT_RANK = {float16: 1, bfloat16: 1, float32: 2, float64: 3}


def promote(x: DType, y: DType) -> DType:
    """Return the common type of two tiles: booleans promote to any type, integers to floats, narrower to wider types.

    Raises `TileTypeError` where neither holds the other's values: float16 and bfloat16, signed and unsigned integers.
    """
    for side, dtype in (("left", x), ("right", y)):
        if not dtype.arithmetic:
            raise TileTypeError(
                f"the {side} operand has dtype {dtype}, which is for storage and `ct.mma` only",
                hint="convert it first, as in `x.astype(ct.float32)`",
            )
    if x == y or y.is_bool:
        return x
    if x.is_bool:
        return y
    if x.is_float != y.is_float:
        return x if x.is_float else y
    if x.is_float:
        if _FLOAT_RANK[x] != _FLOAT_RANK[y]:
            return max(x, y, key=lambda t: _FLOAT_RANK[t])
    elif x.kind == y.kind:
        return max(x, y, key=lambda t: t.bitwidth)
    target = "float32" if x.is_float else max(x, y, key=lambda t: t.bitwidth)
    raise TileTypeError(
        f"{x} and {y} have no common dtype, because neither holds all values of the other",
        hint=f"convert one of them, as in `x.astype(ct.{target})`",
    )


def widens(source: DType, target: DType) -> bool:
    """Return whether a tile converts implicitly to another type, which must be the common type of both."""
    if source == target:
        return True
    try:
        return promote(source, target) == target
    except TileTypeError:
        return False


def promote_constant(dtype: DType, value: bool | int | float) -> DType:
    """Return the common type of a tile and a loosely typed constant, which adopts the tile's type if possible.

    Raises `TileValueError` for an integer that does not fit in the tile's type.
    """
    if not dtype.arithmetic:
        return promote(dtype, float32)
    if isinstance(value, bool):
        return dtype
    if isinstance(value, float):
        return dtype if dtype.is_float else float32
    if dtype.is_float:
        return dtype
    if dtype.is_bool:
        return default_dtype(value)
    check_range(value, dtype)
    return dtype


def default_dtype(value: bool | int | float) -> DType:
    """Return the default type of a loosely typed constant."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return float32
    low, high = int32.limits
    return int32 if low <= value <= high else int64


def check_range(value: int, dtype: DType) -> None:
    """Raise `TileValueError` for an integer constant that `dtype` cannot represent."""
    low, high = dtype.limits
    if not low <= value <= high:
        raise TileValueError(f"the constant {value} is out of the range of {dtype}, {low} to {high}")
