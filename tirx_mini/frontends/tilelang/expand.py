"""The ExpandTiles pass: lower elementwise tile operations to parallel loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tirx_mini.ir import (
    PARALLEL,
    SERIAL,
    VECTORIZED,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    Hint,
    Mutator,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    TileCall,
    TirxError,
    Var,
    cast,
    const,
    seq,
    simplify,
)

from .language.atomics import apply
from .language.loops import PARALLEL_HINT
from .language.memory import FRAGMENT
from .nest import loop_vars
from .rules import REDUCE, SCAN
from .tma import COPY, stores_by_tma


def expand_tiles(func: PrimFunc, arch: str) -> PrimFunc:
    """Lower the copies, fills and atomics of tiles to parallel loops; TMA stores are unchanged."""
    return func.with_body(_Views().stmt(_Expand(arch).stmt(func.body)))


class _Views(Mutator):
    """Rewrites accesses to views of fragments into accesses to the fragments themselves."""

    def visit_DeclBuffer(self, node: DeclBuffer) -> Stmt:
        return Seq((), span=node.span) if _is_view(node.buffer) else node

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        made = self.rebuild(node)
        return replace(made, buffer=made.buffer.root, indices=_in_root(made)) if _is_view(made.buffer) else made

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        made = self.rebuild(node)
        return replace(made, buffer=made.buffer.root, indices=_in_root(made)) if _is_view(made.buffer) else made


def _is_view(buffer: Buffer) -> bool:
    return buffer.scope == FRAGMENT and buffer.source is not None and buffer.dtype == buffer.root.dtype


def _in_root(access: BufferLoad | BufferStore) -> tuple[Expr, ...]:
    """Return the fragment indices that correspond to an access through a view."""
    number: Expr = const(0)
    for index, extent in zip(access.indices, access.buffer.shape, strict=True):
        number = number * extent + index
    found: list[Expr] = []
    for dim, extent in reversed(list(enumerate(access.buffer.root.shape))):
        found.append(simplify(number % extent if dim else number))
        number = number // extent
    return tuple(reversed(found))


class _Expand(Mutator):
    def __init__(self, arch: str) -> None:
        self.arch = arch

    def visit_TileCall(self, node: TileCall) -> Stmt:
        function = EXPANSIONS.get(node.op)
        regions = [operand for operand in node.operands if isinstance(operand, Region)]
        if function is None or any(region.buffer.scope == "tmem" for region in regions):
            return node
        return node if node.op == COPY and stores_by_tma(node, self.arch) else function(node)


def _sizes(region: Region) -> list[tuple[int, int]]:
    """Return the dimensions of a region with more than one element, and their extents."""
    return [(dim, extent) for dim, extent in enumerate(region.extents) if extent != 1]


def _element(region: Region, at: Mapping[int, Expr]) -> tuple[Expr, ...]:
    """Return the buffer indices of a region's element, given its coordinates `at` by dimension."""
    return tuple(
        part.start if dim not in at else simplify(part.start + at[dim]) for dim, part in enumerate(region.ranges)
    )


def nested(call: TileCall, extents: Sequence[int], body: Callable[[Sequence[Var]], Stmt]) -> Stmt:
    """Build parallel loops over `extents` around a body made from their variables.

    Each thread executes them all where an operand is an array of its own.
    """
    names = loop_vars(len(extents) or 1)
    made: Stmt = body(names)
    own = any(isinstance(operand, Region) and operand.buffer.scope == "local" for operand in call.operands)
    kinds = [PARALLEL] * len(names) if not own else [*([SERIAL] * (len(names) - 1)), VECTORIZED]
    for var, extent, kind in reversed(list(zip(names, extents or (1,), kinds, strict=True))):
        made = For(var, const(0), const(extent), made, kind=kind, span=call.span)
    options = {name: call.option(name) for name in ("coalesced_width", "loop_layout")}
    given = tuple((name, value) for name, value in options.items() if value is not None)
    return Hint(PARALLEL_HINT, given, made, span=call.span) if given else made


def copy_elements(call: TileCall) -> Stmt:
    """Return the parallel loops of a copy."""
    source, target = (operand for operand in call.operands[:2] if isinstance(operand, Region))
    there, here = _sizes(source), _sizes(target)
    if [extent for _, extent in there] != [extent for _, extent in here]:
        raise TirxError(
            f"T.copy from {source.buffer.name} {list(source.extents)} to {target.buffer.name} {list(target.extents)}: "
            "the tiles have different extents",
            call.span,
            "slice both to the same extents; dimensions of extent 1 may be left out",
        )

    def body(names: Sequence[Var]) -> Stmt:
        load = {dim: name for (dim, _), name in zip(there, names, strict=False)}
        store = {dim: name for (dim, _), name in zip(here, names, strict=False)}
        value = BufferLoad(source.dtype, source.buffer, _element(source, load), span=call.span)
        converted = cast(target.dtype, value, span=call.span)
        return BufferStore(target.buffer, _element(target, store), converted, span=call.span)

    return nested(call, [extent for _, extent in here], body)


