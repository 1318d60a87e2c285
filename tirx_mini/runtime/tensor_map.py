"""Tensor maps (`CUtensorMap`), the descriptors of tensors for TMA, encoded by the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import TensorMap, TirxError

from .cuda_driver import DriverError, check
from .toolchain import load

BYTES = 128
"""The size of a CUtensorMap in bytes."""

DATA_TYPES: Mapping[str, str] = {
    "float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT32", "float64": "FLOAT64",
    "uint8": "UINT8", "int8": "UINT8", "float8_e4m3fn": "UINT8", "float8_e5m2": "UINT8",
    "float6_e2m3fn": "UINT8", "float6_e3m2fn": "UINT8",
    "uint16": "UINT16", "int16": "UINT16", "uint32": "UINT32", "int32": "INT32", "uint64": "UINT64", "int64": "INT64",
}  # fmt: skip
SWIZZLES: Mapping[int, str] = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}
FILLS: Mapping[bool, str] = {False: "NONE", True: "NAN_REQUEST_ZERO_FMA"}
L2_PROMOTIONS: Mapping[int, str] = {0: "NONE", 64: "L2_64B", 128: "L2_128B", 256: "L2_256B"}


def encode(tensor_map: TensorMap, pointer: int) -> Any:
    """Encode the `CUtensorMap` of the tensor at `pointer` (CUDA driver API: cuTensorMapEncodeTiled).

    Raises `TirxError`, at the copy that needs the map, if the driver rejects it.
    """
    driver = load("cuda.bindings.driver")

    def member(enum: str, name: str) -> Any:
        return getattr(getattr(driver, f"CUtensorMap{enum}"), name)

    rank = tensor_map.rank
    strides = tensor_map.strides or (BYTES,)  # a vector has none, but the driver rejects an empty list
    try:
        return check(
            driver.cuTensorMapEncodeTiled(
                member("DataType", f"CU_TENSOR_MAP_DATA_TYPE_{DATA_TYPES[tensor_map.buffer.dtype]}"),
                rank,
                pointer,
                [driver.cuuint64_t(n) for n in tensor_map.dims],
                [driver.cuuint64_t(n) for n in strides],
                [driver.cuuint32_t(n) for n in tensor_map.box],
                [driver.cuuint32_t(1)] * rank,
                member("Interleave", "CU_TENSOR_MAP_INTERLEAVE_NONE"),
                member("Swizzle", f"CU_TENSOR_MAP_SWIZZLE_{SWIZZLES[tensor_map.swizzle]}"),
                member("L2promotion", f"CU_TENSOR_MAP_L2_PROMOTION_{L2_PROMOTIONS[tensor_map.l2_promotion]}"),
                member("FloatOOBfill", f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{FILLS[tensor_map.nan_fill]}"),
            )
        )
    except DriverError as error:
        sizes = f"dims {tensor_map.dims}, strides {tensor_map.strides} bytes, box {tensor_map.box}"
        raise TirxError(
            f"the driver rejects the tensor map of {tensor_map.buffer.name}: {error}",
            tensor_map.span,
            notes=((f"the map has {sizes}, swizzle {tensor_map.swizzle} bytes", None),),
        ) from error
