"""C = A @ B with as many blocks as the GPU runs at the same time: each takes tiles of C until none is left.

Tiles are taken in groups of `GROUP` rows of tiles, so that blocks that run together share parts of A and B in the L2.
"""

from tirx_mini.tile_ir import ct

TILES = (128, 256, 64)
GROUP = 8


def place_of(tile, rows, columns):
    """The row and the column of the tile with a number: the numbers run down the rows of a group, then to the right."""
    per_group = GROUP * columns
    first = tile // per_group * GROUP
    height = min(rows - first, GROUP)
    inside = tile % per_group
    return first + inside % height, inside // height


@ct.kernel
def gemm_tiles(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    rows, columns = ct.cdiv(C.shape[0], TM), ct.cdiv(C.shape[1], TN)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = place_of(tile, rows, columns)
        acc = ct.zeros((TM, TN), dtype=ct.float32)
        for k in range(ct.cdiv(A.shape[1], TK)):
            a = ct.load(A, (m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
            b = ct.load(B, (k, n), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
            acc = ct.mma(a, b, acc)
        ct.store(C, (m, n), acc.astype(C.dtype))


def gemm(A, B, C, sms, tiles=TILES, stream=None):
    """Write the product of the matrices `A` and `B` to `C`, with one block for each of `sms` SMs."""
    count = ct.cdiv(C.shape[0], tiles[0]) * ct.cdiv(C.shape[1], tiles[1])
    ct.launch(stream, (min(sms, count),), gemm_tiles, (A, B, C, *tiles))
