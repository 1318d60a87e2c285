"""C++ types and conversions of the IR's dtypes."""

from __future__ import annotations

from collections.abc import Mapping

from tirx_mini.ir import DataType, TirxError

SCALARS: Mapping[str, str] = {
    "bool": "bool",
    "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
    "float16": "half", "bfloat16": "__nv_bfloat16", "float32": "float", "float64": "double",
    "float8_e4m3fn": "__nv_fp8_e4m3", "float8_e5m2": "__nv_fp8_e5m2",
    "float8_e8m0fnu": "__nv_fp8_e8m0",
    "float6_e2m3fn": "__nv_fp6_e2m3", "float6_e3m2fn": "__nv_fp6_e3m2",
    "float4_e2m1fn": "__nv_fp4_e2m1",  # a byte each in registers; of elements in memory only the address is taken
    "handle": "void*", "tensormap": "CUtensorMap",
}  # fmt: skip

VECTORS: Mapping[str, str] = {
    "float32x2": "float2", "float32x4": "float4", "float64x2": "double2",
    "float16x2": "half2", "bfloat16x2": "__nv_bfloat162",
    "int32x2": "int2", "int32x4": "int4", "uint32x2": "uint2", "uint32x4": "uint4",
    "int64x2": "longlong2", "uint64x2": "ulonglong2",
}  # fmt: skip
"""Vectors that CUDA C++ computes with; all others are only copied, as their STORAGE."""

STORAGE: Mapping[int, str] = {2: "uint16_t", 4: "uint32_t", 8: "uint2", 16: "uint4"}
"""The type that copies this many bytes in one access."""

HEADERS: Mapping[str, str] = {
    "float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h", "float8_e4m3fn": "cuda_fp8.h", "float8_e5m2": "cuda_fp8.h",
    "float8_e8m0fnu": "cuda_fp8.h", "float6_e2m3fn": "cuda_fp6.h", "float6_e3m2fn": "cuda_fp6.h",
    "float4_e2m1fn": "cuda_fp4.h",
}  # fmt: skip

CONVERSIONS: Mapping[tuple[str, str], str] = {
    ("float32", "float16"): "__float2half_rn", ("float16", "float32"): "__half2float",
    ("float32", "bfloat16"): "__float2bfloat16_rn", ("bfloat16", "float32"): "__bfloat162float",
    ("float32x2", "float16x2"): "__float22half2_rn", ("float16x2", "float32x2"): "__half22float2",
    ("float32x2", "bfloat16x2"): "__float22bfloat162_rn", ("bfloat16x2", "float32x2"): "__bfloat1622float2",
}  # fmt: skip
"""Conversions that have a function; all others are C++ casts."""


def c_type(dtype: DataType) -> str:
    """Return the C++ type of a value of `dtype`."""
    if dtype.lanes == 1:
        return SCALARS[dtype]
    if dtype in VECTORS:
        return VECTORS[dtype]
    raise TirxError(
        f"CUDA C++ has no values of type {dtype}: such vectors can be copied, not computed with",
        hint="compute with two lanes at a time, as in float32x2",
    )


def storage_type(dtype: DataType) -> str:
    """Return the C++ type in which a copy accesses `dtype`."""
    if dtype.lanes == 1:
        return SCALARS[dtype]
    if dtype.nbytes not in STORAGE:
        raise TirxError(f"a vector access copies 2, 4, 8 or 16 bytes, but {dtype} has {dtype.nbytes}")
    return STORAGE[dtype.nbytes]


def bits_type(dtype: DataType) -> str:
    """Return the C++ type for a value's bits: its own, or the copy type of a vector without one."""
    return c_type(dtype) if dtype.lanes == 1 or dtype in VECTORS else storage_type(dtype)


def literal(value: int | float | bool, dtype: DataType) -> str:
    """Render a constant of `dtype` as a C++ literal."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_float:
        return _float_literal(float(value), dtype)
    number = int(value)
    if dtype.is_signed:
        if number == -(2 ** (dtype.bits - 1)) and dtype.bits >= 32:
            return f"({number + 1}{'LL' * (dtype.bits == 64)} - 1)"
        return f"{number}LL" if dtype.bits == 64 else str(number)
    return plain_literal(number) + ("ULL" if dtype.bits == 64 else "u" if dtype.bits == 32 else "")


def plain_literal(number: int) -> str:
    """Render an integer without suffix, in hexadecimal for large numbers and masks."""
    return f"{number:#x}" if number >= 1 << 16 or (number > 256 and not number & (number + 1)) else str(number)


def _float_literal(value: float, dtype: DataType) -> str:
    if value != value:
        text = "__int_as_float(0x7fffffff)"
    elif value in (float("inf"), float("-inf")):
        text = f"__int_as_float({0x7F800000 if value > 0 else 0xFF800000:#x})"
    else:
        text = repr(value) if dtype.bits == 64 else f"{value!r}f"
    if dtype == "float32":
        return text
    if dtype == "float64":
        return f"(double){text}" if text.startswith("__") else text
    convert = CONVERSIONS.get(("float32", str(dtype)))
    return f"{convert}({text})" if convert else f"{SCALARS[dtype]}({text})"
