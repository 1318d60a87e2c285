"""Padding: `pad_einsum` and `decompose_padding`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.ir import (
    INT32,
    Analyzer,
    Binary,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    Const,
    Expr,
    For,
    Range,
    Select,
    Stmt,
    TirxError,
    Var,
    binary,
    const,
    int_value,
    select,
    seq,
    structural_equal,
    substitute,
    walk,
)
from tirx_mini.script import caller_span

from . import tree
from .tir_blocks import extent_of
from .tir_layout import LayoutSchedule
from .trace import BlockRV, LoopRV, traced


class PaddingSchedule(LayoutSchedule):
    """A schedule that can pad extents."""

    @traced
    def pad_einsum(self, block: BlockRV, padding: Sequence[int]) -> None:
        """Pad the extents of a block to multiples of `padding`, one number for each of its variables.

        New blocks copy its inputs into zero-padded buffers, and its output back. The block
        adds up products of elements at its variables: ``C[i, j] = C[i, j] + A[i, k] * B[k, j]``.

        Raises `TirxError` for another block.
        """
        node = self._block(block)
        refuse = f"pad_einsum of {node.name}"
        if len(padding) != len(node.vars) or any(each < 1 for each in padding):
            raise TirxError(f"{refuse}: {list(padding)} are not {len(node.vars)} positive numbers", caller_span())
        if not _is_einsum(node):
            hint = "write it as C[i, j] = C[i, j] + A[i, k] * B[k, j], with T.init()"
            raise TirxError(f"{refuse}: it does not add up products of elements at its variables", caller_span(), hint)
        nest = self._whole_nest(node, "pad_einsum")
        sizes = [tree.size_of(each.extent, node.name) for each in node.domains]
        rounded = [-(-size // by) * by for size, by in zip(sizes, padding, strict=True)]
        extents = dict(zip(node.vars, rounded, strict=True))
        known = dict(zip(node.values, rounded, strict=True))
        before, after, buffers = list[Stmt](), list[Stmt](), dict[Buffer, Buffer]()
        for access in _places(node):
            shape = tuple(extents[index] for index in access.indices if isinstance(index, Var))
            if access.buffer in buffers or shape == access.buffer.shape:
                continue
            written = isinstance(access, BufferStore)
            new = replace(access.buffer, name=f"{access.buffer.name}_pad", shape=shape, scope="global", layout=None)
            buffers[access.buffer] = new
            (after if written else before).append(self._padded(access.buffer, new, written))
        domains = tuple(Range(const(0), const(extent)) for extent in rounded)
        padded = replace(tree.with_buffers(node, buffers), domains=domains, reads=None, writes=None)
        loops = _resized(nest, node, padded, known)
        body = tree.replaced(self.func.body, nest, seq(*before, loops, *after))
        self._set(tree.allocated(body, *buffers.values()))

    def _padded(self, old: Buffer, new: Buffer, back: bool) -> Stmt:
        """Return the block that copies a buffer to its padded version, or back."""
        shape = old.shape if back else new.shape

        def store(own: tuple[Var, ...]) -> Stmt:
            if back:
                return BufferStore(old, own, new[own])
            pairs = zip(own, old.shape, shape, strict=True)
            inside = [binary("<", var, const(extent)) for var, extent, whole in pairs if extent < whole]
            return BufferStore(new, own, select(_all(inside), old[own], const(0, str(old.dtype))))

        return tree.over_elements(self._unused(new.name), shape, store, caller_span(), loop="i")

    @traced
    def decompose_padding(self, block: BlockRV, loop: LoopRV) -> BlockRV:
        """Split a padding block: a new block before `loop` fills the buffer, and the original copies valid elements.

        The block stores ``T.if_then_else(condition, value, constant)``, and the condition bounds its variables.
        """
        node, at = self._block(block), self._loop(loop)
        path = tree.path_to(at, lambda stmt: stmt is node)
        inside = [part for part in path if isinstance(part, For)]
        store = node.body
        what = f"decompose_padding of {node.name}"
        if not inside or len(path) != len(inside) + 1 or tree.blocks_in(at) != [node]:
            raise TirxError(f"{what}: {loop} is not a loop around it alone", caller_span())
        chosen = store.value if isinstance(store, BufferStore) else None
        if not isinstance(chosen, Select) or not isinstance(chosen.b, Const) or node.predicate is not None:
            hint = "store T.if_then_else(condition, value, constant), with a condition such as vi >= 1 and vi < 129"
            raise TirxError(f"{what}: it does not pad with a constant", caller_span(), hint)
        assert isinstance(store, BufferStore)
        fresh = {each.var: Var(INT32, each.var.name) for each in inside}
        values = tuple(substitute(value, dict(fresh)) for value in node.values)
        name = self._unused(f"{node.name}_pad_const")
        own = tuple(Var(INT32, var.name) for var in node.vars)
        place = tuple(substitute(store.indices, dict(zip(node.vars, own, strict=True))))
        fill = replace(node, name=name, vars=own, values=values, body=BufferStore(store.buffer, place, chosen.b),
                       reads=None, writes=None)  # fmt: skip
        filled = tree.in_loops(fill, [(fresh[each.var], extent_of(each)) for each in inside], node)
        self._swap(at, seq(filled, _bounded(node, store, chosen, inside)))
        return BlockRV(name, self.working_on)

    def can_decompose_padding(self, block: BlockRV, loop: LoopRV) -> bool:
        """Return whether `decompose_padding` would succeed."""
        try:
            self.copy().decompose_padding(block, loop)
        except TirxError:
            return False
        return True


def _places(node: Block) -> list[BufferLoad | BufferStore]:
    return [part for part in walk(node.body) if isinstance(part, (BufferLoad, BufferStore))]


def _is_einsum(node: Block) -> bool:
    """Return whether a block sums products of elements indexed by its variables, so that zero padding is neutral."""
    store = node.body
    if not isinstance(store, BufferStore) or node.init is None or node.predicate is not None:
        return False
    value, own = store.value, BufferLoad(store.value.dtype, store.buffer, store.indices)
    sums = isinstance(value, Binary) and value.op == "+" and structural_equal(value.a, own) and _is_product(value.b)
    known = set(node.vars)
    plain = all(isinstance(index, Var) and index in known for part in _places(node) for index in part.indices)
    first = all(int_value(each.start) == 0 for each in node.domains)
    return sums and plain and first and all(isinstance(each, Var) for each in node.values)


def _is_product(value: Expr) -> bool:
    if isinstance(value, Cast):
        return _is_product(value.value)
    if isinstance(value, Binary) and value.op == "*":
        return _is_product(value.a) and _is_product(value.b)
    return isinstance(value, BufferLoad)


def _resized(nest: Stmt, node: Block, padded: Block, extents: dict[Expr, int]) -> Stmt:
    """Return the loop nest with other extents, around another block."""
    if nest is node or not isinstance(nest, For):
        return padded
    return replace(nest, stop=const(extents[nest.var]), body=_resized(nest.body, node, padded, extents))


def _all(conditions: Sequence[Expr]) -> Expr:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = binary("and", whole, condition)
    return whole


def _conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, Binary) and condition.op == "and":
        return [*_conjuncts(condition.a), *_conjuncts(condition.b)]
    return [condition]


def _bounded(node: Block, store: BufferStore, chosen: Select, inside: Sequence[For]) -> Stmt:
    """Restrict a block to its condition, by shortening loops where possible and by a predicate otherwise."""
    extents = {each.var: extent_of(each) for each in inside}
    bounds = {var: [0, extents[value]] for var, value in zip(node.vars, node.values, strict=True)
              if isinstance(value, Var) and value in extents}  # fmt: skip
    left: list[Expr] = []
    for condition in _conjuncts(chosen.cond):
        found = _bound(condition, bounds)
        if found is None:
            left.append(condition)
            continue
        var, low, high = found
        bounds[var] = [max(bounds[var][0], low), min(bounds[var][1], high)]
    shift: dict[Var, Expr] = {var: var + low for var, (low, _) in bounds.items() if low}
    empty = next((var.name for var, (low, high) in bounds.items() if high <= low), None)
    if empty is not None:
        raise TirxError(f"decompose_padding of {node.name}: its condition on {empty} never holds", caller_span())
    sizes = {var: high - low for var, (low, high) in bounds.items()}
    domains = tuple(
        Range(const(0), const(sizes[var])) if var in sizes else domain
        for var, domain in zip(node.vars, node.domains, strict=True)
    )
    body = tree.simplified(substitute(replace(store, value=chosen.a), shift))
    predicate = substitute(_all(left), shift) if left else None
    inner = replace(node, body=body, domains=domains, predicate=predicate, reads=None, writes=None)
    known = {value: sizes[var] for var, value in zip(node.vars, node.values, strict=True) if var in sizes}
    stmt: Stmt = inner
    for each in reversed(inside):
        stmt = replace(each, stop=const(known.get(each.var, extents[each.var])), body=stmt)
    return stmt


def _bound(condition: Expr, bounds: dict[Var, list[int]]) -> tuple[Var, int, int] | None:
    """Return the variable that a comparison bounds and its allowed range, or None."""
    if not isinstance(condition, Binary) or condition.op not in ("<", "<=", ">", ">="):
        return None
    moving, still = Analyzer().partition(
        Analyzer().simplify(condition.a - condition.b), lambda part: any(isinstance(each, Var) for each in walk(part))
    )
    offset, op = int_value(still), condition.op
    sign = 1
    if isinstance(moving, Binary) and moving.op == "*" and int_value(moving.b) == -1:
        moving, sign = moving.a, -1
    if offset is None or not isinstance(moving, Var) or moving not in bounds:
        return None
    most = 2**31
    if sign < 0:  # offset - var op 0
        op, offset = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op], -offset
    limits = {"<": (0, -offset), "<=": (0, -offset + 1), ">": (-offset + 1, most), ">=": (-offset, most)}
    low, high = limits[op]
    return moving, max(low, 0), high
