"""TVM: its import paths, tensor expressions and schedules, and a CPU for them."""

from .import_paths import imports as tvm_imports

__all__ = ["tvm_imports"]
