"""Forms of floating-point instructions (PTX ISA: "Floating Point Instructions", "Half Precision Floating Point
Instructions", "Comparison and Selection Instructions").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .forms import Bound, Form, expanded, forms, unusable, written
from .integers import joined

ROUNDED = "[.rn|.rz|.rm|.rp]"
HALF, PACKED = "[f16|f16x2]", "[bf16|bf16x2]"


def sums() -> list[Form]:
    """Sums, products and fused products; where no rounding is stated, an assembler may fuse two, so that they stand
    alone."""
    found = [
        *forms(f"[add|sub|mul]{ROUNDED}[.ftz|][.sat|].f32", "$ $", "$"),
        *forms(f"[add|sub|mul]{ROUNDED}.f64", "$ $", "$"),
        *forms(f"[add|sub|mul].rn[.ftz|][.sat|].{HALF}", "$ $", "$"),
        *forms(f"[add|sub|mul].rn.{PACKED}", "$ $", "$"),
        *forms(f"[fma|mad]{ROUNDED}[.ftz|][.sat|].f32", "$ $ $", "$"),
        *forms(f"[fma|mad]{ROUNDED}.f64", "$ $ $", "$"),
        *forms(f"fma.rn[.ftz|][.sat|].{HALF}", "$ $ $", "$"),
        *forms(f"fma.rn[.ftz|].relu.{HALF}", "$ $ $", "$"),
        *forms(f"fma.rn[.relu|].{PACKED}", "$ $ $", "$"),
        *forms("[neg|abs].[f32|f64|f16|f16x2|bf16|bf16x2]", "$", "$"),
        # ptxas 13.0 drops the rounding of a conversion to an integer when it makes them modifiers of its operand:
        *unusable(forms("[neg|abs].ftz.[f32|f16|f16x2]", "$", "$")),
    ]
    alone = [
        *forms("[add|sub|mul][.ftz|][.sat|].f32", "$ $", "$"),
        *forms("[add|sub|mul].f64", "$ $", "$"),
        *forms(f"[add|sub|mul][.ftz|][.sat|].{HALF}", "$ $", "$"),
        *forms(f"[add|sub|mul].{PACKED}", "$ $", "$"),
    ]
    return [*found, *unusable(alone)]


def extremes() -> list[Form]:
    """min and max; .xorsign looks at the signs of NaNs, too."""
    found = [
        *forms("[min|max][.ftz|][.NaN|].[f32|f16|f16x2]", "$ $", "$"),
        *forms("[min|max].f64", "$ $", "$"),
        *forms(f"[min|max][.NaN|].{PACKED}", "$ $", "$"),
    ]
    signed = [
        *forms("[min|max][.ftz|][.NaN|].xorsign.abs.f32", "$~ $~", "$"),
        *forms("[min|max][.ftz|][.NaN|].xorsign.abs.f16", "$~ $~", "$"),
        *forms("[min|max][.NaN|].xorsign.abs.bf16", "$~ $~", "$"),
        *unusable(forms("[min|max][.ftz|][.NaN|].xorsign.abs.f16x2", "$ $", "$")),
        *unusable(forms("[min|max][.NaN|].xorsign.abs.bf16x2", "$ $", "$")),
    ]
    return [*found, *signed, *forms("copysign.[f32|f64]", "$~ $", "$")]


def quotients() -> list[Form]:
    return [
        *forms(f"div{ROUNDED}[.ftz|].f32", "$ $", "$"),
        *forms(f"[rcp|sqrt]{ROUNDED}[.ftz|].f32", "$", "$"),
        *forms(f"div{ROUNDED}.f64", "$ $", "$"),
        *forms(f"[rcp|sqrt]{ROUNDED}.f64", "$", "$"),
    ]


_WORDS = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split()


def comparisons() -> list[Form]:
    found: list[Form] = []
    for word in _WORDS:
        found += forms(f"setp.{word}[.ftz|].[f32|f16]", "$ $", "pred")
        found += forms(f"setp.{word}.[f64|bf16]", "$ $", "pred")
        for kind in ("f16x2", "bf16x2"):
            opcode = f"setp.{word}.{kind}"
            found.append(written(opcode, f"{opcode} {{d}}|{{e}}, {{a}}, {{b}};", f"{kind} {kind}", "pred pred"))
        found += forms(f"set.{word}[.ftz|].[u32|s32|f32].f32", "$ $", "b32")
        found += forms(f"set.{word}.[u32|s32|f32].f64", "$ $", "b32")
        found += forms(f"set.{word}[.ftz|].[u16|s16|f16].f16", "$ $", "b16")
        found += forms(f"set.{word}[.ftz|].[u32|s32].f16", "$ $", "b32")
        found += forms(f"set.{word}.[u16|s16|bf16].bf16", "$ $", "b16")
        found += forms(f"set.{word}.[u32|s32].bf16", "$ $", "b32")
        found += forms(f"set.{word}[.ftz|].f16x2.f16x2", "$ $", "b32")
        found += forms(f"set.{word}.bf16x2.bf16x2", "$ $", "b32")
    for kind in ("f32", "f64", "f16", "bf16"):
        found += joined(kind, "ltu")
    found += joined("f32", "ge", ".ftz")
    found += forms("selp.[f32|f64]", "$ $ pred", "$")
    for kind in ("f32", "f64"):
        found += forms(f"slct.{kind}.s32", f"{kind} {kind} s32", kind)
        found += forms(f"slct[.ftz|].{kind}.f32", f"{kind} {kind} f32", kind)
        found += forms(f"mov.{kind}", kind, kind)
    found += forms("testp.[finite|infinite|number|notanumber|normal|subnormal].[f32|f64]", "$", "pred")
    return found


# -- approximations ---------------------------------------------------------------------------------------------------


def _inside_divisors(a: Any, b: Any) -> Any:
    return (np.abs(b) >= 2.0**-126) & (np.abs(b) <= 2.0**126)


def _around_zero(x: Any) -> Any:
    return np.abs(x) <= math.pi


def approximations() -> list[Form]:
    """Forms with the documented errors of the PTX ISA."""
    found: list[Form] = []
    for mod in ("", ".ftz"):
        ftz = bool(mod)

        def one(opcode: str, bound: Bound, operands: str = "f32") -> None:
            found.extend(forms(opcode, operands, "f32", bound=bound))

        one(f"div.approx{mod}.f32", Bound(np.divide, ulps=2, ftz=ftz, inside=_inside_divisors), "f32 f32")
        one(f"div.full{mod}.f32", Bound(np.divide, ulps=2, ftz=ftz), "f32 f32")
        one(f"rcp.approx{mod}.f32", Bound(np.reciprocal, ulps=1, ftz=ftz))
        one(f"sqrt.approx{mod}.f32", Bound(np.sqrt, relative=2.0**-23, ftz=ftz))
        one(f"rsqrt.approx{mod}.f32", Bound(lambda x: 1 / np.sqrt(x), relative=2.0**-22.9, ftz=ftz))
        one(f"sin.approx{mod}.f32", Bound(np.sin, absolute=2.0**-20.5, ftz=ftz, inside=_around_zero))
        one(f"cos.approx{mod}.f32", Bound(np.cos, absolute=2.0**-20.5, ftz=ftz, inside=_around_zero))
        one(f"lg2.approx{mod}.f32", Bound(np.log2, relative=2.0**-22, absolute=2.0**-22, ftz=ftz))
        one(f"ex2.approx{mod}.f32", Bound(np.exp2, relative=2.0**-22, ftz=ftz))
    found += forms("tanh.approx.f32", "f32", "f32", bound=Bound(np.tanh, relative=2.0**-11))
    for kind, tanh, ex2, mod in (("f16", 2.0**-10.987, 2.0**-9.9, ""), ("bf16", 2.0**-8, 2.0**-7, ".ftz")):
        for name in (kind, f"{kind}x2"):
            found += forms(f"tanh.approx.{name}", "$", "$", bound=Bound(np.tanh, absolute=tanh))
            found += forms(f"ex2.approx{mod}.{name}", "$", "$", bound=Bound(np.exp2, relative=ex2, ftz=bool(mod)))
    found += forms("rcp.approx.ftz.f64", "f64", "f64", bound=Bound(np.reciprocal, ftz=True))
    found += forms("rsqrt.approx.ftz.f64", "f64", "f64", bound=Bound(lambda x: 1 / np.sqrt(x), ftz=True))
    found += forms("rsqrt.approx.f64", "f64", "f64", bound=Bound(lambda x: 1 / np.sqrt(x)))
    return unusable(found)


def smallest() -> list[Form]:
    """Products and quotients near the smallest normal number, which rounding reaches or .ftz makes zero."""
    found: list[Form] = []
    for opcode in expanded(f"[mul|div]{ROUNDED}[.ftz|].f32"):
        found.append(_near(opcode, "f32", 2))
    for opcode in expanded(f"fma{ROUNDED}[.ftz|].f32"):
        found.append(_near(opcode, "f32", 3))
    for opcode in expanded("mul.rn[.ftz|].f16"):
        found.append(_near(opcode, "f16", 2))
    for opcode in expanded("fma.rn[.ftz|].f16"):
        found.append(_near(opcode, "f16", 3))
    for opcode in expanded(f"rcp{ROUNDED}[.ftz|].f32"):
        found.append(_near(opcode, "f32", 1))
    for opcode in expanded(f"cvt{ROUNDED}[.ftz|].f32.f64"):
        found.append(written(f"{opcode} near the smallest", f"{opcode} {{d}}, {{a}};", "f64^", "f32", usable=False))
    return found


def _near(opcode: str, kind: str, count: int) -> Form:
    places = ", ".join(("{a}", "{b}", "{c}")[:count])
    return written(f"{opcode} near the smallest", f"{opcode} {{d}}, {places};", f"{kind}^ " * count, kind, usable=False)


def float_forms() -> list[Form]:
    return [*sums(), *extremes(), *smallest(), *quotients(), *comparisons(), *approximations()]
