"""The DispatchTilePrimitives pass: replace every tile call by instructions."""

from __future__ import annotations

from tirx_mini.ir import COPY_FENCES, TVM, Buffer, Expr, If, PrimFunc, Stmt, TileCall, TileWrite, TirxError
from tirx_mini.records import replace
from tirx_mini.tile import RULES, SCOPES, Context, TensorMaps, dispatch, tiles_of

from .ranges import RangedMutator, launch_of


def dispatch_tile_primitives(func: PrimFunc) -> PrimFunc:
    """Lower all tile calls. Raises TirxError for a call that no rule supports."""
    maps = TensorMaps(list(func.tensor_maps))
    dispatched = _Dispatch(func, maps)
    body = dispatched.stmt(func.body)
    return replace(func, body=body, tensor_maps=tuple(maps.maps), tile_writes=tuple(dispatched.writes))


class _Dispatch(RangedMutator):
    def __init__(self, func: PrimFunc, maps: TensorMaps) -> None:
        super().__init__(launch_of(func))
        self.launch, self.maps, self.fences = launch_of(func), maps, dict(func.attrs).get(COPY_FENCES, True)
        self.by_threads = func.dialect == TVM
        self.writes: list[TileWrite] = []

    def expr(self, node: Expr) -> Expr:
        """Return expressions unchanged, since tile calls are statements."""
        return node

    def visit_If(self, node: If) -> Stmt:
        """Drop a branch that is never taken, so that its tile calls need no lowering."""
        decided = self.decided(node, self.analyzer.simplify(node.cond))
        return super().visit_If(node) if decided is None else decided

    def visit_TileCall(self, node: TileCall) -> Stmt:
        assert node.scope is not None
        scope = node.scope if node.scope in SCOPES else "thread"
        ctx = Context(
            scope, self.launch, self.analyzer, tuple(self.guards), self.values, self.maps, self.fences, node.span
        )  # fmt: skip
        if scope != node.scope and not self.by_threads and not _private(node) and ctx.lanes() != 1:
            raise TirxError(
                f"{node.op} is called in {node.scope} scope, which does not determine the threads that execute it",
                node.span,
                "open a scope around it: `with Tx.cta():` for all threads, `with Tx.warpgroup():`, `with Tx.warp():`, "
                "or `with Tx.thread():` for each thread by itself",
            )
        self.writes.append(TileWrite(_written(node), node.span))
        return dispatch(node, ctx, RULES)


def _written(call: TileCall) -> Buffer | None:
    """Return the shared buffer that a call writes, or None if its location is unknown."""
    tiles = tiles_of(call)
    if not tiles or tiles[0].scope != "shared":
        return None
    buffer: Buffer | None = tiles[0].buffer
    while buffer is not None:
        if buffer.elem_offset is not None:
            return None
        buffer = buffer.source
    return tiles[0].buffer


def _private(call: TileCall) -> bool:
    """Return whether an operand is private to a thread, so that each thread must execute the call alone."""
    return any(tile.scope == "local" and not tile.has_thread_axes for tile in tiles_of(call))
