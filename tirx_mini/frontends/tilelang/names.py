"""The module and name table behind `import tilelang`, resolved to `tirx_mini.tilelang`."""

from __future__ import annotations

import importlib
import inspect
import random
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from tirx_mini.hardware import GpuSpec, gpu_spec, nearest_gpu
from tirx_mini.ir import Buffer, DataType, TirxError
from tirx_mini.layout import Layout, TileLayout
from tirx_mini.pytorch import pytorch, pytorch_or_none

from . import language
from .jit import AutoTuner, autotune, jit, lazy_jit
from .kernel import JITKernel, compile, current_gpu, simulated
from .language import Swizzled
from .layouts import Fragment
from .profiler import Profiler, TensorSupplyType, difference

__all__ = ["MODULES"]


class PassConfigKey(str, Enum):
    """Switches of TileLang's passes, which have no effect here."""

    TL_DISABLE_TMA_LOWER = "tl.disable_tma_lower"
    TL_DISABLE_WARP_SPECIALIZED = "tl.disable_warp_specialized"
    TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
    TL_DISABLE_FAST_MATH = "tl.disable_fast_math"
    TL_ENABLE_PTXAS_VERBOSE_OUTPUT = "tl.enable_ptxas_verbose_output"
    TL_PTXAS_REGISTER_USAGE_LEVEL = "tl.ptxas_register_usage_level"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_DISABLE_SAFE_MEMORY_ACCESS = "tl.disable_safe_memory_legalize"
    TL_DISABLE_THREAD_STORAGE_SYNC = "tl.disable_thread_storage_sync"
    TL_DISABLE_VECTORIZE_256 = "tl.disable_vectorize_256"
    TL_CONFIG_INDEX_BITWIDTH = "tl.config_index_bitwidth"
    TL_DISABLE_WGMMA = "tl.disable_wgmma"
    TL_DYNAMIC_VECTORIZE_TAIL_SPLIT = "tl.dynamic_vectorize_tail_split"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TL_DISABLE_DYNAMIC_TAIL_SPLIT = "tl.disable_dynamic_tail_split"
    TL_SIMPLIFY = "tl.Simplify"
    TIR_ENABLE_EQUIV_TERMS_IN_CSE = "tir.enable_equiv_terms_in_cse_tir"
    TIR_DISABLE_VECTORIZE = "tir.disable_vectorize"
    CUDA_KERNELS_OUTPUT_DIR = "cuda.kernels_output_dir"


def make_swizzled_layout(buffer: object, k_major: bool = True, allow_pad: bool = True) -> Swizzled:
    """Request a suitable shared-memory swizzle for a buffer; the compiler chooses it."""
    return Swizzled(getattr(buffer, "buffer", buffer))


def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, **options: object) -> float:
    """Return the time of a function in milliseconds: the median on a GPU, else predicted."""
    with simulated_reports() as reports:
        fn()
    if reports:
        return sum(report.time_us or 0.0 for report in reports) / 1e3
    torch = pytorch_or_none()
    if torch is None or getattr(torch.version, "cuda", None) is None:
        return 0.0
    times = []
    for _ in range(20):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        fn()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def simulated_reports() -> Any:
    """Collect the reports of simulated launches."""
    return simulated(current_gpu(), reports=[])


def torch_assert_close(
    tensor_a: object,
    tensor_b: object,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    **_: object,
) -> bool:
    """Compare two tensors, allowing a given fraction of mismatched elements."""
    share = difference(tensor_a, tensor_b, rtol, atol)[0]
    if share > max_mismatched_ratio:
        raise AssertionError(f"{share:.2%} of the elements differ by more than atol={atol}, rtol={rtol}")
    return True


def map_torch_type(name: str) -> Any:
    """Return the PyTorch dtype for a name."""
    return getattr(pytorch("a dtype of it"), str(DataType(name)))


def set_random_seed(seed: int = 42) -> None:
    """Seed the random generators of Python, NumPy and, if installed, PyTorch."""
    random.seed(seed)
    np.random.seed(seed)
    torch = pytorch_or_none()
    if torch is not None:
        torch.manual_seed(seed)


def test_main() -> None:
    """Run the tests of the calling file, as ``tilelang.testing.main()`` does."""
    import pytest

    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    assert caller is not None
    sys.exit(pytest.main([caller.f_globals["__file__"], *sys.argv[1:]]))


def _as_it_is(function: object = None, *args: object, **options: object) -> object:
    """Return the decorated function unchanged."""
    return function if callable(function) else lambda inner: inner


def _nothing(*args: object, **options: object) -> None:
    """Do nothing."""


