"""Tile programs: cuTile's surface, compiled through cuda_tile, nv_tileaa and nv_tileas to the IR of tirx_mini."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .language import TileKernel
    from .program import STAGES, TileProgram
    from .run import compile, interpret, interpreted, launch, simulate, simulated

_PLACES = {
    **dict.fromkeys(("compile", "interpret", "interpreted", "launch", "simulate", "simulated"), "run"),
    **dict.fromkeys(("STAGES", "TileProgram"), "program"),
    "TileKernel": "language",
}
"""The module of each name. They are imported when they are asked for: each level can be used without those above it."""

__all__ = [
    "STAGES", "TileKernel", "TileProgram", "compile", "interpret", "interpreted", "launch", "simulate", "simulated"
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
