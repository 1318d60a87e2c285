"""A product of factors that both are contiguous along K, in cuTile's language, for `since.py`."""

from tirx_mini.tile_ir import ct


@ct.kernel
def multiply(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """C = A Bᵀ, with A of M × K and B of N × K."""
    m, n = ct.bid(0), ct.bid(1)
    sums = ct.full((TM, TN), 0, C.dtype)
    for k in range(ct.cdiv(A.shape[1], TK)):
        a = ct.load(A, (m, k), shape=(TM, TK))
        b = ct.load(B, (k, n), shape=(TK, TN), order="F")
        sums = ct.mma(a, b, sums)
    ct.store(C, (m, n), sums)
