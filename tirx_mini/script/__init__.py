"""The front end, which translates Python functions to IR and records the source location of every node."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import ir, tirx
    from .builder import Builder, current, in_dialect_of_tvm, is_reading
    from .cuda_names import CUDA_NAMES, CudaSpelling
    from .diagnostics import did_you_mean, explained
    from .encoding import add_16B_offset, encode_matrix_descriptor
    from .functions import inline
    from .handles import BufferType, DType, Loop, OpenHint, OpenRole, Untyped, data_type, loop, shape_of
    from .kernels import caller_locals, ir_module, prim_func, read, reading
    from .pool import PoolAllocator
    from .refused import REFUSALS, Refusal, refusal
    from .source import FunctionSource, caller_span, check_function, source_of
    from .stand_ins import StandIn, standing_in
    from .written import from_source

_MODULES = ("ir", "tirx")
_NAMES = {
    "builder": ("Builder", "current", "in_dialect_of_tvm", "is_reading"),
    "cuda_names": ("CUDA_NAMES", "CudaSpelling"),
    "diagnostics": ("did_you_mean", "explained"),
    "encoding": ("add_16B_offset", "encode_matrix_descriptor"),
    "written": ("from_source",),
    "functions": ("inline",),
    "handles": ("BufferType", "DType", "Loop", "OpenHint", "OpenRole", "Untyped", "data_type", "loop", "shape_of"),
    "pool": ("PoolAllocator",),
    "kernels": ("caller_locals", "ir_module", "prim_func", "read", "reading"),
    "refused": ("REFUSALS", "Refusal", "refusal"),
    "source": ("FunctionSource", "caller_span", "check_function", "source_of"),
    "stand_ins": ("StandIn", "standing_in"),
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names}
"""The module of each name. They are imported when they are asked for: a reader of source needs no language."""

__all__ = [
    "CUDA_NAMES",
    "CudaSpelling",
    "REFUSALS",
    "Untyped",
    "BufferType",
    "Builder",
    "DType",
    "FunctionSource",
    "Loop",
    "OpenHint",
    "OpenRole",
    "PoolAllocator",
    "Refusal",
    "StandIn",
    "add_16B_offset",
    "caller_locals",
    "caller_span",
    "check_function",
    "current",
    "data_type",
    "did_you_mean",
    "encode_matrix_descriptor",
    "explained",
    "from_source",
    "in_dialect_of_tvm",
    "inline",
    "ir",
    "ir_module",
    "is_reading",
    "loop",
    "prim_func",
    "read",
    "reading",
    "refusal",
    "shape_of",
    "source_of",
    "standing_in",
    "tirx",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _PLACES:
        found = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
