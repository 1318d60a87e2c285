"""A mixture of experts: each token goes through the networks of the few experts that its router chose.

Tokens are sorted by expert, and each expert's tokens are padded to whole tiles, so that each block multiplies with
the weights of one expert. It gathers its rows by the numbers of their tokens, and scatters the results to where they
belong.

`route` and `moe` take PyTorch tensors, the kernels any arrays.
"""

from tirx_mini.tile_ir import ct

TILES = (128, 128, 64)
GROUP = 8


def place_of(rows, columns):
    """The row and the column of this block's tile: blocks run down the rows of a group, then to the right."""
    per_group = GROUP * columns
    first = ct.bid(0) // per_group * GROUP
    height = min(rows - first, GROUP)
    inside = ct.bid(0) % per_group
    return first + inside % height, inside // height


@ct.kernel
def expert_gemm(
    A, B, C, weights, sorted_ids, tile_experts, replicas, WEIGHTED: ct.Constant[bool], TM: ct.Constant[int],
    TN: ct.Constant[int], TK: ct.Constant[int],
):  # fmt: skip
    """C[id] = A[id // replicas] @ B[expert].T for each row id of the sorted ones; times its weight, if WEIGHTED."""
    m, n = place_of(ct.cdiv(sorted_ids.shape[0], TM), ct.cdiv(B.shape[1], TN))
    ids = ct.gather(sorted_ids, m * TM + ct.arange(TM, dtype=ct.int32))
    rows = ids // replicas
    expert = ct.load(tile_experts, (m,), shape=())
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[1], TK)):
        columns = k * TK + ct.arange(TK, dtype=ct.int32)
        a = ct.gather(A, (rows[:, None], columns[None, :]))
        b = ct.load(B, (expert, k, n), shape=(1, TK, TN), order=(0, 2, 1), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b.reshape((TK, TN)), acc)
    if WEIGHTED:
        acc = acc * ct.gather(weights, ids).astype(ct.float32)[:, None]
    outputs = n * TN + ct.arange(TN, dtype=ct.int32)
    ct.scatter(C, (ids[:, None], outputs[None, :]), acc.astype(C.dtype))


@ct.kernel
def silu_and_multiply(x, y, TILE: ct.Constant[int]):
    """y = silu(left half of x) * right half of x, row by row; the halves are `y.shape[1]` wide."""
    row, part = ct.bid(0), ct.bid(1)
    columns = part * TILE + ct.arange(TILE, dtype=ct.int32)
    width = y.shape[1]
    gate = ct.gather(x, (row, columns), mask=columns < width).astype(ct.float32)
    up = ct.gather(x, (row, columns + width), mask=columns < width).astype(ct.float32)
    ct.scatter(y, (row, columns), (gate / (1.0 + ct.exp(-gate)) * up).astype(y.dtype))


def route(expert_ids, experts, tile):
    """Sort the rows of `expert_ids` (tokens, choices), flattened, by expert, each padded to whole tiles.

    Returns the sorted row numbers, in which padding is a number that is out of range, and the expert of each tile.
    """
    import torch

    flat = expert_ids.reshape(-1).long()
    order = torch.argsort(flat, stable=True)
    counts = torch.bincount(flat, minlength=experts)
    tiles = (counts + tile - 1) // tile
    starts = (tiles.cumsum(0) - tiles) * tile
    firsts = counts.cumsum(0) - counts
    chosen = flat[order]
    places = starts[chosen] + torch.arange(len(flat), device=flat.device) - firsts[chosen]
    sorted_ids = torch.full((int(tiles.sum()) * tile,), len(flat), dtype=torch.int32, device=flat.device)
    sorted_ids[places] = order.int()
    return sorted_ids, torch.repeat_interleave(torch.arange(experts, device=flat.device), tiles).int()


def multiply_by_expert(A, B, C, weights, sorted_ids, tile_experts, replicas, weighted, tiles=TILES, stream=None):
    """One product of the network: every sorted row of `A` with the matrix of its expert in `B`."""
    grid = (ct.cdiv(sorted_ids.shape[0], tiles[0]) * ct.cdiv(B.shape[1], tiles[1]),)
    arguments = (A, B, C, weights, sorted_ids, tile_experts, replicas, weighted, *tiles)
    ct.launch(stream, grid, expert_gemm, arguments)


def moe(tokens, gate_up, down, expert_ids, weights, tiles=TILES, stream=None):
    """The output (tokens, width) of a mixture of experts with SwiGLU networks.

    tokens: (tokens, width). gate_up: (experts, 2 * hidden, width). down: (experts, width, hidden).
    expert_ids, weights: (tokens, choices): the experts of each token, and the weights of their outputs.
    """
    count, choices = expert_ids.shape
    experts, hidden = down.shape[0], down.shape[2]
    sorted_ids, tile_experts = route(expert_ids, experts, tiles[0])
    flat_weights = weights.reshape(-1)
    both = tokens.new_empty((count * choices, 2 * hidden))
    multiply_by_expert(tokens, gate_up, both, flat_weights, sorted_ids, tile_experts, choices, False, tiles, stream)
    inner = tokens.new_empty((count * choices, hidden))
    tile = min(1024, 1 << (hidden - 1).bit_length())
    ct.launch(stream, (count * choices, ct.cdiv(hidden, tile)), silu_and_multiply, (both, inner, tile))
    outputs = tokens.new_empty((count * choices, tokens.shape[1]))
    multiply_by_expert(inner, down, outputs, flat_weights, sorted_ids, tile_experts, 1, True, tiles, stream)
    return outputs.reshape(count, choices, -1).sum(1)
