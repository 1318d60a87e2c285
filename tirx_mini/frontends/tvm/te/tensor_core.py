"""Tensor-core intrinsics for `tensorize`, at warp level (PTX ISA, "mma", m16n8k16).

Lane 4g + t of a warp holds, of an accumulator of 16 × 8, columns 2t and 2t + 1 of rows g and g + 8. The index
threadIdx.x counts the lanes, so it has 32 values.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.fragments import MMA_SYNC, mma_sync, tensor_product
from tirx_mini.ir import (
    AllocBuffer,
    Buffer,
    BufferStore,
    DataType,
    Evaluate,
    Expr,
    Stmt,
    const,
    seq,
    special,
)
from tirx_mini.isa import NAMES

from .axis import reduce_axis
from .intrinsic import TensorIntrin, decl_tensor_intrin
from .reduction import sum as te_sum
from .storage import REGISTERS
from .tensor import compute, placeholder

M, N, K = 16, 8, 16


def _lane() -> tuple[Expr, Expr]:
    """Return g and t of this lane."""
    lane = special("threadIdx.x") % 32
    return lane // 4, lane % 4


def _store(buffer: Buffer, indices: Sequence[Expr | int], value: Expr) -> Stmt:
    return BufferStore(buffer, tuple(const(i) if isinstance(i, int) else i for i in indices), value)


def mma(dtype: str = "float16") -> TensorIntrin:
    """Return the intrinsic of a 16 × 16 by 16 × 8 product of float16 or bfloat16 with float32 accumulation.

    A and B are in shared memory, in rows that begin at multiples of 16 bytes (PTX ISA, "ldmatrix"), and the result is
    in memory "wmma.accumulator".
    """
    a = placeholder((M, K), dtype, "a")
    b = placeholder((K, N), dtype, "b")
    k = reduce_axis((0, K), "k")
    c = compute(
        (M, N), lambda i, j: te_sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k), name="c"
    )

    def statements(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> tuple[Stmt | None, ...]:
        (left, right), (result,) = inputs, outputs
        lane = special("threadIdx.x") % 32
        kind = DataType(dtype)
        of_a, of_b = (Buffer(name, (count,), kind, "local") for name, count in (("a_frag", 8), ("b_frag", 4)))
        load = NAMES["ptx.ldmatrix"]
        load_a = load.call(of_a.ptr_to([0]), left.ptr_to([lane % 16, lane // 16 * 8]), num=4, transpose=False)
        load_b = load.call(of_b.ptr_to([0]), right.ptr_to([lane % 16, 0]), num=2, transpose=True)
        product = tensor_product(MMA_SYNC, dtype, "float32")
        assert product is not None
        pointers = [buffer.ptr_to([0]) for buffer in (result, of_a, of_b, result)]
        reset = seq(*(_store(result, [number], const(0.0)) for number in range(REGISTERS)))
        loads = [Evaluate(each) for each in (load_a, load_b)]
        step = seq(AllocBuffer(of_a), AllocBuffer(of_b), *loads, mma_sync(pointers, product))
        return None, reset, step

    return decl_tensor_intrin(c.op, statements, f"mma_m16n8k16_{dtype}")


def mma_store(dtype: str = "float32") -> TensorIntrin:
    """Return the intrinsic that copies a 16 × 8 accumulator to memory."""
    accumulator = placeholder((M, N), dtype, "accumulator")
    copy = compute((M, N), lambda i, j: accumulator[i, j], name="copy")

    def statements(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        g, t = _lane()
        return seq(*(
            _store(outputs[0], [g + 8 * (number // 2), t * 2 + number % 2], inputs[0][number])
            for number in range(REGISTERS)
        ))  # fmt: skip

    return decl_tensor_intrin(copy.op, statements, "mma_store")

