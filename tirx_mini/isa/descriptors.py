"""The descriptor words of tensor core operands, field by field.

PTX ISA: "tcgen05 shared memory descriptor", "Instruction descriptor", "Matrix Descriptor Format" (wgmma).
`encode` and `decode` are inverses; `operand_chunks` returns the shared-memory addresses that a descriptor denotes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

import numpy as np

from tirx_mini.records import dataclass

CHUNK = 16
TCGEN05, WGMMA = "tcgen05", "wgmma"
INSTRUCTION = "instruction"
_Address = TypeVar("_Address", int, np.ndarray)

START_BITS = 0x3FFF
"""The bits of a shared-memory descriptor with the operand's address, in units of 16 bytes."""
"""The descriptor kinds: matrix descriptors of tcgen05 and of wgmma, and tcgen05.mma's instruction descriptor."""
_SWIZZLE_CODES: Mapping[str, Mapping[int, int]] = {
    TCGEN05: {0: 0, 2: 128, 4: 64, 6: 32},
    WGMMA: {0: 0, 1: 128, 2: 64, 3: 32},
}
_SWIZZLE_SHIFT = {TCGEN05: 61, WGMMA: 62}


def swizzle_bytes(address: _Address, swizzle: int) -> _Address:
    """Return the swizzled address of a byte for a swizzle of 0, 32, 64 or 128 bytes."""
    mask = {0: 0, 32: 1, 64: 3, 128: 7}[swizzle]
    return address ^ ((address >> 7 & mask) << 4)


@dataclass(frozen=True)
class SmemDescriptor:
    """A matrix operand in shared memory.

    start: its address in bytes, of which bits 4 to 17 count.
    leading, stride: the leading and the stride byte offset (LBO, SBO).
    swizzle: the width of the swizzle in bytes: 0, 32, 64 or 128.
    base_offset: 0 to 7, in units of 128 bytes.
    absolute: whether `leading` is an address (LBO mode).
    """

    start: int
    leading: int
    stride: int
    swizzle: int
    base_offset: int = 0
    absolute: bool = False

    @staticmethod
    @lru_cache(maxsize=1024)
    def decode(word: int, kind: str = TCGEN05) -> SmemDescriptor:
        """Decode a word into its fields, shared for equal words; raises `ValueError` for an invalid descriptor."""
        code = word >> _SWIZZLE_SHIFT[kind] & (7 if kind == TCGEN05 else 3)
        if code not in _SWIZZLE_CODES[kind]:
            raise ValueError(f"its swizzle field holds {code}, which is not a swizzle mode")
        if kind == TCGEN05 and word >> 46 & 7 != 1:
            raise ValueError(f"its bits 46 to 48 hold {word >> 46 & 7:#05b}; they must be 0b001")
        return SmemDescriptor(
            (word & 0x3FFF) << 4, (word >> 16 & 0x3FFF) << 4, (word >> 32 & 0x3FFF) << 4, _SWIZZLE_CODES[kind][code],
            word >> 49 & 7, bool(word >> 52 & 1) if kind == TCGEN05 else False,
        )  # fmt: skip

    def encode(self, kind: str = TCGEN05) -> int:
        """Return the descriptor word, the inverse of `decode`."""
        code = {swizzle: code for code, swizzle in _SWIZZLE_CODES[kind].items()}[self.swizzle]
        word = (self.start >> 4 & 0x3FFF) | (self.leading >> 4 & 0x3FFF) << 16 | (self.stride >> 4 & 0x3FFF) << 32
        word |= self.base_offset << 49 | code << _SWIZZLE_SHIFT[kind]
        return word | (1 << 46 | int(self.absolute) << 52) if kind == TCGEN05 else word

    def __str__(self) -> str:
        """Return the fields in PTX ISA terms, as "128B swizzle, SBO 1024", without fields that have no meaning.

        A K-major operand with a swizzle ignores the leading byte offset, whose field then holds 0 or 1.
        """
        parts = [f"start {self.start}"] if self.start else []
        parts.append(f"{self.swizzle}B swizzle" if self.swizzle else "no swizzle")
        if not self.swizzle or self.leading > CHUNK:
            parts.append(f"LBO {self.leading}")
        parts.append(f"SBO {self.stride}")
        if self.base_offset:
            parts.append(f"base offset {self.base_offset}")
        return ", ".join([*parts, "absolute LBO"] if self.absolute else parts)


