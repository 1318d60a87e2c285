"""`tir.Schedule`: eagerly applied transformations of blocks and loops, with a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tirx_mini.ir import (
    INT32,
    REDUCE,
    SPATIAL,
    AllocBuffer,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Mutator,
    Seq,
    Stmt,
    TirxError,
    Var,
    binary,
    const,
    int_value,
    seq,
    substitute,
    walk,
)
from tirx_mini.passes import STORAGE_ALIGN, box
from tirx_mini.script import caller_span

from . import tree
from .stage import checked_scope
from .tir_blocks import extent_of
from .tir_padding import PaddingSchedule
from .tir_rfactor import factored
from .trace import BlockRV, LoopRV, traced


class Schedule(PaddingSchedule):
    """A schedule of a function with blocks, whose transformations apply immediately.

    Raises `TirxError`, at the line of the call, for a transformation that would change the result.
    """

    # -- places --------------------------------------------------------------------------------------------------

    @traced
    def compute_at(
        self, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Compute a block in each iteration of a loop, for the elements that the iteration reads.

        preserve_unit_loops: keep loops of one iteration. index: accepted as TVM has it; the block comes before the
            first one that reads it.
        """
        node, at = self._block(block), self._loop(loop)
        buffer = self._intermediate(node, "compute_at")
        readers = [b for b in tree.blocks_in(self.func.body) if b is not node and buffer in tree.reads_of(b)]
        inside = tree.blocks_in(at)
        outside = [reader.name for reader in readers if reader not in inside]
        if outside or not readers:
            name = outside[0] if outside else "no block"
            raise TirxError(f"{block.name} cannot be computed at {loop}: {name} reads it outside of it", caller_span())
        if node in inside:
            raise TirxError(f"{block.name} is already computed in {loop}", caller_span())
        region = self._region(buffer, readers, at)
        moved = self._over(node, _written_by(node, buffer), region, preserve_unit_loops)
        body = tree.without(self.func.body, node)
        at = next(each for each in tree.loops_in(body) if each.var is loop.var)
        parts = list(at.body.stmts) if isinstance(at.body, Seq) else [at.body]
        first = next(n for n, part in enumerate(parts) if any(b.name in _names(readers) for b in tree.blocks_in(part)))
        parts.insert(first, moved)
        self._set(tree.replaced(body, at, replace(at, body=seq(*parts))))

    @traced
    def reverse_compute_at(
        self, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Compute a consumer block in each iteration of a loop, for the elements that the iteration produces.

        preserve_unit_loops: keep loops of one iteration. index: accepted as TVM has it; the block comes last.
        """
        node, at = self._block(block), self._loop(loop)
        inside = tree.blocks_in(at)
        made = {buffer: writer for writer in inside for buffer in tree.writes_of(writer)}
        buffer = next((buffer for buffer in tree.reads_of(node) if buffer in made), None)
        if buffer is None or node in inside or REDUCE in node.kinds:
            raise TirxError(
                f"{block.name} cannot be computed at {loop}: it must read what a block in the loop writes, be outside "
                "of the loop, and reduce over nothing",
                caller_span(),
            )
        around = [part for part in tree.path_to(self.func.body, lambda s: s is at) if isinstance(part, For)]
        carried = _reduced(made[buffer])
        late = next((each.var.name for each in around if each.var in carried), None)
        if late is not None:
            raise TirxError(
                f"{block.name} cannot be computed at {loop}: the elements are not complete before {late} ends",
                caller_span(),
            )
        region = self._region(buffer, [made[buffer]], at)
        moved = self._over(node, _read_by(node, buffer, block.name), region, preserve_unit_loops)
        body = tree.without(self.func.body, node)
        at = next(each for each in tree.loops_in(body) if each.var is loop.var)
        self._set(tree.replaced(body, at, replace(at, body=seq(at.body, moved))))

    @traced
    def compute_inline(self, block: BlockRV) -> None:
        """Inline a block into its readers."""
        node = self._block(block)
        buffer = self._intermediate(node, "compute_inline")
        store = node.body
        if node.init is not None or REDUCE in node.kinds or not isinstance(store, BufferStore):
            raise TirxError(f"{block.name} reduces, which its readers cannot do", caller_span(), "use compute_at")
        places = _written_by(node, buffer)
        value = store.value
        body = tree.without(self.func.body, node)
        self._set(_Inline(buffer, places, value).stmt(body))

    @traced
    def reverse_compute_inline(self, block: BlockRV) -> None:
        """Inline a block into its producer, merging the two."""
        node, blocks = self._block(block), tree.blocks_in(self.func.body)
        read = set(tree.reads_of(node))
        writers = [each for each in blocks if read & set(tree.writes_of(each))]
        what = f"{block.name} cannot be inlined into what it reads"
        if len(writers) != 1 or REDUCE in (*node.kinds, *writers[0].kinds):
            raise TirxError(f"{what}: it must read what one block writes, and neither may reduce", caller_span())
        buffer = self._intermediate(writers[0], "reverse_compute_inline")
        places = _read_by(node, buffer, block.name)
        sizes = dict(zip(node.vars, (int_value(domain.extent) for domain in node.domains), strict=True))
        whole = tuple(sizes.get(var) for var in places if var is not None) == buffer.shape
        alone = sum(buffer in tree.reads_of(each) for each in blocks) == 1 and node.predicate is None
        if not alone or not whole or len(places) != len(node.vars):
            raise TirxError(f"{what}: it must be the only reader, and read each element once", caller_span())
        body = tree.replaced(tree.without(self.func.body, node), writers[0], _merged(writers[0], node, buffer, places))
        self._set(_Inline(buffer, [], const(0)).stmt(body))

    def _intermediate(self, node: Block, what: str) -> Buffer:
        """Return the intermediate buffer that a block writes for other blocks."""
        written = tree.writes_of(node)
        if len(written) != 1 or written[0] in self.func.params:
            raise TirxError(f"{what}: {node.name} writes an argument, which is to be written in full", caller_span())
        writers = [each.name for each in tree.blocks_in(self.func.body) if written[0] in tree.writes_of(each)]
        if len(writers) > 1:
            raise TirxError(
                f"{what}: {node.name} is one of several blocks that write {written[0].name}: {', '.join(writers)}",
                caller_span(),
                "call it before decompose_reduction",
            )
        return written[0]

    def _region(self, buffer: Buffer, blocks: Sequence[Block], at: For) -> tuple[object, ...]:
        """Return the region of a buffer that the blocks access in one iteration of the loop `at`."""
        ranges = tree.ranges_of(self.func.body)
        around = [part for part in tree.path_to(self.func.body, lambda stmt: stmt is at) if isinstance(part, For)]
        still = {
            each.var for each in around if not (buffer.scope == "shared" and each.thread.startswith("threadIdx"))
        }
        accesses = [(indices, ranges) for block in blocks for indices in tree.accesses_of(block, buffer)]
        return box(accesses, buffer.shape, lambda var: var not in still)

    def _over(self, node: Block, places: Sequence[Var | None], region: Sequence[Any], units: bool) -> Stmt:
        """Return a block with its own loops over a region; `places` are its variables per buffer dimension."""
        ranges = tree.ranges_of(self.func.body)
        loops: list[tuple[Var, int]] = []
        values: list[Expr] = []
        predicate: Expr | None = None
        for var, domain in zip(node.vars, node.domains, strict=True):
            size, first = tree.size_of(domain.extent, node.name), domain.start
            along = [dim for dim, place in enumerate(places) if place is var]
            if along:
                part = region[along[0]]
                size, first = part.size, part.first
            own = Var(INT32, f"ax{len(loops)}")
            ranges = ranges.bind(own, 0, size - 1)
            value = ranges.simplify(first + own) if size > 1 else first
            if size > 1 or units:
                loops.append((own, size))
            inside = ranges.simplify(binary("<", value, domain.start + domain.extent))
            if getattr(inside, "value", None) is not True:
                predicate = inside if predicate is None else binary("and", predicate, inside)
            values.append(value)
        moved = replace(tree.with_values(node, values, ranges), predicate=predicate)
        return tree.in_loops(moved, loops, node)

    # -- memory --------------------------------------------------------------------------------------------------

    @traced
    def cache_read(
        self, block: BlockRV, read_buffer_index: int | str | Buffer, storage_scope: str, consumer_blocks: object = None
    ) -> BlockRV:
        """Add a block that copies a buffer to a memory, from which `block` then reads.

        read_buffer_index: its position among those that the block reads, its name, or itself. consumer_blocks: None,
            or a list of `block`: other readers are not changed.
        """
        self._only_consumer(block, consumer_blocks)
        node = self._block(block)
        buffer = _chosen(tree.reads_of(node), read_buffer_index, block.name, "reads")
        self._alone(node, buffer, "cache_read", tree.writes_of)
        copy = self._cached(buffer, checked_scope(storage_scope))
        self._swap(node, tree.with_buffers(node, {buffer: copy}))
        return self._copied(self._path(block), buffer, copy, copy.name, before=True)

    @traced
    def cache_write(
        self, block: BlockRV, write_buffer_index: int | str | Buffer, storage_scope: str, consumer_blocks: object = None
    ) -> BlockRV:
        """Add a block that copies the output of `block`, now written to a memory, to its original buffer.

        write_buffer_index: its position among those that the block writes, its name, or itself.
        """
        self._only_consumer(block, consumer_blocks)
        node = self._block(block)
        buffer = _chosen(tree.writes_of(node), write_buffer_index, block.name, "writes")
        self._alone(node, buffer, "cache_write", lambda each: [*tree.reads_of(each), *tree.writes_of(each)])
        copy = self._cached(buffer, checked_scope(storage_scope))
        self._swap(node, tree.with_buffers(node, {buffer: copy}))
        return self._copied(self._path(block), copy, buffer, copy.name, before=False)

    def _only_consumer(self, block: BlockRV, consumers: Any) -> None:
        listed = consumers if isinstance(consumers, (list, tuple)) else [consumers] if consumers else []
        names = [each if isinstance(each, str) else self._block(each).name for each in listed]
        if set(names) - {self._block(block).name}:
            raise TirxError(
                f"the copy is for {block.name}, not for {', '.join(names)}",
                caller_span(),
                "leave out consumer_blocks, and call it for each reader",
            )

    def _alone(self, node: Block, buffer: Buffer, what: str, uses: Callable[[Block], list[Buffer]]) -> None:
        """Raise `TirxError` if another block in the loop nest of `node` uses a buffer."""
        path = tree.path_to(self.func.body, lambda stmt: stmt is node)
        nest = path[1] if isinstance(path[0], Seq) else path[0]
        other = next((each for each in tree.blocks_in(nest) if each is not node and buffer in uses(each)), None)
        if other is not None:
            raise TirxError(
                f"{what}: {other.name}, in the same loops as {node.name}, also uses {buffer.name}, but the copy would "
                "be outside of them",
                caller_span(),
                f"call {what} before the blocks are moved into one nest of loops",
            )

    def _cached(self, buffer: Buffer, scope: str) -> Buffer:
        return replace(buffer, name=f"{buffer.name}_{scope}", scope=scope, layout=None)

    def _copied(self, path: list[Stmt], source: Buffer, target: Buffer, name: str, before: bool) -> BlockRV:
        """Insert a copy of a whole buffer beside the outermost loop nest of `path`."""
        unique = self._unused(name)
        nest = tree.over_elements(
            unique, source.shape, lambda own: BufferStore(target, own, source[own]), caller_span()
        )
        top = path[1] if isinstance(path[0], Seq) else path[0]
        new = seq(nest, top) if before else seq(top, nest)
        fresh = target if before else source
        self._set(tree.allocated(tree.replaced(self.func.body, top, new), fresh))
        return BlockRV(unique, self.working_on)

    @traced
    def storage_align(self, block: BlockRV, buffer_index: int | str, axis: int, factor: int, offset: int) -> None:
        """Pad the rows along dimension `axis` of an output buffer to ``factor * n + offset`` elements."""
        node = self._block(block)
        buffer = _chosen(tree.writes_of(node), buffer_index, block.name, "writes")
        if buffer in self.func.params:
            raise TirxError(f"{buffer.name} is an argument, whose memory the caller lays out", caller_span())
        attrs = dict(node.attrs)
        place, dim = tree.writes_of(node).index(buffer), axis % buffer.ndim
        attrs[STORAGE_ALIGN] = (*attrs.get(STORAGE_ALIGN, ()), (place, dim, factor, offset))
        self._swap(node, replace(node, attrs=tuple(attrs.items())))

    @traced
    def set_scope(self, block: BlockRV, buffer_index: int | str | Buffer, storage_scope: str) -> None:
        """Set the memory of a block's output buffer."""
        buffer = _chosen(tree.writes_of(self._block(block)), buffer_index, block.name, "writes")
        if buffer in self.func.params:
            raise TirxError(f"{buffer.name} is an argument, which is in global memory", caller_span())
        moved = replace(buffer, scope=checked_scope(storage_scope))
        self._set(substitute(self.func.body, {}, {buffer: moved}))

    # -- reductions ----------------------------------------------------------------------------------------------

    @traced
    def rfactor(self, loop: LoopRV, factor_axis: int, merge_loops: bool = True) -> BlockRV:
        """Factor a reduction into two blocks. The new block computes the partial result of each iteration of `loop`,
        along a new dimension; the original block reduces that dimension in its own loops.

        loop: a loop over which its block reduces. factor_axis: the position of the new dimension. The sum has another
        order then, and with it the rounding of its last bits. Returns the new block, which has the loops.
        """
        at = self._loop(loop)
        inside = tree.blocks_in(at)
        path = tree.path_to(self.func.body, lambda stmt: bool(inside) and stmt is inside[0])
        top = next((part for part in path if isinstance(part, For)), at)
        if len(tree.blocks_in(top)) != 1:
            raise TirxError(f"rfactor at {loop}: its loops hold more than one block", caller_span())
        node = inside[0]
        name = self._unused(f"{node.name}_rf")
        loops = [part for part in path if isinstance(part, For)]
        axis = factor_axis if factor_axis >= 0 else factor_axis + tree.writes_of(node)[0].ndim + 1
        made = factored(node, loops, at, axis, name)
        body = tree.replaced(self.func.body, top, seq(tree.replaced(top, node, made.partial), made.whole))
        self._set(tree.allocated(body, made.buffer))
        self._tidy()
        return BlockRV(name, self.working_on)

    @traced
    def decompose_reduction(self, block: BlockRV, loop: LoopRV) -> BlockRV:
        """Move the initialisation of a reduction to a separate block before `loop`."""
        node, at = self._block(block), self._loop(loop)
        inside = [part for part in tree.path_to(at, lambda stmt: stmt is node) if isinstance(part, For)]
        reduces = _reduced(node)
        around = [part for part in self._path(block) if isinstance(part, For) and part not in inside]
        late = next((each.var.name for each in around if each.var in reduces), None)
        if node.init is None or not inside or late is not None:
            why = "it has no T.init" if node.init is None else f"{loop} is not around it" if not inside else ""
            why = why or f"{late}, around {loop}, reduces, so each of its iterations would begin anew"
            raise TirxError(f"the initialisation of {block.name} cannot stand before {loop}: {why}", caller_span())
        kept = [n for n, kind in enumerate(node.kinds) if kind == SPATIAL]
        used = {v for n in kept for v in walk(node.values[n])}
        own = {each.var: Var(INT32, f"{each.var.name}_init") for each in inside if each.var in used}
        start = Block(
            f"{node.name}_init", tuple(node.vars[n] for n in kept), (SPATIAL,) * len(kept),
            tuple(node.domains[n] for n in kept), tuple(substitute(node.values[n], own) for n in kept), node.init,
            predicate=None if node.predicate is None else substitute(node.predicate, own), span=node.span,
        )  # fmt: skip
        if node.predicate is not None and set(walk(node.predicate)) & reduces:
            raise TirxError(f"{block.name} leaves out iterations of its reduction, so it begins itself", caller_span())
        loops = [(own[each.var], extent_of(each)) for each in inside if each.var in own]
        update = replace(node, init=None, name=f"{node.name}_update")
        self._swap(at, seq(tree.in_loops(start, loops, node), tree.replaced(at, node, update)))
        self.renamed[block] = update.name
        return BlockRV(start.name, self.working_on)


class _Inline(Mutator):
    """Replaces the loads of a buffer by the stored value, and removes its allocation."""

    def __init__(self, buffer: Buffer, places: Sequence[Var], value: Expr) -> None:
        self.inlined, self.places, self.value = buffer, places, value

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        indices = tuple(self.expr(index) for index in node.indices)
        if node.buffer is not self.inlined:
            return replace(node, indices=indices)
        return substitute(self.value, dict(zip(self.places, indices, strict=True)))

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        return seq() if node.buffer is self.inlined else node


def _merged(writer: Block, reader: Block, buffer: Buffer, places: Sequence[Var | None]) -> Block:
    """Merge a consumer block into `writer`, so that it computes the consumer's values directly."""
    first, second = writer.body, reader.body
    if not isinstance(first, BufferStore) or not isinstance(second, BufferStore):
        raise TirxError(f"{reader.name} cannot be inlined: a block computes more than one value", caller_span())
    known: dict[Var, Expr] = {var: i for var, i in zip(places, first.indices, strict=True) if var is not None}
    value = substitute(second.value, known)
    value = _Inline(buffer, _written_by(writer, buffer), first.value).expr(value)
    store = BufferStore(second.buffer, tuple(substitute(second.indices, known)), value, span=second.span)
    return replace(writer, body=store, reads=None, writes=None)


def _written_by(node: Block, buffer: Buffer) -> list[Var]:
    """Return the block variables that index the dimensions of its output buffer."""
    stores = [part for part in walk(node.body) if isinstance(part, BufferStore) and part.buffer is buffer]
    spatial = {var for var, kind in zip(node.vars, node.kinds, strict=True) if kind == SPATIAL}
    indices = stores[0].indices
    if not all(isinstance(index, Var) and index in spatial for index in indices) or set(indices) != spatial:
        raise TirxError(f"{node.name} does not write the element of its variables", caller_span())
    return [index for index in indices if isinstance(index, Var)]


def _read_by(node: Block, buffer: Buffer, name: str) -> list[Var | None]:
    """Return the block variables that index the dimensions of an input buffer. Raises `TirxError` for other accesses.
    """
    loads = {tuple(part.indices) for part in walk(node.body) if isinstance(part, BufferLoad) and part.buffer is buffer}
    indices = loads.pop() if len(loads) == 1 else ()
    if not indices or not all(isinstance(index, Var) for index in indices) or len(set(indices)) != len(indices):
        raise TirxError(f"{name} reads {buffer.name} at other elements than that of its variables", caller_span())
    return [index if isinstance(index, Var) else None for index in indices]


def _reduced(node: Block) -> set[Expr | Stmt]:
    """Return the subexpressions of the bindings of a block's reduction variables."""
    pairs = zip(node.kinds, node.values, strict=True)
    return {part for kind, value in pairs if kind == REDUCE for part in walk(value)}


def _chosen(buffers: Sequence[Buffer], index: int | str | Buffer, name: str, what: str) -> Buffer:
    if not isinstance(index, int):
        known = [n for n, buffer in enumerate(buffers) if buffer is index or buffer.name == index]
        index = known[0] if known else -1
    if not 0 <= index < len(buffers):
        listed = ", ".join(f"{n}: {buffer.name}" for n, buffer in enumerate(buffers))
        raise TirxError(f"{name} {what} no buffer {index}", caller_span(), f"there are {listed}")
    return buffers[index]


def _names(blocks: Sequence[Block]) -> set[str]:
    return {block.name for block in blocks}
