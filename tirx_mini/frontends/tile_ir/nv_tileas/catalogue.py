"""The passes of nv_tileas in order, under their names in TileIR."""

from __future__ import annotations

from collections.abc import Callable

from tirx_mini.ir import Pass

from ..ssa import Module
from . import cleanup, passes, reductions
from .accumulation import optimize_dot_accumulation
from .agents import materialize_schedule
from .deferred_sums import defer_sums
from .joining import join_loops
from .masks import guard_masks
from .persistent import dynamic_persistent
from .pipelining import materialize_async
from .recompute import recompute_for_scheduling
from .scheduling import generate_schedule, prepare_for_scheduling
from .slicing import slicing
from .software_pipeline import unspecialized_pipeline
from .staging import assign_pipeline_layouts
from .stores import slice_and_fuse
from .tensor_memory import legalize_tmem_copy
from .tma import attach_tma_desc_args, lower_tma_load_store_to_async


def _named(name: str, run: Callable[..., Module]) -> Pass[Module]:
    doc = run.__doc__ or ""
    return Pass(name, doc.split("\n\n")[0].replace("\n    ", " "), run)


IN_ORDER: tuple[Pass[Module], ...] = (
    _named("convert-tileaa-to-tileas", passes.convert_tileaa_to_tileas),
    _named("tileas-remove-dead-args", cleanup.remove_dead_args),
    _named("tileas-join-loops", join_loops),
    _named("tileas-guard-masks", guard_masks),
    _named("tileas-slicing", slicing),
    _named("tileas-plan-cta", passes.plan_cta),
    _named("tileas-assign-load-store-layouts", passes.assign_load_store_layouts),
    _named("tileas-assign-dot-layouts", passes.assign_dot_layouts),
    _named("tileas-legalize-fma-dot", cleanup.legalize_fma_dot),
    _named("tileas-optimize-reduce", reductions.optimize_reduce),
    _named("tileas-legalize-reduce", reductions.legalize_reduce),
    _named("tileas-remove-layout-conversions", passes.remove_layout_conversions),
    _named("tileas-unroll-register-loops", cleanup.unroll_register_loops),
    _named("tileas-defer-sums", defer_sums),
    _named("tileas-prepare-for-scheduling", prepare_for_scheduling),
    _named("tileas-generate-schedule", generate_schedule),
    _named("tileas-recompute-for-scheduling", recompute_for_scheduling),
    _named("tileas-assign-pipeline-layouts", assign_pipeline_layouts),
    _named("tileas-slice-and-fuse", slice_and_fuse),
    _named("lower-tma-load-store-to-async", lower_tma_load_store_to_async),
    _named("tileas-attach-tma-desc-args", attach_tma_desc_args),
    _named("tileas-dynamic-persistent", dynamic_persistent),
    _named("tileas-materialize-async", materialize_async),
    _named("tileas-legalize-tmem-copy", legalize_tmem_copy),
    _named("tileas-unspecialized-pipeline", unspecialized_pipeline),
    _named("tileas-optimize-dot-accumulation", optimize_dot_accumulation),
    _named("tileas-materialize-schedule", materialize_schedule),
    _named("tileas-materialize-convert-layout", cleanup.materialize_convert_layout),
)
"""From nv_tileaa to what is emitted."""

PRINTING: tuple[Pass[Module], ...] = (_named("tileas-print-decomposed-tv-layout", cleanup.print_decomposed_tv_layout),)
"""Passes that only tell."""
