"""The cuTile frontend: lowers tile programs through cuda_tile, nv_tileaa and nv_tileas to the IR of tirx_mini."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_mini.on_demand import named

if TYPE_CHECKING:
    from .context import COST_BASED, SERIAL, SPECIALIZED, UNSPECIALIZED, Options
    from .import_paths import imports
    from .language import TileKernel
    from .program import STAGES, TileProgram
    from .run import Launch, captured, compile, interpret, interpreted, launch, simulate, simulated
    from .ssa import Module, diff, print_module

_NAMES = {
    "context": ("COST_BASED", "SERIAL", "SPECIALIZED", "UNSPECIALIZED", "Options"),
    "import_paths": ("imports",),
    "language": ("TileKernel",),
    "program": ("STAGES", "TileProgram"),
    "run": ("Launch", "captured", "compile", "interpret", "interpreted", "launch", "simulate", "simulated"),
    "ssa": ("Module", "diff", "print_module"),
}
"""All names, by their modules: each level can be used without those above it."""
__getattr__ = named(__name__, _NAMES)

__all__ = [
    "COST_BASED", "SERIAL", "SPECIALIZED", "STAGES", "UNSPECIALIZED", "Launch", "Module", "Options", "TileKernel",
    "TileProgram", "captured", "compile", "diff", "imports", "interpret", "interpreted", "launch", "print_module",
    "simulate", "simulated",
]  # fmt: skip
