"""Layout transformations of buffers and blocks: `transform_layout`, `transform_block_layout`, `reindex`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tirx_mini.ir import (
    INT32,
    REDUCE,
    SERIAL,
    SPATIAL,
    AllocBuffer,
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
    const,
    seq,
    substitute,
    walk,
)
from tirx_mini.script import caller_span

from . import tree
from .index_map import IndexMap, index_map_of
from .tir_nested import NestedSchedule
from .trace import BlockRV, traced

_REFUSED = {
    "set_axis_separator": "leave it out: memory is flat here",
    "unsafe_set_dtype": "declare the buffer with this dtype in the function",
    "rolling_buffer": "compute_at keeps what an iteration needs, and computes overlaps again",
    "read_at": "call cache_read, and compute_at of the copy",
    "write_at": "call cache_write, and reverse_compute_at of the copy",
    "cache_inplace": "call cache_read and cache_write",
    "cache_index": "write the index into a buffer in the function",
    "reindex_cache_read": "call reindex, or cache_read and transform_layout of the copy",
    "reindex_cache_write": "call reindex, or cache_write and transform_layout of the copy",
    "loop_partition": "write the parts as loops of their own in the function",
    "merge": "call fuse for each nest of loops",
    "sample_compute_location": "choose a loop of get_loops with random.choice",
    "sample_partitioned_tile": "call sample_perfect_tile",
    "fuse_reduction_epilogue": "call reverse_compute_at of the block after the reduction",
    "unsafe_hide_buffer_access": "leave it out: what a block reads and writes follows from its statements",
    "annotate_buffer_access": "leave it out: what a block reads and writes follows from its statements",
    "remove_rv": "leave it out: blocks and loops need not be removed",
    "get_sref": "call get, which returns the statement",
}
"""What to do instead of methods of TVM's schedule that are not here."""


