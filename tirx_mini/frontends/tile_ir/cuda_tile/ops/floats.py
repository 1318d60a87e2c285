"""Floating-point operations (Tile IR: Operations, Floating Point)."""

from __future__ import annotations

from collections.abc import Iterator

from ...ssa import FLAG, Codec, Op, OpKind, Verify
from ..attributes import APPROXIMATE, FULL, ORDERING, PREDICATE, ROUNDING
from ..dialect import CUDA_TILE, base_floats, only, rules, same_elements, same_type
from ..types import Tile

_FTZ: dict[str, Codec] = {"flush_to_zero": FLAG}
_FTZ_F32 = only("flush_to_zero", True, ("f32",))
_APPROX_F32 = rules(only("rounding_mode", "approx", ("f32",)), only("rounding_mode", "full", ("f32",)))


def _elementwise(name: str, operands: str, attrs: dict[str, Codec] | None = None, more: Verify | None = None) -> OpKind:
    """Define an operation whose operands and result share one type."""
    first = operands.split()[0]
    named = ", ".join(f"${n}" for n in operands.split())
    rounding = " [[$rounding_mode]]" if "rounding_mode" in (attrs or {}) else ""
    flags = "".join(f" [[${n}]]" for n, c in (attrs or {}).items() if c.flag)
    checks = (base_floats(f"{operands} result"), same_type(f"{operands} result"), *((more,) if more else ()))
    return CUDA_TILE.op(
        name, operands, "result", f"{named}{rounding}{flags} : type($result)",
        infer=first, verify=rules(*checks), attrs=attrs, pure=True,
    )  # fmt: skip


def _unary(name: str) -> OpKind:
    return _elementwise(name, "source")


_IEEE = {"rounding_mode": ROUNDING} | _FTZ
_DIVIDE = {"rounding_mode": APPROXIMATE} | _FTZ
_NUMBERS = {"flush_to_zero": FLAG, "propagate_nan": FLAG}

absf, negf, ceil, floor = (_unary(n) for n in ("absf", "negf", "ceil", "floor"))
sin, cos, tan, sinh, cosh = (_unary(n) for n in ("sin", "cos", "tan", "sinh", "cosh"))
log, log2 = _unary("log"), _unary("log2")
tanh = _elementwise("tanh", "source", {"rounding_mode": FULL})
exp = _elementwise("exp", "source", {"rounding_mode": FULL})
exp2 = _elementwise("exp2", "source", _FTZ, _FTZ_F32)
rsqrt = _elementwise("rsqrt", "source", _FTZ, _FTZ_F32)
sqrt = _elementwise("sqrt", "source", _DIVIDE, rules(_FTZ_F32, _APPROX_F32))
addf, subf, mulf = (_elementwise(n, "lhs rhs", _IEEE, _FTZ_F32) for n in ("addf", "subf", "mulf"))
divf = _elementwise("divf", "lhs rhs", _DIVIDE, rules(_FTZ_F32, _APPROX_F32))
remf = _elementwise("remf", "lhs rhs")
maxf, minf = (_elementwise(n, "lhs rhs", _NUMBERS, _FTZ_F32) for n in ("maxf", "minf"))
pow_ = _elementwise("pow", "source exponent")
atan2 = _elementwise("atan2", "x y")
fma = _elementwise("fma", "lhs rhs acc", _IEEE, _FTZ_F32)
fpowi = CUDA_TILE.op(
    "fpowi", "source exponent", "result", "$source, $exponent : type($source), type($exponent)",
    infer="source", verify=base_floats("source result"), pure=True,
)  # fmt: skip


def compared(op: Op) -> Tile:
    """Return the result type of a comparison."""
    return op.lhs.type.of("i1")


cmpf = CUDA_TILE.op(
    "cmpf", "lhs rhs", "result", "$comparison_predicate $comparison_ordering $lhs, $rhs : type($lhs) -> type($result)",
    infer=compared, verify=rules(base_floats("lhs rhs"), same_type("lhs rhs")), pure=True,
    attrs={"comparison_predicate": PREDICATE, "comparison_ordering": ORDERING("ordered")},
)  # fmt: skip

PRODUCTS = {
    "f8E4M3FN": ("f16", "f32"), "f8E5M2": ("f16", "f32"), "f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",),
    "f32": ("f32",), "f64": ("f64",), "i8": ("i32",), "f4E2M1FN": ("f32",),
}  # fmt: skip
"""The element types of accumulators, by those of the factors (Tile IR: mmaf, mmai, mmaf_scaled)."""


def matrix_product(op: Op) -> Iterator[str]:
    lhs, rhs, acc = op.lhs.type, op.rhs.type, op.acc.type
    if not all(isinstance(t, Tile) for t in (lhs, rhs, acc)):
        yield "its operands must be tiles"
        return
    if str(acc.element) not in PRODUCTS.get(str(lhs.element), ()):
        yield f"products of {lhs.element} are not accumulated in {acc.element}"
    (*b1, m1, k1), (*b2, k2, n2) = lhs.shape[-3:] or (0, 0), rhs.shape[-3:] or (0, 0)
    if acc.rank not in (2, 3) or b1 != b2 or k1 != k2 or acc.shape != (*b1, m1, n2):
        yield f"the shapes {lhs}, {rhs} and {acc} are not those of a product M x K, K x N and M x N"


_FACTORS = rules(same_elements("lhs rhs"), matrix_product, same_type("acc result"))
mmaf = CUDA_TILE.op(
    "mmaf", "lhs rhs acc", "result", "$lhs, $rhs, $acc [[$fast_acc]] : type($lhs), type($rhs), type($acc)",
    infer="acc", verify=_FACTORS, attrs={"fast_acc": FLAG}, pure=True,
)  # fmt: skip


def _scales(op: Op) -> Iterator[str]:
    (*_, m, k), (*_, n) = op.lhs.type.shape, op.rhs.type.shape
    for scale, blocks in ((op.lhs_scale, (m, k)), (op.rhs_scale, (k, n))):
        axis = blocks.index(k) if blocks[0] != blocks[1] else (1 if scale is op.lhs_scale else 0)
        if scale.type.shape[-2:][1 - axis] != blocks[1 - axis] or blocks[axis] % scale.type.shape[-2:][axis]:
            yield f"the scales {scale.type} do not divide a factor of {'x'.join(map(str, blocks))}"


mmaf_scaled = CUDA_TILE.op(
    "mmaf_scaled", "lhs rhs acc lhs_scale rhs_scale", "result",
    "$lhs, $rhs, $acc, $lhs_scale, $rhs_scale : type($lhs), type($rhs), type($acc), type($lhs_scale), type($rhs_scale)",
    infer="acc", verify=rules(matrix_product, _scales, same_type("acc result")), pure=True,
)  # fmt: skip
