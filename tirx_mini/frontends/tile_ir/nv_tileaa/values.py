"""The nv_tileaa operations on values: functions, shapes, products, reductions and scans."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from ..cuda_tile import attributes
from ..ssa import (
    BOOL,
    INT,
    INTS,
    SYMBOL,
    TYPE,
    Codec,
    Op,
    OpKind,
    Parser,
    Printer,
    Scalar,
    Syntax,
    Type,
    Verify,
    make,
    one_of,
)
from .dialect import CONVERTED, NV_TILEAA, same_elements, tensors
from .memory_types import element_of, shape_of
from .standard import each, floats, same_shape, same_type


def _print_func(op: Op, p: Printer) -> None:
    p.write(f"@{op.sym_name}(" + ", ".join(f"{p.name(v)}: {p.type(v.type)}" for v in op.body.params) + ")")
    p.attributes(op, ("sym_name",))
    p.region(op.body, params=False)


def _parse_func(p: Parser, kind: OpKind) -> Op:
    attrs: dict[str, Any] = {"sym_name": p.symbol()}
    params = p.listed("(", ")", p.param)
    if p.peek == "{" and p.tokens[p.at + 1][1] in kind.attrs:

        def one() -> None:
            name = p.word_of(tuple(kind.attrs))
            p.expect("=")
            attrs[name] = kind.attrs[name].parse(p)

        p.listed("{", "}", one)
    return make(kind, (), attrs, (p.region(params),))


func = NV_TILEAA.op(
    "func",
    "",
    "",
    Syntax(_print_func, _parse_func),
    regions="body",
    attrs={
        "sym_name": SYMBOL,
        "kernel_spec": attributes.HINTS,
        "num_warps": INT(0),
        "num_ctas": INT(0),
        "occupancy": INT(0),
    },
    doc="A kernel. kernel_spec: hints by architecture. The numbers are 0 until a pass plans them.",
)
return_ = NV_TILEAA.op("return", "", "", "", terminator=True)
global_ = NV_TILEAA.op(
    "global", "", "", "$sym_name $value : $type", attrs={"sym_name": SYMBOL, "value": attributes.DENSE, "type": TYPE}
)  # fmt: skip
get_global = NV_TILEAA.op("get_global", "", "result", "$symbol : type($result)", pure=True, attrs={"symbol": SYMBOL})

# -- values ---------------------------------------------------------------------------------------------------------


def _three(op: Op) -> tuple[Type, ...]:
    return (Scalar("i32"),) * 3


def _splat(op: Op) -> Iterator[str]:
    if shape_of(op.source.type) or element_of(op.result.type) != op.source.type:
        yield f"{op.source.type} is not splat to {op.result.type}"


def _range(op: Op) -> Iterator[str]:
    if shape_of(op.result.type) != (op.end - op.start,):
        yield f"{op.start} to {op.end} is not a {op.result.type}"


def _view(op: Op) -> Iterator[str]:
    if prod(shape_of(op.source.type)) != prod(shape_of(op.result.type)):
        yield f"{op.source.type} and {op.result.type} have different numbers of elements"


def _expand(op: Op) -> Iterator[str]:
    shape = list(shape_of(op.source.type))
    if [*shape[: op.axis], 1, *shape[op.axis :]] != list(shape_of(op.result.type)):
        yield f"{op.result.type} is not {op.source.type} with an extent of 1 at {op.axis}"


def _broadcast(op: Op) -> Iterator[str]:
    before, after = shape_of(op.source.type), shape_of(op.result.type)
    if len(before) != len(after) or any(b not in (1, a) for b, a in zip(before, after, strict=False)):
        yield f"only extents of 1 are broadcast, at the same rank: {op.source.type} to {op.result.type}"


def _permute(op: Op) -> Iterator[str]:
    shape = shape_of(op.source.type)
    if sorted(op.permutation) != list(range(len(shape))):
        yield f"{list(op.permutation)} is not a permutation of {len(shape)} dimensions"
    elif shape_of(op.result.type) != tuple(shape[i] for i in op.permutation):
        yield f"{op.result.type} is not {op.source.type} permuted by {list(op.permutation)}"


def _slices(whole: str, part: str) -> Verify:
    def verify(op: Op) -> Iterator[str]:
        large, small = shape_of(getattr(op, whole).type), shape_of(getattr(op, part).type)
        if len(large) != len(small) or any(n % k for n, k in zip(large, small, strict=False)):
            yield f"{getattr(op, part).type} does not divide {getattr(op, whole).type}"
        elif len(op.indices) != len(large):
            yield f"it has {len(op.indices)} indices for {len(large)} dimensions"

    return verify


_ELEMENTS = same_elements("source result")


def _moves(name: str, rule: Verify, format: str = CONVERTED, **attrs: Codec) -> OpKind:
    """Define an operation that rearranges elements into another shape or order."""
    return NV_TILEAA.op(name, "source", "result", format, verify=each(_ELEMENTS, rule), pure=True, attrs=attrs)


assume = NV_TILEAA.op(
    "assume", "value", "result", "$predicate, $value : type($value)", infer="value", pure=True,
    attrs={"predicate": attributes.ASSUMED},
)  # fmt: skip
get_program_id = NV_TILEAA.op("get_program_id", "", "x y z", ": type($x)", infer=_three, pure=True)
get_num_programs = NV_TILEAA.op("get_num_programs", "", "x y z", ": type($x)", infer=_three, pure=True)
splat = NV_TILEAA.op("splat", "source", "result", CONVERTED, verify=_splat, pure=True)
make_range = NV_TILEAA.op(
    "make_range", "", "result", "attr-dict : type($result)", verify=_range, pure=True, attrs={"start": INT, "end": INT}
)  # fmt: skip
view = _moves("view", _view)
expand_dims = _moves("expand_dims", _expand, "$source attr-dict : type($source) -> type($result)", axis=INT)
broadcast = _moves("broadcast", _broadcast)
permute = _moves("permute", _permute, "$source $permutation : type($source) -> type($result)", permutation=INTS)
cat = NV_TILEAA.op(
    "cat", "lhs rhs", "result", "$lhs, $rhs attr-dict : type($lhs), type($rhs) -> type($result)",
    verify=same_elements("lhs rhs result"), pure=True, attrs={"dim": INT},
)  # fmt: skip
extract = NV_TILEAA.op(
    "extract", "source *indices", "result", "$source[$indices] : type($source)",
    infer=lambda op: op.source.type.element, verify=tensors("source"), pure=True,
    doc="One element as a scalar; no indices where there is only one.",
)  # fmt: skip
extract_slice = NV_TILEAA.op(
    "extract_slice", "source *indices", "result", "$source[$indices] : type($source) -> type($result)",
    verify=each(_ELEMENTS, _slices("source", "result")), pure=True, doc="Indices count slices of the result's shape.",
)  # fmt: skip
insert_slice = NV_TILEAA.op(
    "insert_slice", "source destination *indices", "result",
    "$source, $destination[$indices] : type($source), type($destination)", infer="destination", pure=True,
    verify=each(same_elements("source destination"), _slices("destination", "source")),
)  # fmt: skip
fp_to_fp = NV_TILEAA.op(
    "fp_to_fp",
    "source",
    "result",
    "$source attr-dict : type($source) -> type($result)",
    pure=True,
    verify=each(floats("source result"), same_shape("source result")),
    attrs={"rounding_mode": attributes.CONVERSION_ROUNDING},
)


def _dot(op: Op) -> Iterator[str]:
    lhs, rhs, acc = (shape_of(v.type) for v in (op.lhs, op.rhs, op.acc))
    if len(acc) not in (2, 3) or lhs[:-2] != rhs[:-2] or lhs[-1:] != rhs[-2:-1] or acc != (*lhs[:-1], *rhs[-1:]):
        yield f"{op.lhs.type}, {op.rhs.type} and {op.acc.type} are not of the shapes M x K, K x N and M x N"


_SIGNS: dict[str, Codec] = {"signed_lhs": BOOL(True), "signed_rhs": BOOL(True), "fast_acc": BOOL(False)}
dot = NV_TILEAA.op(
    "dot",
    "lhs rhs acc",
    "result",
    "$lhs, $rhs, $acc attr-dict : type($lhs), type($rhs), type($acc)",
    infer="acc",
    verify=each(tensors("lhs rhs acc"), same_elements("lhs rhs"), same_type("acc result"), _dot),
    pure=True,
    attrs=_SIGNS,
    doc="acc + lhs rhs, of matrices or of batches of them.",
)
dot_scaled = NV_TILEAA.op(
    "dot_scaled", "lhs rhs acc lhs_scale rhs_scale", "result",
    "$lhs, $rhs, $acc, $lhs_scale, $rhs_scale : type($lhs), type($rhs), type($acc), type($lhs_scale), type($rhs_scale)",
    infer="acc", verify=each(tensors("lhs rhs acc"), same_type("acc result"), _dot), pure=True,
)  # fmt: skip

# -- reductions -----------------------------------------------------------------------------------------------------

KINDS = ("add", "mul", "max", "min", "umax", "umin", "and", "or", "xor")
"""What a reduction's body does, where it is one well-known operation."""


