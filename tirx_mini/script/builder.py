"""The function under construction: where statements go, and the place in the source they come from.

The functions of the `Tx` namespace find the builder of the kernel that is being read through `current`; so do the
inline functions and the objects of `lang` that a kernel uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from tirx_mini.ir import (
    AllocBuffer,
    Bind,
    Buffer,
    DeclBuffer,
    Expr,
    Launch,
    PrimFunc,
    Scope,
    Span,
    Stmt,
    TensorMap,
    TirxError,
    Var,
    children,
    seq,
)  # fmt: skip

from .diagnostics import caller_span

_CURRENT: ContextVar[Builder | None] = ContextVar("builder", default=None)
_MAX_INLINE_DEPTH = 64


def place() -> Span | None:
    """Where the kernel is being read, or outside of one the line of the user's code."""
    builder = _CURRENT.get()
    return caller_span() if builder is None else builder.span


def innermost_scope() -> str | None:
    """The kind of the innermost execution scope in which a kernel is being read."""
    builder = _CURRENT.get()
    return builder.scopes[-1] if builder is not None and builder.scopes else None


def current(what: str) -> Builder:
    """The builder of the kernel being read. Raises `TirxError` outside of one."""
    builder = _CURRENT.get()
    if builder is None:
        hint = "move it into a function decorated with @Tx.prim_func"
        raise TirxError(f"{what} can only be used inside a kernel", caller_span(), hint)
    return builder


def stamp(node: Any, span: Span | None) -> Any:
    """Give `node`, and what is below it, the place `span` where it has none yet: a fresh node is placed once."""
    if isinstance(node, (Expr, Stmt)) and node.span is None:
        object.__setattr__(node, "span", span)
        for child in children(node):
            stamp(child, span)
    return node


@dataclass
class Block:
    """The statements of one block. `rest_of`: the scope that this block, open to the kernel's end, is the body of."""

    stmts: list[Stmt] = field(default_factory=list)
    rest_of: Scope | None = None


@dataclass
class Builder:
    """Collects the statements of one kernel.

    span: the place being read; new nodes are stamped with it.
    params: the parameters in the order of the call; `Tx.match_buffer` turns a pointer into a buffer.
    scopes: the kinds of the execution scopes that are open, outermost first.
    """

    name: str
    span: Span | None = None
    params: list[Buffer | Var] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    launch: Launch | None = None
    tensor_maps: list[TensorMap] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=lambda: [Block()])
    inline_depth: int = 0
    scopes: list[str] = field(default_factory=list)
    _names: tuple[str, ...] = ()
    _declared: set[Buffer] = field(default_factory=set)
    _unfinished: dict[Any, TirxError] = field(default_factory=dict)

    # -- statements ---------------------------------------------------------------------------------------------

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the current block."""
        stamp(stmt, self.span)
        for child in children(stmt):
            stamp(child, stmt.span)
        self.blocks[-1].stmts.append(stmt)

    @contextmanager
    def block(self) -> Iterator[Block]:
        """A new innermost block, for the body of a loop, branch or scope."""
        block = Block()
        self.blocks.append(block)
        depth = len(self.blocks)
        try:
            yield block
        finally:
            del self.blocks[depth - 1 :]

    @contextmanager
    def in_scope(self, kind: str) -> Iterator[None]:
        """What is read is in a scope of `kind`."""
        self.scopes.append(kind)
        yield
        self.scopes.pop()

    def body(self, block: Block) -> Stmt:
        """The statement that a finished block is."""
        return seq(*block.stmts, span=block.stmts[0].span if block.stmts else self.span)

    def open_rest(self, kind: str) -> None:
        """All that follows in the kernel is in a scope of `kind` (``T.device_entry()``)."""
        if len(self.blocks) > 1:
            raise TirxError("`device_entry()` must be at the top level of the kernel, outside every block")
        self.blocks.append(Block(rest_of=Scope(kind, seq(span=self.span), span=self.span)))

    def finish(self, span: Span) -> PrimFunc:
        """The kernel. Raises `TirxError` for what was begun and not ended, such as a pool without commit."""
        for error in self._unfinished.values():
            raise error
        top = self.blocks.pop()
        if top.rest_of is not None:
            self.blocks[0].stmts.append(replace(top.rest_of, body=self.body(top)))
            top = self.blocks.pop()
        return PrimFunc(
            self.name,
            tuple(self.params),
            seq(*top.stmts, span=span),
            tuple(self.attrs.items()),
            self.launch,
            tuple(self.tensor_maps),
            span=span,
        )

    def bind(self, name: str, value: Expr) -> Var:
        """A new variable for `value`."""
        var = Var(value.dtype, name, span=self.span)
        self.emit(Bind(var, value))
        return var

    # -- buffers ------------------------------------------------------------------------------------------------

    def alloc(self, buffer: Buffer) -> Buffer:
        """Emit the allocation of new storage."""
        self._declared.add(buffer)
        self.emit(AllocBuffer(buffer))
        return buffer

    def declare(self, buffer: Buffer) -> Buffer:
        """Emit the declaration of a name for storage that exists already."""
        self._declared.add(buffer)
        self.emit(DeclBuffer(buffer))
        return buffer

    def knows(self, buffer: Buffer) -> bool:
        """Whether a buffer needs no declaration: it is storage itself, or a view that is declared."""
        return (buffer.source is None and buffer.allocated_addr is None) or buffer in self._declared

    def declare_view(self, buffer: Buffer) -> Buffer:
        """Emit the declaration of a view that a call gave, once, under the name of the variable it is assigned to."""
        if self.knows(buffer):
            return buffer
        return self.declare(replace(buffer, name=self.take_name(buffer.name), span=buffer.span or self.span))

    # -- names, open ends ---------------------------------------------------------------------------------------

    def suggest_names(self, names: Sequence[str]) -> None:
        """The variables that the next call is assigned to; what it makes is named after them."""
        self._names = tuple(names)

    def take_name(self, default: str) -> str:
        """The next suggested name, or `default`."""
        if not self._names:
            return default
        name, self._names = self._names[0], self._names[1:]
        return name

    def begin(self, what: Any, error: TirxError) -> None:
        """`what` must be ended before the kernel ends, else it is `error`."""
        self._unfinished[what] = error.at(self.span)

    def end(self, what: Any) -> None:
        self._unfinished.pop(what, None)

    @contextmanager
    def inlining(self, name: str) -> Iterator[Span | None]:
        """The body of an inline function; yields the place of the call."""
        call = self.span
        self.inline_depth += 1
        if self.inline_depth > _MAX_INLINE_DEPTH:
            self.inline_depth = 0
            raise TirxError(
                f"`{name}` recurses without end: {_MAX_INLINE_DEPTH} calls are nested",
                None if call is None else replace(call, inlined_at=None),
                "inline functions are expanded at compile time, so the recursion must end on a Python value",
            )
        try:
            yield call
        finally:
            self.inline_depth = max(0, self.inline_depth - 1)
            self.span = call


@contextmanager
def building(builder: Builder) -> Iterator[Builder]:
    """Make `builder` the current one."""
    token = _CURRENT.set(builder)
    try:
        yield builder
    finally:
        _CURRENT.reset(token)
