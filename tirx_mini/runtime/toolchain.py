"""The CUDA compiler from pip packages or a CUDA toolkit: NVRTC, its headers and the disassembler."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from tirx_mini.hardware import arch_name, compute_capability

from .nvrtc12 import EXTRA, LAST, nvrtc12


class ToolchainError(RuntimeError):
    """The CUDA compiler or disassembler is missing; the message says what to install."""


@dataclass(frozen=True)
class Toolchain:
    """The directory of NVRTC's headers, and the versions that a cached binary depends on."""

    include: Path
    versions: tuple[str, ...]


def load(module: str) -> Any:
    """A module of NVIDIA's Python packages (`cuda.bindings`, `cuda.core`, `cuda.pathfinder`), imported when needed.

    They exist only for some platforms, so nothing imports them by name. Raises `ToolchainError` if they are missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ToolchainError(_missing("NVIDIA's Python packages", "cuda-core")) from error


@cache
def toolchain() -> Toolchain:
    """The installed NVRTC and headers. Raises `ToolchainError` with one sentence if they are missing."""
    include = _pathfinder("find_nvidia_header_directory", "cudart") or _in_toolkit("include", "cuda_runtime.h")
    if include is None:
        raise ToolchainError(_missing("the CUDA headers", "nvidia-cuda-runtime"))
    headers = _distribution("nvidia-cuda-runtime") or str(include)
    return Toolchain(include, (f"nvrtc {_nvrtc_version()}", f"headers {headers}"))


@cache
def disassembler() -> Path:
    """The path of nvdisasm. Raises `ToolchainError` if it is not installed."""
    name = "nvdisasm.exe" if sys.platform == "win32" else "nvdisasm"
    found = _pathfinder("find_nvidia_binary_utility", "nvdisasm")
    folder = _in_toolkit("bin", name)
    if found is None and folder is not None:
        found = folder / name
    if found is None:
        raise ToolchainError(_missing("the disassembler", "nvidia-cuda-nvdisasm"))
    return found


def _pathfinder(function: str, what: str) -> Path | None:
    """The result of NVIDIA's own search, in pip and conda packages and, in newer versions, in toolkits."""
    search = getattr(load("cuda.pathfinder"), function, None)
    found = search(what) if search is not None else None
    return Path(found) if found else None


def _in_toolkit(folder: str, file: str) -> Path | None:
    """The folder of this name in the first CUDA toolkit that has `file` in it."""
    return next((root / folder for root in _toolkits() if (root / folder / file).is_file()), None)


def _toolkits() -> Iterator[Path]:
    """Possible places of a CUDA toolkit: the environment's, beside nvcc, the usual one."""
    yield from (Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name))
    nvcc = shutil.which("nvcc")
    if nvcc:
        yield Path(nvcc).resolve().parents[1]
    yield Path("/usr/local/cuda")


def device_arch() -> str | None:
    """The architecture of the current GPU, as "sm_100a"; None without a usable GPU."""
    if driver_library() is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    major, minor = torch.cuda.get_device_capability()
    return arch_name(10 * major + minor)


@cache
def driver_library() -> ctypes.CDLL | None:
    """The library of the CUDA driver, None without one. PyTorch need not be imported to find that there is none.

    Its functions return a status; what is not an `int` must be given in a type of ctypes.
    """
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def known_arch(arch: str) -> str:
    """`arch` itself; raises `ValueError` if NVRTC does not compile for it."""
    match = re.fullmatch(r"sm_(\d+)[af]?", arch)
    number, numbers = int(match.group(1)) if match else 0, supported()
    if number not in numbers:
        names = ", ".join(map(arch_name, numbers))
        missing = 50 <= number <= LAST and nvrtc12() is None
        extra = f"; {arch} needs the compiler of CUDA 12: run `pip install {EXTRA}`" if missing else ""
        raise ValueError(f"there is no architecture {arch!r}; the CUDA compiler supports {names}{extra}")
    return arch


def supported() -> tuple[int, ...]:
    """The architectures that NVRTC compiles for, by number."""
    toolchain()
    _, numbers = load("cuda.bindings.nvrtc").nvrtcGetSupportedArchs()
    older = nvrtc12()
    _, before = older.nvrtcGetSupportedArchs() if older is not None else (None, [])
    return (*(number for number in before if number <= LAST and number not in numbers), *numbers)


def compiler_of(arch: str) -> Any:
    """The bindings of NVRTC that compile for an architecture: those of CUDA 12 for the ones that it has alone."""
    older = nvrtc12() if compute_capability(arch) <= LAST else None
    return load("cuda.bindings.nvrtc") if older is None else older


def _nvrtc_version() -> str:
    nvrtc = load("cuda.bindings.nvrtc")
    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:  # the bindings are installed, the library is not
        raise ToolchainError(_missing("NVRTC", "nvidia-cuda-nvrtc")) from error
    return f"{major}.{minor} {_distribution('nvidia-cuda-nvrtc')}"


def _distribution(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _missing(what: str, package: str) -> str:
    if sys.platform == "darwin":
        return (
            f"compiling to CUDA needs {what}, which NVIDIA does not publish for macOS: "
            'use target="sim" here, or compile on Linux or Windows'
        )
    return f"compiling to CUDA needs {what}, which is not installed: run `pip install {package}`"
