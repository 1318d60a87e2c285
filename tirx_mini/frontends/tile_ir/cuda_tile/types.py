"""The types of cuda_tile with their syntax (Tile IR: Type System)."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.records import dataclass

from ..ssa import Parser, Scalar, Type

PADDINGS = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
"""Values of elements out of the bounds of a view; all but zero need a float element type."""

INTEGERS = ("i1", "i4", "i8", "i16", "i32", "i64")
BASE_FLOATS = ("f16", "bf16", "f32", "f64")
"""Float types that arithmetic is done in; the others are only converted, stored and multiplied by `mmaf`."""
FLOATS = (*BASE_FLOATS, "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN")

I1, I8, I16, I32, I64 = (Scalar(n) for n in ("i1", "i8", "i16", "i32", "i64"))
F16, BF16, F32, TF32, F64 = (Scalar(n) for n in ("f16", "bf16", "f32", "tf32", "f64"))


@dataclass(frozen=True)
class Ptr(Type):
    """A pointer to global memory, used as the element type of pointer tiles."""

    pointee: Scalar

    def __str__(self) -> str:
        return f"ptr<{self.pointee}>"


Element = Scalar | Ptr


def _power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


@dataclass(frozen=True)
class Tile(Type):
    """A tile of elements; rank 0 is a scalar. Raises `ValueError` for extents that are not powers of two."""

    shape: tuple[int, ...]
    element: Element

    def __post_init__(self) -> None:
        if not all(_power_of_two(n) for n in self.shape):
            raise ValueError(f"the extents of a tile are powers of two, not {'x'.join(map(str, self.shape))}")

    def __str__(self) -> str:
        return f"tile<{''.join(f'{n}x' for n in self.shape)}{self.element}>"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    def of(self, element: Element | str) -> Tile:
        """Return the tile type of the same shape with another element type."""
        return Tile(self.shape, Scalar(element) if isinstance(element, str) else element)

    def shaped(self, shape: Sequence[int]) -> Tile:
        """Return the tile type of the same element type with another shape."""
        return Tile(tuple(shape), self.element)


def tile(element: Element | str, *shape: int) -> Tile:
    """Return a tile type: ``tile("f16", 64, 32)`` is ``tile<64x32xf16>``."""
    return Tile(shape, Scalar(element) if isinstance(element, str) else element)


def _dims(dims: Sequence[int | None]) -> str:
    return ",".join("?" if d is None else str(d) for d in dims)


@dataclass(frozen=True)
class TensorView(Type):
    """An array in global memory. None denotes an extent or stride (in elements) known only at run time."""

    element: Scalar
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]

    def __str__(self) -> str:
        shape = "".join(f"{'?' if d is None else d}x" for d in self.shape)
        return f"tensor_view<{shape}{self.element}" + (f", strides=[{_dims(self.strides)}]>" if self.shape else ">")


def _padding(value: str | None) -> str:
    return f", padding_value = {value}" if value else ""


@dataclass(frozen=True)
class PartitionView(Type):
    """An array partitioned into adjacent tiles, indexed by tile number.

    dim_map: the dimension of the array that each dimension of the tile runs along.
    padding: what elements out of bounds are read as; None: they are undefined.
    """

    tile: tuple[int, ...]
    view: TensorView
    dim_map: tuple[int, ...] = ()
    padding: str | None = None

    def __post_init__(self) -> None:
        if not self.dim_map:
            object.__setattr__(self, "dim_map", tuple(range(len(self.tile))))

    def _text(self, name: str, more: str = "") -> str:
        order = "" if self.dim_map == tuple(range(len(self.tile))) else f", dim_map=[{_dims(self.dim_map)}]"
        return f"{name}<tile=({'x'.join(map(str, self.tile))}){more}{_padding(self.padding)}, {self.view}{order}>"

    def __str__(self) -> str:
        return self._text("partition_view")

    @property
    def steps(self) -> tuple[int, ...]:
        """The index step in elements, for each dimension of the tile."""
        return self.tile

    @property
    def loaded(self) -> Tile:
        """The type of a loaded or stored tile."""
        return Tile(self.tile, self.view.element)


@dataclass(frozen=True)
class StridedView(PartitionView):
    """A view of tiles with explicit strides, which may overlap or leave gaps."""

    traversal_strides: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self._text("strided_view", f", traversal_strides=[{_dims(self.traversal_strides)}]")

    @property
    def steps(self) -> tuple[int, ...]:
        return self.traversal_strides


@dataclass(frozen=True)
class GatherScatterView(Type):
    """Slices of an array selected by a tile of indices along `sparse_dim`; other indices count elements."""

    tile: tuple[int, ...]
    view: TensorView
    sparse_dim: int
    padding: str | None = None

    def __str__(self) -> str:
        shape = "x".join(map(str, self.tile))
        return f"gather_scatter_view<tile=({shape}){_padding(self.padding)}, {self.view}, sparse_dim={self.sparse_dim}>"

    @property
    def loaded(self) -> Tile:
        return Tile(self.tile, self.view.element)


TileView = PartitionView | GatherScatterView
"""Types that `load_view_tko` reads; a `StridedView` is a `PartitionView`."""


@dataclass(frozen=True)
class Token(Type):
    """A token, which orders memory operations: the consumer of a token happens after its producer."""

    def __str__(self) -> str:
        return "token"


TOKEN = Token()


def parse_ptr(p: Parser) -> Ptr:
    p.expect("<")
    pointee = p.type()
    p.expect(">")
    if not isinstance(pointee, Scalar):
        raise p.error(f"a pointer points at numbers, not at {pointee}")
    return Ptr(pointee)


def parse_tile(p: Parser) -> Tile:
    p.expect("<")
    dims = p.dims()
    element = p.type()
    p.expect(">")
    if not isinstance(element, (Scalar, Ptr)) or None in dims:
        raise p.error("expected a tile of numbers or pointers, with known extents")
    try:
        return Tile(tuple(d or 0 for d in dims), element)
    except ValueError as error:
        raise p.error(str(error)) from None


def parse_tensor_view(p: Parser) -> TensorView:
    return TensorView(*p.strided("a tensor_view"))


def parse_view(p: Parser) -> PartitionView | GatherScatterView:
    """Parse the parameters ``<tile=(…), … >`` of a view; the fields determine which of the three kinds it is."""
    p.expect("<")
    fields: dict[str, object] = {}
    view: TensorView | None = None
    while not p.accept(">"):
        if fields or view:
            p.expect(",")
        name = p.word()
        if name.removeprefix("!").removeprefix("cuda_tile.") == "tensor_view":
            view = parse_tensor_view(p)
            continue
        p.expect("=")
        fields["padding" if name == "padding_value" else name] = _field(p, name)
    if view is None or "tile" not in fields:
        raise p.error("a view names its tile and its tensor_view")
    kind = (
        GatherScatterView if "sparse_dim" in fields else StridedView if "traversal_strides" in fields else PartitionView
    )
    try:
        return kind(view=view, **fields)  # type: ignore[arg-type]
    except TypeError:
        raise p.error(f"a view has no fields {', '.join(fields)} together") from None


def _field(p: Parser, name: str) -> object:
    if name == "tile":
        p.expect("(")
        shape = tuple(d or 0 for d in p.dims())
        if not p.accept(")"):
            shape += (int(p.number()),)
            p.expect(")")
        return shape
    if name == "padding_value":
        return p.word_of(PADDINGS)
    if name == "sparse_dim":
        return int(p.number())
    return tuple(int(n) for n in p.listed("[", "]", p.number))
