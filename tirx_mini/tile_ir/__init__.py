"""Tile programs: cuTile's surface, compiled through cuda_tile, nv_tileaa and nv_tileas to the IR of tirx_mini."""
