"""Printing and assertions at run time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...cuda_tile import TOKEN
from ..arguments import tile_of
from ..dtypes import DType, float32, int32, uint32
from ..errors import TileTypeError, TileValueError
from ..surface import operation
from ..values import Formatted, Strict, TileValue, describe, is_constant

if TYPE_CHECKING:
    from ..tracer import Tracer

_SPEC = re.compile(r"(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d+)?(?P<type>[diuoxXeEfFgGaA]?)\Z")


def _placeholder(dtype: DType, spec: str) -> str:
    """Return the C printf conversion for a tile's elements and a Python format specifier."""
    found = _SPEC.match(spec)
    if found is None:
        raise TileValueError(
            f"the format specifier {spec!r} is not supported",
            hint="flags, width, precision and one of diuoxXeEfFgGaA are",
        )
    kind = found["type"] or ("f" if dtype.is_float else "u" if dtype.kind == "u" else "d")
    if (kind in "eEfFgGaA") != dtype.is_float:
        raise TileTypeError(f"the format specifier {spec!r} is not for {dtype}")
    length = "ll" if dtype.bitwidth == 64 and not dtype.is_float else ""
    return f"%{found['flags']}{found['width']}{found['precision'] or ''}{length}{kind}"


def _printable(tr: Tracer, tile: TileValue) -> TileValue:
    """Convert a tile to a type for C's printf: small integers to 32 bits, narrow floats to float32."""
    if tile.dtype.is_float:
        return tile if tile.dtype.arithmetic else tr.emit.cast(tile, float32)
    if tile.dtype.bitwidth in (8, 16):
        return tr.emit.cast(tile, uint32 if tile.dtype.kind == "u" else int32)
    return tile


class _Line:
    """A format string under construction, with its arguments."""

    def __init__(self, tr: Tracer) -> None:
        self.tr = tr
        self.text = ""
        self.tiles: list[TileValue] = []

    def literal(self, text: str) -> None:
        self.text += text.replace("%", "%%")

    def value(self, value: object, spec: str = "") -> None:
        """Append a string, tile, constant or tuple."""
        if isinstance(value, Formatted):
            for part in value.parts:
                if isinstance(part, str):
                    self.literal(part)
                else:
                    self.value(*part)
        elif isinstance(value, tuple):
            self._tuple(value, spec)
        elif isinstance(value, TileValue):
            tile = _printable(self.tr, value)
            self.text += _placeholder(tile.dtype, spec)
            self.tiles.append(tile)
        elif isinstance(value, str) or is_constant(value) or value is None:
            self.literal(format(value.value if isinstance(value, Strict) else value, spec))
        else:
            self.literal(format(str(value), spec))

    def _tuple(self, items: tuple[object, ...], spec: str) -> None:
        self.literal("(")
        for i, item in enumerate(items):
            self.literal(", " if i else "")
            self.value(item, spec)
        self.literal(",)" if len(items) == 1 else ")")

    def emit(self) -> None:
        order = self.tr.order
        order.printed = self.tr.emit.emit(
            "print_tko", [t.value for t in self.tiles], None, types=[TOKEN], str=self.text
        )


@operation("print")
def print_(tr: Tracer, *args: object, sep: str = " ", end: str = "\n") -> None:
    """Print values from the kernel, as Python's `print`; f-strings may contain tiles."""
    line = _Line(tr)
    for i, arg in enumerate(args):
        line.literal(sep if i else "")
        line.value(arg)
    line.literal(end)
    line.emit()


@operation("printf")
def printf(tr: Tracer, format: object, *args: object) -> None:
    """Print tiles with a format string of C: ``ct.printf("%d\\n", tile)``."""
    if not isinstance(format, str):
        raise TileTypeError(f"the format of ct.printf must be a string, not {describe(format)}")
    tiles = [tile_of(tr, a, "an argument of ct.printf") for a in args]
    wanted = re.findall(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l)?[diuoxXeEfFgGaA])", format)
    kinds = [w[-1] for w in wanted if w != "%%"]
    if len(kinds) != len(tiles):
        raise TileTypeError(f"the format of ct.printf has {len(kinds)} placeholders, but {len(tiles)} tiles are given")
    for kind, tile in zip(kinds, tiles, strict=True):
        if (kind in "eEfFgGaA") != tile.dtype.is_float:
            raise TileTypeError(f"the placeholder %{kind} of ct.printf is not for {describe(tile)}")
    line = _Line(tr)
    line.text, line.tiles = format, [_printable(tr, t) for t in tiles]
    line.emit()


@operation("assert_")
def assert_(tr: Tracer, cond: object, /, message: object = None) -> None:
    """Stop the kernel with a message unless all elements of a tile are true."""
    if not (message is None or isinstance(message, str)):
        raise TileTypeError(f"the message of ct.assert_ must be a string, not {describe(message)}")
    tile = tile_of(tr, cond, "the condition of ct.assert_")
    if not tile.dtype.is_bool:
        raise TileTypeError(f"the condition of ct.assert_ must be boolean, not {describe(tile)}")
    tr.emit.emit("assert", tile.value, message=message or "assertion failed")
