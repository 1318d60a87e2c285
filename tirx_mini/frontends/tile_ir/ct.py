"""cuTile's public names: ``from tirx_mini.tile_ir import ct`` replaces ``import cuda.tile as ct``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from . import tune
from .language import (
    DTYPES,
    OPERATIONS,
    Array,
    ArrayAnnotation,
    ByTarget,
    Constant,
    ConstantAnnotation,
    DType,
    IndexedWithInt64,
    ListAnnotation,
    MemoryOrder,
    MemoryScope,
    PaddingMode,
    RoundingMode,
    Scalar,
    ScalarInt64,
    Slice,
    StaticException,
    Tile,
    TileCompilerExecutionError,
    TileCompilerTimeoutError,
    TiledView,
    TileError,
    TileInternalError,
    TileRecursionError,
    TileStaticAssertionError,
    TileStaticEvalError,
    TileSyntaxError,
    TileTypeError,
    TileUnsupportedFeatureError,
    TileValueError,
    function,
    kernel,
)
from .run import launch

_NAMES: dict[str, Any] = {**OPERATIONS, **{t.name: t for t in DTYPES}}

__all__ = [
    "Array", "ArrayAnnotation", "ByTarget", "Constant", "ConstantAnnotation", "DType", "IndexedWithInt64",
    "ListAnnotation", "MemoryOrder", "MemoryScope", "PaddingMode", "RoundingMode", "Scalar", "ScalarInt64", "Slice",
    "StaticException", "Tile", "TileCompilerExecutionError", "TileCompilerTimeoutError", "TileError",
    "TileInternalError", "TileRecursionError", "TileStaticAssertionError", "TileStaticEvalError", "TileSyntaxError",
    "TileTypeError", "TileUnsupportedFeatureError", "TileValueError", "TiledView", "compiler_timeout",
    "function", "kernel", "launch", "tune",
]  # fmt: skip


def compiler_timeout(timeout_sec: float) -> AbstractContextManager[None]:
    """Return a context without effect; cuTile limits the run time of NVIDIA's compiler in it."""
    return nullcontext()


def __getattr__(name: str) -> Any:
    """Look up a tile-code function or dtype."""
    if name in _NAMES:
        return _NAMES[name]
    raise AttributeError(f"cuTile has no `ct.{name}`")


def __dir__() -> list[str]:
    return sorted([*__all__, *_NAMES])
