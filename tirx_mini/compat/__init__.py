"""The import paths of other projects, mapped to tirx_mini."""

from .import_paths import imports as tvm_imports

__all__ = ["tvm_imports"]
