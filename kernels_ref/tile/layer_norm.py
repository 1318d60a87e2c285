"""Layer normalisation: each block normalises one row to mean 0 and variance 1, then scales and shifts it."""

from tirx_mini.tile_ir import ct


@ct.kernel
def layer_norm_row(x, weight, bias, y, epsilon, TILE: ct.Constant[int]):
    row = ct.bid(0)
    columns = x.shape[1]
    values = ct.load(x, (row, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    mean = ct.sum(values, axis=1, keepdims=True) / columns
    inside = ct.arange(TILE, dtype=ct.int32)[None, :] < columns
    centred = ct.where(inside, values - mean, 0.0)
    variance = ct.sum(centred * centred, axis=1, keepdims=True) / columns
    normal = centred * ct.rsqrt(variance + epsilon)
    w = ct.load(weight, (0,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    b = ct.load(bias, (0,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(y, (row, 0), (normal * w[None, :] + b[None, :]).astype(y.dtype))


def layer_norm(x, weight, bias, y, epsilon=1e-5, stream=None):
    """Write the normalised rows of `x`, times `weight` plus `bias`, to `y`."""
    rows, columns = x.shape
    tile = 1 << (columns - 1).bit_length()
    ct.launch(stream, (rows,), layer_norm_row, (x, weight, bias, y, epsilon, tile))