@dataclass(frozen=True)
class TmemOperand:
    """A matrix A in tensor memory: row r in lane r, with elements packed along K in 32-bit columns.

    PTX ISA: "tcgen05.mma", operand `[a-tmem]`.
    """

    def columns(self, shape: InstructionDescriptor) -> int:
        """Return the number of columns that the elements of one MMA occupy."""
        return int(shape.held("a") * shape.a.itemsize) // 4

    def __str__(self) -> str:
        return "in tensor memory"


A_IN_TMEM = TmemOperand()


@dataclass(frozen=True)
class Kept:
    """The treatment of existing accumulator contents by an MMA, besides accumulation.

    scale: D is divided by 2^scale before the product is added. lanes: a word of 128 bits for each CTA;
    the lanes whose bits are set stay as they are (PTX ISA: "tcgen05.mma", scale-input-d and disable-output-lane).
    """

    scale: int = 0
    lanes: tuple[int, ...] = ()


PLAIN = Kept()


@dataclass(frozen=True)
class BlockScales:
    """The tensor-memory addresses of an MMA's scale factors. vec: the number of factors per row along K."""

    a: int
    b: int
    vec: int


CP_SHAPES: Mapping[tuple[str, str], tuple[int, int]] = {
    ("128x256b", ""): (128, 8), ("128x128b", ""): (128, 4), ("4x256b", ""): (4, 8),
    ("64x128b", "warpx2::02_13"): (64, 4), ("64x128b", "warpx2::01_23"): (64, 4), ("32x128b", "warpx4"): (32, 4),
}  # fmt: skip
"""(rows, 32-bit columns) that tcgen05.cp copies, by shape and multicast (PTX ISA: "tcgen05.cp")."""


