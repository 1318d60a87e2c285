"""Lowering of a scheduled function to an LLVM module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tirx_mini.ir import (
    PARALLEL,
    THREAD,
    UNROLLED,
    VECTORIZED,
    AllocBuffer,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    Hint,
    If,
    PrimFunc,
    Seq,
    Stmt,
    TirxError,
    Var,
    While,
    const,
    int_value,
    substitute,
    trips,
    walk,
)
from tirx_mini.records import dataclass

from .expressions import Expressions
from .function import FunctionText
from .types import llvm_type, memory_type

_WRAPPING = frozenset(("//", "/", "%", "&", ">>", "<<"))
"""Operators of integers of which LLVM makes a remainder."""
MOST_UNROLLED = 64
"""Iterations of an unrolled loop that are written out; LLVM is asked to unroll a longer one."""
MOST_STACK = 1 << 16
"""The largest buffer in bytes that is kept on the stack."""
VECTOR_ALIGN = 64
"""The alignment of buffers in bytes: that of the widest vector."""


UNROLL, NO_VECTORS = '!{!"llvm.loop.unroll.enable"}', '!{!"llvm.loop.vectorize.width", i32 1}'
"""What LLVM is told of a loop."""


@dataclass
class _Module:
    """The state shared by the functions of a module.

    loops: the LLVM metadata of each annotated loop.
    """

    functions: list[str]
    declared: set[str]
    loops: list[list[str]] = field(default_factory=list)
    bodies: int = 0

    def told(self, properties: list[str]) -> str:
        """Return the loop metadata for the back edge of a loop with the given properties."""
        if not properties:
            return ""
        self.loops.append(properties)
        return f", !llvm.loop !{len(self.loops) - 1}"

    def metadata(self) -> Iterator[str]:
        number = len(self.loops)
        for loop, properties in enumerate(self.loops):
            own = range(number, number + len(properties))
            yield f"!{loop} = distinct !{{!{loop}, {', '.join(f'!{each}' for each in own)}}}"
            yield from (f"!{each} = {text}" for each, text in zip(own, properties, strict=True))
            number += len(properties)


def llvm_module(func: PrimFunc) -> str:
    """Return the LLVM text of a module for a function. Its parameters are the buffers' pointers, the scalars, and a
    pointer to the function that distributes parallel iterations (`executable.py`).
    """
    shared = _Module([], {"declare ptr @malloc(i64)", "declare void @free(ptr)"})
    params = [(_parameter(param), f"%arg.{number}") for number, param in enumerate(func.params)]
    out = FunctionText(func.name, [*params, ("ptr", "%share")], linkage="")
    writer = _Statements(out, shared)
    for param, (_, name) in zip(func.params, params, strict=True):
        if isinstance(param, Buffer):
            writer.expr.places[param] = name
        else:
            writer.expr.values[param] = name
    writer(func.body)
    parts = [f"; {func.name}", *sorted(shared.declared), *shared.functions, out.text(), *shared.metadata()]
    return "\n\n".join(parts) + "\n"


def _parameter(param: Buffer | Var) -> str:
    return "ptr noalias noundef" if isinstance(param, Buffer) else llvm_type(param.dtype)


class _Statements:
    """Emits the statements of a function."""

    def __init__(self, out: FunctionText, shared: _Module, inside: bool = False) -> None:
        self.out, self.shared = out, shared
        self.inside = inside  # a parallel loop
        self.expr = Expressions(out, shared.declared)

    def __call__(self, stmt: Stmt) -> None:
        method = getattr(self, f"_{type(stmt).__name__.lower()}", None)
        if method is None:
            raise TirxError("this statement is for a GPU, not for a CPU", stmt.span, 'build it for "cuda"')
        try:
            method(stmt)
        except TirxError as error:
            raise error.at(stmt.span) from None

    def _seq(self, stmt: Seq) -> None:
        on_heap: list[str] = []
        for part in stmt.stmts:
            if isinstance(part, AllocBuffer):
                on_heap += self._allocbuffer(part)
            else:
                self(part)
        for pointer in on_heap:
            self.out.effect(f"call void @free(ptr {pointer})")

    def _allocbuffer(self, stmt: AllocBuffer) -> list[str]:
        """Emit the allocation of a buffer and return the pointer to free at the end of the block, if any."""
        buffer = stmt.buffer
        kind = memory_type(buffer.dtype)
        elements = buffer.size if buffer.layout is None else buffer.layout.cosize()
        nbytes = elements * buffer.dtype.itemsize
        if nbytes <= MOST_STACK:
            text = f"alloca [{elements} x {kind}], align {VECTOR_ALIGN}"
            self.expr.places[buffer] = self.out.reserve(text, "local")
            return []
        raw = self.out.value(f"call ptr @malloc(i64 {nbytes + VECTOR_ALIGN})")
        number = self.out.value(f"ptrtoint ptr {raw} to i64")
        up = self.out.value(f"add i64 {number}, {VECTOR_ALIGN - 1}")
        aligned = self.out.value(f"and i64 {up}, {-VECTOR_ALIGN}")
        self.expr.places[buffer] = self.out.value(f"inttoptr i64 {aligned} to ptr", "heap")
        return [raw]

    def _bind(self, stmt: Bind) -> None:
        self.expr.values[stmt.var] = self.expr(stmt.value)

    def _bufferstore(self, stmt: BufferStore) -> None:
        value = self.expr(stmt.value)
        pointer, dtype = self.expr.address(stmt.buffer, stmt.indices[0])
        kind = llvm_type(dtype)
        if dtype.is_bool:
            value, kind = self.out.value(f"zext {kind} {value} to {memory_type(dtype)}"), memory_type(dtype)
        self.out.effect(f"store {kind} {value}, ptr {pointer}, align {max(1, stmt.buffer.dtype.itemsize)}")

    def _hint(self, stmt: Hint) -> None:
        if stmt.body is not None:
            self(stmt.body)

    # -- control ------------------------------------------------------------------------------------------------

    def _if(self, stmt: If) -> None:
        condition = self.expr(stmt.cond)
        if stmt.orelse is None:
            with self.out.when(condition):
                self(stmt.then)
            return
        then, orelse, after = (self.out.label(hint) for hint in ("then", "else", "after"))
        self.out.branch(condition, then, orelse)
        for label, part in ((then, stmt.then), (orelse, stmt.orelse)):
            self.out.enter(label)
            self(part)
            self.out.jump(after)
        self.out.enter(after)

    def _for(self, stmt: For) -> None:
        start, stop = int_value(stmt.start), int_value(stmt.stop)
        if stmt.kind == THREAD:
            raise TirxError(
                f"the loop over {stmt.var.name} is bound to {stmt.thread}, which a CPU does not have",
                stmt.span,
                'use parallel in place of bind, or build it for "cuda"',
            )
        if stmt.kind == PARALLEL and not self.inside:
            self._parallel(stmt)
            return
        if start is not None and stop is not None:
            if stmt.kind == UNROLLED and trips(start, stop, stmt.step) <= MOST_UNROLLED:
                for number in range(start, stop, stmt.step):
                    self(substitute(stmt.body, {stmt.var: const(number, stmt.var.dtype)}))
                return
            if trips(start, stop, stmt.step) > 0:
                ends = sorted((start, range(start, stop, stmt.step)[-1]))
                self.expr.ranges = self.expr.ranges.bind(stmt.var, ends[0], ends[1])
        kind = llvm_type(stmt.var.dtype)
        first, last = self.expr(stmt.start), self.expr(stmt.stop)
        with self.out.loop(kind, first, last, stmt.step, "i", self._told(stmt)) as counter:
            self.expr.values[stmt.var] = counter
            self(stmt.body)

    def _told(self, stmt: For) -> str:
        properties = [UNROLL] if stmt.kind in (UNROLLED, VECTORIZED) or stmt.unroll else []
        return self.shared.told(properties + [NO_VECTORS] * _wraps(stmt))

    def _while(self, stmt: While) -> None:
        head, body, after = (self.out.label(hint) for hint in ("while", "do", "after"))
        self.out.jump(head)
        self.out.enter(head)
        self.out.branch(self.expr(stmt.cond), body, after)
        self.out.enter(body)
        self(stmt.body)
        self.out.jump(head)
        self.out.enter(after)

    def _parallel(self, stmt: For) -> None:
        """Emit a parallel loop: outline its body as a function of an iteration range, with captured values in memory.
        """
        used = list(dict.fromkeys(walk(stmt.body)))
        buffers = dict.fromkeys(node.buffer for node in used if isinstance(node, (BufferLoad, BufferStore)))
        captured: list[Buffer | Var] = [buffer for buffer in buffers if buffer in self.expr.places]
        captured += [node for node in used if isinstance(node, Var) and node in self.expr.values]
        name = f"{self.shared.bodies}.iterations"
        self.shared.bodies += 1
        self._body(stmt, f"body.{name}", captured)
        self._unpack(f"unpack.{name}", f"body.{name}", captured)
        context = self.out.reserve(f"alloca [{max(1, len(captured))} x i64], align 8", "context")
        for number, each in enumerate(captured):
            slot = self.out.value(f"getelementptr inbounds i64, ptr {context}, i64 {number}")
            held = self.expr.places[each] if isinstance(each, Buffer) else self.expr.values[each]
            self.out.effect(f"store {_passed(each)} {held}, ptr {slot}, align 8")
        first, last = (self.expr(bound) for bound in (stmt.start, stmt.stop))
        kind = llvm_type(stmt.var.dtype)
        if kind != "i64":
            first, last = (self.out.value(f"sext {kind} {end} to i64") for end in (first, last))
        self.out.effect(f"call void %share(ptr @unpack.{name}, ptr {context}, i64 {first}, i64 {last})")

    def _body(self, stmt: For, name: str, captured: list[Buffer | Var]) -> None:
        """Emit the outlined function that executes iterations `%first` to `%last`."""
        kinds = ("ptr noalias" if isinstance(each, Buffer) else _passed(each) for each in captured)
        params = [(kind, f"%c.{number}") for number, kind in enumerate(kinds)]
        out = FunctionText(name, [*params, ("i64", "%first"), ("i64", "%last")])
        inner = _Statements(out, self.shared, inside=True)
        inner.expr.ranges = self.expr.ranges
        for each, (_, held) in zip(captured, params, strict=True):
            if isinstance(each, Buffer):
                inner.expr.places[each] = held
            else:
                inner.expr.values[each] = held
        kind = llvm_type(stmt.var.dtype)
        ends = [out.value(f"trunc i64 {end} to {kind}") if kind != "i64" else end for end in ("%first", "%last")]
        stop = int_value(stmt.stop)
        if stop is not None:
            inner.expr.ranges = inner.expr.ranges.bind(stmt.var, 0, max(0, stop - 1))
        metadata = self.shared.told([NO_VECTORS] * _wraps(stmt))
        with out.loop(kind, ends[0], ends[1], 1, "i", metadata) as counter:
            inner.expr.values[stmt.var] = counter
            inner(stmt.body)
        self.shared.functions.append(out.text())

    def _unpack(self, name: str, body: str, captured: list[Buffer | Var]) -> None:
        """Emit the entry point called by threads, which loads the captured values and calls the body."""
        out = FunctionText(name, [("ptr", "%context"), ("i64", "%first"), ("i64", "%last")])
        args: list[str] = []
        for number, each in enumerate(captured):
            slot = out.value(f"getelementptr inbounds i64, ptr %context, i64 {number}")
            args.append(f"{_passed(each)} {out.value(f'load {_passed(each)}, ptr {slot}, align 8')}")
        out.effect(f"call void @{body}({', '.join([*args, 'i64 %first', 'i64 %last'])})")
        self.shared.functions.append(out.text())


def _wraps(loop: For) -> bool:
    """Return whether a loop contains a wrapping index, such as a remainder by 16.

    LLVM 22 makes vectors of such a loop as if the index went on: the lanes after the remainder's end load what is
    behind the row (`test_an_index_that_starts_again`). The schedule's own vectors are right, so LLVM adds none here.
    """
    return any(isinstance(node, Binary) and node.op in _WRAPPING and not node.dtype.is_float for node in walk(loop))


def _passed(each: Buffer | Var) -> str:
    return "ptr" if isinstance(each, Buffer) else llvm_type(each.dtype)

