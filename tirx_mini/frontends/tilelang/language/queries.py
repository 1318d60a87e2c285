"""Cluster queries, coordinate arithmetic and im2col tiles for convolutions."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import INT32, PARALLEL, BufferStore, Expr, For, TirxError, Var, as_expr, binary, cast, const, select
from tirx_mini.script import current

from .launch import Kernel, get_block_bindings, launch_of
from .memory import region_of

__all__ = [
    "ClusterKernel", "c2d_im2col", "get_cluster_dims", "get_cluster_extent", "get_cluster_extents", "get_cluster_id",
    "get_cluster_ids", "get_cluster_size", "im2col", "index_to_coordinates",
]  # fmt: skip

ClusterKernel = Kernel


def get_cluster_dims() -> list[int]:
    """Return the cluster size along x, y and z, in CTAs."""
    launch = launch_of(current("T.get_cluster_dims"))
    given = () if launch is None else launch.cluster
    return [*given, 1, 1, 1][:3]


def get_cluster_size() -> int:
    """Return the number of CTAs in a cluster."""
    x, y, z = get_cluster_dims()
    return x * y * z


def get_cluster_ids() -> list[Expr]:
    """Return the indices of the cluster along x, y and z."""
    return [block // size for block, size in zip(get_block_bindings(), get_cluster_dims(), strict=True)]


def get_cluster_id(dim: int = 0) -> Expr:
    """Return the index of the cluster along a dimension."""
    return get_cluster_ids()[dim]


def get_cluster_extents() -> list[Any]:
    """Return the numbers of clusters along x, y and z."""
    launch = launch_of(current("T.get_cluster_extents"))
    blocks: list[Any] = [*(() if launch is None else launch.blocks), 1, 1, 1]
    return [block // size for block, size in zip(blocks[:3], get_cluster_dims(), strict=True)]


def get_cluster_extent(dim: int = 0) -> Any:
    """Return the number of clusters along a dimension."""
    return get_cluster_extents()[dim]


def index_to_coordinates(index: object, shape: Any) -> list[Any]:
    """Return the coordinates of a row-major array for the linear index `index`."""
    found: list[Any] = []
    rest = index
    for extent in reversed(shape):
        found.append(rest % extent)
        rest = rest // extent
    return found[::-1]


def im2col(
    img: object, col: object, nhw_step: object, c_step: object, kernel: int, stride: int, dilation: int, pad: int,
    eviction_policy: object = None, annotations: object = None,
) -> None:  # fmt: skip
    """Copy a tile of the im2col matrix, whose product with the filters is a convolution (rows: output pixels).

    img: an argument (n, h, w, c). col: the tile in shared memory, rows × columns; column number k of the matrix is
        channel k % c of the filter's element k // c, and zero where that lies in the padding.
    nhw_step, c_step: the number of the tile along the rows and the columns.
    kernel, stride, dilation, pad: of the convolution, which is square.
    """
    source, target = region_of(img), region_of(col)
    if source.buffer.ndim != 4 or len(target.extents) != 2:
        raise TirxError("T.im2col takes an image of four dimensions (n, h, w, c) and a tile of two")
    _, height, width, channels = source.buffer.shape
    out_h, out_w = ((extent + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for extent in (height, width))
    i, j = Var(INT32, "i"), Var(INT32, "j")
    row: Expr = as_expr(nhw_step) * target.extents[0] + i
    column: Expr = as_expr(c_step) * target.extents[1] + j
    h = row % (out_h * out_w) // out_w * stride + column // (kernel * channels) * dilation - pad
    w = row % out_w * stride + column // channels % kernel * dilation - pad
    inside: Expr = binary("and", binary("and", h >= 0, h < height), binary("and", w >= 0, w < width))
    value = source.buffer[row // (out_h * out_w), h, w, column % channels]
    place = (target.ranges[0].start + i, target.ranges[1].start + j)
    store = BufferStore(target.buffer, place, cast(target.dtype, select(inside, value, const(0, source.dtype))))
    inner = For(j, const(0), const(target.extents[1]), store, kind=PARALLEL)
    current("T.im2col").emit(For(i, const(0), const(target.extents[0]), inner, kind=PARALLEL))


c2d_im2col = im2col
