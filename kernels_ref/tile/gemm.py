"""C = A @ B: each block computes one tile of C."""

from tirx_mini.tile_ir import ct

TILES = (128, 256, 64)
"""The rows and columns of a tile of C, and the part of K of one step."""


@ct.kernel
def gemm_tile(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[1], TK)):
        a = ct.load(A, (m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, n), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, (m, n), acc.astype(C.dtype))


def gemm(A, B, C, tiles=TILES, stream=None):
    """Write the product of the matrices `A` and `B` to `C`."""
    grid = (ct.cdiv(C.shape[0], tiles[0]), ct.cdiv(C.shape[1], tiles[1]))
    ct.launch(stream, grid, gemm_tile, (A, B, C, *tiles))
