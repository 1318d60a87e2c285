"""Rendering of lowered IR statements as C++."""

from __future__ import annotations

from tirx_mini.ir import (
    UNROLLED,
    AllocBuffer,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    Hint,
    If,
    PrimFunc,
    Ramp,
    Reinterpret,
    Seq,
    Span,
    Stmt,
    TirxError,
    While,
    walk,
)  # fmt: skip

from .exprs import ExprRenderer, flat_index
from .names import Names
from .notes import Notes
from .types import SCALARS, bits_type, c_type
from .usage import byte_offset, loops_over_registers, loops_with_instructions, unread_scalars, vector_buffers
from .writer import Writer


class StmtRenderer:
    """Renders the body of a function."""

    def __init__(self, func: PrimFunc, names: Names, expr: ExprRenderer, out: Writer, notes: Notes) -> None:
        self.names, self.expr, self.out, self.notes = names, expr, out, notes
        self.unrolled = loops_over_registers(func)
        self.vectorised = vector_buffers(func)
        self.rolled = loops_with_instructions(func)
        self.unread = unread_scalars(func)

    def __call__(self, stmt: Stmt) -> None:
        method = getattr(self, f"_{type(stmt).__name__.lower()}", None)
        if method is None:
            raise TirxError(f"{type(stmt).__name__} has no CUDA form; was the kernel lowered?", stmt.span)
        try:
            method(stmt)
        except TirxError as error:
            raise error.at(stmt.span) from None

    def _seq(self, stmt: Seq) -> None:
        waiting: list[AllocBuffer] = []  # scalars are declared with their first value, where it is given in this block
        for inner in stmt.stmts:
            if isinstance(inner, AllocBuffer) and inner.buffer.scalar and inner.buffer not in self.unread:
                waiting.append(inner)
                continue
            for alloc in self._mentioned(waiting, inner):
                waiting.remove(alloc)
                if _initialises(alloc.buffer, inner):
                    self._scalar(alloc.buffer, inner)
                    break
                self._scalar(alloc.buffer, None, alloc.span)
            else:
                self(inner)

    @staticmethod
    def _mentioned(allocs: list[AllocBuffer], stmt: Stmt) -> list[AllocBuffer]:
        if not allocs:
            return []
        used = {getattr(node, "buffer", None) for node in walk(stmt)}
        return sorted((a for a in allocs if a.buffer in used), key=lambda a: _initialises(a.buffer, stmt))

    def _block(self, stmt: Stmt) -> None:
        with self.names.block():
            self(stmt)

    # -- declarations -------------------------------------------------------------------------------------------

    def _bind(self, stmt: Bind) -> None:
        value = self.expr(stmt.value)  # rendered first: the name is not in scope in its own value
        name = self.names.define(stmt.var, stmt.var.name)
        self.out.line(f"const {bits_type(stmt.var.dtype)} {name} = {value};", stmt.span)
        self.notes.value(stmt.var, stmt.value)

    def _allocbuffer(self, stmt: AllocBuffer) -> None:
        buffer = stmt.buffer
        if buffer in self.names or buffer in self.unread:  # the shared-memory pool is declared with the kernel
            return
        if buffer.scope != "local":
            raise TirxError(f"{buffer.name} is allocated in {buffer.scope} memory, but was not placed", stmt.span)
        if buffer.scalar:
            self._scalar(buffer, None, stmt.span)
            return
        align = f"__align__({buffer.align or 16}) " if buffer.align or buffer in self.vectorised else ""
        name = self.names.define(buffer, buffer.name)
        self.out.line(f"{align}{SCALARS[buffer.dtype]} {name}[{buffer.size}];", stmt.span)

    def _scalar(self, buffer: Buffer, store: Stmt | None, span: Span | None = None) -> None:
        """Declare a mutable variable, with an initial value if it is stored to at once."""
        value = f" = {self.expr(store.value)}" if isinstance(store, BufferStore) else ""
        name = self.names.define(buffer, buffer.name)
        self.out.line(f"{c_type(buffer.dtype)} {name}{value};", store.span if store else span)
        if isinstance(store, BufferStore):
            self.notes.value(buffer, store.value)

    def _declbuffer(self, stmt: DeclBuffer) -> None:
        buffer = stmt.buffer
        if buffer.scope == "tmem":
            shape = " x ".join(map(str, buffer.shape))
            self.out.line(f"// {buffer.name}: {shape} {buffer.dtype} in tensor memory", stmt.span)
        elif buffer not in self.names:
            source, start = self.names[buffer.root], byte_offset(buffer)
            place = f"({source} + {start})" if start else source
            kind, name = SCALARS[buffer.dtype], self.names.define(buffer, buffer.name)
            self.out.line(f"{kind}* const {name} = ({kind}*){place};", stmt.span)
            if buffer.scope == "shared":
                self.notes.shared(buffer)

    # -- effects ------------------------------------------------------------------------------------------------

    def _bufferstore(self, stmt: BufferStore) -> None:
        if len(stmt.indices) != 1:
            raise TirxError(f"the store to {stmt.buffer.name} was not flattened; was the kernel lowered?", stmt.span)
        if stmt.buffer in self.unread:
            return
        index, value = stmt.indices[0], stmt.value
        if isinstance(index, Ramp) and isinstance(value, BufferLoad) and isinstance(flat_index(value), Ramp):
            source = self.expr.copied(value)
            kind = source.removeprefix("*(").split("*", 1)[0]
            self.out.line(f"{self.expr.place(stmt.buffer, index, kind)} = {source};", stmt.span)
        else:
            kind = bits_type(value.dtype) if isinstance(value, Reinterpret) else None
            self.out.line(f"{self.expr.place(stmt.buffer, index, kind)} = {self.expr(value)};", stmt.span)
            if stmt.buffer.scalar:
                self.notes.value(stmt.buffer, value)

    def _evaluate(self, stmt: Evaluate) -> None:
        self.out.line(f"{self.expr(stmt.call)};", stmt.span)
        self.notes.instruction(stmt.call)

    def _hint(self, stmt: Hint) -> None:
        details = [f"{key} = {value}" for key, value in stmt.attrs]
        named = stmt.message or not stmt.attrs
        text = f"hint: {', '.join([stmt.message, *details])}" if named else f"attr: {', '.join(details)}"
        for line in text.splitlines():
            self.out.line(f"// {line}".rstrip("\\"), stmt.span)  # a backslash would continue the comment
        if stmt.body is not None:
            self(stmt.body)

    # -- control ------------------------------------------------------------------------------------------------

    def _if(self, stmt: If) -> None:
        cond = self.expr(stmt.cond)
        with self.out.block(f"if ({cond})", span=stmt.span):
            if not self.out.quotes:
                self.notes.role(stmt.cond, cond)
            self._block(stmt.then)
            orelse = stmt.orelse
            while isinstance(orelse, If):
                cond = self.expr(orelse.cond)
                self.out.reopen(f"else if ({cond})")
                self.notes.role(orelse.cond, cond)
                self._block(orelse.then)
                orelse = orelse.orelse
            if orelse is not None:
                self.out.reopen("else")
                self._block(orelse)

    def _for(self, stmt: For) -> None:
        start, stop = self.expr(stmt.start), self.expr(stmt.stop)
        if stmt.kind == UNROLLED or stmt.unroll or (stmt.unroll is None and stmt in self.unrolled):
            self.out.line("#pragma unroll", stmt.span)
        elif stmt.unroll is False or stmt in self.rolled:
            self.out.line("#pragma unroll 1", stmt.span)
        with self.names.block():
            name = self.names.define(stmt.var, stmt.var.name)
            less, sign = (">", "-") if stmt.step < 0 else ("<", "+")
            step = f"{2 * sign}{name}" if abs(stmt.step) == 1 else f"{name} {sign}= {abs(stmt.step)}"
            head = f"for ({c_type(stmt.var.dtype)} {name} = {start}; {name} {less} {stop}; {step})"
            with self.out.block(head, span=stmt.span):
                self(stmt.body)

    def _while(self, stmt: While) -> None:
        with self.out.block(f"while ({self.expr(stmt.cond)})", span=stmt.span):
            self._block(stmt.body)

    def _break(self, stmt: Break) -> None:
        self.out.line("break;", stmt.span)

    def _continue(self, stmt: Continue) -> None:
        self.out.line("continue;", stmt.span)


def _initialises(buffer: Buffer, stmt: Stmt | None) -> bool:
    """Return whether `stmt` initialises the scalar `buffer`."""
    return (
        buffer.scalar
        and isinstance(stmt, BufferStore)
        and stmt.buffer is buffer
        and not any(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(stmt.value))
    )