def _fill(call: TileCall) -> Stmt:
    target, value = call.operands
    assert isinstance(target, Region)
    sizes = _sizes(target)

    def body(names: Sequence[Var]) -> Stmt:
        place = _element(target, {dim: name for (dim, _), name in zip(sizes, names, strict=False)})
        return BufferStore(target.buffer, place, value, span=call.span)

    return nested(call, [extent for _, extent in sizes], body)


def _atomic(call: TileCall) -> Stmt:
    target, source = (operand for operand in call.operands if isinstance(operand, Region))
    here, there = _sizes(target), _sizes(source)
    if [extent for _, extent in there] != [extent for _, extent in here]:
        raise TirxError(
            f"the tiles {target.buffer.name} {list(target.extents)} and {source.buffer.name} {list(source.extents)} "
            "have different extents",
            call.span,
        )

    def body(names: Sequence[Var]) -> Stmt:
        place = _element(target, {dim: name for (dim, _), name in zip(here, names, strict=False)})
        other = _element(source, {dim: name for (dim, _), name in zip(there, names, strict=False)})
        value = BufferLoad(source.dtype, source.buffer, other, span=call.span)
        element = BufferLoad(target.dtype, target.buffer, place, span=call.span)
        calls = apply(str(call.option("kind")), element, value)
        return seq(*(Evaluate(one, span=call.span) for one in calls))

    return nested(call, [extent for _, extent in here], body)


def _transpose(call: TileCall) -> Stmt:
    source, target = (operand for operand in call.operands if isinstance(operand, Region))
    (rows, m), (columns, n) = _sizes(source)
    here = _sizes(target)
    if [extent for _, extent in here] != [n, m]:
        raise TirxError(f"T.transpose of {m} × {n} elements needs a target of {n} × {m}", call.span)

    def body(names: Sequence[Var]) -> Stmt:
        i, j = names
        value = BufferLoad(source.dtype, source.buffer, _element(source, {rows: j, columns: i}), span=call.span)
        place = _element(target, {here[0][0]: i, here[1][0]: j})
        return BufferStore(target.buffer, place, cast(target.dtype, value), span=call.span)

    return nested(call, [n, m], body)


def _scan(call: TileCall) -> Stmt:
    """Lower a scan of fragments to a scan through shared memory."""
    source, target = (operand for operand in call.operands if isinstance(operand, Region))
    if FRAGMENT not in (source.buffer.scope, target.buffer.scope):
        return call
    scratch = Buffer(f"{target.buffer.name}_scan", target.extents, target.dtype, "shared", span=call.span)
    into = replace(call, op=COPY, operands=(source, scratch.region()), options=())
    out = replace(call, op=COPY, operands=(scratch.region(), target), options=())
    scan = replace(call, operands=(scratch.region(), scratch.region()))
    return seq(AllocBuffer(scratch), copy_elements(into), scan, copy_elements(out), span=call.span)


def _reduce(call: TileCall) -> Stmt:
    """Lower a reduction of slices or shared memory to a reduction of fragments."""
    source, target = (operand for operand in call.operands if isinstance(operand, Region))
    made: list[Stmt] = []
    operands: list[Region] = []
    for region in (source, target):
        whole = region.extents == tuple(region.buffer.shape) and not _is_view(region.buffer)
        if region.buffer.scope == FRAGMENT and whole:
            operands.append(region)
            continue
        own = Buffer(f"{region.buffer.name}_tile", region.extents, region.dtype, FRAGMENT, span=call.span)
        operands.append(own.region())
        made.append(AllocBuffer(own))
        if region is source or not call.option("clear"):
            made.append(copy_elements(replace(call, op=COPY, operands=(region, own.region()), options=())))
    made.append(replace(call, operands=tuple(operands)))
    if operands[1] is not target:
        made.append(copy_elements(replace(call, op=COPY, operands=(operands[1], target), options=())))
    return seq(*made, span=call.span)


EXPANSIONS: Mapping[str, Callable[[TileCall], Stmt]] = {
    "tl.copy": copy_elements, "tl.fill": _fill, "tl.atomic": _atomic, "tl.transpose": _transpose, SCAN: _scan,
    REDUCE: _reduce,
}  # fmt: skip
"""The operations that are parallel loops, unless an operand is in tensor memory."""

__all__ = ["EXPANSIONS", "expand_tiles", "nested"]
