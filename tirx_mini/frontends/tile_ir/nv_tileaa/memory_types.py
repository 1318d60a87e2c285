"""Types of memory references (arrays, tiled arrays, tokens), and queries common to all types."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.records import dataclass

from ..cuda_tile import PADDINGS, Ptr
from ..ssa import Parser, Scalar, Type
from .types import Tensor

Known = int | None
"""An extent or a stride; None where only the run knows it."""


def _listed(numbers: Sequence[Known]) -> str:
    return ",".join("?" if n is None else str(n) for n in numbers)


@dataclass(frozen=True)
class Memref(Type):
    """An array in global memory, with extents and strides in elements: ``memref<4096x?xf16, strides=[?,1]>``."""

    element: Scalar
    shape: tuple[Known, ...]
    strides: tuple[Known, ...]

    def __str__(self) -> str:
        dims = "".join(f"{'?' if n is None else n}x" for n in self.shape)
        return f"memref<{dims}{self.element}" + (f", strides=[{_listed(self.strides)}]>" if self.shape else ">")


@dataclass(frozen=True)
class BlockTile(Type):
    """An array partitioned into tiles, or into slices of one dimension; each index counts `steps` elements.

    tile: the shape that is loaded and stored.
    order: the dimension of the array that each dimension of the tile runs along.
    steps: how far apart tiles are, by dimension of the tile; the tile's extents where tiles lie side by side.
    gather: the dimension whose elements are named one by one, by a tensor of indices; None for a block of neighbours.
    padding: the value of elements read out of bounds; None: anything.
    """

    memref: Memref
    tile: tuple[int, ...]
    order: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    gather: int | None = None
    padding: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.order or tuple(range(len(self.tile))))
        object.__setattr__(self, "steps", self.steps or self.tile)

    def __str__(self) -> str:
        fields = [f"tile=({'x'.join(map(str, self.tile))})"]
        fields += [f"order=[{_listed(self.order)}]"] if self.order != tuple(range(len(self.tile))) else []
        fields += [f"steps=[{_listed(self.steps)}]"] if self.steps != self.tile else []
        fields += [f"gather={self.gather}"] if self.gather is not None else []
        fields += [f"padding={self.padding}"] if self.padding else []
        return f"btile<{', '.join(fields)}, {self.memref}>"

    @property
    def loaded(self) -> Tensor:
        """The type of the loaded or stored value."""
        return Tensor(self.tile, self.memref.element)


@dataclass(frozen=True)
class MemToken(Type):
    """A memory token: the consumer of a token happens after its producer."""

    def __str__(self) -> str:
        return "mem_token"


MEM_TOKEN = MemToken()


def shape_of(type: Type) -> tuple[int, ...]:
    """Return the extents of a tensor, or () for a scalar."""
    return type.shape if isinstance(type, Tensor) else ()


def element_of(type: Type) -> Type:
    """Return the element type of a tensor, or the type of a scalar."""
    return type.element if isinstance(type, Tensor) else type


def shaped(shape: Sequence[int], element: Type) -> Type:
    """Return a tensor type, or the scalar type for the shape ()."""
    return Tensor(tuple(shape), element) if shape else element


def is_float(type: Type) -> bool:
    element = element_of(type)
    return isinstance(element, Scalar) and element.is_float


def is_integer(type: Type) -> bool:
    element = element_of(type)
    return isinstance(element, Scalar) and element.is_integer


def is_pointer(type: Type) -> bool:
    return isinstance(element_of(type), Ptr)


def parse_memref(p: Parser) -> Memref:
    return Memref(*p.strided("a memref"))


def parse_block_tile(p: Parser) -> BlockTile:
    p.expect("<")
    fields: dict[str, object] = {}
    while p.peek != "memref":
        name = p.word_of(("tile", "order", "steps", "gather", "padding"))
        p.expect("=")
        if name == "tile":
            p.expect("(")
            dims = tuple(d or 0 for d in p.dims())
            fields[name] = dims if p.peek == ")" else (*dims, int(p.number()))
            p.expect(")")
        elif name == "gather":
            fields[name] = int(p.number())
        elif name == "padding":
            fields[name] = p.word_of(PADDINGS)
        else:
            fields[name] = tuple(int(n) for n in p.listed("[", "]", p.number))
        p.expect(",")
    p.word()
    memref = parse_memref(p)
    p.expect(">")
    if "tile" not in fields:
        raise p.error("a btile names its tile")
    return BlockTile(memref, **fields)  # type: ignore[arg-type]
