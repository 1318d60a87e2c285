"""Sizes and alignment of buffers, and bounds checks of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import Buffer, DataType, TirxError
from tirx_mini.layout import Axis, ComposeLayout, Layout, LayoutError, S, TCol, TileLayout, m
from tirx_mini.wording import described


def placed(layout: object, shape: object, strides: Sequence[int] | None) -> Any:
    """Return the layout of an argument `layout` ("default" means row-major, as in TVM) or `strides`."""
    if layout == "default":
        layout = None
    if not strides:
        return layout
    dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if layout is not None:
        raise TirxError("both strides and a layout are given", hint="give one of them: both place the elements")
    try:
        return TileLayout(S[dims : tuple(strides)])
    except LayoutError as error:
        raise TirxError(f"the strides {tuple(strides)} do not fit the shape {dims}: {error}") from None


def check_view(view: Buffer) -> None:
    """Reject a view of registers or shared memory that extends beyond its source."""
    source = view.source
    if source is None or view.scope not in ("local", "shared"):
        return
    fitted(view.name, view.shape, view.layout)
    needed = view.byte_offset + _own_elements(view) * view.dtype.bits // 8
    have = stored_bytes(source.shape, source.dtype, source.layout)
    if needed <= have:
        return
    hint = f"give the view at most {have * 8 // view.dtype.bits} elements"
    if view.scope == "local" and view.ndim == 2 and view.layout is None:
        spread = f"TileLayout(S[{view.shape} : (1@tid_in_wg, 1)])"
        hint = f"each thread has its own registers; to view those of a warpgroup as one tile, pass layout={spread}"
    shape = " × ".join(map(str, view.shape))
    raise TirxError(f"a view of {shape} {view.dtype} takes {needed} bytes, but {source.name} has {have}", hint=hint)


def _own_elements(view: Buffer) -> int:
    """Return the number of a view's elements that one thread (or shared memory) holds."""
    places = [axis for axis in _axes(view.layout) if axis in (m, TCol)]
    return max((view.layout.cosize(axis) for axis in places), default=1) if view.layout is not None else view.size


def _axes(layout: object) -> tuple[Axis, ...]:
    return layout.axes if isinstance(layout, Layout) else ()


def fitted(name: str, shape: tuple[int, ...], layout: object) -> Any:
    """Reshape a layout to a buffer's shape, since TVM's layouts are lists of iters without dimensions.

    Raises TirxError for one that does not have the elements of `shape`, or whose iters it cuts.
    """
    if layout is None:
        return None
    if not isinstance(layout, Layout):
        raise TirxError(
            f"the layout of {name} is {described(layout)}, which is not a layout",
            hint="use tma_shared_layout(…) or TileLayout(S[shape : strides])",
        )
    if layout.shape == shape:
        return layout
    try:
        return layout.reshape(shape)
    except LayoutError:
        raise TirxError(
            f"{name} has shape {shape}, but its layout has shape {layout.shape}", hint="give both the same shape"
        ) from None


def default_align(shape: tuple[int, ...], dtype: DataType, layout: object) -> int:
    """Return the default alignment in bytes: a swizzle atom for swizzled tiles, 8 for barriers, and 16 otherwise."""
    if isinstance(layout, ComposeLayout):
        return layout.swizzle.mode.atom_bytes
    if dtype == "uint64" or stored_bytes(shape, dtype, layout) < 16:
        return dtype.itemsize
    return max(dtype.itemsize, 16)


def stored_bytes(shape: tuple[int, ...], dtype: DataType, layout: Any) -> int:
    """Return the size in bytes from the first to the last element in the layout."""
    if layout is None:
        return Buffer("", shape, dtype).nbytes
    return -(-layout.cosize() * dtype.bits // 8)


def round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
