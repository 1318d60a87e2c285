"""The function under construction, which collects statements and tracks source locations.

`current` returns the builder of the kernel that is being read. The functions of the `Tx` namespace, inline functions
and the objects of `lang` call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from tirx_mini.hardware import MAX_LOCAL_BYTES
from tirx_mini.ir import (
    COURSE,
    DIALECT,
    NATIVE,
    TVM,
    AllocBuffer,
    Bind,
    Buffer,
    Const,
    DataType,
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
    simplify,
    substitute,
    walk,
)  # fmt: skip
from tirx_mini.records import dataclass, replace
from tirx_mini.wording import described

from .growth import check_growth
from .source import caller_span

_CURRENT: ContextVar[Builder | None] = ContextVar("builder", default=None)
_MAX_INLINE_DEPTH, _MAX_EXPANSIONS = 64, 1 << 16


def resolved(value: object) -> Any:
    """Resolve a value by `Builder.resolved` of the current kernel, or return it unchanged outside one."""
    builder = _CURRENT.get()
    return value if builder is None else builder.resolved(value)


def place() -> Span | None:
    """Return the current location in the kernel, or outside a kernel the current line of the user's code."""
    builder = _CURRENT.get()
    return caller_span() if builder is None else builder.span


def innermost_scope() -> str | None:
    """Return the kind of the innermost execution scope at the current location, or None outside all scopes."""
    builder = _CURRENT.get()
    return builder.scopes[-1] if builder is not None and builder.scopes else None


def in_dialect_of_tvm() -> bool:
    """Return whether the current kernel has the defaults of TVM 0.26."""
    builder = _CURRENT.get()
    return builder is not None and builder.attrs.get(DIALECT) == TVM


def in_native_dialect() -> bool:
    """Return whether the current kernel is written in the native dialect, as detected so far."""
    builder = _CURRENT.get()
    return builder is not None and builder.spelling == NATIVE


def is_reading() -> bool:
    """Return whether a kernel is being parsed."""
    return _CURRENT.get() is not None


def current(what: str) -> Builder:
    """Return the builder of the current kernel. Raises `TirxError` outside a kernel."""
    builder = _CURRENT.get()
    if builder is None:
        hint = "move it into a function decorated with @Tx.prim_func"
        raise TirxError(f"{what} can only be used inside a kernel", caller_span(), hint)
    return builder


def symbol(dtype: DataType) -> Var:
    """Declare a symbolic extent, named after the variable it is assigned to."""
    builder = current(f"T.{dtype}()")
    return builder.symbol(builder.take_name("n"), dtype)


def stamp(node: object, span: Span | None) -> Any:
    """Set the span of `node` and its descendants to `span` where they have none."""
    if isinstance(node, (Expr, Stmt)) and node.span is None:
        _stamp(node, span)
    return node


def _stamp(node: Expr | Stmt, span: Span | None) -> None:
    object.__setattr__(node, "span", span)
    for child in children(node):
        if child.span is None:
            _stamp(child, span)


@dataclass
class Block:
    """The statements of one block.

    rest_of: the scope whose body this block is, if the scope extends to the end of the kernel.
    """

    stmts: list[Stmt] = field(default_factory=list)
    rest_of: Scope | None = None


@dataclass
class _Once:
    """A loop or branch of the kernel, which is parsed once regardless of its executions.

    kind: "loop" or "branch".
    made: the Python objects that were made while it was read, by identity.
    """

    kind: str
    made: dict[int, Any] = field(default_factory=dict)


