"""Matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..arguments import common_shape, constant_bool, tile_of
from ..dtypes import (
    DType,
    bfloat16,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e5m2,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    int8,
    int32,
    promote,
    tfloat32,
    uint8,
)
from ..errors import TileShapeError, TileTypeError
from ..surface import operation
from ..values import TileValue, describe

if TYPE_CHECKING:
    from ..tracer import Tracer

ACCUMULATORS: Mapping[DType, tuple[DType, ...]] = MappingProxyType({
    float16: (float16, float32), bfloat16: (float32,), float32: (float32,), float64: (float64,), tfloat32: (float32,),
    float8_e4m3fn: (float16, float32), float8_e5m2: (float16, float32), int8: (int32,), uint8: (int32,),
})  # fmt: skip
"""The accumulators of `ct.mma`, by the dtype of the factors."""


def _check_dtypes(x: DType, y: DType, acc: DType) -> None:
    bytes_ = (int8, uint8)
    if x != y and not (x in bytes_ and y in bytes_):
        raise TileTypeError(
            f"ct.mma: the factors have dtypes {x} and {y}",
            hint="convert one of them: ct.mma does not promote its operands",
        )
    if x not in ACCUMULATORS:
        raise TileTypeError(
            f"ct.mma does not multiply {x}", hint=f"it multiplies {', '.join(str(t) for t in ACCUMULATORS)}"
        )
    if acc not in ACCUMULATORS[x]:
        allowed = " or ".join(str(t) for t in ACCUMULATORS[x])
        raise TileTypeError(
            f"ct.mma: products of {x} are accumulated in {allowed}, not in {acc}",
            hint=f"make the accumulator with ct.zeros(…, dtype=ct.{ACCUMULATORS[x][-1]})",
        )


def _product_shapes(name: str, x: TileValue, y: TileValue) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return both factors' shapes with broadcast batch dimension, and the shape of the product."""
    for tile in (x, y):
        if tile.ndim not in (2, 3):
            raise TileShapeError(f"ct.{name} multiplies tiles of 2 or 3 dimensions, not {describe(tile)}")
    (*batch_x, m, k), (*batch_y, k2, n) = x.shape, y.shape
    if k != k2:
        raise TileShapeError(
            f"ct.{name}: the shapes {x.shape} and {y.shape} do not fit: the last extent of the first factor is {k}, "
            f"and the last but one of the second is {k2}",
            hint="`y.transpose()` exchanges the axes of a factor",
        )
    batch = common_shape(f"the batches of ct.{name}", tuple(batch_x), tuple(batch_y))
    return (*batch, m, k), (*batch, k, n), (*batch, m, n)


def multiply(tr: Tracer, name: str, x: TileValue, y: TileValue, acc: TileValue, fast_acc: bool = False) -> TileValue:
    """Emit ``x @ y + acc`` after checking the dtypes."""
    shape_x, shape_y, shape = _product_shapes(name, x, y)
    if acc.shape != shape:
        raise TileShapeError(f"ct.{name}: the accumulator has the shape {acc.shape}, but the product has {shape}")
    a, b = tr.emit.broadcast(x, shape_x), tr.emit.broadcast(y, shape_y)
    if x.dtype.is_float:
        return tr.emit.tile("mmaf", acc.dtype, shape, a, b, acc, fast_acc=fast_acc)
    signs = {"signedness_lhs": x.dtype.signedness, "signedness_rhs": y.dtype.signedness}
    return tr.emit.tile("mmai", acc.dtype, shape, a, b, acc, **signs)


@operation("mma")
def mma(tr: Tracer, x: object, y: object, /, acc: object, *, use_fast_acc: object = False) -> Any:
    """Return ``x @ y + acc``, computed on tensor cores, with the dtype of the accumulator."""
    a, b, c = (
        tile_of(tr, v, f"{n} of ct.mma")
        for v, n in ((x, "the first factor"), (y, "the second factor"), (acc, "the accumulator"))
    )
    _check_dtypes(a.dtype, b.dtype, c.dtype)
    fast = constant_bool(use_fast_acc, "use_fast_acc")
    if fast and a.dtype not in (float8_e4m3fn, float8_e5m2):
        raise TileTypeError(f"use_fast_acc of ct.mma is for float8 factors, not for {a.dtype}")
    return multiply(tr, "mma", a, b, c, fast)