def _print_reduce(op: Op, p: Printer) -> None:
    p.write(", ".join(map(p.name, op.operands)))
    p.attributes(op)
    p.write(":", ", ".join(p.type(v.type) for v in op.operands), "->", ", ".join(p.type(v.type) for v in op.results))
    p.region(op.body)


def _parse_reduce(p: Parser, kind: OpKind) -> Op:
    values = [p.value()]
    while p.accept(","):
        values.append(p.value())
    attrs: dict[str, Any] = {}

    def one() -> None:
        name = p.word_of(tuple(kind.attrs))
        p.expect("=")
        attrs[name] = kind.attrs[name].parse(p)

    p.listed("{", "}", one)
    p.expect(":")
    types: list[list[Type]] = [[], []]
    for side in types:
        side.append(p.type())
        while p.accept(","):
            side.append(p.type())
        if side is types[0]:
            p.expect("->")
    return make(kind, (tuple(values),), attrs, (p.region(),), types[1])


def _reduce(op: Op) -> Iterator[str]:
    shape = shape_of(op.operands[0].type)
    if not 0 <= op.dim < len(shape):
        yield f"{op.dim} is not a dimension of {op.operands[0].type}"
        return
    kept = shape if op.kind is scan else shape[: op.dim] + shape[op.dim + 1 :]
    for value, result in zip(op.operands, op.results, strict=True):
        if shape_of(result.type) != kept or element_of(result.type) != element_of(value.type):
            yield f"{value.type} is not reduced to {result.type}"
    if [v.type for v in op.body.params] != [element_of(v.type) for v in op.operands for _ in range(2)]:
        yield "the body takes two scalars for each operand: the element, and what came before"
    if not op.body.ops or op.body.ops[-1].kind is not yield_:
        yield "the body ends with nv_tileaa.yield"


_REDUCED: dict[str, Codec] = {"dim": INT, "identities": attributes.IDENTITIES, "combine": one_of(*KINDS, default="")}
_SYNTAX = Syntax(_print_reduce, _parse_reduce)
reduce = NV_TILEAA.op(
    "reduce", "*operands", "*results", _SYNTAX, attrs=_REDUCED, regions="body", pure=True,
    verify=each(same_shape("operands"), _reduce), doc="combine: one of KINDS, of the body.",
)  # fmt: skip
scan = NV_TILEAA.op(
    "scan", "*operands", "*results", _SYNTAX, attrs=_REDUCED | {"reverse": BOOL(False)}, regions="body", pure=True,
    verify=each(same_shape("operands"), _reduce),
)  # fmt: skip
yield_ = NV_TILEAA.op("yield", "*values", "", "[[$values : type($values)]]", terminator=True)
