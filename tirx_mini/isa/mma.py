"""mma: matrix products of one warp on the tensor cores, with all operands in registers (PTX ISA: "mma").

Each lane holds a fragment of each matrix. Lane 4g + t holds, of A [16, k], elements of rows g and g + 8; of B [k, 8],
elements of column g; of C and D [16, 8], columns 2t and 2t + 1 of rows g and g + 8. A register of 32 bits holds
w = 32 / bits neighbours along K, those of lane t at K = w t and, in the other half of the registers, at k / 2 + w t
(PTX ISA: "Matrix Fragments for mma.m16n8k16" and those of the other shapes).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from tirx_mini.ir import AddressOf, DataType, Expr

from .core import instruction
from .descriptors import PTX_TYPES
from .facts import Scope
from .machine import Machine, Thread
from .operands import Registers, SourceRegisters
from .requests import QuadProduct, WarpProduct

MMA_SYNC = "mma.sync"
"""The table name of the warp-level matrix product, for use by other packages."""

Shape = Literal["m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"]
Factor = Literal["f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"]
Sum = Literal["f32", "f16", "s32"]

DTYPES: Mapping[str, str] = {**{ptx: dtype for dtype, ptx in PTX_TYPES.items()}, "tf32": "float32"}
"""The element dtypes by PTX type name."""

_BYTES = ("s8", "u8")
_FP8 = ("e4m3", "e5m2")
_FORMS: Mapping[tuple[str, ...], tuple[tuple[int, ...], tuple[str, ...]]] = {
    ("f16",): ((8, 16), ("f32", "f16")),
    ("bf16",): ((8, 16), ("f32",)),
    ("tf32",): ((4, 8), ("f32",)),
    _BYTES: ((16, 32), ("s32",)),
    _FP8: ((16, 32), ("f32", "f16")),
}
"""The valid combinations of A and B types, with their depths and the types of C and D."""


def sizes(shape: str) -> tuple[int, int, int]:
    """Return m, n and k of a shape."""
    m, n, k = map(int, re.findall(r"\d+", shape))
    return m, n, k


def bits_of(kind: str) -> int:
    """Return the width in bits of an element type."""
    return DataType(DTYPES[kind]).bits


def _registers(shape: str, d_type: str, a_type: str, b_type: str, c_type: str, **_: object) -> Mapping[str, int]:
    m, n, k = sizes(shape)
    elements = {"d": (m * n, d_type), "a": (m * k, a_type), "b": (n * k, b_type), "c": (m * n, c_type)}
    return {name: max(1, count * bits_of(kind) // 1024) for name, (count, kind) in elements.items()}


def _wrong(operands: Sequence[Expr], **attrs: Any) -> str | None:
    """Return the error in the types, shape or registers of a call (PTX ISA: "mma", syntax and restrictions)."""
    a, b, c, d, shape = (attrs[name] for name in ("a_type", "b_type", "c_type", "d_type", "shape"))
    depths, sums = next(form for kinds, form in _FORMS.items() if a in kinds)
    if not any(a in kinds and b in kinds for kinds in _FORMS):
        return f"A of type {a} and B of type {b} do not go together"
    if c != d or d not in sums:
        return f"C and D have the same type, {' or '.join(sums)} where A is of type {a}; they are {c} and {d}"
    if sizes(shape)[2] not in depths:
        return f"{shape} is not a shape of {a}; {' and '.join(f'm16n8k{k}' for k in depths)} are"
    if attrs["satfinite"] and a not in _BYTES:
        return "satfinite is for A and B of type s8 and u8"
    return wrong_registers(operands, attrs, _registers(**attrs))


def wrong_registers(
    operands: Sequence[Expr], attrs: Mapping[str, object], counts: Mapping[str, int]
) -> str | None:
    """Return the error in the dtypes of register operands. counts: the registers of each, in order."""
    one_each = len(operands) > len(counts)
    names = [name for name, count in counts.items() for _ in range(count if one_each else 1)]
    for name, pointer in zip(names, operands, strict=False):
        kind = str(attrs[f"{name}_type"])
        if isinstance(pointer, AddressOf) and not _holds(pointer.buffer.dtype, kind):
            return f"{name} is a fragment of {kind}, but {pointer.buffer.name} has elements of {pointer.buffer.dtype}"
    return None


def _holds(dtype: DataType, kind: str) -> bool:
    """Return whether registers of a dtype can hold fragments of a PTX type, as this type or as bits."""
    return dtype == DTYPES[kind] or (dtype.is_integer and (dtype.bits == 32 or bits_of(kind) != 8))


_MMA = "mma.sync.aligned.{shape}.{a_layout}.{b_layout}{.satfinite}.{d_type}.{a_type}.{b_type}.{c_type}"


def _with_zeros(d_type: str, **_: object) -> str:
    zeros = ", ".join(["zero"] * (2 if d_type == "f16" else 4))
    return f"""{{
    .reg .b32 zero;
    mov.b32 zero, 0;
    {_MMA} {{{{d}}}}, {{{{a}}}}, {{{{b}}}}, {{{zeros}}};
}}"""


@lru_cache(maxsize=256)
def _product(shape: str, a_type: str, b_type: str, d_type: str, satfinite: bool) -> WarpProduct:
    """Return the product of one instruction, shared for equal modifiers."""
    m, n, k = sizes(shape)
    return WarpProduct(m, n, k, DTYPES[a_type], DTYPES[b_type], DTYPES[d_type], bool(satfinite))


@instruction(
    _MMA + " {{d}}, {{a}}, {{b}}, {{c}};",
    name=MMA_SYNC,
    issued_by=Scope.WARP,
    min_sm=90,
    isa="mma",
    cost="matrix",
    registers=_registers,
    scattered=True,
    check=_wrong,
)
def mma_sync(
    gpu: Machine,
    thread: Thread,
    d: Registers,
    a: SourceRegisters,
    b: SourceRegisters,
    c: SourceRegisters,
    *,
    shape: Shape = "m16n8k16",
    a_layout: Literal["row"] = "row",
    b_layout: Literal["col"] = "col",
    d_type: Sum = "f32",
    a_type: Factor = "f16",
    b_type: Factor = "f16",
    c_type: Sum = "f32",
    satfinite: bool = False,
) -> None:
    """Compute D = A B + C with a warp's register fragments; D and C may share registers.

    Operands are pointers to fragments, or lists with a pointer to each 32-bit register. The instruction is synchronous.
    """
    thread.require_converged("mma.sync")
    thread.multiply_matrices(d, a, b, c, _product(shape, a_type, b_type, d_type, satfinite))


@instruction(
    _with_zeros,
    name="mma.sync.zero",
    issued_by=Scope.WARP,
    min_sm=90,
    isa="mma",
    cost="matrix",
    registers=_registers,
    scattered=True,
    check=_wrong,
)
def mma_sync_zero(
    gpu: Machine,
    thread: Thread,
    d: Registers,
    a: SourceRegisters,
    b: SourceRegisters,
    *,
    shape: Shape = "m16n8k16",
    a_layout: Literal["row"] = "row",
    b_layout: Literal["col"] = "col",
    d_type: Sum = "f32",
    a_type: Factor = "f16",
    b_type: Factor = "f16",
    c_type: Sum = "f32",
    satfinite: bool = False,
) -> None:
    """Compute D = A B, as `mma.sync` with zeros for C."""
    thread.require_converged("mma.sync")
    thread.multiply_matrices(d, a, b, None, _product(shape, a_type, b_type, d_type, satfinite))


def _quad_registers(d_type: str, **_: object) -> Mapping[str, int]:
    sums = 8 if d_type == "f32" else 4
    return {"d": sums, "a": 2, "b": 2, "c": sums}


def _wrong_quads(operands: Sequence[Expr], **attrs: Any) -> str | None:
    for name, pointer in zip("dabc", operands, strict=False):
        kind = "f16" if name in "ab" else attrs["d_type"]
        if isinstance(pointer, AddressOf) and not _holds(pointer.buffer.dtype, kind):
            return f"{name} is a fragment of {kind}, but {pointer.buffer.name} has elements of {pointer.buffer.dtype}"
    return None


@instruction(
    "mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d_type}.f16.f16.{d_type} {{d}}, {{a}}, {{b}}, {{c}};",
    name="mma.sync.m8n8k4",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="mma",
    cost="matrix",
    registers=_quad_registers,
    check=_wrong_quads,
)
def mma_sync_m8n8k4(
    gpu: Machine,
    thread: Thread,
    d: Registers,
    a: SourceRegisters,
    b: SourceRegisters,
    c: SourceRegisters,
    *,
    a_layout: Literal["row", "col"] = "row",
    b_layout: Literal["row", "col"] = "col",
    d_type: Literal["f16", "f32"] = "f32",
) -> None:
    """Compute D = A B + C in each of a warp's four quad pairs (Volta), with float16 A [8, 4] and B [4, 8].

    Quad pair q is lanes 4q to 4q + 3 and 4q + 16 to 4q + 19 (PTX ISA: "Matrix Fragments for mma.m8n8k4 with .f16
    floating point type"). A register holds two elements of A or B. D and C may be the same registers. Synchronous.
    Later architectures support it, possibly at a lower rate.
    """
    thread.require_converged("mma.sync")
    thread.multiply_quads(d, a, b, c, QuadProduct(a_layout == "col", b_layout == "col", DTYPES[d_type]))
