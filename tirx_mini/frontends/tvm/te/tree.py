"""Queries and rewrites on a function's tree of loops and blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tirx_mini.ir import (
    INT32,
    SPATIAL,
    AllocBuffer,
    Analyzer,
    Bind,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Mutator,
    Range,
    Seq,
    Span,
    Stmt,
    TirxError,
    Var,
    children,
    const,
    int_value,
    seq,
    substitute,
    walk,
)
from tirx_mini.script import caller_span


def size_of(extent: Expr, name: str) -> int:
    """Return an extent as a number. Raises `TirxError` for a symbolic one. name: the block or loop."""
    size = int_value(extent)
    if size is None:
        hint = "specialise the function first, as in func.specialize({'n': 256})"
        text = f"{name} has {extent} iterations, which a call decides: this needs a number"
        raise TirxError(text, caller_span(), hint)
    return size


def path_to(root: Stmt, found: Callable[[Stmt], bool]) -> list[Stmt]:
    """Return the path from `root` to the first statement that satisfies `found`, or an empty list."""
    if found(root):
        return [root]
    parts = root.stmts if isinstance(root, Seq) else [root.body] if isinstance(root, (For, Block)) else []
    if isinstance(root, Block) and root.init is not None:
        parts = [root.init, *parts]
    for part in parts:
        below = path_to(part, found)
        if below:
            return [root, *below]
    return []


def blocks_in(stmt: Stmt) -> list[Block]:
    """Return the outermost blocks in a statement."""
    if isinstance(stmt, Block):
        return [stmt]
    return [block for part in children(stmt) if isinstance(part, Stmt) for block in blocks_in(part)]


def all_blocks(stmt: Stmt) -> list[Block]:
    """Return all blocks in a statement, nested ones included."""
    return [node for node in walk(stmt) if isinstance(node, Block)]


def loops_in(stmt: Stmt) -> list[For]:
    return [node for node in walk(stmt) if isinstance(node, For)]


class _Replace(Mutator):
    def __init__(self, old: Stmt, new: Stmt) -> None:
        self.old, self.new = old, new

    def stmt(self, node: Stmt) -> Stmt:
        return self.new if node is self.old else super().stmt(node)


def replaced(root: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """Replace the statement `old` in `root`."""
    return _Replace(old, new).stmt(root)


class _Without(Mutator):
    def __init__(self, old: Stmt) -> None:
        self.old = old

    def stmt(self, node: Stmt) -> Stmt:
        if node is self.old:
            return seq()
        rebuilt = super().stmt(node)
        if rebuilt is not node and isinstance(rebuilt, For) and _is_empty(rebuilt.body):
            return seq()
        return rebuilt


def _is_empty(stmt: Stmt) -> bool:
    return isinstance(stmt, Seq) and not stmt.stmts


def without(root: Stmt, old: Stmt) -> Stmt:
    """Remove the statement `old` from `root`, with the loops that become empty."""
    return _Without(old).stmt(root)


def allocated(root: Stmt, *buffers: Buffer) -> Stmt:
    """Prepend allocations of buffers to `root`."""
    return seq(*(AllocBuffer(buffer, span=buffer.span) for buffer in buffers), root)


def in_loops(body: Stmt, loops: Sequence[tuple[Var, int]], like: Stmt) -> Stmt:
    """Wrap `body` in serial loops, outermost first."""
    for var, extent in reversed(loops):
        body = For(var, const(0), const(extent), body, span=like.span)
    return body


def over_elements(
    name: str,
    extents: Sequence[int | Expr],
    stmt_of: Callable[[tuple[Var, ...]], Stmt],
    span: Span | None,
    loop: str = "ax",
) -> Stmt:
    """Build a block with its own loops that executes a statement for each element.

    stmt_of: the statement for the block's variables, one for each extent. loop: the loop variables are ``ax0``, ....
    """
    sizes = [extent if isinstance(extent, int) else size_of(extent, name) for extent in extents]
    own = tuple(Var(INT32, f"v{dim}") for dim in range(len(sizes)))
    loops = [(Var(INT32, f"{loop}{dim}"), size) for dim, size in enumerate(sizes)]
    domains = tuple(Range(const(0), const(size)) for size in sizes)
    block = Block(
        name, own, (SPATIAL,) * len(own), domains, tuple(var for var, _ in loops), stmt_of(own), span=span
    )
    return in_loops(block, loops, block)


def ranges_of(root: Stmt) -> Analyzer:
    """Return an analyzer with the ranges of all loop variables."""
    ranges = Analyzer()
    for loop in loops_in(root):
        last = int_value(loop.stop)
        ranges = ranges.bind(loop.var, 0, last - 1) if last else ranges
    return ranges


def reads_of(block: Block) -> list[Buffer]:
    """Return the buffers that a block reads but does not write, in order of first use."""
    parts = [node for part in (block.init, block.body) if part is not None for node in walk(part)]
    written = writes_of(block)
    loads = [node.buffer for node in parts if isinstance(node, BufferLoad)]
    return list(dict.fromkeys(buffer for buffer in loads if buffer not in written))


def writes_of(block: Block) -> list[Buffer]:
    """Return the buffers that a block writes."""
    return list(dict.fromkeys(node.buffer for node in walk(block.body) if isinstance(node, BufferStore)))


def accesses_of(block: Block, buffer: Buffer) -> list[tuple[Expr, ...]]:
    """Return the indices of all accesses of `buffer` in a block, in terms of the enclosing loop variables."""
    values = dict(zip(block.vars, block.values, strict=True))
    found: list[tuple[Expr, ...]] = []
    for part in (block.init, block.body):
        inner = all_blocks(part) if part is not None else []
        nested = {var: value for each in inner for var, value in zip(each.vars, each.values, strict=True)}
        nodes = walk(part) if part is not None else ()
        for node in nodes:
            if isinstance(node, (BufferLoad, BufferStore)) and node.buffer is buffer:
                indices = tuple(node.indices)
                for _ in range(_depth(part)):
                    indices = tuple(substitute(indices, nested))
                found.append(tuple(substitute(indices, values)))
    return found


def _depth(stmt: Stmt | None) -> int:
    """Return the nesting depth of the blocks in a statement."""
    return max((1 + _depth(block.body) for block in blocks_in(stmt)), default=0) if stmt is not None else 0


def stored(places: Sequence[tuple[Buffer, tuple[Expr, ...]]], values: Sequence[Expr], span: Span | None) -> Stmt:
    """Return the stores of values, evaluating first those values that another store would change."""
    first: list[Stmt] = []
    own, made = {buffer for buffer, _ in places}, list(values)
    for number, value in enumerate(values):
        if len(made) > 1 and any(isinstance(node, BufferLoad) and node.buffer in own for node in walk(value)):
            made[number] = var = Var(value.dtype, f"v{number}")
            first.append(Bind(var, value, span=span))
    pairs = zip(places, made, strict=True)
    return seq(*first, *(BufferStore(buffer, place, value, span=span) for (buffer, place), value in pairs))


class _Simplified(Mutator):
    """Simplifies the indices of accesses."""

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return replace(node, indices=tuple(Analyzer().simplify(self.expr(index)) for index in node.indices))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        indices = tuple(Analyzer().simplify(index) for index in node.indices)
        return replace(node, indices=indices, value=self.expr(node.value))


def simplified(stmt: Stmt) -> Stmt:
    """Simplify the indices in a statement."""
    return _Simplified().stmt(stmt)


def with_buffers(block: Block, buffers: dict[Buffer, Buffer]) -> Block:
    """Substitute buffers of the same shapes in a block."""
    return substitute(block, {}, buffers)


def with_values(block: Block, values: Sequence[Expr], ranges: Analyzer) -> Block:
    """Replace the variable bindings of a block."""
    return replace(block, values=tuple(ranges.simplify(value) for value in values))
