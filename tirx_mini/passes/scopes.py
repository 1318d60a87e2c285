"""The LowerScopes pass: translate the scope hierarchy to per-thread code.

Ids become special registers (``warp_id`` is ``warp_id_in_cta % 4``), filters become conditions, every tile call records
its scope, and the launch (grid, cluster, threads) is computed from the extents of the ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import (
    SCOPE_KINDS,
    Buffer,
    Expanded,
    Expr,
    If,
    Mutator,
    PrimFunc,
    Scope,
    ScopeIds,
    Seq,
    Stmt,
    TileCall,
    TirxError,
    Var,
)
from tirx_mini.records import replace

from .launch import Declared, id_values


def lower_scopes(func: PrimFunc) -> PrimFunc:
    """Compute the launch, and remove scopes and ids. Raises TirxError if the declarations determine no launch."""
    declared = Declared()
    ids = func.of(ScopeIds)
    for node in ids:
        declared.add(node)
    launch = declared.launch(func)
    values: dict[Var, Expr] = {}
    for node in ids:
        values |= id_values(node, launch)
    return replace(func, body=_Lower(values).stmt(func.body), launch=launch)


class _Lower(Mutator):
    def __init__(self, values: Mapping[Var, Expr]) -> None:
        self.values = values
        self.scope: Scope | None = None
        self.buffers: dict[Buffer, Buffer] = {}

    def visit_Var(self, node: Var) -> Expr:
        value = self.values.get(node)
        return node if value is None else value if node.span is None else replace(value, span=node.span)

    def visit_ScopeIds(self, node: ScopeIds) -> Stmt:
        return Seq((), span=node.span)

    def visit_Expanded(self, node: Expanded) -> Stmt:
        return self.stmt(node.body)

    def visit_Scope(self, node: Scope) -> Stmt:
        outer = self.scope
        if outer is not None and SCOPE_KINDS.index(node.kind) < SCOPE_KINDS.index(outer.kind):
            raise TirxError(
                f"a {node.kind} scope cannot open inside a {outer.kind} scope: some threads of the {node.kind} may not "
                "reach it",
                node.span,
                f"close the {outer.kind} scope first",
                notes=((f"the {outer.kind} scope opens here", outer.span),),
            )
        filtered = self.expr(node.filter) if node.filter is not None else None
        self.scope = node
        body = self.stmt(node.body)
        self.scope = outer
        return body if filtered is None else If(filtered, body, span=node.span)

    def visit_TileCall(self, node: TileCall) -> Stmt:
        call = self.rebuild(node)
        # The native dialect has no scopes: each thread executes a bare call by itself.
        around = self.scope.kind if self.scope is not None else "thread"
        return replace(call, scope=call.scope or around)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Replace ids in tensor-memory addresses and in view offsets."""
        if buffer.allocated_addr is None and buffer.source is None:
            return buffer
        if buffer not in self.buffers:
            new: dict[str, Any] = {
                name: self.expr(value)
                for name in ("allocated_addr", "elem_offset")
                if (value := getattr(buffer, name)) is not None
            }
            if buffer.source is not None:
                new["source"] = self.buffer(buffer.source)
            same = all(value is getattr(buffer, name) for name, value in new.items())
            self.buffers[buffer] = buffer if same else replace(buffer, **new)
        return self.buffers[buffer]
