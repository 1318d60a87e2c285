"""The dialects arith, math and scf, shared by nv_tileaa and nv_tileas.

Names are those of MLIR's dialects. Each elementwise operation is one of cuda_tile with some attributes fixed:
`ELEMENTWISE` says which, so that the conversion and the interpreter need no tables of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from tirx_mini.records import dataclass

from ..cuda_tile import Dense, attributes
from ..ssa import (
    FLAG,
    INT,
    Codec,
    Dialect,
    Op,
    OpKind,
    Parser,
    Printer,
    Region,
    Scalar,
    Syntax,
    Type,
    Value,
    Verify,
    flat,
    make,
    one_of,
)  # fmt: skip
from .memory_types import element_of, is_float, is_integer, shape_of
from .types import Tensor

ARITH, MATH, SCF = Dialect("arith"), Dialect("math"), Dialect("scf")
STANDARD = (ARITH, MATH, SCF)
I1 = Scalar("i1")


# -- rules ----------------------------------------------------------------------------------------------------------


def each(*rules: Verify) -> Verify:
    """Combine several verifiers into one."""
    return lambda op: (problem for rule in rules for problem in rule(op))


def _values(op: Op, names: str) -> list[Value]:
    return [v for name in names.split() for v in flat((getattr(op, name),))]


def same_type(names: str) -> Verify:
    """Verify that all values have the same type."""

    def verify(op: Op) -> Iterator[str]:
        first, *others = (v.type for v in _values(op, names))
        if any(other != first for other in others):
            found = sorted({str(t) for t in (first, *others)})
            yield f"the types of {' and '.join(names.split())} differ: {' and '.join(found)}"

    return verify


def same_shape(names: str) -> Verify:
    """Verify that all values have the same shape."""

    def verify(op: Op) -> Iterator[str]:
        found = {shape_of(v.type) for v in _values(op, names)}
        if len(found) > 1:
            yield f"the shapes of {' and '.join(names.split())} differ"

    return verify


def each_is(test: Callable[[Type], bool], what: str, names: str) -> Verify:
    """Verify that the types of all values satisfy a predicate."""

    def verify(op: Op) -> Iterator[str]:
        for value in _values(op, names):
            if not test(value.type):
                yield f"{value!r} must be {what}"

    return verify


def floats(names: str) -> Verify:
    return each_is(is_float, "a float, or a tensor of floats", names)


def integers(names: str) -> Verify:
    return each_is(is_integer, "an integer, or a tensor of integers", names)


def numbers(names: str) -> Verify:
    return each_is(lambda t: is_float(t) or is_integer(t), "a number, or a tensor of numbers", names)


def booleans(names: str) -> Verify:
    return each_is(lambda t: element_of(t) == I1, "an i1, or a tensor of i1", names)


# -- elementwise ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elementwise:
    """An elementwise operation with its cuda_tile equivalent.

    of: the mnemonic there. fixed: attributes there that the name implies here; others have the same names in both.
    """

    kind: OpKind
    of: str
    fixed: Mapping[str, Any] = field(default_factory=dict)


ELEMENTWISE: dict[OpKind, Elementwise] = {}
_NONE: Mapping[str, object] = {}

_WRAP: dict[str, Codec] = {"overflow": attributes.OVERFLOW}
_IEEE: dict[str, Codec] = {"rounding_mode": attributes.APPROXIMATE, "flush_to_zero": FLAG}
_FTZ: dict[str, Codec] = {"flush_to_zero": FLAG}
_FULL: dict[str, Codec] = {"rounding_mode": attributes.FULL}


def _same(
    dialect: Dialect, name: str, of: str, operands: str, kinds: Callable[[str], Verify],
    attrs: dict[str, Codec] | None = None, fixed: Mapping[str, object] = _NONE,
) -> OpKind:  # fmt: skip
    """Define an operation whose operands and result share one type."""
    first = operands.split()[0]
    kind = dialect.op(
        name, operands, "result", f"{', '.join(f'${n}' for n in operands.split())} attr-dict : type(${first})",
        infer=first, verify=each(kinds(f"{operands} result"), same_type(f"{operands} result")), attrs=attrs, pure=True,
    )  # fmt: skip
    ELEMENTWISE[kind] = Elementwise(kind, of, fixed)
    return kind


def _cast(
    name: str,
    of: str,
    before: Callable[[str], Verify],
    after: Callable[[str], Verify],
    fixed: Mapping[str, object] = _NONE,
) -> OpKind:
    attrs: dict[str, Codec] = {"rounding_mode": attributes.NEAREST} if of == "itof" else {}
    kind = ARITH.op(
        name,
        "source",
        "result",
        "$source attr-dict : type($source) to type($result)",
        attrs=attrs,
        pure=True,
        verify=each(before("source"), after("result"), same_shape("source result")),
    )
    ELEMENTWISE[kind] = Elementwise(kind, of, fixed)
    return kind


_S: dict[str, object] = {"signedness": "signed"}
_U: dict[str, object] = {"signedness": "unsigned"}

addi, subi, muli, shli = (_same(ARITH, n, n, "lhs rhs", integers, _WRAP) for n in ("addi", "subi", "muli", "shli"))
mulhiui = _same(ARITH, "mulhiui", "mulhii", "lhs rhs", integers)
divsi = _same(ARITH, "divsi", "divi", "lhs rhs", integers, fixed=_S | {"rounding": "zero"})
divui = _same(ARITH, "divui", "divi", "lhs rhs", integers, fixed=_U | {"rounding": "zero"})
floordivsi = _same(ARITH, "floordivsi", "divi", "lhs rhs", integers, fixed=_S | {"rounding": "negative_inf"})
ceildivsi = _same(ARITH, "ceildivsi", "divi", "lhs rhs", integers, fixed=_S | {"rounding": "positive_inf"})
ceildivui = _same(ARITH, "ceildivui", "divi", "lhs rhs", integers, fixed=_U | {"rounding": "positive_inf"})
remsi, remui = (_same(ARITH, f"rem{s}i", "remi", "lhs rhs", integers, fixed=f) for s, f in (("s", _S), ("u", _U)))
maxsi, maxui = (_same(ARITH, f"max{s}i", "maxi", "lhs rhs", integers, fixed=f) for s, f in (("s", _S), ("u", _U)))
minsi, minui = (_same(ARITH, f"min{s}i", "mini", "lhs rhs", integers, fixed=f) for s, f in (("s", _S), ("u", _U)))
shrsi, shrui = (_same(ARITH, f"shr{s}i", "shri", "lhs rhs", integers, fixed=f) for s, f in (("s", _S), ("u", _U)))
andi, ori, xori = (_same(ARITH, n, n, "lhs rhs", integers) for n in ("andi", "ori", "xori"))
addf, subf, mulf, divf = (_same(ARITH, n, n, "lhs rhs", floats, _IEEE) for n in ("addf", "subf", "mulf", "divf"))
remf = _same(ARITH, "remf", "remf", "lhs rhs", floats)
negf = _same(ARITH, "negf", "negf", "source", floats)
maximumf = _same(ARITH, "maximumf", "maxf", "lhs rhs", floats, _FTZ, fixed={"propagate_nan": True})
minimumf = _same(ARITH, "minimumf", "minf", "lhs rhs", floats, _FTZ, fixed={"propagate_nan": True})
maxnumf = _same(ARITH, "maxnumf", "maxf", "lhs rhs", floats, _FTZ)
minnumf = _same(ARITH, "minnumf", "minf", "lhs rhs", floats, _FTZ)
absi = _same(MATH, "absi", "absi", "source", integers)
absf, ceil, floor = (_same(MATH, n, n, "source", floats) for n in ("absf", "ceil", "floor"))
sin, cos, tan, sinh, cosh = (_same(MATH, n, n, "source", floats) for n in ("sin", "cos", "tan", "sinh", "cosh"))
log, log2 = (_same(MATH, n, n, "source", floats) for n in ("log", "log2"))
exp, tanh = (_same(MATH, n, n, "source", floats, _FULL) for n in ("exp", "tanh"))
exp2, rsqrt = (_same(MATH, n, n, "source", floats, _FTZ) for n in ("exp2", "rsqrt"))
sqrt = _same(MATH, "sqrt", "sqrt", "source", floats, _IEEE)
powf = _same(MATH, "powf", "pow", "lhs rhs", floats)
atan2 = _same(MATH, "atan2", "atan2", "lhs rhs", floats)
fma = _same(MATH, "fma", "fma", "lhs rhs acc", floats, _IEEE)
fpowi = MATH.op(
    "fpowi", "lhs rhs", "result", "$lhs, $rhs : type($lhs), type($rhs)",
    infer="lhs", verify=each(floats("lhs"), integers("rhs"), same_shape("lhs rhs")), pure=True,
)  # fmt: skip
ELEMENTWISE[fpowi] = Elementwise(fpowi, "fpowi")

extsi, extui = (_cast(f"ext{s}i", "exti", integers, integers, fixed=f) for s, f in (("s", _S), ("u", _U)))
trunci = _cast("trunci", "trunci", integers, integers)
sitofp, uitofp = (_cast(f"{s}itofp", "itof", integers, floats, fixed=f) for s, f in (("s", _S), ("u", _U)))
fptosi, fptoui = (_cast(f"fpto{s}i", "ftoi", floats, integers, fixed=f) for s, f in (("s", _S), ("u", _U)))
bitcast = _cast("bitcast", "bitcast", numbers, numbers)

_COMPARED = {"equal": "eq", "not_equal": "ne", "less_than": "lt", "less_than_or_equal": "le", "greater_than": "gt",
             "greater_than_or_equal": "ge"}  # fmt: skip
CMPI = {(p, s): w if w in ("eq", "ne") else s[0] + w for p, w in _COMPARED.items() for s in ("signed", "unsigned")}
"""The predicate of arith.cmpi, by comparison and signedness in cuda_tile: "slt", "ult", "eq"."""
CMPF = {(p, o): o[0] + w for p, w in _COMPARED.items() for o in ("ordered", "unordered")}
"""The predicate of arith.cmpf, by comparison and ordering in cuda_tile: "olt", "une"."""


def _compared(op: Op) -> Type:
    return op.lhs.type.of(I1) if isinstance(op.lhs.type, Tensor) else I1


def _compare(name: str, predicates: Sequence[str], kinds: Callable[[str], Verify]) -> OpKind:
    return ARITH.op(
        name, "lhs rhs", "result", "$predicate, $lhs, $rhs : type($lhs)", infer=_compared, pure=True,
        verify=each(kinds("lhs rhs"), same_type("lhs rhs"), booleans("result")),
        attrs={"predicate": one_of(*sorted(set(predicates)))},
    )  # fmt: skip


cmpi = _compare("cmpi", list(CMPI.values()), integers)
cmpf = _compare("cmpf", list(CMPF.values()), floats)
select = ARITH.op(
    "select",
    "condition on_true on_false",
    "result",
    "$condition, $on_true, $on_false : type($condition), type($on_true)",
    infer="on_true",
    pure=True,
    verify=each(booleans("condition"), same_type("on_true on_false result")),
)


# -- constants ------------------------------------------------------------------------------------------------------


def _print_constant(op: Op, p: Printer) -> None:
    value: Dense = op.value
    scalar = not shape_of(op.result.type)
    p.write(value.numbers() if scalar else f"dense<{value.numbers()}>", ":", p.type(op.result.type))


def _parse_constant(p: Parser, kind: OpKind) -> Op:
    """Parse a constant, whose numbers are parsed after the type that determines their form."""
    start = p.at
    while not p.accept(":"):
        p.next()
    type_ = p.type()
    end, p.at = p.at, start
    dense = p.accept("dense")
    if dense:
        p.expect("<")
    values = attributes.read_numbers(p, str(element_of(type_)))
    p.at = end
    return make(kind, (), {"value": Dense.of(str(element_of(type_)), values)}, types=(type_,))


def _constant(op: Op) -> Iterator[str]:
    if str(element_of(op.result.type)) != op.value.element or op.value.values.shape not in (
        (),
        shape_of(op.result.type),
    ):
        yield f"{op.value} is not a {op.result.type}"


constant = ARITH.op(
    "constant", "", "result", Syntax(_print_constant, _parse_constant), verify=_constant, pure=True,
    attrs={"value": attributes.DENSE},
)  # fmt: skip


# -- control flow ---------------------------------------------------------------------------------------------------


def _types(values: Sequence[Value], p: Printer) -> str:
    return "(" + ", ".join(p.type(v.type) for v in values) + ")"


def _pairs(params: Sequence[Value], values: Sequence[Value], p: Printer) -> str:
    return "(" + ", ".join(f"{p.name(a)} = {p.name(v)}" for a, v in zip(params, values, strict=True)) + ")"


def _read_pairs(p: Parser) -> list[tuple[str, Value]]:
    def pair() -> tuple[str, Value]:
        name = p.of("value", "a value")
        p.expect("=")
        return name, p.value()

    return p.listed("(", ")", pair)


def _carried(what: str, values: Sequence[Value], expected: Sequence[Value]) -> Iterator[str]:
    if [v.type for v in values] != [v.type for v in expected]:
        given, wanted = (", ".join(str(v.type) for v in group) for group in (values, expected))
        yield f"the types of the {what} ({given}) are not those that are expected ({wanted})"


def _print_for(op: Op, p: Printer) -> None:
    index, *carried = op.body.params
    p.write(*(["unsigned"] if op.unsigned else []), p.name(index), "=", p.name(op.lower), "to", p.name(op.upper))
    p.write("step", p.name(op.step))
    if carried:
        p.write(f"iter_args{_pairs(carried, op.inits, p)}", "->", _types(op.results, p))
    p.write(":", p.type(index.type))
    p.attributes(op, ("unsigned",))
    p.region(op.body, params=False)


def _parse_for(p: Parser, kind: OpKind) -> Op:
    attrs: dict[str, object] = {"unsigned": True} if p.accept("unsigned") else {}
    index = p.of("value", "a value")
    bounds = []
    for word in ("=", "to", "step"):
        p.expect(word)
        bounds.append(p.value())
    pairs: list[tuple[str, Value]] = []
    types: list[Type] = []
    if p.accept("iter_args"):
        pairs = _read_pairs(p)
        p.expect("->")
        types = p.listed("(", ")", p.type)
    p.expect(":")
    params = [(index, p.type()), *((name, value.type) for name, value in pairs)]
    if p.peek == "{" and p.tokens[p.at + 1][1] in kind.attrs:
        attrs |= dict(p.listed("{", "}", lambda: _read_attribute(p, kind)))
    return make(kind, (*bounds, tuple(v for _, v in pairs)), attrs, (p.region(params),), types)


def _read_attribute(p: Parser, kind: OpKind) -> tuple[str, object]:
    name = p.word_of(tuple(kind.attrs))
    if kind.attrs[name].flag:
        return name, True
    p.expect("=")
    return name, kind.attrs[name].parse(p)


def _for(op: Op) -> Iterator[str]:
    index, *carried = op.body.params
    yield from _carried("bounds", [op.lower, op.upper, op.step], [index] * 3)
    yield from _carried("initial values", op.inits, carried)
    yield from _carried("results", op.results, carried)
    yield from _ends(op.body, yield_, carried)


def _ends(region: Region, kind: OpKind, expected: Sequence[Value]) -> Iterator[str]:
    if not region.ops or region.ops[-1].kind is not kind:
        yield f"a region must end with {kind.name}"
    else:
        yield from _carried(f"values of {kind.name}", region.ops[-1].values, expected)


def _print_if(op: Op, p: Printer) -> None:
    p.write(p.name(op.condition))
    if op.results:
        p.write("->", _types(op.results, p))
    p.region(op.then)
    if len(op.orelse.ops) > 1 or op.results:
        p.write("else")
        p.region(op.orelse)


def _parse_if(p: Parser, kind: OpKind) -> Op:
    condition = p.value()
    types = p.listed("(", ")", p.type) if p.accept("->") else []
    then = p.region(())
    orelse = p.region(()) if p.accept("else") else Region((), (make(yield_),))
    return make(kind, (condition,), {}, (then, orelse), types)


def _if(op: Op) -> Iterator[str]:
    if op.condition.type != I1:
        yield f"the condition is an i1, not {op.condition.type}"
    for region in op.regions:
        yield from _ends(region, yield_, op.results)


def _print_while(op: Op, p: Printer) -> None:
    p.write(_pairs(op.before.params, op.inits, p), ":", _types(op.inits, p), "->", _types(op.results, p))
    p.region(op.before, params=False)
    p.write("do")
    p.region(op.after)


def _parse_while(p: Parser, kind: OpKind) -> Op:
    pairs = _read_pairs(p)
    p.expect(":")
    p.listed("(", ")", p.type)
    p.expect("->")
    types = p.listed("(", ")", p.type)
    before = p.region([(name, value.type) for name, value in pairs])
    p.expect("do")
    return make(kind, (tuple(v for _, v in pairs),), {}, (before, p.region()), types)


def _while(op: Op) -> Iterator[str]:
    yield from _carried("initial values", op.inits, op.before.params)
    yield from _carried("parameters of the body", op.after.params, op.results)
    yield from _ends(op.before, condition, op.results)
    yield from _ends(op.after, yield_, op.before.params)


yield_ = SCF.op("yield", "*values", "", "[[$values : type($values)]]", terminator=True)
condition = SCF.op(
    "condition",
    "condition *values",
    "",
    "($condition) [[$values : type($values)]]",
    verify=booleans("condition"),
    terminator=True,
)
for_ = SCF.op(
    "for", "lower upper step *inits", "*results", Syntax(_print_for, _parse_for), verify=_for, regions="body",
    attrs={"unsigned": FLAG, "num_stages": INT(0)},
    doc="num_stages: buffers of the loop's pipelines; 0 where nothing has chosen.",
)  # fmt: skip
if_ = SCF.op("if", "condition", "*results", Syntax(_print_if, _parse_if), verify=_if, regions="then orelse")
while_ = SCF.op(
    "while", "*inits", "*results", Syntax(_print_while, _parse_while), verify=_while, regions="before after",
    doc="before ends with condition(go on, values): the body gets the values, or they are the results.",
)  # fmt: skip
