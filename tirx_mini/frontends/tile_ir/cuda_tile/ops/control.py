"""Kernels, loops, branches, reductions and scans (Tile IR: Operations, Control Flow and Core)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...ssa import BOOL, FLAG, INT, SYMBOL, Op, OpKind, Parser, Printer, Region, Syntax, Type, Value, make
from ..attributes import HINTS, IDENTITIES
from ..dialect import CUDA_TILE, rules, same_shape, same_type, scalar_integers, tiles
from ..types import I1, INTEGERS, Tile


def _types(values: Sequence[Value], p: Printer) -> str:
    return ", ".join(p.type(v.type) for v in values)


def _read_types(p: Parser) -> list[Type]:
    types = [p.type()]
    while p.accept(","):
        types.append(p.type())
    return types


def _pairs(params: Sequence[Value], values: Sequence[Value], p: Printer) -> str:
    return "(" + ", ".join(f"{p.name(a)} = {p.name(v)}" for a, v in zip(params, values, strict=True)) + ")"


def _read_pair(p: Parser) -> tuple[str, Value]:
    name = p.of("value", "a value")
    p.expect("=")
    return name, p.value()


def _params(params: Sequence[Value], p: Printer) -> str:
    return "(" + ", ".join(f"{p.name(v)}: {p.type(v.type)}" for v in params) + ")"


# entry @name(%a: tile<ptr<f32>>) optimization_hints=<…> { … }


def _print_entry(op: Op, p: Printer) -> None:
    p.write(f"@{op.sym_name}{_params(op.body.params, p)}")
    if op.optimization_hints:
        p.write(f"optimization_hints={p.attribute(op, 'optimization_hints')}")
    p.region(op.body, params=False)


def _parse_entry(p: Parser, kind: OpKind) -> Op:
    attrs: dict[str, Any] = {"sym_name": p.symbol()}
    params = p.listed("(", ")", p.param)
    if p.accept("optimization_hints"):
        p.expect("=")
        attrs["optimization_hints"] = HINTS.parse(p)
    return make(kind, attrs=attrs, regions=(_closed(p.region(params), return_),))


def _entry(op: Op) -> Iterator[str]:
    for param in op.body.params:
        if not isinstance(param.type, Tile) or param.type.rank:
            yield f"the parameters of a kernel are scalars and pointers (tiles of rank 0), not {param.type}"


def _closed(region: Region, terminator: OpKind) -> Region:
    """Return the region with its terminator, which the text may omit."""
    if region.ops and region.ops[-1].kind.terminator:
        return region
    return Region(region.params, (*region.ops, make(terminator)))


# for %i in (%lower to %upper, step %step) : tile<i32> iter_values(%x = %y) -> (tile<f32>) { … }


def _print_for(op: Op, p: Printer) -> None:
    index, *carried = op.region.params
    lower, upper, step = (p.name(v) for v in (op.lowerBound, op.upperBound, op.step))
    p.write(*(["unsigned"] if op.unsignedCmp else []), p.name(index), "in", f"({lower} to {upper}, step {step})", ":")
    p.write(p.type(index.type))
    if carried:
        p.write(f"iter_values{_pairs(carried, op.initValues, p)}", "->", f"({_types(op.results, p)})")
    p.region(op.region, params=False)


def _parse_for(p: Parser, kind: OpKind) -> Op:
    attrs = {"unsignedCmp": True} if p.accept("unsigned") else {}
    index = p.of("value", "a value")
    p.expect("in")
    p.expect("(")
    bounds = []
    for word in ("to", ",", ")"):
        bounds.append(p.value())
        p.expect(word)
        if word == ",":
            p.expect("step")
    p.expect(":")
    params: list[tuple[str, Type]] = [(index, p.type())]
    pairs: list[tuple[str, Value]] = []
    types: list[Type] = []
    if p.accept("iter_values"):
        pairs = p.listed("(", ")", lambda: _read_pair(p))
        p.expect("->")
        types = p.listed("(", ")", p.type)
        params += [(name, value.type) for name, value in pairs]
    region = _closed(p.region(params), continue_)
    return make(kind, (*bounds, tuple(v for _, v in pairs)), attrs, (region,), types)


def _for(op: Op) -> Iterator[str]:
    index, *carried = op.region.params
    if index.type != op.lowerBound.type:
        yield "the loop variable has the type of the bounds"
    yield from _carried("initial values", op.initValues, carried)
    yield from _carried("results", op.results, carried)
    for stop in ends_of(op.region):
        if stop.kind is continue_:
            yield from _carried("`continue` values", stop.operands, carried)
        elif stop.kind is break_:
            yield "`break` ends a `loop`, not a `for`"


def _carried(what: str, values: Sequence[Value], params: Sequence[Value]) -> Iterator[str]:
    given, taken = [str(v.type) for v in values], [str(v.type) for v in params]
    if given != taken:
        yield f"the types of the {what} ({', '.join(given)}) are not those that are expected ({', '.join(taken)})"


def ends_of(region: Region) -> Iterator[Op]:
    """Yield the terminators of a loop body, including those in branches but not in inner loops."""
    for op in region.ops:
        if op.kind.terminator:
            yield op
        elif op.kind is if_:
            for inner in op.regions:
                yield from ends_of(inner)


# loop iter_values(%x = %y) : tile<i32> -> tile<f32> { … }


def _print_loop(op: Op, p: Printer) -> None:
    if op.initValues:
        p.write(f"iter_values{_pairs(op.region.params, op.initValues, p)}")
    if op.initValues or op.results:
        p.write(":", *([_types(op.initValues, p)] if op.initValues else []))
    if op.results:
        p.write(*(["->"] if op.initValues else []), _types(op.results, p))
    p.region(op.region, params=False)


def _parse_loop(p: Parser, kind: OpKind) -> Op:
    pairs = p.listed("(", ")", lambda: _read_pair(p)) if p.accept("iter_values") else []
    types: list[Type] = []
    if p.accept(":"):
        first = _read_types(p)
        types = _read_types(p) if p.accept("->") else [] if pairs else first
    region = p.region([(name, value.type) for name, value in pairs])
    return make(kind, (tuple(v for _, v in pairs),), {}, (_closed(region, continue_),), types)


def _loop(op: Op) -> Iterator[str]:
    yield from _carried("initial values", op.initValues, op.region.params)
    for stop in ends_of(op.region):
        if stop.kind is continue_:
            yield from _carried("`continue` values", stop.operands, op.region.params)
        elif stop.kind is break_:
            yield from _carried("`break` values", stop.operands, op.results)


# if %c -> (tile<i32>) { … } else { … }


def _print_if(op: Op, p: Printer) -> None:
    p.write(p.name(op.condition))
    if op.results:
        p.write("->", f"({_types(op.results, p)})")
    p.region(op.thenRegion)
    if not _is_empty(op.elseRegion):
        p.write("else")
        p.region(op.elseRegion)


def _is_empty(region: Region) -> bool:
    return not region.ops or (len(region.ops) == 1 and region.ops[0].kind is yield_ and not region.ops[0].operands)


def _parse_if(p: Parser, kind: OpKind) -> Op:
    condition = p.value()
    types = p.listed("(", ")", p.type) if p.accept("->") else []
    then = _closed(p.region(()), yield_)
    otherwise = _closed(p.region(()) if p.accept("else") else Region(), yield_)
    return make(kind, (condition,), {}, (then, otherwise), types)


def _if(op: Op) -> Iterator[str]:
    if op.condition.type != Tile((), I1):
        yield f"the condition is a tile<i1>, not {op.condition.type}"
    for region in op.regions:
        last = region.ops[-1]
        if not last.kind.terminator:
            yield "a branch ends with yield, continue, break or return"
        elif last.kind is yield_:
            yield from _carried("`yield` values", last.operands, op.results)


# reduce %x, %y dim=1 identities=[0.0 : f32, 0 : i32] : tile<…>, … -> tile<…>, … (%a: tile<f32>, …) { … }


def _print_reduction(op: Op, p: Printer) -> None:
    p.write(", ".join(map(p.name, op.operands)), f"dim={op.dim}")
    if "reverse" in op.kind.attrs:
        p.write(f"reverse={'true' if op.reverse else 'false'}")
    p.write(f"identities={p.attribute(op, 'identities')}", ":", _types(op.operands, p), "->", _types(op.results, p))
    p.write(_params(op.body.params, p))
    p.region(op.body, params=False)


def _parse_reduction(p: Parser, kind: OpKind) -> Op:
    values = [p.value()]
    while p.accept(","):
        values.append(p.value())
    attrs: dict[str, Any] = {}
    for name in kind.attrs:
        p.expect(name)
        p.expect("=")
        attrs[name] = kind.attrs[name].parse(p)
    p.expect(":")
    _read_types(p)
    p.expect("->")
    types = _read_types(p)
    params = p.listed("(", ")", p.param)
    return make(kind, (tuple(values),), attrs, (p.region(params),), types)


def _reduction(op: Op) -> Iterator[str]:
    shape = op.operands[0].type.shape
    if not 0 <= op.dim < len(shape):
        yield f"dim={op.dim} is not a dimension of {op.operands[0].type}"
        return
    kept = shape if op.kind is scan else shape[: op.dim] + shape[op.dim + 1 :]
    scalars = [Value(Tile((), v.type.element)) for v in op.operands]
    yield from _carried("results", op.results, [Value(v.type.shaped(kept)) for v in op.operands])
    yield from _carried("parameters of the body", op.body.params, [v for v in scalars for _ in range(2)])
    yield from _carried("`yield` values", op.body.ops[-1].operands, scalars)
    if [i.element for i in op.identities] != [str(v.type.element) for v in op.operands]:
        yield "there is one identity of each operand's element type"


def _bounds(op: Op) -> Iterator[str]:
    if str(op.lowerBound.type.element) not in INTEGERS:
        yield "the bounds are integers"


_REDUCTION = Syntax(_print_reduction, _parse_reduction)
_VALUES = "[[$operands : type($operands)]]"

entry = CUDA_TILE.op(
    "entry",
    "",
    "",
    Syntax(_print_entry, _parse_entry),
    verify=_entry,
    attrs={"sym_name": SYMBOL, "optimization_hints": HINTS},
    regions="body",
)
for_ = CUDA_TILE.op(
    "for", "lowerBound upperBound step *initValues", "*resultValues", Syntax(_print_for, _parse_for),
    verify=rules(scalar_integers("lowerBound upperBound step"), same_type("lowerBound upperBound step"), _bounds, _for),
    attrs={"unsignedCmp": FLAG}, regions="region",
)  # fmt: skip
loop = CUDA_TILE.op(
    "loop", "*initValues", "*resultValues", Syntax(_print_loop, _parse_loop), verify=_loop, regions="region"
)
if_ = CUDA_TILE.op(
    "if", "condition", "*results", Syntax(_print_if, _parse_if), verify=_if, regions="thenRegion elseRegion"
)
reduce = CUDA_TILE.op(
    "reduce", "*operands", "*results", _REDUCTION, verify=rules(tiles("operands"), same_shape("operands"), _reduction),
    attrs={"dim": INT, "identities": IDENTITIES}, regions="body", pure=True,
)  # fmt: skip
scan = CUDA_TILE.op(
    "scan", "*operands", "*results", _REDUCTION, verify=rules(tiles("operands"), same_shape("operands"), _reduction),
    attrs={"dim": INT, "reverse": BOOL(False), "identities": IDENTITIES}, regions="body", pure=True,
)  # fmt: skip
break_ = CUDA_TILE.op("break", "*operands", "", _VALUES, terminator=True)
continue_ = CUDA_TILE.op("continue", "*operands", "", _VALUES, terminator=True)
yield_ = CUDA_TILE.op("yield", "*operands", "", _VALUES, terminator=True)
return_ = CUDA_TILE.op("return", "*operands", "", _VALUES, terminator=True)
