"""Code generation from nv_tileas to kernels of tirx_mini.ir."""

from .emitter import Emitter
from .program import RULES, Rules, emit_kernel
from .values import Blocks, Pointers, Tile, View

__all__ = ["RULES", "Blocks", "Emitter", "Pointers", "Rules", "Tile", "View", "emit_kernel"]
