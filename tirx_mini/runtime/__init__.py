"""Compilation of kernels with NVRTC, the disk cache, and launches on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_mini.on_demand import named
from tirx_mini.worker import supervise

if TYPE_CHECKING:
    from .arrays import to_device
    from .cache import CompileCache
    from .compiler import Compiled, Resources, assemble, compile_cubin, compile_cuda, compile_ptx
    from .cuda_driver import DriverError
    from .executable import STAGES, Executable, HostModule, SourceModule, build, emit
    from .sass import SassSummary, counts_text, disassemble, section_of, summarise, summary_text
    from .timing import FLUSH_BYTES, LaunchGraph, cold_us, in_turn
    from .toolchain import ToolchainError, device_arch, known_arch, missing_compiler
    from .watchdog import KernelFailure, KernelFault, KernelTimeout

_NAMES = {
    "arrays": ("to_device",),
    "cache": ("CompileCache",),
    "compiler": ("Compiled", "Resources", "assemble", "compile_cubin", "compile_cuda", "compile_ptx"),
    "cuda_driver": ("DriverError",),
    "executable": ("STAGES", "Executable", "HostModule", "SourceModule", "build", "emit"),
    "sass": ("SassSummary", "counts_text", "disassemble", "section_of", "summarise", "summary_text"),
    "timing": ("FLUSH_BYTES", "LaunchGraph", "cold_us", "in_turn"),
    "toolchain": ("ToolchainError", "device_arch", "known_arch", "missing_compiler"),
    "watchdog": ("KernelFailure", "KernelFault", "KernelTimeout"),
}  # fmt: skip
"""All names, by their modules: a program that is simulated compiles nothing."""
__getattr__ = named(__name__, _NAMES)

__all__ = [
    "CompileCache",
    "Compiled",
    "Resources",
    "assemble",
    "compile_cubin",
    "compile_cuda",
    "compile_ptx",
    "DriverError",
    "STAGES",
    "Executable",
    "HostModule",
    "SourceModule",
    "build",
    "emit",
    "SassSummary",
    "counts_text",
    "disassemble",
    "section_of",
    "summarise",
    "summary_text",
    "FLUSH_BYTES",
    "LaunchGraph",
    "cold_us",
    "in_turn",
    "to_device",
    "ToolchainError",
    "device_arch",
    "known_arch",
    "missing_compiler",
    "KernelFailure",
    "KernelFault",
    "KernelTimeout",
    "supervise",
]
