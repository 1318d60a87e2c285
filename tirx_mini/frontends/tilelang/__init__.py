"""The TileLang frontend: the language, and the passes that lower tile programs to per-thread IR."""

from . import language
from .jit import AutoTuner, AutotuneResult, JITImpl, autotune, jit, lazy_jit
from .kernel import JITKernel, compile, current_gpu, simulated
from .language import Swizzled
from .layouts import Fragment
from .pipeline import PASSES, is_tilelang, lower
from .profiler import Profiler, TensorSupplyType, difference

__all__ = [
    "PASSES",
    "AutoTuner",
    "AutotuneResult",
    "Fragment",
    "JITImpl",
    "JITKernel",
    "Profiler",
    "Swizzled",
    "TensorSupplyType",
    "autotune",
    "compile",
    "current_gpu",
    "difference",
    "is_tilelang",
    "jit",
    "language",
    "lazy_jit",
    "lower",
    "simulated",
]
