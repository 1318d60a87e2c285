"""The cuTile frontend: lowers tile programs through cuda_tile, nv_tileaa and nv_tileas to the IR of tirx_mini."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import COST_BASED, SERIAL, SPECIALIZED, UNSPECIALIZED, Options
    from .import_paths import imports
    from .language import TileKernel
    from .program import STAGES, TileProgram
    from .run import Launch, captured, compile, interpret, interpreted, launch, simulate, simulated
    from .ssa import Module, diff, print_module

_RUN = ("Launch", "captured", "compile", "interpret", "interpreted", "launch", "simulate", "simulated")
_OPTIONS = ("COST_BASED", "SERIAL", "SPECIALIZED", "UNSPECIALIZED", "Options")
_PLACES = {
    **dict.fromkeys(_RUN, "run"),
    **dict.fromkeys(_OPTIONS, "context"),
    **dict.fromkeys(("STAGES", "TileProgram"), "program"),
    **dict.fromkeys(("Module", "diff", "print_module"), "ssa"),
    "TileKernel": "language",
    "imports": "import_paths",
}
"""The module of each name. They are imported when they are asked for: each level can be used without those above it."""

__all__ = [
    "COST_BASED", "SERIAL", "SPECIALIZED", "STAGES", "UNSPECIALIZED", "Launch", "Module", "Options", "TileKernel",
    "TileProgram", "captured", "compile", "diff", "imports", "interpret", "interpreted", "launch", "print_module",
    "simulate", "simulated",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
