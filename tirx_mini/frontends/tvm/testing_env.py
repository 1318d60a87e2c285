"""`tvm.testing.env`: capabilities of this machine. Simulated GPUs count if it has no real one."""

from __future__ import annotations

from tirx_mini.hardware import GPUS, compute_capability
from tirx_mini.runtime import device_arch


def has_cuda() -> bool:
    """Return whether CUDA kernels can run here, on a GPU or in the simulator."""
    return True


has_gpu = has_cuda


def has_cuda_compute(major: int, minor: int = 0, exact: bool = False) -> bool:
    """Return whether a real or simulated GPU has this compute capability, or a later one unless `exact`."""
    here = device_arch()
    known = {compute_capability(arch) for arch in ([here] if here else [gpu.arch for gpu in GPUS.values()])}
    wanted = 10 * major + minor
    return wanted in known if exact else max(known) >= wanted


def has_multi_gpu(count: int = 2) -> bool:
    """Return whether there are several GPUs; the simulator has one."""
    return count <= 1


def _no(*_: object, **__: object) -> bool:
    """Return False for a feature that tirx_mini does not use."""
    return False


has_rocm = has_vulkan = has_metal = has_opencl = has_hexagon = has_hexagon_toolchain = has_adreno_opencl = _no
has_llvm = has_llvm_min_version = has_nvptx = has_cudnn = has_cublas = has_nccl = has_hipblas = has_nvshmem = _no
has_matrixcore = has_cudagraph = has_cpu_feature = has_x86_vnni = has_x86_avx512 = build_flag_enabled = _no


def has_nvcc_version(major: int, minor: int = 0, release: int = 0) -> bool:
    """Return whether the CUDA compiler is at least this version. tirx_mini compiles with NVRTC 13."""
    return (major, minor, release) <= (13, 0, 0)
