"""mma.sp: matrix products of one warp with a sparse A (PTX ISA: "mma.sp").

Half of the elements in each row of A [16, k] are zeros: two of four neighbours, or for tf32 one of two. The fragment of
A holds the others, as that of a dense A of k / 2 columns. The metadata has four bits for each group of neighbours: the
places of its two elements in ascending order, or for tf32 0b0100 and 0b1110 for the first and the second place. Lanes
of each quad hold it for rows g and g + 8; the selector says which (PTX ISA: "Sparse matrix storage").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from tirx_mini.ir import Expr

from .core import instruction
from .facts import Scope
from .machine import Machine, Thread
from .mma import DTYPES, Factor, Sum, bits_of, sizes, wrong_registers
from .operands import Registers, SourceRegisters, u32
from .requests import WarpProduct

Shape = Literal["m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64"]

_FORMS: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "f16": ((16, 32), ("f32", "f16")),
    "bf16": ((16, 32), ("f32",)),
    "tf32": ((8, 16), ("f32",)),
    **dict.fromkeys(("s8", "u8"), ((32, 64), ("s32",))),
    **dict.fromkeys(("e4m3", "e5m2"), ((64,), ("f32", "f16"))),
}
"""The depths of each type of A, and the types of C and D."""
_PAIRS = (("s8", "u8"), ("e4m3", "e5m2"))
"""The types that A and B may mix."""


def _registers(shape: str, d_type: str, a_type: str, b_type: str, c_type: str, **_: object) -> Mapping[str, int]:
    m, n, k = sizes(shape)
    elements = {"d": (m * n, d_type), "a": (m * k // 2, a_type), "b": (n * k, b_type), "c": (m * n, c_type)}
    return {name: max(1, count * bits_of(kind) // 1024) for name, (count, kind) in elements.items()}


def lane_groups(k: int, a_type: str) -> int:
    """Return how many groups of lanes in a quad can hold the metadata of a row of k elements: one for each selector."""
    return 4 // max(1, k * (2 if a_type == "tf32" else 1) // 16)


def _wrong(
    operands: Sequence[Expr], shape: str, d_type: str, a_type: str, b_type: str, c_type: str, satfinite: bool,
    selector: int, **_: object,
) -> str | None:  # fmt: skip
    """Return the error in the types, shape, selector or registers of a call (PTX ISA: "mma.sp", syntax)."""
    depths, sums = _FORMS[a_type]
    if a_type != b_type and not any(a_type in kinds and b_type in kinds for kinds in _PAIRS):
        return f"A of type {a_type} and B of type {b_type} do not go together"
    if c_type != d_type or d_type not in sums:
        have = " or ".join(sums)
        return f"C and D have the same type, {have} where A is of type {a_type}; they are {c_type} and {d_type}"
    if sizes(shape)[2] not in depths:
        return f"{shape} is not a shape of {a_type}; {' and '.join(f'm16n8k{k}' for k in depths)} are"
    if satfinite and a_type not in ("s8", "u8"):
        return "satfinite is for A and B of type s8 and u8"
    most = lane_groups(sizes(shape)[2], a_type) - 1
    if selector > most:
        return f"the selector is {selector}; that of {shape} with {a_type} is at most {most}"
    kinds = {"d_type": d_type, "a_type": a_type, "b_type": b_type, "c_type": c_type}
    return wrong_registers(operands[:4], kinds, _registers(shape, **kinds))


@lru_cache(maxsize=256)
def _product(shape: str, a_type: str, b_type: str, d_type: str, satfinite: bool, selector: int) -> WarpProduct:
    """Return the product of one instruction, shared for equal modifiers."""
    m, n, k = sizes(shape)
    return WarpProduct(m, n, k, DTYPES[a_type], DTYPES[b_type], DTYPES[d_type], bool(satfinite), selector)


@instruction(
    "mma{.storage}.sync.aligned.{shape}.{a_layout}.{b_layout}{.satfinite}.{d_type}.{a_type}.{b_type}.{c_type}"
    " {{d}}, {{a}}, {{b}}, {{c}}, {e}, {selector};",
    name="mma.sp",
    issued_by=Scope.WARP,
    min_sm=80,
    isa="mma.sp",
    cost="matrix",
    registers=_registers,
    check=_wrong,
    only_in_ptx=True,
)
def mma_sp(
    gpu: Machine,
    thread: Thread,
    d: Registers,
    a: SourceRegisters,
    b: SourceRegisters,
    c: SourceRegisters,
    e: u32,
    *,
    selector: int,
    storage: Literal["sp::ordered_metadata", "sp"] = "sp::ordered_metadata",
    shape: Shape = "m16n8k32",
    a_layout: Literal["row"] = "row",
    b_layout: Literal["col"] = "col",
    d_type: Sum = "f32",
    a_type: Factor = "f16",
    b_type: Factor = "f16",
    c_type: Sum = "f32",
    satfinite: bool = False,
) -> None:
    """Compute D = A B + C with a sparse A; `e` is the metadata. D and C may share registers. Synchronous."""
    thread.require_converged("mma.sp")
    thread.multiply_matrices(d, a, b, c, _product(shape, a_type, b_type, d_type, satfinite, selector), e)
