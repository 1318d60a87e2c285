"""y = x.T: each block moves one tile of the matrix."""

from tirx_mini.tile_ir import ct

TILE = 64


@ct.kernel
def transpose_tiles(x, y, TILE: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (i, j), shape=(TILE, TILE))
    ct.store(y, (j, i), tile.transpose())


def transpose(x, y, stream=None):
    """Write the transpose of the matrix `x` to `y`."""
    rows, columns = x.shape
    ct.launch(stream, (ct.cdiv(rows, TILE), ct.cdiv(columns, TILE)), transpose_tiles, (x, y, TILE))
