"""Nested blocks (`blockize`) and their replacement by instructions (`tensorize`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tirx_mini.ir import (
    INT32,
    SPATIAL,
    Analyzer,
    Block,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Range,
    Stmt,
    TirxError,
    Var,
    const,
    int_value,
    substitute,
    walk,
)
from tirx_mini.script import caller_span

from . import tree
from .intrinsic import TensorIntrin
from .registered import registered
from .tir_blocks import extent_of
from .tir_loops import LoopSchedule
from .tir_tensorize import tensorized_loops
from .trace import BlockRV, LoopRV, traced


class NestedSchedule(LoopSchedule):
    """A schedule that can turn loops into nested blocks and instructions."""

    @traced
    def blockize(self, target: LoopRV, preserve_unit_iters: bool = True) -> BlockRV:
        """Turn a loop and its inner loops into a block around the contained block.

        The variables of the new block count the tiles that the loops cover. preserve_unit_iters: accepted as TVM has
        it; variables of one value are kept.

        Raises `TirxError` where the loops hold more than one block, or cover no tiles of equal size.
        """
        if not isinstance(target, LoopRV):
            raise TirxError(f"{target!r} is not a loop", caller_span(), "blockize a loop of get_loops")
        outer = _Blockized(self._loop(target), tree.ranges_of(self.func.body), self._unused).made()
        self._swap(self._loop(target), outer)
        return BlockRV(outer.name, self.working_on)

    @traced
    def tensorize(
        self, block_or_loop: BlockRV | LoopRV, tensor_intrin: TensorIntrin | str, preserve_unit_iters: bool = True
    ) -> None:
        """Replace a loop nest, or a block made by `blockize`, by an instruction. The block inside is removed.

        tensor_intrin: of `te.decl_tensor_intrin`, or the name of one that is registered. Where its reduction goes on in
            a loop around it, the reduction begins in a block of its own (`decompose_reduction`). preserve_unit_iters:
            accepted as TVM has it.
        """
        intrin = registered(tensor_intrin) if isinstance(tensor_intrin, str) else tensor_intrin
        if not isinstance(intrin, TensorIntrin):
            raise TirxError(f"{tensor_intrin!r} is not an instruction", caller_span(), "use te.decl_tensor_intrin")
        if not isinstance(block_or_loop, (LoopRV, BlockRV)):
            raise TirxError(f"{block_or_loop!r} is not a loop", caller_span(), "tensorize a loop of get_loops")
        body, node = self.func.body, self.get(block_or_loop)
        if isinstance(node, Block):
            loops = _unnested(node, tree.ranges_of(body))
            body = tree.replaced(body, node, loops)
            node = loops
        self._set(tree.replaced(body, node, tensorized_loops(body, node, intrin)))


class _Blockized:
    """The conversion of a loop nest around a block into a nested block."""

    def __init__(self, loop: For, ranges: Analyzer, unused: Any) -> None:
        self.loop, self.ranges, self.unused = loop, ranges, unused
        self.loops: list[For] = [loop]
        while isinstance(self.loops[-1].body, For):
            self.loops.append(self.loops[-1].body)
        block = self.loops[-1].body
        if not isinstance(block, Block):
            raise self._error("they hold more than a block", "blockize a loop with one block in it")
        self.block: Block = block
        self.inner = {each.var for each in self.loops}
        self.outer_vars: list[tuple[Var, str, Range, Expr]] = []
        self.inner_vars: list[tuple[Var, str, Range, Expr]] = []
        self.values: dict[Var, Expr] = {}

    def _error(self, why: str, hint: str | None = None) -> TirxError:
        return TirxError(f"the loops from {self.loop.var.name} on cannot become a block: {why}", caller_span(), hint)

    def made(self) -> Block:
        block = self.block
        if block.predicate is not None:
            raise self._error(f"iterations of {block.name} are left out", "split by factors that divide the extents")
        for each in zip(block.vars, block.kinds, block.domains, block.values, strict=True):
            self._divide(*each)
        inner = self._inner(block.name, substitute(block.body, self.values))
        nest = tree.in_loops(inner, [(each.var, extent_of(each)) for each in self.loops], block)
        nest = _like(nest, self.loops)
        init = None
        if block.init is not None:
            init = self._init(block.init)
        vars_, kinds, domains, values = zip(*self.outer_vars, strict=True) if self.outer_vars else ((), (), (), ())
        return Block(self.unused(f"{block.name}_o"), vars_, kinds, domains, values, nest, init, span=block.span)

    def _divide(self, var: Var, kind: str, domain: Range, value: Expr) -> None:
        """Split a block variable into variables of the outer and inner blocks."""
        moving, still = self.ranges.partition(
            self.ranges.simplify(value), lambda part: any(each in self.inner for each in walk(part))
        )
        bounds = self.ranges.bounds(moving)
        size = bounds[1] + 1 if bounds is not None and bounds[0] == 0 else 0
        tile = self.ranges.simplify(still // size) if size else still
        extent = tree.size_of(domain.extent, var.name) if size > 1 else 0
        if int_value(domain.start) != 0 or not size or extent % size or not self.ranges.equal(tile * size, still):
            raise self._error(f"{var.name} = {value!r} does not count tiles that divide {domain.extent!r}")
        own, within = Var(INT32, f"{var.name}_o"), Var(INT32, f"{var.name}_i")
        self.outer_vars.append((own, kind, Range(const(0), const(extent // size)) if size > 1 else domain, tile))
        if size > 1:
            self.inner_vars.append((within, kind, Range(const(0), const(size)), moving))
        place: Expr = own if size == 1 else within if size == extent else own * size + within
        self.values[var] = place

    def _inner(self, name: str, body: Stmt, chosen: object = None) -> Block:
        listed = [each for each in self.inner_vars if chosen is None or each[1] == chosen]
        vars_, kinds, domains, values = zip(*listed, strict=True) if listed else ((), (), (), ())
        return Block(name, vars_, kinds, domains, values, body, span=self.block.span, attrs=self.block.attrs)

    def _init(self, init: Stmt) -> Stmt:
        """Build the initialisation of a tile's reduction, with fresh loops and variables."""
        used = {v for _, kind, _, value in self.inner_vars if kind == SPATIAL for v in walk(value)}
        loops = [(each, Var(INT32, f"{each.var.name}_init")) for each in self.loops if each.var in used]
        block = self._inner(self.unused(f"{self.block.name}_init"), substitute(init, self.values), SPATIAL)
        fresh: dict[Var, Expr] = {var: Var(INT32, var.name) for var in block.vars}
        names: dict[Var, Expr] = {each.var: own for each, own in loops}
        vars_ = tuple(var for var in fresh.values() if isinstance(var, Var))
        values = tuple(substitute(value, names) for value in block.values)
        block = replace(block, vars=vars_, values=values, body=substitute(block.body, fresh), attrs=())
        return tree.in_loops(block, [(own, extent_of(each)) for each, own in loops], block)


