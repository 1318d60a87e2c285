"""Tile operations: copies, fills, matrix products, reductions, scans and atomics on whole tiles.

Each appends a `TileCall` named ``tl.…`` to the kernel. `rules` lowers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.ir import (
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Range,
    Region,
    TileCall,
    TirxError,
    as_expr,
    cast,
    const,
    int_value,
)  # fmt: skip
from tirx_mini.script import current

from ..policy import GemmWarpPolicy
from .memory import region_of

__all__ = [
    "GemmWarpPolicy", "async_copy", "clear", "copy", "cummax", "cumsum", "fill", "gemm", "gemm_v1", "gemm_v2",
    "reduce", "tcgen05_gemm", "tma_copy", "transpose", "wgmma_gemm",
]  # fmt: skip


def emit(op: str, *operands: Expr, **options: object) -> None:
    """Append the tile operation ``tl.op``."""
    given = tuple((name, value) for name, value in options.items() if value is not None)
    current(f"T.{op}").emit(TileCall(f"tl.{op}", operands, given))


def _extents(operand: object) -> tuple[Any, ...] | None:
    """Return the extents of an operand, or None for an element, which takes the other operand's extents."""
    if isinstance(operand, Buffer):
        return tuple(operand.shape)
    if isinstance(operand, Region):
        return tuple(part.extent for part in operand.ranges)
    return None


def _pair(src: object, dst: object) -> tuple[Region, Region]:
    there, here = _extents(src), _extents(dst)
    return region_of(src, here), region_of(dst, there)


def copy(
    src: object,
    dst: object,
    *,
    coalesced_width: int | None = None,
    disable_tma: bool | None = None,
    eviction_policy: str | None = None,
    prefer_instruction: str | None = None,
    annotations: Mapping[str, object] | None = None,
    loop_layout: object = None,
) -> None:
    """Copy a tile. Elements outside an argument are read as zeros, and are not written.

    src, dst: buffers, slices, or the elements where a tile of the extents of the other operand begins.
    """
    if isinstance(src, BufferLoad) and isinstance(dst, BufferLoad):
        current("T.copy").emit(BufferStore(dst.buffer, dst.indices, cast(dst.buffer.dtype, src)))
        return
    source, target = _pair(src, dst)
    emit("copy", source, target, coalesced_width=coalesced_width, disable_tma=disable_tma, loop_layout=loop_layout,
         eviction_policy=eviction_policy, prefer_instruction=prefer_instruction)  # fmt: skip


def async_copy(src: object, dst: object, **options: object) -> None:
    """Copy from global to shared memory by a group of cp.async, which the program waits for (`T.ptx_wait_group`)."""
    options.pop("annotations", None)
    emit("async_copy", *_pair(src, dst), **options)


def tma_copy(
    src: object,
    dst: object,
    *,
    barrier: Any = None,
    cluster_mask: int | None = None,
    annotations: object = None,
    **options: object,
) -> None:
    """Copy by TMA from one issuing thread; a load signals `barrier`, which the program waits for."""
    operands: list[Expr] = list(_pair(src, dst))
    if barrier is not None:
        operands.append(barrier if isinstance(barrier, Expr) else barrier[0])
    emit("tma_copy", *operands, cluster_mask=cluster_mask, **options)


def transpose(src: object, dst: object, annotations: object = None) -> None:
    """Transpose a tile: ``dst[j, i] = src[i, j]``."""
    emit("transpose", region_of(src), region_of(dst))


def fill(buffer: object, value: object, annotations: object = None) -> None:
    """Set every element of a tile to `value`."""
    target = region_of(buffer, (1,))
    given = as_expr(value, None if isinstance(value, Expr) else target.dtype)
    emit("fill", target, cast(target.dtype, given))


def clear(buffer: object, annotations: object = None) -> None:
    """Set every element of a tile to 0."""
    fill(buffer, 0)


def matrix(operand: object) -> Region:
    """Return an operand of a matrix product as a region: a buffer, a slice, or a tile that starts at an element."""
    if isinstance(operand, BufferLoad):
        *outer, rows, columns = operand.indices
        shape = operand.buffer.shape
        ranges = (*(Range(index, const(1)) for index in outer), Range(rows, as_expr(shape[-2])))
        return Region(operand.buffer.dtype, operand.buffer, (*ranges, Range(columns, as_expr(shape[-1]))))
    return region_of(operand)


def _gemm(op: str, A: object, B: object, C: object, options: Mapping[str, object]) -> None:
    given = {name: value for name, value in options.items() if name != "annotations"}
    barrier = given.pop("mbar", None)
    operands: list[Any] = [matrix(A), matrix(B), matrix(C)]
    if barrier is not None:
        operands.append(barrier[0] if isinstance(barrier, Buffer) else barrier)
    clear = given.get("clear_accum")
    if isinstance(clear, Expr) and int_value(clear) is not None:
        given["clear_accum"] = bool(int_value(clear))
    emit(op, *operands, **given)


