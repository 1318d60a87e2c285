"""Representations of nv_tileas values during code generation: registers, variables and views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tirx_mini.ir import Buffer, BufferLoad, DataType, Expr, as_expr, const
from tirx_mini.records import dataclass

from ..layouts import LinearLayout

MOST_COST = 8
"""Operations of an expression that is repeated rather than kept in registers."""

At = Callable[[Expr], Expr]
"""The value of register r of the executing thread."""


@dataclass(frozen=True)
class Tile:
    """A tile in registers, in which each thread holds the elements assigned by `layout`.

    at: the value of a register. It is an expression, computed where it is used, until the tile is held in a buffer.
    reads: the buffers that these expressions read.
    cost: the operations of one of them.
    moved: the buffers of which register r reads other registers than r.
    buffer: the registers that hold it; None where nothing does.
    uniform: whether all registers of all threads provably hold the same value.
    narrow: what it is a broadcast of, and the register of that for one of its own.
    over: registers that may be overwritten with it, one by one, since their contents are dead.
    undefined: whether it may have any elements: registers for it need not be written.
    """

    layout: LinearLayout
    dtype: DataType
    at: At
    reads: frozenset[Buffer] = frozenset()
    cost: int = 1
    moved: frozenset[Buffer] = frozenset()
    buffer: Buffer | None = None
    uniform: bool = False
    narrow: tuple[Tile, Callable[[Expr], Expr]] | None = None
    over: Buffer | None = None
    undefined: bool = False

    @property
    def cheap(self) -> bool:
        """Return whether recomputing the tile at each use is acceptable."""
        return self.cost <= MOST_COST

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def registers(self) -> int:
        return self.layout.registers

    def renamed(self, layout: LinearLayout, register: Callable[[Expr], Expr] | None = None) -> Tile:
        """Return the same registers under another layout. register: the register to read for one of `layout`."""
        if register is None:
            return replace(self, layout=layout)
        at, narrow = self.at, self.narrow
        moved = replace(self, layout=layout, at=lambda r: at(register(r)), moved=self.reads)
        if narrow is not None:
            tile, place = narrow
            narrow = tile, lambda r: place(register(r))
        return replace(moved, buffer=None, narrow=narrow, over=None)


@dataclass(frozen=True)
class Pointers:
    """A tile of addresses, or one address, of elements in one global buffer.

    offsets: of the elements, from the start of the buffer; a number where it is one address.
    """

    buffer: Buffer
    offsets: Tile | Expr


@dataclass(frozen=True)
class View:
    """A global buffer viewed as a tensor (nv_tileaa: memref).

    shape, strides: in elements.
    base: the element at index 0.
    """

    buffer: Buffer
    shape: tuple[Expr | int, ...]
    strides: tuple[Expr | int, ...]
    base: Expr | int = 0


@dataclass(frozen=True)
class Blocks:
    """A view partitioned into tiles (nv_tileaa: block_tile).

    tile: the extents of a tile, one for each dimension of the view, which `order` may permute: dimension i of a tile
        lies along dimension order[i] of the view.
    padding: what elements outside of the view are read as; None: anything.
    steps: how far tiles are apart, in elements; () where they lie side by side.
    """

    view: View
    tile: tuple[int, ...]
    order: tuple[int, ...]
    padding: float | int | None = None
    steps: tuple[int, ...] = ()


def in_buffer(buffer: Buffer, layout: LinearLayout) -> Tile:
    """Return the tile held in the registers `buffer`."""
    return Tile(layout, buffer.dtype, lambda r: element(buffer, r), frozenset({buffer}), buffer=buffer)


def element(buffer: Buffer, register: Expr | int) -> Expr:
    """Return one register of a register buffer."""
    index = const(0) if buffer.scalar else as_expr(register)
    return BufferLoad(buffer.dtype, buffer, (index,))


def constant(layout: LinearLayout, value: float | int | bool, dtype: DataType) -> Tile:
    """Return a tile of equal elements."""
    number = const(value, dtype)
    return Tile(layout, dtype, lambda _: number, cost=0, uniform=True)
