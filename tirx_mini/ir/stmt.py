"""Statements. This is the whole grammar; ``*`` marks a tuple, ``?`` a field that may be None:

    stmt ::= Seq(stmts*) | Bind(var, value) | AllocBuffer(buffer) | DeclBuffer(buffer)
           | BufferStore(buffer, indices*, value) | Evaluate(call)
           | If(cond, then, orelse?) | For(var, start, stop, body, step, kind, parallel, unroll?, thread)
           | While(cond, body) | Break | Continue | Return | Hint(message, attrs*, body?) | Expanded(path, args*, body)
           | ScopeIds(vars*, extents*, kind, parent, preferred*)  -- bx, by = Tx.cta_id([m, n], parent="kernel")
           | Scope(kind, body, parent?, filter?)         -- with Tx.thread(parent="warp")[cond]:
           | TileCall(op, operands*, options*, scope?)   -- Tx.copy(dst, src)
           | Block(name, vars*, kinds*, domains*, values*, body, init?, reads*, writes*, predicate?, allocs*, attrs*)

Every statement also has a `span`. `ScopeIds`, `Scope` and `TileCall` are the tile level; `Block` (`block.py`), and
loops whose kind a schedule chose, are what schedules arrange. The lowering pipeline replaces both, and a lowered
function contains none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .buffer import Buffer
from .expr import Call, Expr, Var, as_bool, binary
from .span import Span, TirxError
from .text import node_text


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Stmt:
    """Base class of all statements.

    span: the source text that the statement comes from.
    """

    span: Span | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return node_text(self)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Seq(Stmt):
    stmts: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Bind(Stmt):
    """A binding of `var` to `value` in the rest of the enclosing block."""

    var: Var
    value: Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class AllocBuffer(Stmt):
    """An allocation that lives until the end of the enclosing block (local) or of the kernel (shared)."""

    buffer: Buffer


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class DeclBuffer(Stmt):
    """A declaration of a buffer for existing storage: a view, or tensor memory at an address."""

    buffer: Buffer


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class BufferStore(Stmt):
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Evaluate(Stmt):
    """An instruction executed for its side effect."""

    call: Call


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class If(Stmt):
    cond: Expr
    then: Stmt
    orelse: Stmt | None = None


SERIAL, UNROLLED = "serial", "unrolled"
PARALLEL, VECTORIZED, THREAD = "parallel", "vectorized", "thread_binding"
"""Kinds of loops that schedules choose. The first passes of each target replace them."""
LOOP_KINDS = (SERIAL, UNROLLED, PARALLEL, VECTORIZED, THREAD)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class For(Stmt):
    """``for var in range(start, stop, step)``.

    kind: SERIAL, or UNROLLED to expand every iteration; before a target lowers a schedule also PARALLEL (cores of a
        CPU), VECTORIZED (lanes of a vector), or THREAD (the CTAs or threads of a grid).
    parallel: whether the iterations are independent: none reads a value that another writes. The compiler sets this
        for its own loops; the simulator runs such a loop as one NumPy operation.
    unroll: the request to CUDA's compiler for a SERIAL loop: True to unroll it, False to keep it, None to choose.
    thread: for THREAD, the index that counts the iterations: "blockIdx.x", "threadIdx.y", …
    """

    var: Var
    start: Expr
    stop: Expr
    body: Stmt
    step: int = 1
    kind: str = SERIAL
    parallel: bool = False
    unroll: bool | None = None
    thread: str = ""

    @property
    def loop_var(self) -> Var:
        """The loop variable; an alias of `var`."""
        return self.var

    @property
    def min(self) -> Expr:
        """The first value; an alias of `start`."""
        return self.start

    @property
    def extent(self) -> Expr:
        """The distance from `start` to `stop`."""
        return binary("-", self.stop, self.start)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class While(Stmt):
    cond: Expr
    body: Stmt


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Break(Stmt):
    pass


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Continue(Stmt):
    pass


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Return(Stmt):
    """Thread exit, which lowering removes (`passes/returns.py`)."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Hint(Stmt):
    """A message with attributes for readers and tools, without effect; it survives a script round trip."""

    message: str
    attrs: tuple[tuple[str, Any], ...] = ()
    body: Stmt | None = None


