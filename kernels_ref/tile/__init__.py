"""Tile programs: kernels for whole blocks, in the language of cuTile."""