class LayoutSchedule(NestedSchedule):
    """A schedule with transformations of buffer and block indices."""

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            return lambda *_, **__: _refuse(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @traced
    def transform_layout(
        self,
        block: BlockRV,
        buffer: tuple[str, int] | str | Buffer,
        index_map: IndexMap | Callable[..., object],
        pad_value: object = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Transform the layout of a buffer in all blocks: ``lambda i, j: (i // 16, j // 16, i % 16, j % 16)``.

        buffer: ("read", 0), ("write", 0), its name, or itself. An argument is passed with its new shape. pad_value,
        assume_injective_transform: accepted as TVM has them; the map is a bijection of tiles that divide the extents.

        Raises `TirxError` for another map.
        """
        old = self._buffer_of(block, buffer)
        made = index_map_of(index_map, old.ndim)
        made.inverse(old.shape)
        new = replace(old, shape=tuple(made.map_shape(old.shape)), layout=None)
        params = tuple(new if param is old else param for param in self.func.params)
        self.func = replace(self.func, params=params, body=_Moved(old, new, made).stmt(self.func.body))

    def _buffer_of(self, block: BlockRV, given: object) -> Buffer:
        node = self._block(block)
        kind, index = given if isinstance(given, tuple) else ("", given)
        kind = str(getattr(kind, "name", kind)).lower()
        lists = {"read": tree.reads_of(node), "write": tree.writes_of(node)}
        if kind and kind not in lists:
            raise TirxError(f"{given!r} names no buffer", caller_span(), 'write ("read", 0) or ("write", 0)')
        found = lists[kind] if kind else [*lists["write"], *lists["read"]]
        position = index if isinstance(index, int) else None
        known = [each for n, each in enumerate(found) if each is index or each.name == index or n == position]
        if not known:
            listed = ", ".join(buffer.name for buffer in found)
            raise TirxError(f"{node.name} does not access {index!r}", caller_span(), f"it accesses {listed}")
        return known[0]

    @traced
    def transform_block_layout(self, block: BlockRV, index_map: IndexMap | Callable[..., object]) -> None:
        """Transform the iteration space of a block, and replace its loops by loops over the new variables.

        index_map: the new variables as a function of those of the block. It must be a bijection, and each new variable
        is either spatial or a reduction variable.
        """
        node = self._block(block)
        made = index_map_of(index_map, len(node.vars))
        inverse = made.inverse([each.extent for each in node.domains])
        nest = self._whole_nest(node, "transform_block_layout")
        extents = made.map_shape([each.extent for each in node.domains])
        kinds = dict(zip(made.initial_indices, node.kinds, strict=True))
        of = [{kinds[v] for v in walk(index) if isinstance(v, Var)} for index in made.final_indices]
        mixed = next((index for index, each in zip(made.final_indices, of, strict=True) if len(each) > 1), None)
        if mixed is not None:
            raise TirxError(f"{mixed!r} counts both elements of {node.name} and what they reduce", caller_span())
        own = tuple(Var(INT32, f"v{number}") for number in range(len(extents)))
        names: dict[Var, Expr] = dict(zip(inverse.initial_indices, own, strict=True))
        values = {var: substitute(index, names) for var, index in zip(node.vars, inverse.final_indices, strict=True)}
        loops = [(Var(INT32, f"ax{number}"), extent) for number, extent in enumerate(extents)]
        moved = replace(
            node, vars=own, kinds=tuple(REDUCE if each == {REDUCE} else SPATIAL for each in of),
            domains=tuple(Range(const(0), const(extent)) for extent in extents),
            values=tuple(var for var, _ in loops), body=tree.simplified(substitute(node.body, values)),
            init=None if node.init is None else tree.simplified(substitute(node.init, values)),
            reads=None, writes=None,
        )  # fmt: skip
        self._swap(nest, tree.in_loops(moved, loops, node))

    @traced
    def reorder_block_iter_var(self, block: BlockRV, new_order: list[int]) -> None:
        """Reorder the variables of a block, leaving its loops unchanged."""
        node = self._block(block)
        if sorted(new_order) != list(range(len(node.vars))):
            what = f"the {len(node.vars)} variables of {node.name}"
            raise TirxError(f"{new_order} is not a permutation of {what}", caller_span())
        listed = ("vars", "kinds", "domains", "values")
        parts: dict[str, Any] = {name: tuple(getattr(node, name)[n] for n in new_order) for name in listed}
        self._swap(node, replace(node, **parts))

    @traced
    def reindex(self, block: BlockRV, buffer: tuple[str, int] | str | Buffer) -> BlockRV:
        """Add a block that copies a buffer to one indexed by the variables of `block`, which then uses the copy.

        buffer: as in `transform_layout`. Returns the block of the copy: before the loops of `block` for a buffer that
        it reads, after them for one that it writes.
        """
        node, old = self._block(block), self._buffer_of(block, buffer)
        found = {tuple(part.indices) for part in _accesses(node, old)}
        indices = found.pop() if len(found) == 1 else ()
        if not indices and old.ndim:
            raise TirxError(f"{node.name} accesses {old.name} at several places", caller_span(), "use cache_read")
        used = {part for index in indices for part in walk(index)}
        sizes = [tree.size_of(each.extent, node.name) for each in node.domains]
        along = [(var, size) for var, size in zip(node.vars, sizes, strict=True) if var in used]
        written = old in tree.writes_of(node)
        new = Buffer(f"{old.name}_reindex", tuple(size for _, size in along) or (1,), old.dtype, span=caller_span())
        place = tuple(var for var, _ in along) or (const(0),)

        def store(own: tuple[Var, ...]) -> Stmt:
            names: dict[Var, Expr] = {var: mine for (var, _), mine in zip(along, own, strict=True)}
            there, here = tuple(substitute(indices, names)), own or (const(0),)
            return BufferStore(old, there, new[here]) if written else BufferStore(new, here, old[there])

        name = self._unused(new.name)
        nest = tree.over_elements(name, [size for _, size in along], store, caller_span())
        top = self._whole_nest(node, "reindex", any_kind=True)
        inside = tree.replaced(top, node, _Placed(old, new, place).stmt(node))
        body = tree.replaced(self.func.body, top, seq(inside, nest) if written else seq(nest, inside))
        self._set(tree.allocated(body, new))
        return BlockRV(name, self.working_on)

    def _whole_nest(self, node: Block, what: str, any_kind: bool = False) -> Stmt:
        """Return the loop nest of a block. Raises `TirxError` if the nest contains anything else."""
        found = tree.path_to(self.func.body, lambda stmt: stmt is node)
        path = [part for part in found if isinstance(part, (For, Block))]
        loops = [part for part in path if isinstance(part, For)]
        alone = len(path) == len(loops) + 1 and (not loops or tree.blocks_in(loops[0]) == [node])
        plain = node.predicate is None and all(loop.kind == SERIAL for loop in loops)
        if not alone or not (plain or any_kind):
            why = "its loops hold more statements" if not alone else "its loops are bound, or leave out iterations"
            raise TirxError(f"{what} of {node.name}: {why}", caller_span(), f"call {what} first")
        return loops[0] if loops else node

    def seed(self, seed: int) -> None:
        """Seed the random choices."""
        self.random.seed(seed)

    def fork_seed(self) -> int:
        """Return a seed for another schedule."""
        return self.random.randrange(2**31)

    def enter_postproc(self) -> None:
        """Do nothing: `apply_to_schedule` replays all calls of a trace."""


def _refuse(name: str) -> None:
    raise TirxError(f"{name} is not provided", caller_span(), _REFUSED[name])


def _accesses(node: Block, buffer: Buffer) -> list[Any]:
    parts = [part for stmt in (node.init, node.body) if stmt is not None for part in walk(stmt)]
    return [part for part in parts if isinstance(part, (BufferLoad, BufferStore)) and part.buffer is buffer]


class _Placed(Mutator):
    """Redirects accesses of a buffer to another buffer."""

    def __init__(self, old: Buffer, new: Buffer, place: tuple[Expr, ...] = ()) -> None:
        self.old, self.new, self.place = old, new, place

    def at(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return self.place

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        indices = tuple(map(self.expr, node.indices))
        if node.buffer is not self.old:
            return replace(node, indices=indices)
        return replace(node, buffer=self.new, indices=self.at(indices))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        node = replace(node, indices=tuple(map(self.expr, node.indices)), value=self.expr(node.value))
        if node.buffer is not self.old:
            return node
        return replace(node, buffer=self.new, indices=self.at(tuple(node.indices)))

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        return replace(node, buffer=self.new) if node.buffer is self.old else node

    def visit_Block(self, node: Block) -> Stmt:
        return replace(self.rebuild(node), reads=None, writes=None)


class _Moved(_Placed):
    """Redirects accesses of a buffer to one with mapped indices."""

    def __init__(self, old: Buffer, new: Buffer, index_map: IndexMap) -> None:
        super().__init__(old, new)
        self.index_map = index_map

    def at(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self.index_map.map_indices(indices))
