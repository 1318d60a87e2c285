"""Attention, softmax(Q @ K.T * scale) @ V, without the matrix of scores in memory (FlashAttention).

Each block has one tile of queries of one head. It goes through the keys and values tile by tile, and keeps of each
query the greatest score so far, the sum of the powers relative to it, and their combination of the values.
"""

import math

from tirx_mini.tile_ir import ct

TILES = (128, 128)
"""Queries of a block, and keys of one step."""
NEG_INF = -math.inf


def attend(q, K, V, group, n, state, first_row, scale, masked, causal, TN, D):
    """The state after the keys of tile `n` of their head `group`.

    `masked`: whether some of them are beyond the end or in the future.
    `scale` is positive, so that the greatest score is the scaled greatest product.
    """
    top, total, acc = state
    TM = q.shape[0]
    k = ct.load(K, (group, 0, n), shape=(1, D, TN), order=(0, 2, 1), padding_mode=ct.PaddingMode.ZERO).reshape((D, TN))
    scores = ct.mma(q, k, ct.zeros((TM, TN), dtype=ct.float32))
    if masked:
        columns = n * TN + ct.arange(TN, dtype=ct.int32)[None, :]
        seen = columns < K.shape[1]
        if causal:
            seen = seen & (columns <= first_row + ct.arange(TM, dtype=ct.int32)[:, None])
        scores = ct.where(seen, scores, NEG_INF)
    new_top = ct.maximum(top, ct.max(scores, axis=1, keepdims=True) * scale)
    powers = ct.exp2(scores * scale - new_top)
    shrink = ct.exp2(top - new_top)
    v = ct.load(V, (group, n, 0), shape=(1, TN, D), padding_mode=ct.PaddingMode.ZERO).reshape((TN, D))
    acc = ct.mma(powers.astype(V.dtype), v, acc * shrink)
    return new_top, total * shrink + ct.sum(powers, axis=1, keepdims=True), acc


@ct.kernel
def attention_tile(
    Q, K, V, O, scale, CAUSAL: ct.Constant[bool], TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]
):  # fmt: skip
    m, head = ct.bid(0), ct.bid(1)
    group = head // (Q.shape[0] // K.shape[0])
    q = ct.load(Q, (head, m, 0), shape=(1, TM, D), padding_mode=ct.PaddingMode.ZERO).reshape((TM, D))
    keys = K.shape[1]
    if CAUSAL:
        whole = min(m * TM // TN, keys // TN)
        stop = min(ct.cdiv((m + 1) * TM, TN), ct.cdiv(keys, TN))
    else:
        whole = keys // TN
        stop = ct.cdiv(keys, TN)
    top = ct.full((TM, 1), NEG_INF, dtype=ct.float32)
    total = ct.zeros((TM, 1), dtype=ct.float32)
    acc = ct.zeros((TM, D), dtype=ct.float32)
    for n in range(whole):
        top, total, acc = attend(q, K, V, group, n, (top, total, acc), m * TM, scale, False, CAUSAL, TN, D)
    for n in range(whole, stop):
        top, total, acc = attend(q, K, V, group, n, (top, total, acc), m * TM, scale, True, CAUSAL, TN, D)
    ct.store(O, (head, m, 0), (acc / total).astype(O.dtype).reshape((1, TM, D)))


def attention(Q, K, V, O, causal=False, tiles=TILES, stream=None):
    """Write the attention of `Q` to `K` and `V` to `O`, all of shape (batch, heads, sequence, D).

    `K` and `V` may have fewer heads: each then serves as many heads of queries, in order.
    """
    batch, heads, queries, D = Q.shape
    scale = math.log2(math.e) / math.sqrt(D)
    q, k, v, o = (x.reshape(batch * x.shape[1], x.shape[2], D) for x in (Q, K, V, O))
    grid = (ct.cdiv(queries, tiles[0]), batch * heads)
    ct.launch(stream, grid, attention_tile, (q, k, v, o, scale, causal, *tiles, D))
