"""The dtypes and instructions of tensor core products.

A product is one entry of `PRODUCTS`. The dispatch rules of `tile/`, TileLang's `T.gemm` and the dots of tile programs
use this table, so that a new entry applies to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.hardware import compute_capability
from tirx_mini.ir import DataType, Expr, Span, Stmt
from tirx_mini.isa import MMA_SYNC, PTX_TYPES, TABLE, issue, mma_format
from tirx_mini.records import dataclass

WGMMA, TCGEN05 = "wgmma", "tcgen05"
"""The instruction families: per warp on registers, per warpgroup into registers, per SM into tensor memory."""
STEP_BYTES = 32
"""The bytes of K of one instruction (PTX ISA: "mma", "wgmma.mma_async", "tcgen05.mma", .shape)."""


@dataclass(frozen=True)
class TensorProduct:
    """A product of two matrices.

    operand: the dtype of A and B. sums: that of C and D.
    by: the instructions that compute it.
    """

    operand: str
    sums: str
    by: tuple[str, ...]

    @property
    def ptx(self) -> str:
        """The PTX type of A and B; tensor cores multiply float32 as tf32."""
        return "tf32" if self.operand == "float32" else PTX_TYPES[self.operand]

    @property
    def depth(self) -> int:
        """The K extent of one instruction."""
        return STEP_BYTES // DataType(self.operand).itemsize


_ALL = (MMA_SYNC, WGMMA, TCGEN05)
PRODUCTS: Sequence[TensorProduct] = (
    TensorProduct("float16", "float32", _ALL),
    TensorProduct("float16", "float16", (MMA_SYNC, WGMMA)),
    TensorProduct("bfloat16", "float32", _ALL),
    TensorProduct("float32", "float32", _ALL),
    TensorProduct("float8_e4m3fn", "float32", _ALL),
    TensorProduct("float8_e4m3fn", "float16", (MMA_SYNC, WGMMA)),
    TensorProduct("float8_e5m2", "float32", _ALL),
    TensorProduct("float8_e5m2", "float16", (MMA_SYNC, WGMMA)),
    TensorProduct("int8", "int32", _ALL),
    TensorProduct("uint8", "int32", _ALL),
)
"""The products by operand dtype. An instruction with mixed 8-bit dtypes uses the entries of both."""


def tensor_product(instruction: str, operand: object, sums: object) -> TensorProduct | None:
    """Return the product that an instruction computes for an operand dtype, or None if it does not support it."""
    wanted = str(operand).replace("tfloat32", "float32"), str(sums)
    return next((p for p in PRODUCTS if (p.operand, p.sums) == wanted and instruction in p.by), None)


def exists_on(arch: str, instruction: str, product: TensorProduct) -> bool:
    """Return whether an architecture with the instruction supports the product.

    Only some architectures multiply integers by tcgen05 (PTX ISA: "tcgen05.mma", .kind::i8).
    """
    if instruction != TCGEN05:
        return True
    kind, _ = mma_format(product.operand)
    return TABLE["tcgen05.mma"].missing_on(compute_capability(arch), {"kind": kind}) is None


def choices(instruction: str) -> str:
    """Return the products of an instruction in words, as in "int8 or uint8 into int32"."""
    groups: dict[str, list[str]] = {}
    for product in PRODUCTS:
        if instruction in product.by:
            groups.setdefault(product.sums, []).append(product.operand)
    return ", and ".join(f"{' or '.join(operands)} into {sums}" for sums, operands in groups.items())


def mma_sync(
    operands: Sequence[Expr], a: TensorProduct, b: TensorProduct | None = None, *, depth: int | None = None,
    zero: bool = False, span: Span | None = None,
) -> Stmt:  # fmt: skip
    """Issue one mma.sync of 16 × 8 sums.

    operands: pointers to the fragments of D, A, B and C, or to each of their registers; C is omitted if it is zero.
    a, b: the products of the dtypes of A and of B, by default the same. depth: K, by default the largest.
    """
    sums = PTX_TYPES[a.sums]
    types = {"a_type": a.ptx, "b_type": (b or a).ptx, "c_type": sums, "d_type": sums}
    name = "mma.sync.zero" if zero else "mma.sync"
    return issue(name, *operands, shape=f"m16n8k{depth or a.depth}", span=span, **types)
