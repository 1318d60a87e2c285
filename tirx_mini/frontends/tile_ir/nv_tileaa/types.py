"""Tensor types: tiles as values, with layouts in nv_tileas and without before."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tirx_mini.records import dataclass

from ..layouts import LinearLayout, SharedLayout, TmemLayout, number_of
from ..ssa import Parser, Printer, Type

Layout = LinearLayout | SharedLayout | TmemLayout
"""Where the elements of a tensor are: in registers, in shared memory, in tensor memory."""

_STEMS = {LinearLayout: "linear", SharedLayout: "shared", TmemLayout: "tmem"}


@dataclass(frozen=True)
class Tensor(Type):
    """A tile of `shape`, ``tensor<128x64xf16>``, optionally with a layout: ``tensor<128x64xf16, #shared>``."""

    shape: tuple[int, ...]
    element: Type
    layout: Layout | None = None

    def __str__(self) -> str:
        layout = "" if self.layout is None else f", #nv_tileas.{self.layout}"
        return f"tensor<{self._dims()}{self.element}{layout}>"

    def text(self, printer: Printer) -> str:
        if self.layout is None:
            return f"tensor<{self._dims()}{printer.type(self.element)}>"
        alias = printer.alias(_STEMS[type(self.layout)], f"#nv_tileas.{self.layout}")
        return f"tensor<{self._dims()}{printer.type(self.element)}, {alias}>"

    def _dims(self) -> str:
        return "".join(f"{extent}x" for extent in self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def linear(self) -> LinearLayout:
        """The register layout of a tensor."""
        assert isinstance(self.layout, LinearLayout), f"{self} is not in registers"
        return self.layout

    def with_layout(self, layout: Layout | None) -> Tensor:
        return Tensor(self.shape, self.element, layout)

    def of(self, element: Type) -> Tensor:
        """Return the tensor type with another element type and the same layout."""
        return Tensor(self.shape, element, self.layout)

    def shaped(self, shape: Sequence[int], layout: Layout | None = None) -> Tensor:
        """Return the tensor type with another shape and the same element type."""
        return Tensor(tuple(shape), self.element, layout)


def parse_tensor(p: Parser) -> Tensor:
    """Parse the rest of a type after ``tensor``."""
    p.expect("<")
    dims = p.dims()
    element = p.type()
    layout: Any = p.attribute() if p.accept(",") else None
    p.expect(">")
    if None in dims:
        raise p.error("the extents of a tensor are known")
    shape = tuple(extent or 0 for extent in dims)
    try:
        if callable(layout):
            layout = layout(shape)
        return Tensor(shape, element, layout)
    except ValueError as error:
        raise p.error(str(error)) from None


def parse_linear(p: Parser) -> Callable[[Sequence[int]], LinearLayout]:
    """Parse the rest after ``#nv_tileas.linear``: the layout, for the shape of its tensor."""
    bases: dict[str, list[list[int]]] = {}
    p.expect("<")
    while not p.accept(">"):
        if bases:
            p.expect(",")
        name = p.word_of(("register", "lane", "warp"))
        p.expect("=")
        bases[name] = p.listed("[", "]", lambda: p.listed("[", "]", lambda: int(p.number())))

    def layout(shape: Sequence[int]) -> LinearLayout:
        numbers = (tuple(number_of(basis, shape) for basis in bases.get(n, ())) for n in ("register", "lane", "warp"))
        return LinearLayout(tuple(shape), *numbers)

    return layout


def parse_shared(p: Parser) -> SharedLayout:
    """Parse the rest after ``#nv_tileas.shared``."""
    p.expect("<")
    p.expect("swizzle")
    p.expect("=")
    swizzle = int(p.number())
    order: tuple[int, ...] = ()
    if p.accept(","):
        p.expect("order")
        p.expect("=")
        order = tuple(p.listed("[", "]", lambda: int(p.number())))
    p.expect(">")
    return SharedLayout(swizzle, order)


def parse_tmem(p: Parser) -> TmemLayout:
    """Parse the rest after ``#nv_tileas.tmem``."""
    p.expect("<")
    p.expect(">")
    return TmemLayout()


LAYOUTS: dict[str, Callable[[Parser], object]] = {"linear": parse_linear, "shared": parse_shared, "tmem": parse_tmem}
"""Parsers of the attributes of nv_tileas, by their names."""
