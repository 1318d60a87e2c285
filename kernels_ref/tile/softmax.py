"""The softmax of each row of a matrix: each block computes one row, which one tile holds."""

from tirx_mini.tile_ir import ct


@ct.kernel
def softmax_row(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    scores = ct.load(x, (row, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    powers = ct.exp(scores - ct.max(scores, axis=1, keepdims=True))
    total = ct.sum(powers, axis=1, keepdims=True)
    ct.store(y, (row, 0), (powers / total).astype(y.dtype))


def softmax(x, y, stream=None):
    """Write the softmax of the rows of `x` to `y`."""
    rows, columns = x.shape
    ct.launch(stream, (rows,), softmax_row, (x, y, next_power_of_two(columns)))


def next_power_of_two(n):
    """The least power of two that is at least `n`."""
    return 1 << (n - 1).bit_length()
