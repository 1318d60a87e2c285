"""The passes for reductions: their distribution over threads, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..context import Context
from ..layouts import LinearLayout, within_warps
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Scalar, Type, Value, flat, rewrite
from . import ops
from .passes import VECTOR_BYTES, element_bits, memory_order, sectors, warps_of, with_dots
from .relayout import Chosen, default_layout, flow, relayout


def optimize_reduce(module: Module, context: Context) -> Module:
    """Distribute loaded and reduced tensors so that reductions stay within a warp and need only shuffles."""
    return relayout(module, _reduced_within_warps, warps_of) if _reduces(module) else module


def _reduces(module: Module) -> bool:
    return any(op.kind in (ops.reduce, ops.scan) for op in module.walk())


def _reduced_within_warps(func: Op) -> Chosen:
    chosen = with_dots(func)
    values = dict(chosen.values)
    loads = {op.tensor: op for op in func.body.walk() if op.kind is ops.tiled_load}
    for op in func.body.walk():
        if op.kind is not ops.reduce:
            continue
        source = op.operands[0]
        wanted = _own_warps(source, op.dim, loads, warps_of(func))
        if wanted is None:
            continue
        reached = flow(func.body, Chosen({source: wanted}), warps_of(func))
        for value, load in loads.items():
            layout = reached[value]
            if value in values and _crosses(values[value], value, op) and _as_good(load, layout, values[value]):
                values[value] = layout
    return replace(chosen, values=values)


def _own_warps(source: Value, dim: int, loads: Mapping[Value, Op], warps: int) -> LinearLayout | None:
    """Return a warp-local layout for a reduction of `source` if its present layout crosses warps, else None."""
    own: LinearLayout = source.type.linear
    if not any(basis & own.mask(dim) for basis in own.warp):
        return None
    vector = max(1, 8 * VECTOR_BYTES // element_bits(source.type))
    load = loads.get(source)
    order = memory_order(load.view.type) if load is not None else None
    better = within_warps(source.type.shape, dim, warps=warps, vector=vector, order=order)
    crossing = [sum(bool(basis & x.mask(dim)) for basis in x.warp) for x in (own, better)]
    return better if crossing[1] < crossing[0] else None


def _crosses(layout: LinearLayout, value: Value, op: Op) -> bool:
    """Return whether a load's present layout distributes the reduced dimension over several warps."""
    same = value.type.shape == op.operands[0].type.shape
    return same and any(basis & layout.mask(op.dim) for basis in layout.warp)


def _as_good(load: Op, layout: LinearLayout, before: LinearLayout) -> bool:
    return sectors(load, layout) <= 1.01 * sectors(load, before)


# -- tileas-legalize-reduce ----------------------------------------------------------------------------------------

WIDER: Mapping[str, str] = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32"}
"""The types that reductions compute in: shuffles move 32 bits, and long sums of halves lose what they add."""


def legalize_reduce(module: Module, context: Context) -> Module:
    """Widen reductions and scans of narrow types to 32 bits, and normalise layout bases that span two dimensions."""
    if not _reduces(module):
        return module
    rules = {ops.reduce: _widened, ops.scan: _widened}
    return relayout(rewrite(module, rules), _single_dimensions, warps_of)


def _widened(op: Op, rw: Rewriter) -> object:
    narrow = [_narrow(value) for value in op.operands]
    if not any(narrow) or not all(_is_arithmetic(inner) for inner in op.body.ops[:-1]) or _reads_narrow(op.body):
        return KEEP
    unsigned = op.combine in ("umax", "umin")
    operands = [
        _cast(rw, rw[v], wide, unsigned) if wide else rw[v] for v, wide in zip(op.operands, narrow, strict=True)
    ]
    body = Rewriter(convert=_wider)
    body.env.update(rw.env)  # of constants outside
    region = body.region(op.body)
    types = [_wider_tensor(v.type) if wide else v.type for v, wide in zip(op.results, narrow, strict=True)]
    made = Op(op.kind, (tuple(operands),), tuple(Value(t) for t in types), op.attrs, (region,), op.span)
    rw.add(made)
    return [
        _cast(rw, new, str(_element(old.type)), unsigned) if wide else new
        for new, old, wide in zip(made.results, op.results, narrow, strict=True)
    ]


def _element(type: Type) -> Type:
    return type.element if isinstance(type, Tensor) else type


def _narrow(value: Value) -> str | None:
    return WIDER.get(str(_element(value.type)))


def _wider(type: Type) -> Type:
    return Scalar(WIDER[type.name]) if isinstance(type, Scalar) and type.name in WIDER else type


def _wider_tensor(type: Type) -> Type:
    return type.of(_wider(type.element)) if isinstance(type, Tensor) else _wider(type)


def _is_arithmetic(op: Op) -> bool:
    return op.kind in std.ELEMENTWISE or op.kind in (std.cmpi, std.cmpf, std.select)


def _reads_narrow(body: Region) -> bool:
    """Return whether a reduction body uses a narrow number from outside, which would not be widened."""
    own = {*body.params, *(value for inner in body.ops for value in inner.results)}
    return any(_narrow(value) for inner in body.ops for value in flat(inner.args) if value not in own)


def _cast(rw: Rewriter, value: Value, element: str, unsigned: bool) -> Value:
    """Cast `value` to another element type of the same kind."""
    before, after = _element(value.type), Scalar(element)
    assert isinstance(before, Scalar)
    type_ = value.type.of(after) if isinstance(value.type, Tensor) else after
    if before.is_float:
        return rw.emit(aa.fp_to_fp, value, types=[type_])
    if before.bits > after.bits:
        return rw.emit(std.trunci, value, types=[type_])
    return rw.emit(std.extui if unsigned else std.extsi, value, types=[type_])


def _single_dimensions(func: Op) -> Chosen:
    chosen = with_dots(func)
    layouts = flow(func.body, chosen, warps_of(func))
    wanted = dict(chosen.wanted)
    for op in func.body.walk():
        if op.kind is ops.reduce and _is_mixed(layouts[op.operands[0]], op.dim):
            wanted[op] = [default_layout(v.type.shape, warps_of(func)) for v in op.operands]
    return replace(chosen, wanted=wanted)


def _is_mixed(layout: LinearLayout, dim: int) -> bool:
    mask = layout.mask(dim)
    return any(basis & mask and basis & ~mask for basis in layout.bases)
