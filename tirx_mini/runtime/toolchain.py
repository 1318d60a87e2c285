"""The CUDA compiler from pip packages or a CUDA toolkit: NVRTC, its headers and the disassembler."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tirx_mini.hardware import arch_name, compute_capability
from tirx_mini.pytorch import pytorch_or_none
from tirx_mini.records import dataclass

from .nvrtc import Nvrtc

EXTRA = "tirx_mini[volta]"
LAST = 72
"""The last architecture that only CUDA 12 supports (CUDA 13 release notes: "Deprecated Architectures")."""


class ToolchainError(RuntimeError):
    """The error for a missing CUDA compiler or disassembler, with installation advice."""


@dataclass(frozen=True)
class Toolchain:
    """The directory of NVRTC's headers, and the versions that a cached binary depends on."""

    include: Path
    versions: tuple[str, ...]


def load(module: str) -> Any:
    """Import a module of NVIDIA's Python packages (`cuda.bindings`, `cuda.core`, `cuda.pathfinder`) on demand.

    The packages exist only for some platforms, so no module imports them statically. Raises
    `ToolchainError` without them.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ToolchainError(_missing("NVIDIA's Python packages", "cuda-core")) from error


@cache
def toolchain() -> Toolchain:
    """Return the installed NVRTC and headers. Raises `ToolchainError` with one sentence if they are missing."""
    found = _packaged("cu13/include/cuda_runtime.h")
    include = found.parent if found else _pathfinder("find_nvidia_header_directory", "cudart")
    include = include or _in_toolkit("include", "cuda_runtime.h")
    if include is None:
        raise ToolchainError(_missing("the CUDA headers", "nvidia-cuda-runtime"))
    headers = _version(found, "nvidia_cuda_runtime") or str(include)
    return Toolchain(include, (f"nvrtc {nvrtc13().version}", f"headers {headers}"))


@cache
def nvrtc13() -> Nvrtc:
    """Return the compiler of CUDA 13. Raises `ToolchainError` if it is not installed."""
    path = None if sys.platform == "win32" else _packaged("cu13/lib/libnvrtc.so.13")
    try:
        # NVIDIA's search takes longer than to compile a small kernel, so packages are looked into first.
        return Nvrtc(path or _loaded("nvrtc"), _version(path, "nvidia_cuda_nvrtc"))
    except (OSError, RuntimeError) as error:
        raise ToolchainError(_missing("NVRTC", "nvidia-cuda-nvrtc")) from error


@cache
def nvrtc12() -> Nvrtc | None:
    """Return the compiler of CUDA 12, for the architectures that CUDA 13 lacks: sm_50 to sm_72.

    It is in the package nvidia-cuda-nvrtc-cu12, an extra (`EXTRA`). The result is None without the package.
    """
    windows = sys.platform == "win32"
    path = _packaged("cuda_nvrtc/" + ("bin/nvrtc64_120_0.dll" if windows else "lib/libnvrtc.so.12"))
    return Nvrtc(path, _version(path, "nvidia_cuda_nvrtc_cu12")) if path is not None else None


@cache
def disassembler() -> Path:
    """Return the path of nvdisasm. Raises `ToolchainError` if it is not installed."""
    return _program("nvdisasm", "the disassembler", "nvidia-cuda-nvdisasm")


@cache
def assembler() -> Path:
    """Return the path of ptxas. Raises `ToolchainError` if it is not installed."""
    return _program("ptxas", "the assembler (ptxas)", "nvidia-cuda-nvcc")


def _program(name: str, what: str, package: str) -> Path:
    """Return the path of a program of CUDA. Raises `ToolchainError` with the package that has it."""
    file = f"{name}.exe" if sys.platform == "win32" else name
    found = _pathfinder("find_nvidia_binary_utility", name)
    folder = _in_toolkit("bin", file)
    if found is None and folder is not None:
        found = folder / file
    if found is None:
        raise ToolchainError(_missing(what, package))
    return found


def missing_compiler() -> str:
    """Return the sentence on what PTX and machine code lack on this machine; "" where both can be made."""
    try:
        toolchain()
        disassembler()
    except ToolchainError as error:
        return str(error)
    return ""


def _pathfinder(function: str, what: str) -> Path | None:
    """Return the result of NVIDIA's file search in pip and conda packages and, in newer versions, in toolkits."""
    search = getattr(load("cuda.pathfinder"), function, None)
    found = search(what) if search is not None else None
    return Path(found) if found else None