def gemm(
    A: object,
    B: object,
    C: object,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: object = False,
    k_pack: int = 1,
    wg_wait: int = 0,
    mbar: object = None,
    annotations: object = None,
) -> None:
    """Multiply tiles: ``C += A @ B``, or ``C = A @ B`` with `clear_accum`.

    A, B: tiles in shared memory; A may also be in a fragment.
    C: a fragment, or tensor memory.
    policy: how the warps divide C.
    wg_wait: how many wgmma groups may be in flight afterwards; -1 does not wait.
    mbar: the mbarrier at which tcgen05.mma arrives.
    """
    options: dict[str, Any] = {
               "transpose_A": transpose_A, "transpose_B": transpose_B, "policy": policy, "clear_accum": clear_accum,
               "k_pack": k_pack, "wg_wait": wg_wait, "mbar": mbar}  # fmt: skip
    if wg_wait == -1 and mbar is not None:  # the program waits at its mbarrier
        del options["wg_wait"], options["k_pack"]
        _gemm("tcgen05_gemm", A, B, C, options)
        return
    _gemm("gemm", A, B, C, options)


gemm_v1 = gemm_v2 = gemm


def wgmma_gemm(
    A: object,
    B: object,
    C: object,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: object = False,
    annotations: object = None,
) -> None:
    """Multiply tiles by wgmma, as `gemm`, without waiting for completion (`T.wait_wgmma`)."""
    options = {"transpose_A": transpose_A, "transpose_B": transpose_B, "policy": policy, "clear_accum": clear_accum}
    _gemm("wgmma_gemm", A, B, C, options)


def tcgen05_gemm(
    A: object,
    B: object,
    C: object,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: object = False,
    *,
    mbar: object = None,
    use_2cta: bool = False,
    annotations: object = None,
) -> None:
    """Multiply tiles by tcgen05.mma into tensor memory, as `gemm`, with completion signalled at `mbar`."""
    options = {"transpose_A": transpose_A, "transpose_B": transpose_B, "policy": policy, "clear_accum": clear_accum,
               "mbar": mbar, "use_2cta": use_2cta}  # fmt: skip
    _gemm("tcgen05_gemm", A, B, C, options)


# -- reductions and scans ----------------------------------------------------------------------------------------


def reduce(
    buffer: object,
    out: object,
    reduce_type: str,
    dim: int,
    clear: bool,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: object = None,
) -> None:
    """Reduce `buffer` along `dim` into `out`, including the contents of `out` unless `clear`.

    reduce_type: "sum", "max", "min", "abssum", "absmax", "bitand", "bitor" or "bitxor".
    """
    source, target = region_of(buffer), region_of(out)
    axis = dim + len(source.ranges) if dim < 0 else dim
    if not 0 <= axis < len(source.ranges):
        raise TirxError(f"{source.buffer.name} has {len(source.ranges)} dimensions, so there is no dimension {dim}")
    kept = [extent for at, extent in enumerate(source.extents) if at != axis]
    there = [extent for extent in target.extents if extent != 1]
    if [extent for extent in kept if extent != 1] != there:
        raise TirxError(
            f"reducing dimension {dim} of {source.buffer.name} {list(source.extents)} leaves {kept}, but "
            f"{target.buffer.name} is {list(target.extents)}"
        )
    emit("reduce", source, target, kind=reduce_type, dim=axis, clear=clear, nan_propagate=nan_propagate)


def _reduction(kind: str) -> object:
    def reduction(
        buffer: object, out: object, dim: int = -1, clear: bool = True, batch: int = 1, nan_propagate: bool = False,
        annotations: object = None,
    ) -> None:  # fmt: skip
        reduce(buffer, out, kind, dim, clear, batch, nan_propagate)

    reduction.__name__ = reduction.__qualname__ = f"reduce_{kind}"
    reduction.__doc__ = f"The {kind} of the elements of `buffer` along `dim`, in `out`."
    return reduction


REDUCTIONS = {
    f"reduce_{kind}": _reduction(kind)
    for kind in ("sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor")
}
"""``T.reduce_sum(buffer, out, dim=-1, clear=True)`` and its like."""


def cumsum(src: object, dst: object = None, dim: int = 0, reverse: bool = False, annotations: object = None) -> None:
    """Compute the inclusive prefix sum along `dim`; `reverse` starts at the end."""
    _scan("sum", src, dst, dim, reverse)


def cummax(src: object, dst: object = None, dim: int = 0, reverse: bool = False, annotations: object = None) -> None:
    """Compute the inclusive prefix maximum along `dim`."""
    _scan("max", src, dst, dim, reverse)


def _scan(kind: str, src: object, dst: object, dim: int, reverse: bool) -> None:
    source = region_of(src)
    target = source if dst is None else region_of(dst)
    axis = dim + len(source.ranges) if dim < 0 else dim
    if not 0 <= axis < len(source.ranges):
        raise TirxError(f"{source.buffer.name} has {len(source.ranges)} dimensions, so there is no dimension {dim}")
    emit("scan", source, target, kind=kind, dim=axis, reverse=reverse)


def is_tile(value: object) -> bool:
    """Return whether a value is a tile rather than a number."""
    return isinstance(value, Region) or (isinstance(value, Buffer) and not value.scalar)


def tiles(values: Sequence[object]) -> list[Region]:
    """Return operands as regions."""
    return [region_of(value) for value in values]