OVERLAPPED = "loads overlap"
"""The message of hints around loads that a warp begins one after the other, and waits for together: the first has the
attribute "begin", and the last has it as False."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Expanded(Stmt):
    """A call of a language function such as ``Tx.print_buffer(…)``, with the statements `body` that implement it.

    path: its name below `Tx`.
    args: its arguments: expressions and Python values.
    """

    path: str
    args: tuple[object, ...]
    body: Stmt


SCOPE_KINDS = ("kernel", "cluster", "cta", "warpgroup", "warp", "thread")
PARENTS = (*SCOPE_KINDS, "pair")
"""Within what ids count. A pair is two CTAs of a cluster whose ranks differ in the last bit (PTX ISA: "CTA pair")."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class ScopeIds(Stmt):
    """Indices of the units of `kind` in their `parent`: ``bx, by = Tx.cta_id([m, n], parent="kernel")``.

    extents: the number of units along each variable; empty if other declarations determine it.
    preferred: for CTAs of a cluster, the extents that the launch prefers where the GPU has room for them. They are a
        hint: the kernel is launched with `extents`.
    """

    vars: tuple[Var, ...]
    extents: tuple[int, ...]
    kind: str
    parent: str
    preferred: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Scope(Stmt):
    """A scope that restricts `body` to the units of `kind`, or to those that satisfy `filter`."""

    kind: str
    body: Stmt
    parent: str | None = None
    filter: Expr | None = None


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class TileCall(Stmt):
    """A call of a tile primitive.

    op: the name of the primitive.
    operands: regions and values, in the order of its signature.
    options: keyword arguments, as (name, value) pairs.
    scope: the execution scope that executes it: "cta", "warpgroup", "warp" or "thread". The lowering sets it unless
        the call is scope-bound (``Tx.cta.copy``).
    """

    op: str
    operands: tuple[Expr, ...]
    options: tuple[tuple[str, Any], ...] = ()
    scope: str | None = None

    def option(self, name: str, default: object = None) -> object:
        return dict(self.options).get(name, default)


def as_condition(value: object) -> Expr:
    """Convert `value` to a statement's condition, one truth value per thread; numbers are compared with zero.

    Raises `TirxError` for a tile, a pointer or a vector.
    """
    condition = as_bool(value)
    if condition.dtype.lanes > 1:
        hint = "compare one element, or choose lane by lane with Tx.if_then_else"
        message = f"{described(condition)} is a vector, which is no condition"
        raise TirxError(message, condition.span, hint, about=value)
    return condition


def trips(start: int, stop: int, step: int) -> int:
    """Return the number of iterations of a loop; `len(range(…))` fails for counts of 64 bits."""
    return max(0, -((start - stop) // step))


def leaves(stmt: Stmt) -> Iterator[Stmt]:
    """Yield the break and continue statements of `stmt` that belong to an enclosing loop."""
    if isinstance(stmt, (Break, Continue)):
        yield stmt
    elif isinstance(stmt, Seq):
        for child in stmt.stmts:
            yield from leaves(child)
    elif isinstance(stmt, If):
        yield from leaves(stmt.then)
        if stmt.orelse is not None:
            yield from leaves(stmt.orelse)
    elif isinstance(stmt, Hint) and stmt.body is not None:
        yield from leaves(stmt.body)


def seq(*stmts: Stmt | None, span: Span | None = None) -> Stmt:
    """Return the statements in order, with nested sequences flattened and None dropped."""
    flat: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, Seq):
            flat.extend(stmt.stmts)
        elif stmt is not None:
            flat.append(stmt)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat), span=span)


@dataclass(frozen=True)
class TensorMap:
    """A global buffer in TMA's view: the arguments of `cuTensorMapEncodeTiled`. Dimensions are innermost first.

    var: the kernel parameter that holds the tensor map.
    buffer: the global buffer.
    dims: extents of the tensor, in elements.
    strides: distances between neighbours in dimensions 1 … rank - 1, in bytes.
    box: extents of one transfer, in elements, each at most 256.
    swizzle: the swizzle span, in bytes: 0, 32, 64 or 128.
    l2_promotion: the granularity of L2 fetches, in bytes.
    nan_fill: whether elements outside the tensor are NaN in a load, instead of zero.
    offset: of the first element in the buffer, in bytes.
    span: the copy that needs the tensor map.
    """

    var: Var
    buffer: Buffer
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    l2_promotion: int = 128
    span: Span | None = None
    nan_fill: bool = False
    offset: int = 0

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def box_bytes(self) -> int:
        total = self.buffer.dtype.itemsize
        for extent in self.box:
            total *= extent
        return total


@dataclass(frozen=True)
class TileWrite:
    """A tile call at `span`, and the shared buffer that it writes according to the buffer's layout, if any.

    buffer: with its layout, its source and its place in that, as they are when tile calls are dispatched.
    """

    buffer: Buffer | None
    span: Span | None = None
