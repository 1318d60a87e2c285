"""The dialects arith, math and scf: arithmetic on numbers and tensors alike, and structured control flow.

Names and meanings are those of MLIR's dialects (mlir.llvm.org/docs/Dialects/ArithOps, MathOps, SCFDialect).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cuda_tile import DENSE
from ..ssa import (
    FLAG,
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
    make,
    one_of,
)
from .types import Tensor

ARITH = Dialect("arith")
MATH = Dialect("math")
SCF = Dialect("scf")
I1 = Scalar("i1")


def element_of(type: Type) -> Type:
    """The type of one element of a tensor; of a number, its own."""
    return type.element if isinstance(type, Tensor) else type


def with_element(type: Type, element: Type) -> Type:
    """The same shape and layout, with other elements."""
    return type.of(element) if isinstance(type, Tensor) else element


def _same_types(*names: str) -> Callable[[Op], list[str]]:
    def verify(op: Op) -> list[str]:
        types = [getattr(op, name).type for name in names]
        return [] if len(set(types)) == 1 else [f"operands have different types: {', '.join(map(str, types))}"]

    return verify


def _needs(floats: bool, *names: str) -> Callable[[Op], list[str]]:
    same = _same_types(*names)

    def verify(op: Op) -> list[str]:
        element = element_of(getattr(op, names[0]).type)
        wrong = isinstance(element, Scalar) and element.is_float != floats
        return same(op) + ([f"{element} is {'not ' if floats else ''}a floating-point type"] if wrong else [])

    return verify


# -- arith ---------------------------------------------------------------------------------------------------------


CONSTANT = ARITH.op("constant", "", "result", "$value : type($result)", attrs={"value": DENSE}, pure=True)

for _name in (
    "addi subi muli mulhiui divsi divui floordivsi ceildivsi ceildivui remsi remui andi ori xori shli shrsi shrui "
    "maxsi maxui minsi minui"
).split():
    ARITH.op(_name, "lhs rhs", "result", "$lhs, $rhs : type($lhs)", "lhs", _needs(False, "lhs", "rhs"), pure=True)
ROUNDING = one_of(
    "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero",
    default="nearest_even",
)  # fmt: skip
"""Rounding modes, by the names of Tile IR."""

for _name in "addf subf mulf divf remf maximumf minimumf maxnumf minnumf".split():
    ARITH.op(
        _name, "lhs rhs", "result", "$lhs, $rhs attr-dict : type($lhs)", "lhs", _needs(True, "lhs", "rhs"),
        {"rounding_mode": ROUNDING, "flush_to_zero": FLAG}, pure=True,
    )  # fmt: skip
ARITH.op("negf", "operand", "result", "$operand : type($operand)", "operand", _needs(True, "operand"), pure=True)


def _comparison(op: Op) -> Type:
    return with_element(op.lhs.type, I1)


CMPI = ARITH.op(
    "cmpi", "lhs rhs", "result", "$predicate, $lhs, $rhs : type($lhs)", _comparison, _needs(False, "lhs", "rhs"),
    {"predicate": one_of("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")}, pure=True,
)  # fmt: skip
CMPF = ARITH.op(
    "cmpf", "lhs rhs", "result", "$predicate, $lhs, $rhs : type($lhs)", _comparison, _needs(True, "lhs", "rhs"),
    {"predicate": one_of("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
                         "uno")}, pure=True,
)  # fmt: skip
SELECT = ARITH.op(
    "select",
    "condition a b",
    "result",
    "$condition, $a, $b : type($condition), type($a)",
    "a",
    _same_types("a", "b"),
    pure=True,
)

CASTS: tuple[OpKind, ...] = tuple(
    ARITH.op(name, "operand", "result", "$operand : type($operand) to type($result)", pure=True)
    for name in ("extsi extui trunci extf truncf sitofp uitofp fptosi fptoui bitcast index_cast index_castui".split())
)

# -- math ----------------------------------------------------------------------------------------------------------

for _name in (
    "absf absi exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh erf floor ceil "
    "round trunc isnan isinf isfinite"
).split():
    MATH.op(
        _name, "operand", "result", "$operand attr-dict : type($operand)",
        (lambda op: with_element(op.operand.type, I1)) if _name.startswith("is") else "operand",
        attrs={"rounding_mode": ROUNDING, "flush_to_zero": FLAG}, pure=True,
    )  # fmt: skip
for _name in ("powf", "atan2"):
    MATH.op(_name, "lhs rhs", "result", "$lhs, $rhs : type($lhs)", "lhs", _needs(True, "lhs", "rhs"), pure=True)
MATH.op("fma", "a b c", "result", "$a, $b, $c : type($a)", "a", _needs(True, "a", "b", "c"), pure=True)

# -- scf -----------------------------------------------------------------------------------------------------------


def _print_values(op: Op, p: Printer, inits: tuple[Any, ...], params: tuple[Any, ...]) -> None:
    """``iter_args(%a = %b, …) -> (types)``, where there are any."""
    if inits:
        pairs = (f"{p.name(param)} = {p.name(init)}" for param, init in zip(params, inits, strict=True))
        p.write(f"iter_args({', '.join(pairs)})", "->", f"({', '.join(p.type(v.type) for v in op.results)})")


def _parse_values(p: Parser) -> tuple[list[str], list[Value], list[Type]]:
    """(names of parameters, initial values, types)."""
    names: list[str] = []
    inits: list[Value] = []
    if not p.accept("iter_args"):
        return names, inits, []

    def pair() -> None:
        names.append(p.of("value", "a value"))
        p.expect("=")
        inits.append(p.value())

    p.listed("(", ")", pair)
    p.expect("->")
    return names, inits, p.listed("(", ")", p.type)


def _print_for(op: Op, p: Printer) -> None:
    body = op.regions[0]
    p.write(p.name(body.params[0]), "=", p.name(op.lower), "to", p.name(op.upper), "step", p.name(op.step))
    _print_values(op, p, op.inits, body.params[1:])
    p.write(":", p.type(op.lower.type))
    p.region(body, params=False)
    p.attributes(op)


def _parse_for(p: Parser, kind: OpKind) -> Op:
    var = p.of("value", "a value")
    p.expect("=")
    lower = p.value()
    p.expect("to")
    upper = p.value()
    p.expect("step")
    step = p.value()
    carried, inits, types = _parse_values(p)
    p.expect(":")
    index = p.type()
    region = p.region([(var, index), *zip(carried, types, strict=True)])
    attrs = _parse_attributes(p, kind)
    return make(kind, (lower, upper, step, tuple(inits)), attrs, (region,), types)


def _parse_attributes(p: Parser, kind: OpKind) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def one() -> None:
        name = p.word_of(tuple(kind.attrs))
        codec = kind.attrs[name]
        if not codec.flag:
            p.expect("=")
        found[name] = codec.parse(p)

    if p.peek == "{":
        p.listed("{", "}", one)
    return found


def _verify_for(op: Op) -> list[str]:
    carried = op.regions[0].params[1:]
    if len(carried) != len(op.inits) or len(op.results) != len(op.inits):
        return [f"{len(op.inits)} values go in, {len(carried)} go round and {len(op.results)} come out"]
    return _mismatches(op.inits, carried, "goes round") + _mismatches(op.inits, op.results, "comes out")


def _mismatches(one: tuple[Any, ...], other: tuple[Any, ...], what: str) -> list[str]:
    return [
        f"a value of {a.type} goes in and one of {b.type} {what}"
        for a, b in zip(one, other, strict=True)
        if a.type != b.type
    ]


FOR = SCF.op(
    "for", "lower upper step *inits", "*results", Syntax(_print_for, _parse_for), verify=_verify_for, regions="body",
    attrs={"unsigned": FLAG}, doc="for iv in range(lower, upper, step), with values that go round",
)  # fmt: skip


def _print_if(op: Op, p: Printer) -> None:
    p.write(p.name(op.condition))
    if op.results:
        p.write("->", f"({', '.join(p.type(v.type) for v in op.results)})")
    p.region(op.then)
    if op.orelse.ops:
        p.write("else")
        p.region(op.orelse)


def _parse_if(p: Parser, kind: OpKind) -> Op:
    cond = p.value()
    types = p.listed("(", ")", p.type) if p.accept("->") else []
    then = p.region(())
    orelse = p.region(()) if p.accept("else") else Region()
    return make(kind, (cond,), {}, (then, orelse), types)


IF = SCF.op("if", "condition", "*results", Syntax(_print_if, _parse_if), regions="then orelse")


def _print_while(op: Op, p: Printer) -> None:
    _print_values(op, p, op.inits, op.before.params)
    p.region(op.before, params=False)
    p.write("do")
    p.region(op.after)


def _parse_while(p: Parser, kind: OpKind) -> Op:
    carried, inits, types = _parse_values(p)
    before = p.region([(n, i.type) for n, i in zip(carried, inits, strict=True)])
    p.expect("do")
    after = p.region()
    return make(kind, (tuple(inits),), {}, (before, after), types)


WHILE = SCF.op("while", "*inits", "*results", Syntax(_print_while, _parse_while), regions="before after")
CONDITION = SCF.op("condition", "condition *values", "", "( $condition ) [[$values : type($values)]]", terminator=True)
YIELD = SCF.op("yield", "*values", "", "[[$values : type($values)]]", terminator=True)

STANDARD = (ARITH, MATH, SCF)
"""The dialects of this module."""