def cp_lanes(shape: str, multicast: str) -> np.ndarray:
    """Return the tensor-memory lanes that receive each row of a tcgen05.cp, int[rows, copies]."""
    rows, _ = CP_SHAPES[shape, multicast]
    row = np.arange(rows)[:, None]
    if shape == "4x256b":
        return 32 * row
    if multicast == "warpx4":
        return row + 32 * np.arange(4)
    if multicast == "warpx2::02_13":
        return row + 64 * np.arange(2)
    if multicast == "warpx2::01_23":
        return row % 32 + 64 * (row // 32) + 32 * np.arange(2)
    return row


@lru_cache(maxsize=1024)
def operand_chunks(layout: SmemDescriptor, rows: int, depth: int, itemsize: float, mn_major: bool) -> np.ndarray:
    """Return the byte addresses of the 16-byte chunks of an operand of `rows` (M or N) × `depth` (K) elements.

    layout: the descriptor. The addresses start at its `start`, which callers reduce modulo 1024 to share results.
    Returns int64[rows, depth * itemsize / 16] for a K-major operand, int64[depth, rows * itemsize / 16] for one that is
    contiguous along M or N. Raises `ValueError` if the operand does not divide into chunks.
    """
    span = layout.swizzle or CHUNK
    outer, inner = (depth, rows) if mn_major else (rows, depth)
    if inner * itemsize % CHUNK:
        raise ValueError(f"{inner} elements of {itemsize} bytes are not whole 16-byte chunks")
    line = np.arange(outer)[:, None]
    chunk = np.arange(int(inner * itemsize) // CHUNK)[None, :]
    if mn_major:
        group, within = chunk // (span // CHUNK), chunk % (span // CHUNK)
        across, along = (layout.leading, layout.stride) if layout.swizzle else (layout.stride, layout.leading)
        address = group * across + line // 8 * along + line % 8 * span + within * CHUNK
    else:
        address = line // 8 * layout.stride + line % 8 * span
        address = address + (chunk * CHUNK if layout.swizzle else chunk * layout.leading)
    address = address + layout.start
    return swizzle_bytes(address - (layout.base_offset << 7), layout.swizzle) + (layout.base_offset << 7)


@dataclass(frozen=True)
class Format:
    """An operand type of an MMA kind.

    dtype: its name in the IR.
    itemsize: of an element, in bytes; 0.5 for the types of 4 bits, of which the lower half of a byte is the first.
    bits: of an element, where 16 elements begin each 16 bytes and the rest is padding; 0 for elements without padding
        (PTX ISA: "Packing formats used for matrices A and B", .b4x16_p64 and .b6x16_p32).
    """

    dtype: str
    itemsize: float
    bits: int = 0


_F16 = {0: Format("float16", 2), 1: Format("bfloat16", 2)}
_F8F6F4 = {
    0: Format("float8_e4m3fn", 1), 1: Format("float8_e5m2", 1), 3: Format("float6_e2m3fn", 1, 6),
    4: Format("float6_e3m2fn", 1, 6), 5: Format("float4_e2m1fn", 1, 4),
}  # fmt: skip
_FORMATS: Mapping[str, Mapping[int, Format]] = {
    "f16": _F16,
    "tf32": {2: Format("float32", 4)},
    "f8f6f4": _F8F6F4,
    "i8": {0: Format("uint8", 1), 1: Format("int8", 1)},
    "mxf8f6f4": _F8F6F4,
    "mxf4": {1: Format("float4_e2m1fn", 0.5)},
    "mxf4nvf4": {1: Format("float4_e2m1fn", 0.5)},
}
_DEPTH = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
SCALED_KINDS: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "mxf8f6f4": {"float8_e8m0fnu": (1,)},
    "mxf4": {"float8_e8m0fnu": (2,)},
    "mxf4nvf4": {"float8_e8m0fnu": (2, 4), "float8_e4m3fn": (4,)},
}
"""The MMA kinds with block scaling: their scale factor dtypes, each with the possible numbers of factors along K.

PTX ISA: "Block Scaling for tcgen05.mma", the valid combinations of `.kind`, `.scale_vec` and types.
"""
_SCALES = {0: "float8_e4m3fn", 1: "float8_e8m0fnu"}
_RESULTS = {0: "float16", 1: "float32", 2: "int32"}

PTX_TYPES: Mapping[str, str] = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2", "float8_e8m0fnu": "ue8m0", "float6_e2m3fn": "e2m3", "float6_e3m2fn": "e3m2",
    "float4_e2m1fn": "e2m1", "bool": "pred",
    **{f"int{n}": f"s{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip
"""The PTX names of IR dtypes (PTX ISA, "Fundamental Types" and "Alternate Floating-Point Data Formats")."""


@dataclass(frozen=True)
class InstructionDescriptor:
    """The computation of one MMA: D[m, n] (+)= A[m, k] B[n, k].

    m, n: extents; of the CTA pair, with cta_group::2.
    a, b: operand formats.
    d: result dtype.
    depth: K of one instruction.
    negate_a, negate_b: whether the operand is negated.
    transpose_a, transpose_b: whether the operand is contiguous along M or N.
    scale: the dtype of the scale factors; "" for an MMA without.
    sfa_id, sfb_id: of the four bytes of a column of tensor memory, the first one with scale factors of A and of B.
    ws: whether it is a tcgen05.mma.ws.
    selector: of a sparse A, the part of the metadata that belongs to it; None for a dense one.
    """

    m: int
    n: int
    a: Format
    b: Format
    d: str
    depth: int
    negate_a: bool = False
    negate_b: bool = False
    transpose_a: bool = False
    transpose_b: bool = False
    scale: str = ""
    sfa_id: int = 0
    sfb_id: int = 0
    ws: bool = False
    selector: int | None = None

    def held(self, which: str) -> int:
        """Return the number of elements in a row of operand "a" or "b": a sparse A holds half of its row."""
        return self.depth if which == "b" or self.selector is None else self.depth // 2

    @property
    def flops(self) -> float:
        """The products and sums that the MMA computes."""
        return 2.0 * self.m * self.n * self.held("a")

    def parts(self, cta_group: int) -> int:
        """Return the number of column parts of D in a CTA, stacked along the lanes of tensor memory.

        PTX ISA: "Data Path Layout Organization", layouts B and E (2), G (4); 1 for A, D and F.
        """
        if self.ws:
            return 128 // self.m
        return 2 if self.m == 128 and cta_group == 2 else 1

    @property
    def half(self) -> bool:
        """Return whether the MMA has 64 rows in half of the lanes, 16 of each 32 (PTX ISA: layout F)."""
        return self.m == 64 and not self.ws

    @staticmethod
    @lru_cache(maxsize=256)
    def decode(
        word: int, kind: str, cta_group: int, ws: bool = False, sparse: bool = False
    ) -> InstructionDescriptor:
        """Decode an instruction descriptor; raises `ValueError` if no such MMA exists."""
        formats = _FORMATS[kind]
        a, b, d = word >> 7 & 7, word >> 10 & 7, word >> 4 & 3
        if a not in formats or b not in formats:
            raise ValueError(f"its operand types are {a} and {b}; kind::{kind} has {sorted(formats)}")
        if kind in SCALED_KINDS:
            return _scaled(word, kind, cta_group, sparse)
        if d not in _RESULTS or (d == 2) != (kind == "i8") or (d == 0 and kind == "tf32"):
            raise ValueError(f"its result type is {d}, which kind::{kind} does not have")
        if bool(word & 0b100) != sparse:
            kinds = ("dense", "sparse")
            raise ValueError(f"it describes a {kinds[not sparse]} MMA, and this instruction is a {kinds[sparse]} one")
        m, n = (word >> 24 & 31) << 4, (word >> 17 & 63) << 3
        _check_extents(m, n, cta_group, ws)
        return InstructionDescriptor(
            m,
            n,
            formats[a],
            formats[b],
            _RESULTS[d],
            _DEPTH[kind] * (2 if sparse else 1),
            bool(word >> 13 & 1),
            bool(word >> 14 & 1),
            bool(word >> 15 & 1),
            bool(word >> 16 & 1),
            ws=ws,
            selector=word & 3 if sparse else None,
        )

    def check_scales(self, kind: str, vec: int) -> None:
        """Check the scale factors; raises `ValueError` if the kind does not support them or their byte position."""
        if vec not in SCALED_KINDS[kind][self.scale]:
            raise ValueError(f"kind::{kind} with factors of {PTX_TYPES[self.scale]} has no scale_vec::{vec}X")
        for name, first in (("A", self.sfa_id), ("B", self.sfb_id)):
            if first % vec:
                raise ValueError(f"the factors of {name} begin at byte {first}; with scale_vec::{vec}X they do not")

    def encode(self, kind: str = "f16") -> int:
        """Return the descriptor word, the inverse of `decode`."""
        codes = {fmt.dtype: code for code, fmt in _FORMATS[kind].items()}
        if kind in SCALED_KINDS:
            types = {dtype: code for code, dtype in _SCALES.items()}
            result = self.sfb_id << 4 | types[self.scale] << 23 | self.sfa_id << 29
        else:
            result = {dtype: code for code, dtype in _RESULTS.items()}[self.d] << 4
        return (
            result
            | (0 if self.selector is None else 0b100 | self.selector)
            | codes[self.a.dtype] << 7
            | codes[self.b.dtype] << 10
            | self.negate_a << 13
            | self.negate_b << 14
            | self.transpose_a << 15
            | self.transpose_b << 16
            | self.n >> 3 << 17
            | self.m >> 4 << 24
        )

    def __str__(self) -> str:
        """Return the types, shape and modifiers, as "f16·f16→f32, M 128, N 128"."""
        a, b = (PTX_TYPES[fmt.dtype].replace("f32", "tf32") for fmt in (self.a, self.b))
        parts = [f"{a}·{b}→{PTX_TYPES[self.d]}", f"M {self.m}", f"N {self.n}"]
        parts += [] if self.selector is None else [f"sparse A with selector {self.selector}"]
        parts += [f"{name} negated" for name, on in (("A", self.negate_a), ("B", self.negate_b)) if on]
        parts += [f"{name} MN-major" for name, on in (("A", self.transpose_a), ("B", self.transpose_b)) if on]
        if self.scale:
            parts.append(f"scaled by {PTX_TYPES[self.scale]}, from byte {self.sfa_id} for A and {self.sfb_id} for B")
        return ", ".join(parts)


def _check_extents(m: int, n: int, cta_group: int, ws: bool) -> None:
    """Raise `ValueError` if no MMA without block scaling has these extents (PTX ISA: "Matrix shape", tcgen05)."""
    if ws:
        if m not in (32, 64, 128) or n not in (64, 128, 256):
            raise ValueError(f"M is {m} and N is {n}; tcgen05.mma.ws has M = 32, 64 or 128 and N = 64, 128 or 256")
        return
    if m not in ((64, 128) if cta_group == 1 else (128, 256)):
        raise ValueError(
            f"M is {m}; with cta_group::{cta_group} it must be {'64 or 128' if cta_group == 1 else '128 or 256'}"
        )
    step = 8 if m == 64 else 16
    if not step <= n <= 256 or n % step:
        raise ValueError(f"N is {n}; with M = {m} it must be a multiple of {step} from {step} to 256")


def _scaled(word: int, kind: str, cta_group: int, sparse: bool) -> InstructionDescriptor:
    """Decode a descriptor of a block-scaled kind (PTX ISA: "Instruction descriptor", .kind::mxf8f6f4, .kind::mxf4)."""
    if word & 0b1001111 != (0b100 if sparse else 0) or word >> 31:
        bits = "0 to 3, 6 and 31 must be 0 for a dense"
        bits = "0, 1, 3, 6 and 31 must be 0, and bit 2 must be 1, for a sparse" if sparse else bits
        raise ValueError(f"its bits {bits} MMA with block scaling")
    m, n = (word >> 24 & 31) << 4, (word >> 17 & 63) << 3
    if m not in ((128,) if cta_group == 1 else (128, 256)):
        raise ValueError(f"M is {m}; with block scaling it must be 128{'' if cta_group == 1 else ' or 256'}")
    step = 8 * cta_group
    if not step <= n <= 256 or n % step:
        raise ValueError(f"N is {n}; it must be a multiple of {step} from {step} to 256")
    a, b = (_FORMATS[kind][word >> first & 7] for first in (7, 10))
    turn = bool(word >> 15 & 1), bool(word >> 16 & 1)
    if any(turn) and a.itemsize < 1:
        raise ValueError("operands of 4 bits cannot be contiguous along M or N")
    scale = _SCALES[word >> 23 & 1]
    if scale not in SCALED_KINDS[kind]:
        raise ValueError(f"its scale factors are {PTX_TYPES[scale]}, which kind::{kind} does not have")
    return InstructionDescriptor(
        m, n, a, b, "float32", _DEPTH[kind] * (2 if sparse else 1), bool(word >> 13 & 1), bool(word >> 14 & 1), *turn,
        scale, word >> 29 & 3, word >> 4 & 3, selector=0 if sparse else None,
    )  # fmt: skip


def describe(descriptor: str, word: int, kind: str = "f16", cta_group: int = 1) -> str:
    """Describe a word of kind TCGEN05, WGMMA or INSTRUCTION in text; raises `ValueError` if it is invalid.

    kind, cta_group: the modifiers of the tcgen05.mma that uses an instruction descriptor.
    """
    if descriptor == INSTRUCTION:
        return str(InstructionDescriptor.decode(word, kind, cta_group))
    return str(SmemDescriptor.decode(word, descriptor))


def mma_format(dtype: str) -> tuple[str, Format]:
    """Return (MMA kind, format) of an operand dtype; raises `ValueError` if tensor cores do not support it."""
    for kind, formats in _FORMATS.items():
        for fmt in formats.values():
            if fmt.dtype == dtype and kind not in SCALED_KINDS and not fmt.bits:
                return kind, fmt
    raise ValueError(f"the tensor core has no operands of dtype {dtype}")


def scaled_format(kind: str, dtype: str) -> Format | None:
    """Return the format of an operand dtype of a block-scaled MMA kind, without padding; None if the kind lacks it."""
    return next((fmt for fmt in _FORMATS[kind].values() if fmt.dtype == dtype and not fmt.bits), None)


def mma_depth(kind: str) -> int:
    """Return the K extent of one MMA of this kind."""
    return _DEPTH[kind]
