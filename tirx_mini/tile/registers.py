"""Register views: tiles distributed over the registers of a scope's threads.

``Dreg.view(128, 64, layout=TileLayout(S[(128, 64) : (1@tid_in_wg, 1)]))`` is a 128 × 64 tile of a warpgroup: thread r
holds row r in the 64 registers of its own `Dreg`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from tirx_mini.ir import HANDLE, AddressOf, Buffer, Expr, as_expr, int_value
from tirx_mini.layout import AXES, Axis, Iter, LayoutError, Spec, TileLayout, is_bijective, m, slice_region, tx
from tirx_mini.records import dataclass

from .context import Context
from .region import Tile, coordinate
from .rule import Refusal

# The thread of a scope that each axis selects: thread = place * factor. TLane belongs to the threads of a warpgroup.
_THREAD_AXES: Mapping[str, Mapping[str, int]] = {
    "warp": {"laneid": 1},
    "warpgroup": {"tid_in_wg": 1, "TLane": 1, "laneid": 1, "wid_in_wg": 32},
    "cta": {"tx": 1, "tid_in_wg": 1, "laneid": 1, "warpid": 32, "wid_in_wg": 32, "wgid": 128},
}
_ONE_WARPGROUP: Mapping[str, int] = {"tx": 1, "warpid": 32}


@dataclass(frozen=True)
class RegisterTile:
    """A thread's part of a register view: `count` registers of the root buffer, starting at `base`.

    layout: maps tile coordinates to (tx, register), relative to the base.
    threads: the number of threads that hold a part.
    """

    tile: Tile
    base: Expr
    layout: TileLayout
    count: int
    threads: int

    @cached_property
    def root(self) -> Buffer:
        """The per-thread buffer under the view, whose elements are numbered as registers."""
        root = self.tile.buffer.root
        if root.layout is None or root.ndim > 1:  # a single index of several dimensions is the number of a register
            return root
        return Buffer(f"{root.name}_own", (root.layout.cosize(m),), root.dtype, "local", source=root, span=root.span)

    def places(self) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """Return the coordinates, thread and register of each element and each of its copies."""
        coords = np.indices(self.tile.extents).reshape(len(self.tile.extents), -1)
        found = self.layout.apply(*coords) if coords.size else self.layout.apply()
        held = [np.broadcast_to(np.asarray(found.get(axis, 0)), coords.shape[1:]) for axis in (tx, m)]
        moved = itertools.product(*([(n * it.stride, it.axis) for n in range(it.extent)] for it in self.layout.replica))
        for copy in list(moved):
            shift = {axis: sum(step for step, own in copy if own == axis) for axis in (tx, m)}
            for at, thread, register in zip(coords.T.tolist(), *(part.tolist() for part in held), strict=True):
                yield tuple(at), thread + shift[tx], register + shift[m]

    def pointer(self, register: Expr | int) -> Expr:
        """Return the address of a thread's register, counted from 0."""
        return AddressOf(HANDLE, self.root, (self.base + register,))


def register_tile(ctx: Context, tile: Tile, copies: bool = False) -> RegisterTile:
    """Return the registers of each thread that hold `tile`. Raises Refusal if it is not a register view.

    copies: whether several threads may hold an element, and threads none.
    """
    name = tile.buffer.name
    whole = _thread_layout(ctx, tile)
    try:
        region = slice_region(whole, [coordinate(s) for s in tile.starts], tile.region.extents, ctx.divisor)
        layout = region.layout.linear.reshape(tile.extents)
    except LayoutError as error:
        raise Refusal(f"the slice of {name} cannot be read register by register: {error}") from None
    if int_value(ctx.simplify(as_expr(region.base.get(tx, 0)))) != 0:
        raise Refusal(f"the slice of {name} omits the first threads", "slice its columns, not its rows")
    if not copies and not is_bijective(layout):
        raise Refusal(f"the slice of {name} is not a contiguous range of each thread's registers")
    threads = layout.cosize(tx)
    if threads > ctx.threads:
        raise Refusal(f"{name} is spread over {threads} threads, but the {ctx.scope} has {ctx.threads}")
    return RegisterTile(tile, ctx.simplify(as_expr(region.base.get(m, 0))), layout, layout.cosize(m), threads)


def _thread_layout(ctx: Context, tile: Tile) -> TileLayout:
    """Return the layout of a register view with a single thread axis `tx` over the scope's threads.

    Equivalent spellings (`tid_in_wg`, `laneid` with `wid_in_wg`, lanes of tensor memory) are converted. Raises Refusal
    if an axis is not defined in this scope.
    """
    buffer, root = tile.buffer, tile.buffer.root
    factors = dict(_THREAD_AXES.get(ctx.scope, {}))
    if ctx.scope == "warpgroup" and ctx.launch.threads == 128:
        factors |= _ONE_WARPGROUP
    names = {axis.name for axis in tile.layout.axes} - {"m", "TCol"}
    unknown = ", ".join(sorted(names - factors.keys()))
    if unknown:
        raise Refusal(f"the layout of {buffer.name} uses {unknown}, which is not defined in {ctx.scope} scope")
    if buffer.dtype != root.dtype:
        raise Refusal(f"{buffer.name} is {buffer.dtype}, but the registers under it are {root.dtype}")
    return _renamed(tile.layout.linear, {AXES[name]: (tx, factors[name]) for name in names} | {AXES["TCol"]: (m, 1)})


def in_threads(layout: TileLayout) -> TileLayout:
    """Return a layout over the threads of a warpgroup, in the form of `RegisterTile.layout`."""
    factors = _THREAD_AXES["warpgroup"]
    return _renamed(layout, {axis: (tx, factors[axis.name]) for axis in layout.axes if axis.name in factors})


def _renamed(layout: TileLayout, table: Mapping[Axis, tuple[Axis, int]]) -> TileLayout:
    """Rename axes of `layout` and multiply their strides."""

    def named(axis: Axis) -> tuple[Axis, int]:
        return table.get(axis, (axis, 1))

    def renamed(dim: tuple[Iter, ...]) -> tuple[Iter, ...]:
        return tuple(Iter(it.extent, it.stride * factor, axis) for it in dim for axis, factor in [named(it.axis)])

    return TileLayout(Spec(tuple(map(renamed, layout.dims)), renamed(layout.spec.replica))).simplify()