@dataclass
class Builder:
    """Collects the statements of one kernel.

    span: the current location; new nodes get it as their span.
    params: the parameters in call order; `Tx.match_buffer` replaces a pointer with a buffer.
    spelling: the dialect in which the kernel is written, as far as it shows.
    keeps_numbers: a name that a plain number is assigned to once stays that number.
    scopes: the kinds of the open execution scopes, outermost first.
    copies: how often the enclosing unrolled loops repeat the current location.
    rounds: the iterations of loops that run at compile time, so far.
    expansions: the calls of inline functions, so far.
    symbols: the symbolic extents, by their names.
    threads: the indices of `T.launch_thread`, by their names.
    branches: the branches that are being built by `T.If`, outermost first.
    bound: what the names of `bind` are bound to, without such names in it.
    first_values: the variables whose type is that of their first value, with the place of its assignment.
    tir_blocks: the open blocks of TIR, outermost first.
    block_names: the names of all blocks of TIR.
    loop_extents: the extents of the loops that begin at 0.
    """

    name: str
    span: Span | None = None
    params: list[Buffer | Var] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    launch: Launch | None = None
    spelling: str = COURSE
    keeps_numbers: bool = False
    tensor_maps: list[TensorMap] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=lambda: [Block()])
    inline_depth: int = 0
    scopes: list[str] = field(default_factory=list)
    bound: dict[Var, Expr] = field(default_factory=dict)
    first_values: dict[Buffer, Span] = field(default_factory=dict)
    tir_blocks: list[Any] = field(default_factory=list)
    block_names: set[str] = field(default_factory=set)
    loop_extents: dict[Var, Expr] = field(default_factory=dict)
    copies: int = 1
    rounds: int = 0
    expansions: int = 0
    symbols: dict[str, Var] = field(default_factory=dict)
    threads: dict[str, Any] = field(default_factory=dict)
    branches: list[Any] = field(default_factory=list)
    _local_bytes: int = 0
    _once: list[_Once] = field(default_factory=list)
    _names: tuple[str, ...] = ()
    of_user_class: bool = False
    _declared: set[Buffer] = field(default_factory=set)
    _unfinished: dict[Any, TirxError] = field(default_factory=dict)

    # -- statements ---------------------------------------------------------------------------------------------

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the current block."""
        if stmt.span is None:
            _stamp(stmt, self.span)
        else:
            for child in children(stmt):
                if child.span is None:
                    _stamp(child, stmt.span)
        self.blocks[-1].stmts.append(stmt)

    @contextmanager
    def block(self) -> Iterator[Block]:
        """Open a new innermost block, for the body of a loop, branch or scope."""
        block = Block()
        self.blocks.append(block)
        depth = len(self.blocks)
        try:
            yield block
        finally:
            del self.blocks[depth - 1 :]

    @contextmanager
    def in_scope(self, kind: str) -> Iterator[None]:
        """Open an execution scope of `kind`."""
        self.scopes.append(kind)
        yield
        self.scopes.pop()

    def body(self, block: Block) -> Stmt:
        """Return a finished block as a statement."""
        return seq(*block.stmts, span=block.stmts[0].span if block.stmts else self.span)

    @contextmanager
    def read_once(self, kind: str) -> Iterator[None]:
        """Parse a loop or branch of the kernel."""
        self._once.append(_Once(kind))
        yield
        self._once.pop()

    @contextmanager
    def expanding(self, copies: int) -> Iterator[None]:
        """Parse the body of a loop that is unrolled into `copies`."""
        around = self.copies
        self.copies *= copies
        yield
        self.copies = around

    def made(self, value: object) -> Any:
        """Record that the innermost loop or branch created the Python object `value`."""
        if self._once and value is not None:
            self._once[-1].made[id(value)] = value
        return value

    def outlives(self, value: object) -> str | None:
        """Return the kind of the innermost loop or branch if the Python object `value` was created outside it."""
        return self._once[-1].kind if self._once and id(value) not in self._once[-1].made else None

    def open_rest(self, kind: str) -> None:
        """Open a scope of `kind` that extends to the end of the kernel (``T.device_entry()``)."""
        if len(self.blocks) > 1:
            raise TirxError("`device_entry()` must be at the top level of the kernel, outside every block")
        self.spelling = NATIVE
        self.blocks.append(Block(rest_of=Scope(kind, seq(span=self.span), span=self.span)))

    def finish(self, span: Span) -> PrimFunc:
        """Return the finished kernel. Raises `TirxError` for an unfinished object, such as a pool without a commit."""
        for error in self._unfinished.values():
            raise error
        self._check_symbols()
        top = self.blocks.pop()
        if top.rest_of is not None:
            self.blocks[0].stmts.append(replace(top.rest_of, body=self.body(top)))
            top = self.blocks.pop()
        body = seq(*top.stmts, span=span)
        check_growth(body)
        return PrimFunc(
            self.name,
            tuple(self.params),
            body,
            tuple(self.attrs.items()),
            self.launch,
            tuple(self.tensor_maps),
            self.spelling,
            span=span,
        )

    def symbol(self, name: str, dtype: DataType) -> Var:
        """Return the symbolic extent of this name, creating it on first use."""
        return self.symbols.setdefault(name, Var(dtype, name, span=self.span))

    def forget_symbols(self, variables: Iterable[object]) -> None:
        """Drop symbolic extents that need not appear in a shape."""
        self.symbols = {name: var for name, var in self.symbols.items() if not any(var is each for each in variables)}

    def is_symbolic(self, value: Expr) -> bool:
        """Return whether a value depends only on symbolic extents, so that it is known before lowering."""
        shapes = (extent for param in self.params if isinstance(param, Buffer) for extent in param.shape)
        parts = (part for extent in shapes if isinstance(extent, Expr) for part in walk(extent))
        known = {*self.symbols.values(), *(part for part in parts if isinstance(part, Var))}
        if not known:
            return False
        return all(isinstance(part, Const) or part in known for part in walk(value) if not children(part))

    def _check_symbols(self) -> None:
        """Check that each symbolic extent appears in the shape of an argument."""
        shapes = [extent for param in self.params if isinstance(param, Buffer) for extent in param.shape]
        used = {part for extent in shapes if isinstance(extent, Expr) for part in walk(extent)}
        for var in self.symbols.values():
            if var not in used:
                raise TirxError(
                    f"`{var.name}` has no value: it is not an extent of an argument of the kernel",
                    var.span,
                    f"write T.match_buffer(pointer, ({var.name}, …), dtype), or `{var.name}: T.{var.dtype} = 0` for a "
                    "variable",
                )

    def bind(self, name: str, value: Expr) -> Var:
        """Bind `value` to a new variable."""
        if value.is_tile:
            message = f"a tile, {described(value)}, is not a value that a name can hold"
            raise TirxError(message, hint="bind an element, or write the slice where it is used")
        var = Var(value.dtype, name, span=self.span)
        self.emit(Bind(var, value))
        self.bound[var] = self.resolved(value)
        return var

    def resolved(self, value: object) -> Any:
        """Replace names introduced by `bind` with their values, and fold constants."""
        if not isinstance(value, Expr) or not self.bound:
            return value
        used = {part: self.bound[part] for part in walk(value) if isinstance(part, Var) and part in self.bound}
        return simplify(substitute(value, used)) if used else value

    # -- buffers ------------------------------------------------------------------------------------------------

    def alloc(self, buffer: Buffer) -> Buffer:
        """Emit the allocation of new storage. Raises `TirxError` beyond a thread's maximum of local memory."""
        if buffer.scope == "local" and buffer.layout is None:
            self._local_bytes += buffer.nbytes
            if self._local_bytes > MAX_LOCAL_BYTES:
                raise TirxError(
                    f"with {buffer.name}, the arrays of a thread take {self._local_bytes:,} bytes, but its registers "
                    f"and local memory have at most {MAX_LOCAL_BYTES:,}",
                    buffer.span or self.span,
                    "an array of Tx.alloc_local belongs to one thread: divide its size by the number of threads that "
                    "share the work, or keep it in shared or global memory",
                )
        self._declared.add(buffer)
        self.emit(AllocBuffer(buffer))
        return buffer

    def declare(self, buffer: Buffer) -> Buffer:
        """Emit the declaration of a view, after those of the views on which it depends."""
        if buffer.source is not None and not self.is_declared(buffer.source):
            self.declare(buffer.source)
        self._declared.add(buffer)
        self.emit(DeclBuffer(buffer))
        return buffer

    def is_declared(self, buffer: Buffer) -> bool:
        """Return whether a buffer is declared, as an allocation or as a declared view."""
        return (buffer.source is None and buffer.allocated_addr is None) or buffer in self._declared

    def declare_view(self, buffer: Buffer) -> Buffer:
        """Emit the declaration of a view returned by a call, named after the variable it is assigned to."""
        if self.is_declared(buffer):
            return buffer
        return self.declare(replace(buffer, name=self.take_name(buffer.name), span=buffer.span or self.span))

    # -- names, unfinished objects ------------------------------------------------------------------------------

    def suggest_names(self, names: Sequence[str], called: object = None) -> None:
        """Set the names of the variables to which the next call is assigned, for the objects that it creates.

        called: the callee. A class of the user makes objects with names of their own.
        """
        self._names = tuple(names)
        self.of_user_class = isinstance(called, type) and not called.__module__.startswith("tirx_mini.")

    def label(self, given: object, default: str) -> str:
        """Return the explicit name of an object, or else the next suggested name, or `default`."""
        if given is not None and not isinstance(given, str):
            raise TirxError(f"a name must be a string, not {described(given)}", hint='write name="…"', about=given)
        return given or self.take_name(default)

    def take_name(self, default: str) -> str:
        """Return the next suggested name, or `default`."""
        if not self._names:
            return default
        name, self._names = self._names[0], self._names[1:]
        return name

    def begin(self, what: object, error: TirxError) -> None:
        """Register an object that `end` must finish before the kernel ends, or else `error` is raised."""
        self._unfinished[what] = error.at(self.span)

    def end(self, what: object) -> None:
        self._unfinished.pop(what, None)

    @contextmanager
    def inlining(self, name: str) -> Iterator[Span | None]:
        """Expand the body of an inline function, and yield the location of the call."""
        call = self.span
        self.inline_depth += 1
        self.expansions += 1
        if self.expansions > _MAX_EXPANSIONS:
            raise TirxError(
                f"inline functions are expanded {_MAX_EXPANSIONS:,} times in this kernel, which are too many copies of "
                f"their statements; the last one is `{name}`",
                None if call is None else replace(call, inlined_at=None),
                "call it in a loop of the kernel, range(…), or end its recursion earlier",
            )
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
