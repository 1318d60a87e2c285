"""`tir.Schedule.rfactor`: factoring of a reduction into two blocks, the first data parallel along a reduction loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, NoReturn

from tirx_mini.ir import (
    INT32,
    REDUCE,
    SPATIAL,
    Binary,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Mutator,
    Range,
    Stmt,
    TirxError,
    Var,
    binary,
    const,
    structural_equal,
    substitute,
    walk,
)
from tirx_mini.script import caller_span

from .tree import in_loops, size_of


class Factored(NamedTuple):
    """The two blocks of a factored reduction: `partial` in place of the block, and `whole` after its loops.

    buffer: the output of the first one.
    """

    partial: Block
    whole: Stmt
    buffer: Buffer


def factored(block: Block, loops: list[For], loop: For, factor_axis: int, name: str) -> Factored:
    """Factor the reduction of `block` into two steps.

    loops: those around it, outermost first. loop: the one along which the first step is data parallel. name: that of
    its block.

    Raises `TirxError` for a loop that does not reduce, and for a block that does more than one reduction.
    """
    return _Factor(block, loops, loop, name).made(factor_axis)


class _Factor:
    def __init__(self, block: Block, loops: list[For], loop: For, name: str) -> None:
        self.block, self.loops, self.loop, self.name = block, loops, loop, name
        pairs = list(zip(block.kinds, block.values, strict=True))
        self.reducing = [each for each in loops if any(each.var in set(walk(v)) for k, v in pairs if k == REDUCE)]
        self.counting = [each for each in loops if any(each.var in set(walk(v)) for k, v in pairs if k == SPATIAL)]
        self.spatial = [(var, n) for n, var in enumerate(block.vars) if block.kinds[n] == SPATIAL]

    def refuse(self, why: str, hint: str | None = None) -> NoReturn:
        raise TirxError(f"rfactor of {self.block.name} at {self.loop.var.name}: {why}", caller_span(), hint)

    def made(self, factor_axis: int) -> Factored:
        block, store = self.block, self.block.body
        if all(each is not self.loop for each in self.reducing):
            names = ", ".join(each.var.name for each in self.reducing) or "nothing"
            self.refuse("the loop does not reduce", f"{block.name} reduces over {names}")
        if any(each is other for each in self.reducing for other in self.counting):
            self.refuse("a loop counts elements and their reduction", "fuse only loops of one kind")
        if block.init is None or not isinstance(block.init, BufferStore) or not isinstance(store, BufferStore):
            self.refuse("it is not one reduction with its initialisation", "call rfactor before decompose_reduction")
        guarded = set(walk(block.predicate)) if block.predicate is not None else set()
        if any(each.var in guarded for each in self.reducing):
            self.refuse("not all of its iterations are executed", "split by a factor that divides the extent")
        value, target = store.value, store.buffer
        own = BufferLoad(target.dtype, target, store.indices)
        if not isinstance(value, Binary) or not structural_equal(value.a, own):
            self.refuse("it does not combine what it wrote before with one more value", "write C[i] = C[i] + x")
        if not 0 <= factor_axis <= target.ndim:
            self.refuse(f"{target.name} has no dimension {factor_axis}")
        shape = list(target.shape)
        shape.insert(factor_axis, _extent(self.loop))
        buffer = Buffer(f"{target.name}_rf", tuple(shape), target.dtype, span=caller_span())
        return Factored(
            self._partial(buffer, factor_axis, value, block.init), self._whole(buffer, factor_axis, value), buffer
        )

    def _partial(self, buffer: Buffer, axis: int, value: Binary, init: BufferStore) -> Block:
        """Build the block that reduces within each iteration of the loop."""
        block, store = self.block, self.block.body
        assert isinstance(store, BufferStore)
        own = Var(INT32, f"v{self.loop.var.name}")
        rest = {each.var: Var(INT32, f"v{each.var.name}") for each in self.reducing if each is not self.loop}
        known: dict[Var, Expr] = {self.loop.var: own, **rest}
        reduced = {
            var: substitute(block.values[n], known) for n, var in enumerate(block.vars) if block.kinds[n] == REDUCE
        }
        place = list(store.indices)
        place.insert(axis, own)
        indices = tuple(place)
        before = BufferLoad(buffer.dtype, buffer, indices)
        combined = binary(value.op, before if rest else init.value, substitute(value.b, reduced))
        loops = [self.loop, *(each for each in self.reducing if each is not self.loop)]
        return replace(
            block, name=self.name,
            vars=(own, *(var for var, _ in self.spatial), *rest.values()),
            kinds=(SPATIAL, *(SPATIAL for _ in self.spatial), *(REDUCE for _ in rest)),
            domains=(_domain(loops[0]), *(block.domains[n] for _, n in self.spatial), *map(_domain, loops[1:])),
            values=(self.loop.var, *(block.values[n] for _, n in self.spatial), *(each.var for each in loops[1:])),
            body=BufferStore(buffer, indices, combined, span=store.span),
            init=BufferStore(buffer, indices, init.value, span=init.span) if rest else None,
            reads=None, writes=None,
        )  # fmt: skip

    def _whole(self, buffer: Buffer, axis: int, value: Binary) -> Stmt:
        """Build the block that combines the partial results, with its own loops."""
        block, store = self.block, self.block.body
        assert isinstance(store, BufferStore)
        own = Var(INT32, f"v{self.loop.var.name}")
        loops = [*(each for each in self.loops if any(each is other for other in self.counting)), self.loop]
        fresh = {each.var: Var(INT32, each.var.name) for each in loops}
        variables = {var: Var(INT32, var.name) for var, _ in self.spatial}
        renamed = _Renamed({**variables})
        place = [renamed.expr(index) for index in store.indices]
        place.insert(axis, own)
        whole = binary(value.op, renamed.expr(value.a), BufferLoad(buffer.dtype, buffer, tuple(place)))
        body = BufferStore(store.buffer, tuple(map(renamed.expr, store.indices)), whole, span=store.span)
        made = replace(
            block,
            vars=(*variables.values(), own),
            kinds=(*(SPATIAL for _ in self.spatial), REDUCE),
            domains=(*(block.domains[n] for _, n in self.spatial), _domain(self.loop)),
            values=(*(_Renamed(fresh).expr(block.values[n]) for _, n in self.spatial), fresh[self.loop.var]),
            body=body, init=None if block.init is None else renamed.stmt(block.init),
            predicate=None if block.predicate is None else _Renamed(fresh).expr(block.predicate),
            reads=None, writes=None,
        )  # fmt: skip
        return in_loops(made, [(fresh[each.var], _extent(each)) for each in loops], block)


class _Renamed(Mutator):
    """Renames variables."""

    def __init__(self, names: Mapping[Var, Var]) -> None:
        self.names = names

    def visit_Var(self, node: Var) -> Expr:
        return self.names.get(node, node)


def _extent(loop: For) -> int:
    return size_of(loop.stop, loop.var.name)


def _domain(loop: For) -> Range:
    return Range(const(0), const(_extent(loop)))
