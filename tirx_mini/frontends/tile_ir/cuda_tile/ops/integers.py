"""Integer and bitwise operations, and conversions (Tile IR: Operations, Integer, Bitwise, Conversions)."""

from __future__ import annotations

from collections.abc import Iterator

from ...ssa import FLAG, Codec, Op, OpKind, Verify
from ..attributes import (
    CONVERSION_ROUNDING,
    DIVISION_ROUNDING,
    INTEGER_ROUNDING,
    NEAREST,
    OVERFLOW,
    PREDICATE,
    SIGNEDNESS,
)
from ..dialect import CUDA_TILE, floats, integers, pointers, rules, same_elements, same_shape, same_type
from ..types import Ptr
from .floats import compared, matrix_product


def _elementwise(name: str, operands: str, attrs: dict[str, Codec] | None = None, more: Verify | None = None) -> OpKind:
    """Define an operation whose operands and result share one type."""
    named = ", ".join(f"${n}" for n in operands.split())
    texts = "".join(f" ${n}" if n == "signedness" else f" [[${n}]]" for n in attrs or {})
    checks = (integers(f"{operands} result"), same_type(f"{operands} result"), *((more,) if more else ()))
    return CUDA_TILE.op(
        name, operands, "result", f"{named}{texts} : type($result)",
        infer=operands.split()[0], verify=rules(*checks), attrs=attrs, pure=True,
    )  # fmt: skip


def _floor_is_signed(op: Op) -> Iterator[str]:
    if op.signedness == "unsigned" and op.rounding == "negative_inf":
        yield "rounding<negative_inf> is for signed division; unsigned division rounds to zero, which is the same"


_WRAP: dict[str, Codec] = {"overflow": OVERFLOW}
_SIGN: dict[str, Codec] = {"signedness": SIGNEDNESS}

absi = _elementwise("absi", "source")
negi = _elementwise("negi", "source", _WRAP)
addi, subi, muli, shli = (_elementwise(n, "lhs rhs", _WRAP) for n in ("addi", "subi", "muli", "shli"))
maxi, mini, remi, shri = (_elementwise(n, "lhs rhs", _SIGN) for n in ("maxi", "mini", "remi", "shri"))
divi = _elementwise("divi", "lhs rhs", _SIGN | {"rounding": DIVISION_ROUNDING}, _floor_is_signed)
andi, ori, xori = (_elementwise(n, "lhs rhs") for n in ("andi", "ori", "xori"))
mulhii = _elementwise("mulhii", "x y")
cmpi = CUDA_TILE.op(
    "cmpi", "lhs rhs", "result", "$comparison_predicate $lhs, $rhs, $signedness : type($lhs) -> type($result)",
    infer=compared, verify=rules(integers("lhs rhs"), same_type("lhs rhs")), pure=True,
    attrs={"comparison_predicate": PREDICATE, "signedness": SIGNEDNESS},
)  # fmt: skip
mmai = CUDA_TILE.op(
    "mmai", "lhs rhs acc", "result",
    "$lhs, $rhs, $acc $signedness_lhs $signedness_rhs : type($lhs), type($rhs), type($acc)",
    infer="acc", verify=rules(same_elements("lhs rhs"), matrix_product, same_type("acc result")), pure=True,
    attrs={"signedness_lhs": SIGNEDNESS, "signedness_rhs": SIGNEDNESS},
)  # fmt: skip


def _conversion(name: str, *checks: Verify, attrs: dict[str, Codec] | None = None) -> OpKind:
    texts = "".join(f" ${n}" if n == "signedness" else f" [[${n}]]" for n in attrs or {})
    return CUDA_TILE.op(
        name, "source", "result", f"$source{texts} : type($source) -> type($result)",
        verify=rules(same_shape("source result"), *checks), attrs=attrs, pure=True,
    )  # fmt: skip


def _widths(sign: int, verb: str) -> Verify:
    def verify(op: Op) -> Iterator[str]:
        before, after = op.operands[0].type.element, op.result.type.element
        if sign * (after.bits - before.bits) <= 0:
            yield f"{before} is not {verb} to {after}"

    return verify


def _same_width(op: Op) -> Iterator[str]:
    before, after = op.source.type.element, op.result.type.element
    if isinstance(before, Ptr) or isinstance(after, Ptr) or before.bits != after.bits:
        yield f"{before} and {after} are not numbers of one width"


def _floats_differ(op: Op) -> Iterator[str]:
    if op.source.type == op.result.type:
        yield "it converts a type to itself"


exti = _conversion("exti", integers("source result"), _widths(1, "extended"), attrs=_SIGN)
trunci = _conversion("trunci", integers("source result"), _widths(-1, "truncated"), attrs=_WRAP)
ftof = _conversion("ftof", floats("source result"), _floats_differ, attrs={"rounding_mode": CONVERSION_ROUNDING})
ftoi = _conversion(
    "ftoi", floats("source"), integers("result"),
    attrs=_SIGN | {"rounding_mode": INTEGER_ROUNDING, "saturating": FLAG},
)  # fmt: skip
itof = _conversion("itof", integers("source"), floats("result"), attrs=_SIGN | {"rounding_mode": NEAREST})
bitcast = _conversion("bitcast", _same_width)
int_to_ptr = _conversion("int_to_ptr", integers("source"), pointers("result"))
ptr_to_int = _conversion("ptr_to_int", pointers("source"), integers("result"))
ptr_to_ptr = _conversion("ptr_to_ptr", pointers("source result"))
