"""nv_tileaa: tile programs on memory references, without layouts."""

from .types import LAYOUTS, Layout, Tensor, parse_tensor

__all__ = ["LAYOUTS", "Layout", "Tensor", "parse_tensor"]
