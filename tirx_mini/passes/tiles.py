"""DispatchTilePrimitives: every tile call becomes the instructions that carry it out."""

from __future__ import annotations

from dataclasses import replace

from tirx_mini.ir import PrimFunc, Stmt, TileCall
from tirx_mini.tile import RULES, Context, TensorMaps, dispatch

from .ranges import RangedMutator, launch_of


def dispatch_tile_primitives(func: PrimFunc) -> PrimFunc:
    """`func` without tile calls. Raises TirxError for a call that no rule takes."""
    maps = TensorMaps(list(func.tensor_maps))
    body = _Dispatch(func, maps).stmt(func.body)
    return replace(func, body=body, tensor_maps=tuple(maps.maps))


class _Dispatch(RangedMutator):
    def __init__(self, func: PrimFunc, maps: TensorMaps) -> None:
        super().__init__(launch_of(func))
        self.launch, self.maps = launch_of(func), maps

    def visit_TileCall(self, node: TileCall) -> Stmt:
        assert node.scope is not None
        ctx = Context(
            node.scope, self.launch, self.analyzer, tuple(self.guards), self.values, self.maps, span=node.span
        )
        return dispatch(node, ctx, RULES)
