"""A driver of Triton whose device is the simulated GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import Any

from tirx_mini.hardware import MAX_THREADS_PER_CTA, GpuSpec, compute_capability

from ..programs import PtxModule, read_ptx
from .benchmarks import bench
from .compiler import registers_of
from .launches import Launcher
from .tensors import cuda_devices

REGISTERS = 65536
"""The 32-bit registers of an SM (CUDA C++ Programming Guide: "Compute Capabilities")."""


class Utilities:
    """The device utilities that Triton calls: properties of the device, and the loading of kernels."""

    def __init__(self, gpu: GpuSpec) -> None:
        self._gpu = gpu

    def get_device_properties(self, device: int | None = None) -> Mapping[str, int]:
        gpu = self._gpu
        return {
            "max_shared_mem": gpu.architecture.smem_per_cta,
            "max_num_regs": REGISTERS,
            "multiprocessor_count": gpu.sms,
            "warpSize": 32,
            "sm_clock_rate": round(gpu.clock_ghz * 1e6),
            "mem_clock_rate": round(gpu.hbm_tbps * 1e9 / 2 / 1024),
            "mem_bus_width": 8192,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[Any, PtxModule, int, int, int]:
        """Return (module, function, registers, spilled registers, largest block) of a kernel's PTX."""
        module = read_ptx(kernel.decode())
        return module, module, registers_of(kernel, self._gpu.arch), 0, MAX_THREADS_PER_CTA

    def unload_module(self, module: object) -> None:
        """Do nothing, because modules are Python objects."""

    def set_printf_fifo_size(self, size: int) -> None:
        """Do nothing, because lines are printed at once."""

    def cuOccupancyMaxActiveClusters(self, *_: object) -> int:
        return self._gpu.sms


class SimulatedDriver:
    """The interface of Triton's drivers to the simulated GPU; within its block, tensors say that they are on it."""

    def __init__(self, gpu: GpuSpec) -> None:
        self._gpu = gpu
        self._entered = ExitStack()
        self._claimed = False
        self.utils = Utilities(gpu)
        self.launcher_cls: Callable[[Any, Any], Launcher] = partial(Launcher, gpu)

    def __enter__(self) -> SimulatedDriver:
        return self

    def __exit__(self, *_: object) -> None:
        self._entered.close()

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_target(self) -> Any:
        target = import_module("triton.backends.compiler").GPUTarget
        return target("cuda", compute_capability(self._gpu.arch), 32)

    def get_active_torch_device(self) -> Any:
        import torch

        if not self._claimed:
            self._claimed = True
            self._entered.enter_context(cuda_devices())
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        """Do nothing, because there is one device."""

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        major, minor = divmod(compute_capability(self._gpu.arch), 10)
        return major, minor

    def map_python_to_cpp_type(self, kind: str) -> str:
        return import_module("triton.backends.nvidia.driver").ty_to_cpp(kind)

    def get_benchmarker(self) -> Callable[..., Any]:
        return bench

    def get_empty_cache_for_benchmark(self) -> None:
        """Return nothing: a single launch is measured, and its L2 is as `simulate` says."""

    def clear_cache(self, cache: object) -> None:
        """Do nothing, as above."""

    def assemble_tensormap_to_arg(self, tensor_maps: object, args: Any) -> Any:
        return args
