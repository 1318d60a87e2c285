"""The builder of one kernel's code: statements, program values, shared memory and barriers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tirx_mini.hardware import WARP_SIZE, WARPGROUP_WARPS
from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Analyzer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    DataType,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    If,
    Ramp,
    ScopeIds,
    Span,
    Stmt,
    TirxError,
    Var,
    as_expr,
    binary,
    const,
    seq,
    substitute,
)
from tirx_mini.isa import TABLE

from ..layouts import LinearLayout, linear_index
from ..ssa import Op, OpKind, Region, Value
from .neighbours import divisor_of
from .values import Tile, in_buffer

AGENT_BARRIER = 1
"""The named barrier of the computing warps where other agents run beside them."""
GROUP_BARRIER = 2
"""The first of the named barriers of single computing warpgroups; there are at most four of these. Those of `turns`
follow."""
CLUSTER = 2
"""CTAs of a cluster."""


class Emitter:
    """Appends statements to the innermost block.

    warps: warps that compute: layouts distribute tiles over them.
    threads: threads of the CTA, those of other agents included.
    prologue, epilogue: the first and last statements of the kernel. After the prologue all threads synchronise.
    """

    def __init__(self, warps: int, agents: int = 0) -> None:
        self.warps, self.threads = warps, WARP_SIZE * (warps + agents)
        self.prologue: list[Stmt] = []
        self.epilogue: list[Stmt] = []
        self.span: Span | None = None
        self.lane, self.warp = Var(INT32, "lane"), Var(INT32, "warp")
        self.analyzer = Analyzer({self.lane: (0, WARP_SIZE - 1), self.warp: (0, self.threads // WARP_SIZE - 1)})
        self.values: dict[Value, Any] = {}
        self.again: frozenset[Value] = frozenset()
        """Values that are used more than once, or in a loop or branch inside the block that defines them."""
        self.used: frozenset[Value] = frozenset()
        """Values that are used at all."""
        self.users: Mapping[Value, Sequence[Op]] = {}
        """The operations that use each value."""
        self.program: Sequence[Expr] = ()
        """Where in the grid the CTA is."""
        self.programs: Sequence[int] = ()
        self.rank: Var | None = None
        """The number of the CTA in its cluster; None without clusters."""
        self.last: list[Stmt] = []
        """What comes behind the epilogue."""
        self.rules: Mapping[OpKind, Callable[[Emitter, Op], None]] = {}
        self.pending: set[tuple[Buffer, bool]] = set()
        """Arrays that were read, or written, since all threads last synchronised."""
        self.effects_of: Callable[[Region], Iterable[tuple[Buffer, bool]]] = lambda region: ()
        """The arrays that a region reads and writes."""
        self.divisors: dict[Buffer, int] = {}
        """A number that divides each element of a buffer of registers that is written once."""
        self.holders: dict[Buffer, set[Value]] = {}
        """The values that registers hold."""
        self.made: set[Value] = set()
        """The results of the operations that are emitted in the innermost region."""
        self.emitted: set[Op] = set()
        """Operations that are emitted."""
        self.pinned: set[Buffer] = set()
        """Registers that more than one use reads, so that nothing may overwrite them."""
        self.tmem: dict[str, Buffer] = {}
        """Tensor memory, as elements of each type that is used."""
        self.tmem_word: Buffer | None = None
        """Where tcgen05.alloc writes the address of tensor memory in shared memory."""
        self.tmem_address: Var | None = None
        self.tmem_columns = 0
        self.arrives_at: Expr | None = None
        """The barrier at which copies arrive that are being emitted."""
        self.in_pair = False
        """Whether what is loaded is for the tensor cores of a pair of CTAs."""
        self._blocks: list[list[Stmt]] = [[]]
        self._shared: list[Buffer] = []
        self._scratch: dict[tuple[DataType, int, int], Buffer] = {}
        self._busy = False
        self.alone = False
        """Whether one thread executes what is emitted: the agent that loads, or issues MMAs."""
        self.agents: Mapping[str, int] = {}
        """The warps of each agent."""
        self.in_agent = False
        """Whether only the computing warps execute what is emitted."""
        self.in_team = False
        """Whether several warps that load execute what is emitted; they have no barrier."""
        self.stores_by_tma = False
        """Whether threads may have begun stores that read shared memory."""

    # -- statements --------------------------------------------------------------------------------------------------

    def add(self, *stmts: Stmt) -> None:
        self._blocks[-1] += stmts

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Collect the statements added inside the context into a list."""
        self._blocks.append([])
        yield self._blocks[-1]
        self._blocks.pop()

    def body(self) -> Stmt:
        """Return all added statements."""
        return seq(*self._blocks[0])

    def bind(self, name: str, value: Expr) -> Expr:
        """Bind `value` to a named variable; constants and variables are returned unchanged."""
        if isinstance(value, (Const, Var)):
            return value
        var = Var(value.dtype, name)
        self.add(Bind(var, value, span=self.span))
        if value.dtype.is_integer and (bounds := self.analyzer.bounds(value)) is not None:
            self.analyzer = self.analyzer.bind(var, *bounds)
        return var

    def store(self, buffer: Buffer, index: Expr | int, value: Expr, lanes: int = 1) -> None:
        """Emit ``buffer[index] = value``, or a vector store of `lanes` elements."""
        at = as_expr(index)
        at = Ramp(at.dtype, at, lanes) if lanes > 1 else at
        self.add(BufferStore(buffer, (at,), value, span=self.span))

    def load(self, buffer: Buffer, place: Expr) -> Expr:
        """Return the element of a memory buffer at a flat offset."""
        return BufferLoad(buffer.dtype, buffer, (place,), span=self.span)

    def instruction(self, name: str, *args: object, **modifiers: object) -> Stmt:
        """Return an instruction executed for its side effect."""
        return Evaluate(self._call(name, "handle", args, modifiers), span=self.span)

    def issue(self, name: str, *args: object, **modifiers: object) -> None:
        """Emit an instruction."""
        self.add(self.instruction(name, *args, **modifiers))

    def value_of(self, name: str, dtype: str, *args: object, **modifiers: object) -> Expr:
        """Return the result of an instruction."""
        return self._call(name, dtype, args, modifiers)

    def _call(self, name: str, dtype: str, args: tuple[object, ...], modifiers: dict[str, Any]) -> Call:
        operands, attrs = TABLE[name].bind(args, modifiers)
        return Call(DataType(dtype), name, operands, attrs, span=self.span)

    def loop(self, count: int, body: Callable[[Expr], None], *, parallel: bool = True, name: str = "r") -> None:
        """Emit `body` for 0 … count - 1, as a loop if needed.

        parallel: no iteration reads what another writes.
        """
        if count == 1:
            body(const(0))
            return
        var = Var(INT32, name)
        outer = self.analyzer
        self.analyzer = outer.bind(var, 0, count - 1)
        with self.block() as stmts:
            body(var)
        self.analyzer = outer
        self.add(For(var, const(0), const(count), seq(*stmts), parallel=parallel, span=self.span))

    @contextmanager
    def when(self, cond: Expr | None) -> Iterator[None]:
        """Guard the statements added inside the context by `cond`; None means no guard."""
        if cond is None:
            yield
            return
        with self.block() as stmts:
            yield
        self.add(If(cond, seq(*stmts), span=self.span))

    @contextmanager
    def team(self, first: int, warps: int) -> Iterator[None]:
        """Restrict the statements added inside the context to a team of `warps` warps starting at `first`."""
        outer = self.warp, self.warps, self.analyzer
        self.warps, self.in_team = warps, True
        var = Var(INT32, "member")
        self.add(Bind(var, self.warp - first, span=self.span))
        self.analyzer, self.warp = self.analyzer.bind(var, 0, warps - 1), var
        yield
        self.warp, self.warps, self.analyzer = outer
        self.in_team = False

    # -- storage -----------------------------------------------------------------------------------------------------

    def local(self, name: str, count: int, dtype: str) -> Buffer:
        """Allocate registers in each thread."""
        buffer = Buffer(name, (count,), DataType(dtype), "local", scalar=count == 1, span=self.span)
        self.add(AllocBuffer(buffer, span=self.span))
        return buffer

    def declare(self, buffers: Iterable[Buffer]) -> None:
        """Declare registers at this point that later statements already use."""
        self.add(*(AllocBuffer(buffer, span=self.span) for buffer in buffers))

    def shared(self, name: str, shape: tuple[int, ...], dtype: str, layout: object = None, align: int = 0) -> Buffer:
        """Allocate shared memory for the lifetime of the kernel."""
        buffer = Buffer(name, shape, DataType(dtype), "shared", layout, align=align, span=self.span)
        self._shared.append(buffer)
        return buffer

    def scratch(self, dtype: str, count: int, offset: int = 0) -> Buffer:
        """Return scratch shared memory for a momentary exchange between threads; all scratch buffers overlap.

        Call `fill` before it is written and `filled` before it is read.

        offset: where in that place it begins, in bytes: a multiple of 16.
        """
        key = DataType(dtype), count, offset
        if key not in self._scratch:
            name = f"exchange_{dtype}"
            self._scratch[key] = Buffer(name, (count,), key[0], "shared", byte_offset=offset, span=self.span)
        return self._scratch[key]

    def fill(self) -> None:
        """Synchronise before scratch memory is written, so that all threads have read its previous contents."""
        if self._busy:
            self.sync()
        self._busy = True

    def filled(self) -> None:
        """Synchronise before scratch memory is read, so that all threads have written to it."""
        self.sync()

    def part(self) -> None:
        """Synchronise before agents diverge if scratch memory may still be in use."""
        if self._busy:
            self.sync()
        self._busy = False

    def scratch_may_be_busy(self) -> None:
        """Mark scratch memory as possibly in use, at the start of a block with unknown predecessors."""
        self._busy = True

    def touch(self, buffer: Buffer, write: bool) -> None:
        """Record an array access, synchronising first if another thread may have accessed the same element."""
        if (buffer, True) in self.pending or (write and (buffer, False) in self.pending):
            self.sync()
        self.pending.add((buffer, write))

    def sync(self) -> None:
        """Synchronise the computing threads."""
        self.pending = set()
        if self.in_team:
            raise self.refuse("the warps that load would have to exchange numbers")
        if self.in_agent:
            self.issue("bar.sync", AGENT_BARRIER, WARP_SIZE * self.warps)
        else:
            self.issue("bar.sync.all", 0)

    @property
    def group(self) -> Expr:
        """The index of the executing warpgroup among the computing ones."""
        return self.warp // WARPGROUP_WARPS

    def sync_group(self) -> None:
        """Synchronise the threads of a computing warpgroup."""
        if self.warps <= WARPGROUP_WARPS:
            self.sync()
        else:
            self.issue("bar.sync", self.group + GROUP_BARRIER, WARP_SIZE * WARPGROUP_WARPS)

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, value: Value) -> Any:
        """Return the code generated for a program value."""
        return self.values[value]

    def set(self, value: Value, emitted: object) -> None:
        """Set the code of a program value; a tile with several uses is computed once."""
        if isinstance(emitted, Tile) and value in self.again and emitted.buffer is None:
            emitted = replace(emitted, over=None)
        if isinstance(emitted, Tile) and value in self.again and not emitted.cheap:
            emitted = self.held(emitted, value.hint or "x")
        elif isinstance(emitted, Expr) and value in self.again:
            emitted = self.bind(value.hint or "v", emitted)
        self.set_held(value, emitted)

    def set_held(self, value: Value, emitted: object) -> None:
        """Set the code of a program value that is held in registers or variables."""
        if isinstance(emitted, Tile) and emitted.buffer is not None:
            self.holders.setdefault(emitted.buffer, set()).add(value)
            if value in self.again:
                self.pinned.add(emitted.buffer)
        self.values[value] = emitted

    def take(self, value: Value) -> Tile:
        """Return the tile of `value` in registers that may be overwritten: its own after its last use, else a copy."""
        tile = self.tile(value)
        if tile.buffer is None and tile.over is not None and tile.over not in self.pinned:
            self.fill_registers(tile.over, tile)
            tile = in_buffer(tile.over, tile.layout)
        elif tile.buffer is None or tile.buffer in self.pinned:
            tile = self.held(replace(tile, buffer=None), value.hint or "acc")
        if tile.buffer is not None:
            self.divisors.pop(tile.buffer, None)
        return tile

    def tile(self, value: Value) -> Tile:
        found = self.values[value]
        assert isinstance(found, Tile), f"%{value.hint} is {found!r}, not a tile in registers"
        return found

    def scalar(self, value: Value) -> Expr:
        found = self.values[value]
        assert isinstance(found, Expr), f"%{value.hint} is {found!r}, not a number"
        return found

    def held(self, tile: Tile, name: str = "x") -> Tile:
        """Return `tile` held in registers, allocating them if necessary."""
        if tile.buffer is not None:
            return tile
        buffer = self.local(name, tile.registers, tile.dtype)
        self.fill_registers(buffer, tile)
        if tile.dtype.is_integer:
            step = Var(INT32, "step") if tile.registers > 1 else const(0)
            self.divisors[buffer] = divisor_of(tile.at(step), self.analyzer, self.divisors)
        return replace(in_buffer(buffer, tile.layout), uniform=tile.uniform)

    def fill_registers(self, buffer: Buffer, tile: Tile) -> None:
        """Store all of a thread's elements to registers."""
        self.loop(tile.registers, lambda r: self.store(buffer, r, tile.at(r)))

    # -- places ------------------------------------------------------------------------------------------------------

    def index(self, layout: LinearLayout, register: Expr) -> Expr:
        """Return the row-major index of the element in a register of the executing thread."""
        return linear_index((register, layout.register), (self.lane, layout.lane), (self.warp, layout.warp))

    def coordinate(self, layout: LinearLayout, axis: int, register: Expr) -> Expr:
        """Return the index of a register's element along one dimension."""
        return self.index(layout.along(axis), register)

    def owner(self, layout: LinearLayout) -> Expr | None:
        """Return the condition that the executing thread is the first replica of its elements, or None."""
        return self.zero_bits(*layout.owners())

    def zero_bits(self, lanes: int, warps: int) -> Expr | None:
        """Return the condition that the given lane and warp bits are 0, or None if there are none."""
        cond: Expr | None = None
        for number, mask in ((self.warp, warps), (self.lane, lanes)):
            if mask:
                test = number & mask == const(0)
                cond = test if cond is None else binary("and", cond, test)
        return cond

    def first_thread(self) -> Expr | None:
        """Return the condition that the executing thread is the first computing thread."""
        return self.zero_bits(WARP_SIZE - 1, self.warps - 1)

    def element(self, tile: Tile, number: Expr, name: str = "v") -> Expr:
        """Return the tile element at a row-major index as a value uniform across threads."""
        if tile.uniform:
            return self.bind(name, tile.at(const(0)))
        size = tile.layout.size
        if self.alone or (self.in_team and size == 1):
            assert size == 1, "a single thread does not have the elements of a tile"
            return self.bind(name, tile.at(const(0)))
        buffer = self.scratch(tile.dtype, size)
        self.fill()
        with self.when(self.owner(tile.layout)):
            self.loop(tile.registers, lambda r: self.store(buffer, self.index(tile.layout, r), tile.at(r)))
        self.filled()
        return self.bind(name, buffer[number if size > 1 else 0])

    def uniform(self, tile: Tile, name: str = "v") -> Expr:
        """Return the only element of a tile as a value uniform across threads."""
        return self.element(tile, const(0), name)

    # -- operations --------------------------------------------------------------------------------------------------

    def emit(self, op: Op) -> None:
        """Emit one operation by its rule."""
        rule = self.rules.get(op.kind)
        outer, self.span = self.span, op.span or self.span
        if rule is None:
            raise self.refuse(f"{op.kind.name} is not compiled for GPUs: the interpreter alone executes it")
        try:
            rule(self, op)
        except TirxError as error:
            raise error.at(self.span) from None
        self.span = outer

    def region(self, region: Region) -> None:
        """Emit a region without its terminator."""
        outer, self.made = self.made, set(region.params)
        for op in region.ops:
            if not op.kind.terminator:
                self.emit(op)
                self.made.update(op.results)
                self.emitted.add(op)
        self.made = outer

    # -- the whole ---------------------------------------------------------------------------------------------------

    def kernel_body(self, ids: tuple[Var, ...], grid: tuple[int, ...]) -> Stmt:
        """Assemble the kernel body: indices, shared memory, prologue, statements and epilogue."""
        declared: list[Stmt] = [
            ScopeIds(ids, grid, "cta", "kernel"),
            *([ScopeIds((self.rank,), (CLUSTER,), "cta", "cluster")] if self.rank is not None else []),
            ScopeIds((self.warp,), (self.threads // WARP_SIZE,), "warp", "cta"),
            ScopeIds((self.lane,), (WARP_SIZE,), "thread", "warp"),
            *(AllocBuffer(buffer) for buffer in self._shared),
        ]
        main = seq(*self.prologue, *self._blocks[0], *self.epilogue, *self.last)
        if not self._scratch:
            return seq(*declared, main)
        largest = max(self._scratch.values(), key=lambda buffer: buffer.byte_offset + buffer.nbytes)
        size = largest.byte_offset + largest.nbytes
        root = Buffer("exchange", (size,), DataType("uint8"), "shared", align=16, span=largest.span)
        views = {buffer: replace(buffer, source=root) for buffer in self._scratch.values()}
        main = substitute(main, {}, views)
        return seq(*declared, AllocBuffer(root), *(DeclBuffer(view) for view in views.values()), main)

    def refuse(self, message: str, hint: str | None = None) -> TirxError:
        """Return the error for an operation that cannot be lowered: ``raise emitter.refuse(…)``."""
        return TirxError(message, self.span, hint)
