"""nv_tileas becomes a kernel of tirx_mini.ir."""

from .emitter import Emitter
from .values import Blocks, Pointers, Tile, View

__all__ = ["Blocks", "Emitter", "Pointers", "Tile", "View"]
