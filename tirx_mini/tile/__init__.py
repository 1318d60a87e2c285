"""Tile primitives (copy, cast, gemm_async, …) and their lowering to instructions by dispatch rules."""

from collections.abc import Sequence

from . import (
    block_scale,
    cluster_copy,
    cp_async,
    elementwise,
    matrix_copy,
    permute,
    reduce,
    tcgen05,
    tensor_memory,
    tensor_memory_copy,
    tma,
    warp_mma,
    wgmma,
)
from .context import Context, TensorMaps
from .ops import OPS, SCOPES, SPELLINGS, TileOp, op_of
from .options import OPTIONS, Option
from .region import Tile, as_region, coordinate, layout_of, tiles_of
from .rule import Refusal, Rule, dispatch
from .threads import active_threads, conjuncts, evaluate, varies

RULES: Sequence[Rule] = (
    tensor_memory.TensorMemoryLoad(),
    tensor_memory.TensorMemoryStore(),
    matrix_copy.StoreMatrix(),
    matrix_copy.LoadMatrix(),
    elementwise.Elementwise(),
    tma.TmaLoad(),
    tma.TmaStore(),
    cp_async.CpAsync(),
    cluster_copy.ClusterCopy(),
    tensor_memory_copy.TensorMemoryCopy(),
    tcgen05.Tcgen05Mma(),
    block_scale.Tcgen05BlockScaled(),
    wgmma.Wgmma(),
    warp_mma.WarpMma(),
    permute.PermuteLayout(),
    reduce.ThreadReduce(),
    reduce.ViewReduce(),
    reduce.CooperativeReduce(),
    reduce.ValueReduce(),
)
"""All dispatch rules, in the order in which they are tried."""

__all__ = [
    "Context", "OPS", "OPTIONS", "Option", "RULES", "Refusal", "Rule", "SCOPES", "SPELLINGS", "TensorMaps", "Tile",
    "TileOp", "active_threads", "as_region", "conjuncts", "coordinate", "dispatch", "evaluate", "layout_of", "op_of",
    "tiles_of", "varies",
]  # fmt: skip