def _like(nest: Stmt, loops: list[For]) -> Stmt:
    """Copy the kinds of other loops to a loop nest."""
    if not loops or not isinstance(nest, For):
        return nest
    return replace(loops[0], body=_like(nest.body, loops[1:]))


def _unnested(outer: Block, ranges: Analyzer) -> For:
    """Return the loop nest that `blockize` converted to a block, around the inner block with its original variables.

    Raises `TirxError` where something else is in the block.
    """
    loops: list[For] = []
    node: Stmt = outer.body
    while isinstance(node, For):
        loops.append(node)
        node = node.body
    if not loops or not isinstance(node, Block):
        raise TirxError(
            f"{outer.name} is not a block of loops around one block", caller_span(), "tensorize the loop around it"
        )
    known = dict(zip(outer.vars, outer.values, strict=True))
    merged: list[Var] = []
    body: Stmt = node.body
    init = _begun(outer, node)
    values: list[Expr] = []
    domains: list[Range] = []
    for var, kind, domain, value in zip(node.vars, node.kinds, node.domains, node.values, strict=True):
        rest, whole = _place_of(var, body, ranges), Var(INT32, var.name)
        back: dict[Var, Expr] = {var: whole - rest}
        body = tree.simplified(substitute(body, back))
        init = tree.simplified(substitute(init, back)) if init is not None and kind == SPATIAL else init
        merged.append(whole)
        values.append(ranges.simplify(substitute(rest, known) + value))
        domains.append(Range(const(0), const(_extent(domain, outer, rest))))
    single = [each for each in zip(outer.vars, outer.kinds, outer.domains, outer.values, strict=True)
              if each[0] in set(walk(body))]  # fmt: skip
    block = replace(
        node, vars=(*(each[0] for each in single), *merged), kinds=(*(each[1] for each in single), *node.kinds),
        domains=(*(each[2] for each in single), *domains), values=(*(each[3] for each in single), *values),
        body=body, init=init, reads=None, writes=None,
    )  # fmt: skip
    nest = _like(tree.in_loops(block, [(each.var, extent_of(each)) for each in loops], block), loops)
    assert isinstance(nest, For)
    return _with_block(nest, block)


def _with_block(nest: For, block: Block) -> For:
    inner = _with_block(nest.body, block) if isinstance(nest.body, For) else block
    return replace(nest, body=inner)


def _begun(outer: Block, node: Block) -> Stmt | None:
    """Return the initialisation of a blockized block, in the variables of its inner block."""
    if outer.init is None:
        return None
    (block,) = tree.blocks_in(outer.init)
    spatial = [var for var, kind in zip(node.vars, node.kinds, strict=True) if kind == SPATIAL]
    return substitute(block.body, dict(zip(block.vars, spatial, strict=True)))


def _place_of(var: Var, body: Stmt, ranges: Analyzer) -> Expr:
    """Return the offset that every index adds to a variable."""
    accesses = [node for node in walk(body) if isinstance(node, (BufferLoad, BufferStore))]
    for index in (index for access in accesses for index in access.indices):
        if var in set(walk(index)):
            moving, still = ranges.partition(ranges.simplify(index), lambda part: var in set(walk(part)))
            if moving is var:
                return still
    return const(0)


def _extent(domain: Range, outer: Block, rest: Expr) -> int:
    """Return the number of values of an index, over its variable and all tiles."""
    size, tiles = tree.size_of(domain.extent, outer.name), set(walk(rest))
    for var, whole in zip(outer.vars, outer.domains, strict=True):
        size *= tree.size_of(whole.extent, outer.name) if var in tiles else 1
    return size

