"""TileLang's builtins: functions called while a kernel is parsed, which lower to `isa` instructions.

A builtin with a value returns an expression; one with an effect emits its statements. Operands are elements, slices
and buffers, or pointers to them. `NAMES` has all of them by name; `facts_of` says what each becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import clusters, numbers, shared, votes
from .barriers import (
    barrier_arrive,
    barrier_wait,
    cp_async_barrier_noinc,
    mbarrier_arrive,
    mbarrier_expect_tx,
    mbarrier_wait_parity,
    ptx_arrive_cluster_barrier,
    sync_global,
    sync_grid,
    sync_threads,
    sync_warp,
    tcgen05_mma_arrive,
)
from .copies import create_tma_descriptor, fence_proxy_async, tma_load, tma_store_arrive, tma_store_wait
from .descriptors import increase_descriptor_offset, initialize_tcgen05_descriptor, initialize_wgmma_descriptor
from .memory import access_ptr, ldg32, ldg64, ldg128, ldg256, stg32, stg64, stg128, stg256
from .registers import (
    CONSUMER,
    PRODUCER,
    UNCHANGED,
    annotate_consumer_reg_alloc,
    annotate_producer_reg_dealloc,
    dec_max_nreg,
    disable_warp_group_reg_alloc,
    inc_max_nreg,
    no_set_max_nreg,
    set_max_nreg,
    wait_wgmma,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_fence_operand,
    warpgroup_wait,
)
from .shuffles import shfl_down, shfl_sync, shfl_up, shfl_xor
from .table import Builtin, facts_of, named
from .threads import (
    LAUNCH,
    get_lane_idx,
    get_warp_group_idx,
    get_warp_idx,
    get_warp_idx_sync,
    linear_thread,
    loop_break,
    shuffle_elect,
)
from .volta import ptx_mma_sm70

__all__ = ["CONSUMER", "LAUNCH", "MORE", "NAMES", "PRODUCER", "UNCHANGED", "Builtin", "facts_of", "linear_thread"]

NAMES: Mapping[str, Callable[..., Any]] = named((
    access_ptr, create_tma_descriptor, tma_load, fence_proxy_async, tma_store_arrive, tma_store_wait, set_max_nreg,
    inc_max_nreg, dec_max_nreg, annotate_producer_reg_dealloc, annotate_consumer_reg_alloc, no_set_max_nreg,
    disable_warp_group_reg_alloc, ptx_arrive_cluster_barrier, mbarrier_wait_parity, mbarrier_arrive,
    mbarrier_expect_tx, warpgroup_arrive, warpgroup_commit_batch, warpgroup_wait, get_lane_idx, get_warp_idx_sync,
    get_warp_idx, get_warp_group_idx, shuffle_elect, warpgroup_fence_operand, wait_wgmma, barrier_wait,
    barrier_arrive, shfl_xor, shfl_down, shfl_up, sync_threads, sync_warp, shfl_sync, sync_global, sync_grid,
    initialize_wgmma_descriptor, initialize_tcgen05_descriptor, increase_descriptor_offset, loop_break,
    cp_async_barrier_noinc, tcgen05_mma_arrive, ptx_mma_sm70, ldg32, ldg64, ldg128, ldg256, stg32, stg64, stg128,
    stg256,
))  # fmt: skip
"""The builtins by name, in the order of TileLang's reference."""

MORE: Mapping[str, Callable[..., Any]] = named(
    (*clusters.FUNCTIONS, *votes.FUNCTIONS, *shared.FUNCTIONS, *numbers.FUNCTIONS)
)
"""Functions of TileLang 0.1.15 that stand for instructions, too, and that its reference does not list there."""