def _loaded(library: str) -> Path:
    """Return the path of a library that NVIDIA's search found and loaded, in packages, in conda or in a toolkit."""
    return Path(load("cuda.pathfinder").load_nvidia_dynamic_lib(library).abs_path)


def _packaged(file: str) -> Path | None:
    """Return a file of NVIDIA's pip packages, which share the folder `nvidia` in site-packages."""
    spec = find_spec("nvidia")
    roots = (spec.submodule_search_locations if spec is not None else None) or ()
    return next((path for path in (Path(root, file) for root in roots) if path.is_file()), None)


def _version(file: Path | None, distribution: str) -> str:
    """Return the version of the package with `file`, or "". distribution: the package by its folder's name."""
    folders = [parent.parent for parent in file.parents if parent.name == "nvidia"] if file is not None else []
    found = (match.name for folder in folders[:1] for match in folder.glob(f"{distribution}-*.dist-info"))
    return next((name.removesuffix(".dist-info").rpartition("-")[2] for name in found), "")


def _in_toolkit(folder: str, file: str) -> Path | None:
    """Return the named folder in the first CUDA toolkit that has `file` in it."""
    return next((root / folder for root in _toolkits() if (root / folder / file).is_file()), None)


def _toolkits() -> Iterator[Path]:
    """Yield the candidate folders of a CUDA toolkit: the environment's, nvcc's, and the default one."""
    yield from (Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name))
    nvcc = shutil.which("nvcc")
    if nvcc:
        yield Path(nvcc).resolve().parents[1]
    yield Path("/usr/local/cuda")


def device_arch() -> str | None:
    """Return the architecture of the current GPU, as "sm_100a", or None without a GPU or without PyTorch."""
    torch = pytorch_or_none() if driver_library() is not None else None
    if torch is None or not torch.cuda.is_available():
        return None
    major, minor = torch.cuda.get_device_capability()
    return arch_name(10 * major + minor)


@cache
def driver_library() -> ctypes.CDLL | None:
    """Load the CUDA driver library without importing PyTorch, or return None if there is none.

    Its functions return a status; arguments other than `int` must have a ctypes type.
    """
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def known_arch(arch: str) -> str:
    """Return `arch` unchanged; raises `ValueError` if NVRTC does not support it."""
    match = re.fullmatch(r"sm_(\d+)[af]?", arch)
    number, numbers = int(match.group(1)) if match else 0, supported()
    if number not in numbers:
        names = ", ".join(map(arch_name, numbers))
        missing = 50 <= number <= LAST and nvrtc12() is None
        extra = f"; {arch} needs the compiler of CUDA 12: run `pip install {EXTRA}`" if missing else ""
        raise ValueError(f"there is no architecture {arch!r}; the CUDA compiler supports {names}{extra}")
    return arch


def supported() -> tuple[int, ...]:
    """Return the architectures that NVRTC supports, by number."""
    toolchain()
    numbers, older = nvrtc13().supported, nvrtc12()
    before = older.supported if older is not None else ()
    return (*(number for number in before if number <= LAST and number not in numbers), *numbers)


def compiler_of(arch: str) -> Nvrtc:
    """Return the NVRTC for an architecture: CUDA 12's only for the architectures that CUDA 13 lacks."""
    older = nvrtc12() if compute_capability(arch) <= LAST else None
    return older or nvrtc13()


def _missing(what: str, package: str) -> str:
    if sys.platform == "darwin":
        return (
            f"compiling to CUDA needs {what}, which NVIDIA does not publish for macOS: "
            'use target="sim" here, or compile on Linux or Windows'
        )
    return f"compiling to CUDA needs {what}, which is not installed: run `pip install {package}`"
