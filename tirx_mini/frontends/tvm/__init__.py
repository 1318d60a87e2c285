"""The TVM frontend: import paths, tensor expressions, schedules and a CPU backend."""

from .import_paths import imports as tvm_imports

__all__ = ["tvm_imports"]
