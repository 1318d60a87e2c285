"""Minimal replacements for headers that CUDA files include but NVRTC lacks.

Headers of the C++ library are those of libcu++, whose names then are in `std`, too.

NVRTC itself has `assert`, `printf`, `memcpy` and `memset`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_STDINT = """\
#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;
typedef unsigned long long uint64_t; typedef long long intptr_t; typedef unsigned long long uintptr_t;
#define INT32_MAX 2147483647
#define INT32_MIN (-INT32_MAX - 1)
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
"""
_LIMITS = """\
#pragma once
#define CHAR_BIT 8
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
"""
_FLOAT = """\
#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_MATH = """\
#pragma once
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define M_PI 3.14159265358979323846
"""
_TENSOR_MAP = """\
#pragma once
typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;
"""
GRID_DEPENDENCY = "grid_dependency.h"
"""The header of functions for programmatic dependent launches; those of NVIDIA's need the wheel `nvidia-cuda-crt`."""
_GRID_DEPENDENCY = """\
#pragma once
static inline __device__ void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
static inline __device__ void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;");
}
"""
_NOTHING = "#pragma once\n"
_OF_STD = (
    "algorithm", "array", "bit", "complex", "functional", "iterator", "limits", "numeric", "optional", "span", "tuple",
    "type_traits", "utility", "variant",
)  # fmt: skip
"""Headers of the C++ library, which nvcc takes from the host's compiler. Those of libcu++ have the same names."""

HEADERS: Mapping[str, str] = MappingProxyType({
    "stdint.h": _STDINT, "cstdint": _STDINT, "limits.h": _LIMITS, "climits": _LIMITS, "float.h": _FLOAT,
    "cfloat": _FLOAT, "math.h": _MATH, "cmath": _MATH, "cuda.h": _TENSOR_MAP, GRID_DEPENDENCY: _GRID_DEPENDENCY,
    **{
        name: f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"
        for name in _OF_STD
    },
    **dict.fromkeys(("assert.h", "cassert", "stdio.h", "cstdio", "stdlib.h", "cstdlib"), _NOTHING),
    **dict.fromkeys(("stddef.h", "cstddef", "string.h", "cstring", "device_launch_parameters.h"), _NOTHING),
})  # fmt: skip
"""The texts, by the names that files include."""
