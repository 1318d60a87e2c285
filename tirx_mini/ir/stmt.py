"""Statements. The whole grammar is this screen:

    stmt ::= Seq | Bind(var, value) | AllocBuffer | DeclBuffer | BufferStore(buffer, index…, value) | Evaluate(call)
           | If | For | While | Break | Continue | Hint
           | ScopeIds(var…, extent…)            -- bx, by = Tx.cta_id([m, n], parent="kernel")
           | Scope(kind, parent, filter, body)  -- with Tx.thread(parent="warp")[cond]:
           | TileCall(op, operand…, options)    -- Tx.copy(dst, src)

The last three are the tile level: the lowering pipeline replaces them, and no lowered function holds one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .buffer import Buffer
from .expr import Call, Expr, Var
from .span import Span


@dataclass(frozen=True, eq=False, repr=False)
class Stmt:
    """Base of all statements; `span` is where it was written."""

    span: Span | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        from .printer import stmt_text

        return stmt_text(self)


@dataclass(frozen=True, eq=False, repr=False)
class Seq(Stmt):
    stmts: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Bind(Stmt):
    """`var` is `value` in the rest of the enclosing block."""

    var: Var
    value: Expr


@dataclass(frozen=True, eq=False, repr=False)
class AllocBuffer(Stmt):
    """Storage that lives to the end of the enclosing block (local) or of the kernel (shared)."""

    buffer: Buffer


@dataclass(frozen=True, eq=False, repr=False)
class DeclBuffer(Stmt):
    """A name for storage that exists already: a view, or tensor memory at an address."""

    buffer: Buffer


@dataclass(frozen=True, eq=False, repr=False)
class BufferStore(Stmt):
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Evaluate(Stmt):
    """An instruction executed for its effect."""

    call: Call


@dataclass(frozen=True, eq=False, repr=False)
class If(Stmt):
    cond: Expr
    then: Stmt
    orelse: Stmt | None = None


SERIAL, UNROLLED = "serial", "unrolled"


@dataclass(frozen=True, eq=False, repr=False)
class For(Stmt):
    """``for var in range(start, stop, step)``.

    kind: SERIAL, or UNROLLED where every iteration is expanded.
    parallel: no iteration reads what another writes, so they may be executed together (set by the compiler for the
        loops it makes itself; the simulator then runs them as one NumPy operation).
    """

    var: Var
    start: Expr
    stop: Expr
    body: Stmt
    step: int = 1
    kind: str = SERIAL
    parallel: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class While(Stmt):
    cond: Expr
    body: Stmt


@dataclass(frozen=True, eq=False, repr=False)
class Break(Stmt):
    pass


@dataclass(frozen=True, eq=False, repr=False)
class Continue(Stmt):
    pass


@dataclass(frozen=True, eq=False, repr=False)
class Hint(Stmt):
    """A message (and attributes) for readers and tools; it changes nothing and survives a script round trip."""

    message: str
    attrs: tuple[tuple[str, Any], ...] = ()
    body: Stmt | None = None


SCOPE_KINDS = ("kernel", "cluster", "cta", "warpgroup", "warp", "thread")


@dataclass(frozen=True, eq=False, repr=False)
class ScopeIds(Stmt):
    """`vars` number the `kind` units within their `parent`: ``bx, by = Tx.cta_id([m, n], parent="kernel")``.

    extents: how many units there are along each variable; empty where one variable leaves that to other declarations.
    """

    vars: tuple[Var, ...]
    extents: tuple[int, ...]
    kind: str
    parent: str


@dataclass(frozen=True, eq=False, repr=False)
class Scope(Stmt):
    """The units of `kind` execute `body`: all of them, or those for which `filter` holds."""

    kind: str
    body: Stmt
    parent: str | None = None
    filter: Expr | None = None


@dataclass(frozen=True, eq=False, repr=False)
class TileCall(Stmt):
    """A tile primitive: `op` names it, `operands` are regions and values in the order of its signature.

    scope: the execution scope it was called in ("cta", "warpgroup", "warp", "thread"), filled by the lowering unless
        the call was scope-bound (``Tx.cta.copy``).
    """

    op: str
    operands: tuple[Expr, ...]
    options: tuple[tuple[str, Any], ...] = ()
    scope: str | None = None

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)


def seq(*stmts: Stmt | None, span: Span | None = None) -> Stmt:
    """The statements in order, nested sequences flattened and None dropped."""
    flat: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, Seq):
            flat.extend(stmt.stmts)
        elif stmt is not None:
            flat.append(stmt)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat), span=span)


@dataclass(frozen=True)
class TensorMap:
    """What `cuTensorMapEncodeTiled` is given: how TMA sees a global buffer. Dimensions are innermost first.

    dims: extents of the tensor, elements. strides: bytes between neighbours in dimensions 1 … rank-1.
    box: extents of one transfer, elements, each at most 256. swizzle: 0, 32, 64 or 128 bytes.
    """

    var: Var
    buffer: Buffer
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    l2_promotion: int = 128
    span: Span | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def box_bytes(self) -> int:
        total = self.buffer.dtype.itemsize
        for extent in self.box:
            total *= extent
        return total
