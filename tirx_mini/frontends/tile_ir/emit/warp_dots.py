"""Code generation for warp-level dots: mma.sync on register fragments, and per-thread multiply-add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tirx_mini.fragments import MMA_SYNC, mma_sync, tensor_product
from tirx_mini.ir import FLOAT32, HANDLE, UINT32, AddressOf, DataType, Expr, binary, cast, reinterpret

from ..layouts import LinearLayout, bits_of
from ..nv_tileas import ops
from ..ssa import Op, OpKind, Value
from .arithmetic import UINT8, dtype_of, factor_dtype
from .emitter import Emitter
from .places import seen_as
from .tensors import element_dtype, elementwise, write_rows
from .values import Tile, in_buffer


def _mma_sync(emitter: Emitter, op: Op) -> None:
    """Emit acc += a b, for each 16 × 8 fragment of the accumulator and each step of mma.sync along K."""
    total = dtype_of(op.acc.type.element)
    dtypes = [factor_dtype(op.lhs.type.element, op.signed_lhs), factor_dtype(op.rhs.type.element, op.signed_rhs)]
    left, right = (tensor_product(MMA_SYNC, dtype, total) for dtype in dtypes)
    assert left is not None and right is not None
    a, b = (_fragments(emitter, value, dtype) for value, dtype in zip((op.lhs, op.rhs), dtypes, strict=True))
    acc = emitter.take(op.acc)
    steps = _Steps(a.layout, b.layout, acc.layout, dtypes[0].bits)

    def pointer(tile: Tile, register: Expr) -> Expr:
        assert tile.buffer is not None
        return AddressOf(HANDLE, tile.buffer, (register,))

    def fragment(m: Expr, n: Expr) -> None:
        def step(k: Expr) -> None:
            sums = pointer(acc, steps.of_acc(m, n))
            factors = pointer(a, steps.of_a(m, k)), pointer(b, steps.of_b(m, n, k))
            emitter.add(mma_sync([sums, *factors, sums], left, right, span=emitter.span))

        emitter.loop(steps.inner, step, parallel=False, name="k")

    emitter.loop(
        steps.rows,
        lambda m: emitter.loop(steps.cols, lambda n: fragment(m, n), parallel=False, name="n"),
        parallel=False,
        name="m",
    )
    emitter.set_held(op.result, acc)


def _fragments(emitter: Emitter, value: Value, dtype: DataType) -> Tile:
    """Return an operand in registers, with tf32 elements as bits (PTX ISA, "mma": .tf32 operands are of type .b32)."""
    tile = emitter.tile(value)
    if tile.dtype == FLOAT32:
        tile = elementwise(tile.layout, UINT32, [tile], lambda x: reinterpret(UINT32, x))
    held = emitter.held(tile, value.hint or "x")
    assert held.buffer is not None
    return replace(held, buffer=seen_as(emitter, held.buffer, dtype)) if dtype == UINT8 else held


class _Steps:
    """The fragments that a warp multiplies: their counts along M (with batches), N and K, and their registers.

    The registers of a fragment lie side by side; then fragments follow along K (of A and B) or N (of the accumulator).
    """

    def __init__(self, a: LinearLayout, b: LinearLayout, acc: LinearLayout, bits: int) -> None:
        pack = bits_of(32 // bits)
        self.of_one = {"a": 1 << pack + 2, "b": 1 << pack + 1, "acc": 4}
        self.inner = a.registers // self.of_one["a"] // self._others(a, pack + 2)
        self.rows = self._others(a, pack + 2)
        self.cols = acc.registers // self.of_one["acc"] // self._others(acc, 2)
        self.batched = b.registers // self.of_one["b"] // self.inner // self.cols

    @staticmethod
    def _others(layout: LinearLayout, fragment: int) -> int:
        """Return the number of fragments along all dimensions but the last."""
        mask = layout.mask(len(layout.shape) - 1)
        return 1 << sum(not basis & mask for basis in layout.register[fragment:])

    def of_a(self, m: Expr, k: Expr) -> Expr:
        return (m * self.inner + k) * self.of_one["a"]

    def of_b(self, m: Expr, n: Expr, k: Expr) -> Expr:
        """Return the first register of a B fragment; rows of A are counted across all batches."""
        batch = m // (self.rows // self.batched)
        return ((batch * self.cols + n) * self.inner + k) * self.of_one["b"]

    def of_acc(self, m: Expr, n: Expr) -> Expr:
        return (m * self.cols + n) * self.of_one["acc"]


def _fma(emitter: Emitter, op: Op) -> None:
    """Emit a dot by per-thread multiply-add on rows of A and columns of B read from shared memory."""
    acc = emitter.take(op.acc)
    assert acc.buffer is not None
    a, b = emitter.tile(op.lhs), emitter.tile(op.rhs)
    left = emitter.scratch(a.dtype, a.layout.size)
    right = emitter.scratch(b.dtype, b.layout.size, -(-left.nbytes // 16) * 16)
    emitter.fill()
    write_rows(emitter, left, a)
    write_rows(emitter, right, b)
    emitter.filled()
    rank = len(acc.shape)
    inner, cols = op.lhs.type.shape[-1], acc.shape[-1]
    dtype = element_dtype(op.acc)
    buffer = acc.buffer

    def step(k: Expr) -> None:
        def add(r: Expr) -> None:
            row = _row(emitter, acc.layout, r)
            col = emitter.coordinate(acc.layout, rank - 1, r)
            batch = _batch(emitter, acc.layout, r)
            x, y = left[row * inner + k], right[(batch * inner + k) * cols + col]
            product = binary("*", cast(dtype, x), cast(dtype, y))
            index = 0 if buffer.scalar else r
            emitter.store(buffer, index, buffer[index] + product)

        emitter.loop(acc.registers, add)

    emitter.loop(inner, step, parallel=False, name="k")
    emitter.set_held(op.result, in_buffer(buffer, acc.layout))


def _row(emitter: Emitter, layout: LinearLayout, register: Expr) -> Expr:
    """Return the row of A for an accumulator element, counted across batches."""
    return emitter.index(layout, register) // layout.shape[-1]


def _batch(emitter: Emitter, layout: LinearLayout, register: Expr) -> Expr:
    return emitter.index(layout, register) // (layout.shape[-1] * layout.shape[-2])


def _dot(emitter: Emitter, op: Op) -> None:
    (_mma_sync if op.mma == ops.MMA_SYNC else _fma)(emitter, op)


WARP_DOT_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {ops.dot: _dot}