def next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is at least `n`."""
    return 1 << max(n - 1, 0).bit_length()


def cdiv(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def lower(func: Any, target: Any = None, **options: object) -> Any:
    """Compile a program; its `kernel_source` is the CUDA C++."""
    return compile(func, target=target)


def par_compile(funcs: Any, out_idx: Any = None, **options: Any) -> list[JITKernel]:
    """Compile several programs."""
    return [compile(func, out_idx, target=options.get("target")) for func in funcs]


def num_sms(device_id: int = 0) -> int:
    """Return the number of SMs of the current GPU."""
    return _gpu().sms


def device_name(device_id: int = 0) -> str:
    """Return the name of the current GPU."""
    return _gpu().name


def shared_memory(device_id: int = 0, format: str = "bytes") -> int:
    """Return the maximum shared memory of a CTA in "bytes", "kb" or "mb"."""
    return _gpu().architecture.smem_per_cta // {"bytes": 1, "kb": 1024, "mb": 1024**2}[format]


def _gpu() -> GpuSpec:
    from tirx_mini.runtime import device_arch

    here = device_arch()
    return gpu_spec(current_gpu()) if here is None else nearest_gpu(here)


_LAYOUT: Mapping[str, Any] = {
    "Layout": Layout, "Fragment": Fragment, "TileLayout": TileLayout, "make_swizzled_layout": make_swizzled_layout,
    "make_full_bank_swizzled_layout": make_swizzled_layout, "make_half_bank_swizzled_layout": make_swizzled_layout,
    "make_quarter_bank_swizzled_layout": make_swizzled_layout, "make_wgmma_swizzled_layout": make_swizzled_layout,
    "make_tcgen05mma_swizzled_layout": make_swizzled_layout, "make_linear_layout": make_swizzled_layout,
}  # fmt: skip
_UTILS: Mapping[str, Any] = {
    "TensorSupplyType": TensorSupplyType, "torch_assert_close": torch_assert_close, "map_torch_type": map_torch_type,
    "determine_target": lambda target="auto", return_object=False: str(target), "do_bench": do_bench,
    "is_tensor": lambda value: isinstance(value, Buffer),
}  # fmt: skip
_SWITCHES = {"PassConfigKey": PassConfigKey}
_TESTS: Mapping[str, Any] = {
    "main": test_main, "set_random_seed": set_random_seed, "torch_assert_close": torch_assert_close,
    **{f"requires_{what}": _as_it_is for what in ("cuda", "gpu", "package", "rocm", "tensorcore")},
    **{f"requires_cuda_compute_version{which}": _as_it_is for which in ("", "_ge", "_eq", "_le")},
}  # fmt: skip

MODULES: Mapping[str, Mapping[str, Any]] = {
    "tilelang": {
        "compile": compile, "jit": jit, "lazy_jit": lazy_jit, "autotune": autotune, "JITKernel": JITKernel,
        "Profiler": Profiler, "TensorSupplyType": TensorSupplyType, "PassConfigKey": PassConfigKey, "lower": lower,
        "par_compile": par_compile, "cdiv": cdiv, "next_power_of_2": next_power_of_2, "DataType": DataType,
        "disable_cache": _nothing, "enable_cache": _nothing, "is_cache_enabled": lambda: True,
        "set_log_level": _nothing,
        "Layout": Layout, "Fragment": Fragment, "dtypes": language,
    },
    "tilelang.language": {},
    "tilelang.jit": {"jit": jit, "JITKernel": JITKernel, "compile": compile},
    "tilelang.autotuner": {"AutoTuner": AutoTuner, "autotune": autotune, "set_autotune_inputs": _nothing},
    "tilelang.profiler": {"Profiler": Profiler, "do_bench": do_bench, "TensorSupplyType": TensorSupplyType},
    "tilelang.layout": _LAYOUT,
    "tilelang.intrinsics": {
        "make_mma_swizzle_layout": make_swizzled_layout, "get_swizzle_layout": make_swizzled_layout
    },
    "tilelang.utils": _UTILS,
    "tilelang.utils.tensor": _UTILS,
    "tilelang.utils.target": _UTILS,
    "tilelang.transform": _SWITCHES,
    "tilelang.testing": _TESTS,
    "tilelang.engine": {"lower": lower},
    "tilelang.math": {"cdiv": cdiv, "next_power_of_2": next_power_of_2},
    "tilelang.env": {"env": None},
    "tilelang.carver": {},
    "tilelang.carver.arch": {},
    "tilelang.carver.arch.driver": {
        "get_num_sms": num_sms, "get_device_name": device_name, "get_shared_memory_per_block": shared_memory,
        "get_max_dynamic_shared_size_bytes": shared_memory,
    },
}  # fmt: skip
"""For each module, its names."""

CALLABLE: Mapping[str, Callable[..., Any]] = {"tilelang.jit": jit}
"""Modules that are also the function of their name."""


def lookup(module: str, name: str) -> Any:
    """Return a name of a module. Raises `AttributeError` if the module lacks it."""
    if name in MODULES[module]:
        return MODULES[module][name]
    if f"{module}.{name}" in MODULES:
        return importlib.import_module(f"{module}.{name}")
    if module == "tilelang" and name == "tvm":
        return importlib.import_module("tvm")
    if module == "tilelang.language":
        return getattr(language, name)
    raise TirxAttributeError(f"tirx_mini does not provide `{name}` of `{module}`", kind="unknown-name")


class TirxAttributeError(TirxError, AttributeError):
    """A name of a TileLang module that tirx_mini does not provide."""
