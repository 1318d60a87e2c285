"""The PlanPipelines pass: choose how each pipelined loop is executed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tirx_mini.hardware import WARP_SIZE
from tirx_mini.ir import Hint, Mutator, PrimFunc, Scope, ScopeIds, Stmt, walk

from ..gemm import capability
from .loops import PIPELINED, WARP_SPECIALISED, PipelinedLoop, pipelined_loops
from .slices import NoSlice
from .software import overlapped
from .specialise import Roles, specialised

NO_WARP_SPECIALISATION, NO_TMA = "tl.disable_warp_specialized", "tl.disable_tma_lower"
"""Attributes of a function, named as TileLang's options of passes."""
PRODUCER_NREG, CONSUMER_NREG, NO_SET_MAX_NREG = "tl.producer_nreg", "tl.consumer_nreg", "tl.no_set_max_nreg"
"""Attributes of a function: the registers of a thread that T.annotate_producer_reg_dealloc and
T.annotate_consumer_reg_alloc ask for, and T.no_set_max_nreg."""



def plan_pipelines(func: PrimFunc, arch: str) -> PrimFunc:
    """Lower T.Pipelined: loops become warp-specialised pipelines, prefetching loops or plain loops."""
    ids = next((n for n in func.nodes if isinstance(n, ScopeIds) and n.kind == "thread"), None)
    scope = next((n for n in func.nodes if isinstance(n, Scope) and n.kind == "thread"), None)
    if ids is None or scope is None:
        return func
    loops = [] if _by_hand(scope.body) else pipelined_loops(scope.body)
    if loops:
        func = _planned(func, ids, scope, loops, arch)
    return _Serial().func(func)


def _planned(func: PrimFunc, ids: ScopeIds, scope: Scope, loops: list[PipelinedLoop], arch: str) -> PrimFunc:
    attrs, threads = dict(func.attrs), math.prod(ids.extents)
    forbidden = any(attrs.get(name) for name in (NO_WARP_SPECIALISATION, NO_TMA))
    if capability(arch) >= 90 and len(ids.extents) == 1 and threads % WARP_SIZE == 0 and not forbidden:
        roles = Roles.of(threads, _asked(attrs), bool(attrs.get(NO_SET_MAX_NREG)))
        try:
            planned = specialised(scope.body, loops, roles, arch)
        except NoSlice:
            pass
        else:
            made = {id(ids): replace(ids, extents=(roles.all,)), id(scope): replace(scope, body=planned)}
            return _Replaced(made).func(func)
    planned = overlapped(scope.body, loops, threads, fences=capability(arch) >= 90)
    return _Replaced({id(scope): replace(scope, body=planned)}).func(func)


def _asked(attrs: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the register counts that a program requests, if it specifies both roles."""
    producer, consumer = (attrs.get(name) for name in (PRODUCER_NREG, CONSUMER_NREG))
    return (int(producer), int(consumer)) if producer and consumer else None


def _by_hand(body: Stmt) -> bool:
    """Return whether the program assigns work to warpgroups itself."""
    return any(isinstance(node, Hint) and node.message == WARP_SPECIALISED for node in walk(body))


class _Replaced(Mutator):
    """Replaces statements by given ones."""

    def __init__(self, made: dict[int, Stmt]) -> None:
        self.made = made

    def stmt(self, node: Stmt) -> Stmt:
        return self.made[id(node)] if id(node) in self.made else super().stmt(node)


class _Serial(Mutator):
    """Turns pipelined loops into ordinary ones."""

    def visit_Hint(self, node: Hint) -> Stmt:
        made = self.rebuild(node)
        return made.body if made.message == PIPELINED and made.body is not None else made
