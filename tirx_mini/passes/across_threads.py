"""Cross-thread reductions of blocks, where a reduction loop is bound to ``threadIdx``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from tirx_mini.ir import (
    INT32,
    REDUCE,
    SERIAL,
    THREAD,
    AllocBuffer,
    Binary,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    If,
    Mutator,
    Stmt,
    TirxError,
    Var,
    binary,
    const,
    int_value,
    seq,
    structural_equal,
    substitute,
    walk,
)
from tirx_mini.records import dataclass, replace

_OPERATIONS = ("+", "*", "max", "min")


def reduce_across_threads(body: Stmt) -> Stmt:
    """Lower each reduction that threads share.

    Each thread combines the values of its iterations and puts the result into shared memory; one thread combines those
    of all threads and stores the result, or each thread does where the result is in its registers.

    Raises `TirxError` for a block that does more than one reduction with its initialisation.
    """
    return _Across().stmt(body)


class _Across(Mutator):
    """Replaces loop nests, starting at the outermost reduction loop."""

    def __init__(self) -> None:
        self.around: list[For] = []

    def visit_For(self, node: For) -> Stmt:
        nest = _nest(node)
        if nest is not None:
            loops, block = nest
            reducing = _reducing(block)
            shared = [loop for loop in loops if loop.var in reducing and _is_thread(loop)]
            if shared and node.var in reducing:
                return _Shared(self.around, loops, block, reducing).made()
        self.around.append(node)
        rebuilt = self.rebuild(node)
        self.around.pop()
        return rebuilt

    def visit_Block(self, node: Block) -> Stmt:
        bound = [loop for loop in self.around if loop.var in _reducing(node) and _is_thread(loop)]
        if bound:
            hint = "keep them in loops of their own"
            raise _error(node, bound[0], "other statements are in the loops that reduce", hint)
        around, self.around = self.around, []
        rebuilt = self.rebuild(node)
        self.around = around
        return rebuilt


def _nest(node: For) -> tuple[list[For], Block] | None:
    """Return a perfect loop nest around a single block, and the block."""
    loops: list[For] = []
    inner: Stmt = node
    while isinstance(inner, For):
        loops.append(inner)
        inner = inner.body
    return (loops, inner) if isinstance(inner, Block) else None


def _reducing(block: Block) -> set[object]:
    """Return the subexpressions of the bindings of a block's reduction variables."""
    pairs = zip(block.kinds, block.values, strict=True)
    return {part for kind, value in pairs if kind == REDUCE for part in walk(value)}


def _is_thread(loop: For) -> bool:
    return loop.kind == THREAD and loop.thread.startswith("threadIdx")


def _error(block: Block, loop: For, why: str, hint: str | None = None) -> TirxError:
    what = f"{block.name} cannot be reduced across the threads of {loop.var.name}, which {loop.thread} counts"
    return TirxError(f"{what}: {why}", block.span or loop.span, hint)


@dataclass(frozen=True, eq=False)
class _Shared:
    """A reduction shared by threads.

    around: the loops around the nest, within the same block. loops: those of the nest, of which the first one reduces.
    reducing: the variables of those that do.
    """

    around: Sequence[For]
    loops: Sequence[For]
    block: Block
    reducing: set[object]

    def _refuse(self, why: str, hint: str | None = None) -> NoReturn:
        loop = next(loop for loop in self.loops if loop.var in self.reducing and _is_thread(loop))
        raise _error(self.block, loop, why, hint)

    def made(self) -> Stmt:
        block, store = self.block, self.block.body
        if not isinstance(block.init, BufferStore):
            hint = "bind the loop before decompose_reduction, or call rfactor"
            self._refuse("it does not begin with one T.init", hint)
        value = store.value if isinstance(store, BufferStore) else None
        own = BufferLoad(store.value.dtype, store.buffer, store.indices) if isinstance(store, BufferStore) else None
        combines = isinstance(value, Binary) and value.op in _OPERATIONS and structural_equal(value.a, own)
        if not isinstance(store, BufferStore) or not isinstance(value, Binary) or not combines:
            self._refuse("it is not of the form C[i] = C[i] + value, with +, *, max or min", "call rfactor")
        serial = [loop for loop in self.loops if loop.kind != THREAD]
        other = next((loop for loop in serial if loop.var not in self.reducing or loop.kind != SERIAL), None)
        if other is not None:
            self._refuse(f"the loop {other.var.name} is inside the reduction", "reorder: spatial loops go outside")
        return self._statements(store, block.init.value, value)

    def _statements(self, store: BufferStore, identity: Expr, value: Binary) -> Stmt:
        values = dict(zip(self.block.vars, self.block.values, strict=True))
        name, dtype = store.buffer.name, store.value.dtype
        own = Buffer(f"{name}_part", (1,), dtype, "local", span=self.block.span)
        threads = [loop for loop in (*self.around, *self.loops) if _is_thread(loop)]
        extents = [int_value(loop.stop) or self._refuse("its extent is not known") for loop in threads]
        parts = Buffer(f"{name}_parts", tuple(extents), dtype, "shared", span=self.block.span)
        place = tuple(substitute(store.indices, values))
        inside, outside = self._conditions(values)

        def combine(more: Expr) -> Stmt:
            return BufferStore(own, (const(0),), binary(value.op, BufferLoad(dtype, own, (const(0),)), more))

        step = _guarded(combine(substitute(value.b, values)), (*outside, *inside))
        for loop in reversed([loop for loop in self.loops if loop.kind != THREAD]):
            step = replace(loop, body=step)
        begin = BufferStore(own, (const(0),), substitute(identity, values))
        mine = BufferStore(parts, tuple(loop.var for loop in threads), BufferLoad(dtype, own, (const(0),)))
        shared = [loop for loop in threads if loop.var in self.reducing]
        other = {loop.var: Var(INT32, f"{loop.var.name}_other") for loop in shared}
        each = BufferLoad(dtype, parts, tuple(other.get(loop.var, loop.var) for loop in threads))
        total: Stmt = combine(each)
        for loop in reversed(shared):
            total = For(other[loop.var], const(0), loop.stop, total, span=self.block.span)
        result = BufferStore(store.buffer, place, BufferLoad(dtype, own, (const(0),)), span=store.span)
        first = () if store.buffer.scope == "local" else tuple(binary("==", loop.var, 0) for loop in shared)
        whole = _guarded(seq(begin, total, result), (*outside, *first))
        body = seq(AllocBuffer(own), AllocBuffer(parts), begin, step, mine, whole, span=self.block.span)
        for loop in reversed([loop for loop in self.loops if loop.kind == THREAD]):
            body = replace(loop, body=body)
        return body

    def _conditions(self, values: dict[Var, Expr]) -> tuple[list[Expr], list[Expr]]:
        """Return the conditions of an iteration, split into those on reduction variables and those on the element."""
        predicate = self.block.predicate
        parts = [] if predicate is None else _conjuncts(substitute(predicate, values))
        inside = [part for part in parts if set(walk(part)) & self.reducing_vars]
        return inside, [part for part in parts if not set(walk(part)) & self.reducing_vars]

    @property
    def reducing_vars(self) -> set[object]:
        return {loop.var for loop in self.loops if loop.var in self.reducing}


def _conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, Binary) and condition.op == "and":
        return [*_conjuncts(condition.a), *_conjuncts(condition.b)]
    return [condition]


def _guarded(body: Stmt, conditions: Sequence[Expr]) -> Stmt:
    if not conditions:
        return body
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = binary("and", whole, condition)
    return If(whole, body, span=body.span)
