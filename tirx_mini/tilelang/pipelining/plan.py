"""PlanPipelines: how the pipelined loops of a kernel are executed."""

from __future__ import annotations

import math
from dataclasses import replace

from tirx_mini.ir import Hint, Mutator, PrimFunc, Scope, ScopeIds, Stmt, walk

from ..gemm import capability
from .loops import PIPELINED, WARP_SPECIALISED, pipelined_loops
from .slices import NoSlice
from .specialise import WARP, specialised


def plan_pipelines(func: PrimFunc, arch: str) -> PrimFunc:
    """`func` without T.Pipelined: its loops run as pipelines of warps, or one iteration after the other."""
    ids = next((n for n in walk(func.body) if isinstance(n, ScopeIds) and n.kind == "thread"), None)
    body = next((n for n in walk(func.body) if isinstance(n, Scope) and n.kind == "thread"), None)
    if ids is None or body is None:
        return func
    threads = math.prod(ids.extents)
    loops = pipelined_loops(body.body)
    if loops and capability(arch) >= 90 and len(ids.extents) == 1 and threads % WARP == 0 and not _by_hand(body.body):
        try:
            planned = specialised(body.body, loops, threads)
        except NoSlice:
            pass
        else:
            threads += WARP
            wider = _Replaced({id(ids): replace(ids, extents=(threads,)), id(body): replace(body, body=planned)})
            return _Serial().func(wider.func(func))
    return _Serial().func(func)


def _by_hand(body: Stmt) -> bool:
    """Whether the program itself says what each warpgroup does."""
    return any(isinstance(node, Hint) and node.message == WARP_SPECIALISED for node in walk(body))


class _Replaced(Mutator):
    """Statements replaced by others."""

    def __init__(self, made: dict[int, Stmt]) -> None:
        self.made = made

    def stmt(self, node: Stmt) -> Stmt:
        return self.made[id(node)] if id(node) in self.made else super().stmt(node)


class _Serial(Mutator):
    """Pipelined loops as ordinary ones."""

    def visit_Hint(self, node: Hint) -> Stmt:
        made = self.rebuild(node)
        return made.body if made.message == PIPELINED else made
