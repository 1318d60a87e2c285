"""C[i] = A[i] @ B[i] for each matrix of a batch."""

from tirx_mini.tile_ir import ct

TILES = (128, 128, 64)


@ct.kernel
def batched_gemm_tile(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    m, n, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[2], TK)):
        a = ct.load(A, (batch, m, k), shape=(1, TM, TK), padding_mode=ct.PaddingMode.ZERO).reshape((TM, TK))
        b = ct.load(B, (batch, k, n), shape=(1, TK, TN), padding_mode=ct.PaddingMode.ZERO).reshape((TK, TN))
        acc = ct.mma(a, b, acc)
    ct.store(C, (batch, m, n), acc.astype(C.dtype).reshape((1, TM, TN)))


def batched_gemm(A, B, C, tiles=TILES, stream=None):
    """Write the products of the matrices of `A` and `B` to those of `C`."""
    batch, rows, columns = C.shape
    grid = (ct.cdiv(rows, tiles[0]), ct.cdiv(columns, tiles[1]), batch)
    ct.launch(stream, grid, batched_gemm_tile, (A, B, C, *tiles))
