"""Shape checks of the course's kernels."""

from __future__ import annotations

from collections.abc import Mapping


def check_shape(
    kernel: str,
    *,
    exact: Mapping[str, tuple[int, int]] | None = None,
    multiple: Mapping[str, tuple[int, int]] | None = None,
) -> None:
    """Check that the tiles of the kernel cover the shape, with dimensions as ``{"M": (M, tile)}``.

    exact: dimensions that must equal the tile.
    multiple: dimensions that must be a positive multiple of the tile.

    Raises `ValueError` for any other shape.
    """
    for name, (size, tile) in (exact or {}).items():
        if size != tile:
            raise ValueError(f"{kernel} computes one tile in {name}: {name} must be {tile}, but is {size}")
    for name, (size, tile) in (multiple or {}).items():
        if size <= 0 or size % tile:
            raise ValueError(f"{kernel} needs {name} to be a multiple of {tile}, but {name} is {size}")