@operation("matmul")
def matmul(tr: Tracer, x: object, y: object, /) -> object:
    """Multiply two tiles of 1 to 3 dimensions in their common dtype: ``x @ y``."""
    a, b = (tile_of(tr, v, "a factor of ct.matmul") for v in (x, y))
    dtype = a.dtype if a.dtype == b.dtype else promote(a.dtype, b.dtype)
    if dtype not in ACCUMULATORS:
        raise TileTypeError(
            f"ct.matmul does not multiply {dtype}", hint=f"it multiplies {', '.join(str(t) for t in ACCUMULATORS)}"
        )
    a, b = tr.emit.cast(a, dtype), tr.emit.cast(b, dtype)
    row, column = a.ndim == 1, b.ndim == 1
    a = tr.emit.reshape(a, (1, *a.shape)) if row else a
    b = tr.emit.reshape(b, (*b.shape, 1)) if column else b
    _, _, shape = _product_shapes("matmul", a, b)
    wide = ACCUMULATORS[dtype][-1]
    product = tr.emit.cast(multiply(tr, "matmul", a, b, tr.emit.constant(0, wide, shape)), dtype)
    kept = [*shape[:-2], *([] if row else [shape[-2]]), *([] if column else [shape[-1]])]
    return tr.emit.reshape(product, kept)


_BLOCKS = {
    (float8_e4m3fn, float8_e8m0fnu): (32,), (float8_e5m2, float8_e8m0fnu): (32,),
    (float4_e2m1fn, float8_e8m0fnu): (16, 32), (float4_e2m1fn, float8_e4m3fn): (16,),
}  # fmt: skip
"""Elements that share a scale, by the dtypes of factors and scales."""


@operation("mma_scaled")
def mma_scaled(tr: Tracer, x: object, x_scale: object, y: object, y_scale: object, /, acc: object) -> object:
    """Return ``(x * x_scale) @ (y * y_scale) + acc``, with one scale per block of elements along K."""
    a, sa, b, sb, c = (tile_of(tr, v, "an operand of ct.mma_scaled") for v in (x, x_scale, y, y_scale, acc))
    shape_a, shape_b, shape = _product_shapes("mma_scaled", a, b)
    blocks = _BLOCKS.get((a.dtype, sa.dtype)) if a.dtype == b.dtype and sa.dtype == sb.dtype else None
    if blocks is None or c.dtype != float32:
        raise TileTypeError(
            f"ct.mma_scaled does not multiply {a.dtype} and {b.dtype} with scales of {sa.dtype} and {sb.dtype} "
            f"into {c.dtype}"
        )
    for tile, scale, axis in ((a, sa, -1), (b, sb, -2)):
        other = -3 - axis
        fits = (
            scale.ndim == tile.ndim and scale.shape[other] == tile.shape[other] and scale.shape[:-2] == tile.shape[:-2]
        )
        if not fits or tile.shape[axis] % scale.shape[axis] or tile.shape[axis] // scale.shape[axis] not in blocks:
            raise TileShapeError(
                f"ct.mma_scaled: scales of the shape {scale.shape} do not fit a factor of {tile.shape}"
            )
    if c.shape != shape:
        raise TileShapeError(f"ct.mma_scaled: the accumulator has the shape {c.shape}, but the product has {shape}")
    scales = (
        tr.emit.broadcast(sa, (*shape_a[:-2], *sa.shape[-2:])), tr.emit.broadcast(sb, (*shape_b[:-2], *sb.shape[-2:]))
    )  # fmt: skip
    a, b = tr.emit.broadcast(a, shape_a), tr.emit.broadcast(b, shape_b)
    return tr.emit.tile("mmaf_scaled", c.dtype, shape, a, b, c, *scales)
