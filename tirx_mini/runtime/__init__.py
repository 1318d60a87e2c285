"""Compilation of kernels with NVRTC, the disk cache, and launches on a GPU."""

from tirx_mini.worker import supervise

from .cache import CompileCache
from .compiler import Compiled, Resources, assemble, compile_cubin, compile_cuda, compile_ptx
from .cuda_driver import DriverError
from .executable import STAGES, Executable, HostModule, SourceModule, build, emit
from .sass import SassSummary, counts_text, disassemble, section_of, summarise, summary_text
from .timing import LaunchGraph
from .toolchain import ToolchainError, device_arch, known_arch, missing_compiler
from .watchdog import KernelFailure, KernelFault, KernelTimeout

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
    "LaunchGraph",
    "ToolchainError",
    "device_arch",
    "known_arch",
    "missing_compiler",
    "KernelFailure",
    "KernelFault",
    "KernelTimeout",
    "supervise",
]
