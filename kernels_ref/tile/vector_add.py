"""c = a + b: each block adds one tile of the vectors."""

from tirx_mini.tile_ir import ct

TILE = 1024


@ct.kernel
def vector_add(a, b, c, TILE: ct.Constant[int]):
    i = ct.bid(0)
    x = ct.load(a, (i,), shape=(TILE,))
    y = ct.load(b, (i,), shape=(TILE,))
    ct.store(c, (i,), x + y)


def add(a, b, c, stream=None):
    """Write the sum of the vectors `a` and `b` to `c`."""
    ct.launch(stream, (ct.cdiv(a.shape[0], TILE),), vector_add, (a, b, c, TILE))
