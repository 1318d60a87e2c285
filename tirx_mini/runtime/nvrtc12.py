"""NVRTC of CUDA 12 for the architectures that CUDA 13 has no longer: Maxwell, Pascal and Volta, sm_50 to sm_72.

It is the package nvidia-cuda-nvrtc-cu12, an extra: `pip install tirx_mini[volta]`. `Nvrtc12` has the functions of
`cuda.bindings.nvrtc` that this package uses, under their names and with their results: a status, then values.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGE, EXTRA = "nvidia-cuda-nvrtc-cu12", "tirx_mini[volta]"
LAST = 72
"""The last architecture that only CUDA 12 has (CUDA 13 release notes: "Deprecated Architectures")."""


class nvrtcResult(IntEnum):
    """The statuses that callers compare with (NVRTC: nvrtcResult)."""

    NVRTC_SUCCESS = 0
    NVRTC_ERROR_OUT_OF_MEMORY = 1
    NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2
    NVRTC_ERROR_INVALID_INPUT = 3
    NVRTC_ERROR_INVALID_PROGRAM = 4
    NVRTC_ERROR_INVALID_OPTION = 5
    NVRTC_ERROR_COMPILATION = 6
    NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7

    @classmethod
    def _missing_(cls, value: object) -> nvrtcResult:
        return cls.NVRTC_ERROR_BUILTIN_OPERATION_FAILURE


class Nvrtc12:
    """The library; `version` as in "12.9.86"."""

    nvrtcResult = nvrtcResult

    def __init__(self, library: ctypes.CDLL, version: str) -> None:
        self._library = library
        self.version = version

    def nvrtcCreateProgram(
        self, text: bytes, name: bytes, count: int, headers: Any, names: Any
    ) -> tuple[nvrtcResult, ctypes.c_void_p]:
        handle = ctypes.c_void_p()
        status = self._library.nvrtcCreateProgram(ctypes.byref(handle), text, name, count, headers, names)
        return nvrtcResult(status), handle

    def nvrtcDestroyProgram(self, handle: ctypes.c_void_p) -> tuple[nvrtcResult]:
        return (nvrtcResult(self._library.nvrtcDestroyProgram(ctypes.byref(handle))),)

    def nvrtcCompileProgram(
        self, handle: ctypes.c_void_p, count: int, options: Sequence[bytes]
    ) -> tuple[nvrtcResult]:
        array = (ctypes.c_char_p * count)(*options)
        return (nvrtcResult(self._library.nvrtcCompileProgram(handle, count, array)),)

    def nvrtcGetSupportedArchs(self) -> tuple[nvrtcResult, list[int]]:
        count = ctypes.c_int()
        status = self._library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        array = (ctypes.c_int * count.value)()
        return nvrtcResult(status or self._library.nvrtcGetSupportedArchs(array)), list(array)

    def nvrtcGetProgramLogSize(self, handle: ctypes.c_void_p) -> tuple[nvrtcResult, int]:
        return self._size("nvrtcGetProgramLogSize", handle)

    def nvrtcGetPTXSize(self, handle: ctypes.c_void_p) -> tuple[nvrtcResult, int]:
        return self._size("nvrtcGetPTXSize", handle)

    def nvrtcGetCUBINSize(self, handle: ctypes.c_void_p) -> tuple[nvrtcResult, int]:
        return self._size("nvrtcGetCUBINSize", handle)

    def nvrtcGetProgramLog(self, handle: ctypes.c_void_p, data: bytearray) -> tuple[nvrtcResult]:
        return self._bytes("nvrtcGetProgramLog", handle, data)

    def nvrtcGetPTX(self, handle: ctypes.c_void_p, data: bytearray) -> tuple[nvrtcResult]:
        return self._bytes("nvrtcGetPTX", handle, data)

    def nvrtcGetCUBIN(self, handle: ctypes.c_void_p, data: bytearray) -> tuple[nvrtcResult]:
        return self._bytes("nvrtcGetCUBIN", handle, data)

    def _size(self, function: str, handle: ctypes.c_void_p) -> tuple[nvrtcResult, int]:
        size = ctypes.c_size_t()
        return nvrtcResult(getattr(self._library, function)(handle, ctypes.byref(size))), size.value

    def _bytes(self, function: str, handle: ctypes.c_void_p, data: bytearray) -> tuple[nvrtcResult]:
        target = (ctypes.c_char * len(data)).from_buffer(data)
        return (nvrtcResult(getattr(self._library, function)(handle, target)),)


@cache
def nvrtc12() -> Nvrtc12 | None:
    """The library of the installed package; None without one."""
    try:
        found = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return None
    name = "nvrtc64_120_0.dll" if sys.platform == "win32" else "libnvrtc.so.12"
    paths = (Path(str(found.locate_file(file))) for file in found.files or () if file.name == name)
    path = next(paths, None)
    return Nvrtc12(ctypes.CDLL(str(path)), found.version) if path is not None and path.is_file() else None
