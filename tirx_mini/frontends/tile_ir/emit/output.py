"""Code generation for program output: one thread prints, after gathering tiles in shared memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tirx_mini.ir import FLOAT32, INT32, INT64, Buffer, Expr, If, as_expr, cast, const, seq

from ..nv_tileaa import ops as aa
from ..ssa import Op, OpKind
from .emitter import Emitter
from .tensors import write_rows
from .values import Tile

_SPEC = re.compile(r"%%|%(?P<flags>[-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z)?(?P<letter>[a-zA-Z])")


def _print(emitter: Emitter, op: Op) -> None:
    """Emit printf calls for the text between tiles, each followed by one thread printing a tile's elements."""
    given = iter([emitter.value(value) for value in op.values])
    emitter.values[op.result_token] = None
    piece, numbers, at = "", [], 0
    text = op.str
    for match in _SPEC.finditer(text):
        piece, at = piece + text[at : match.start()], match.end()
        if match.group() == "%%":
            piece += "%%"
            continue
        value = next(given)
        if not isinstance(value, Tile):
            number, spec = _printable(value, match)
            piece, numbers = piece + spec, [*numbers, number]
            continue
        _write(emitter, piece, numbers)
        _write_tile(emitter, value, match)
        piece, numbers = "", []
    _write(emitter, piece + text[at:], numbers)


def _printable(value: Expr, match: re.Match[str]) -> tuple[Expr, str]:
    """Return a number promoted for C's variadic functions, with its conversion specifier."""
    letter, flags = match.group("letter"), match.group("flags")
    if letter in "feEgG":
        return cast(FLOAT32, value) if value.dtype != "float64" else value, f"%{flags}{letter}"
    if value.dtype.bits == 64:
        return cast(INT64, value), f"%{flags}ll{letter}"
    return cast(INT32, value), f"%{flags}{letter}"


def _write(emitter: Emitter, text: str, numbers: list[Expr]) -> None:
    if text:
        with emitter.when(emitter.first_thread()):
            emitter.issue("printf", *numbers, format=text)


def _write_tile(emitter: Emitter, tile: Tile, match: re.Match[str]) -> None:
    """Print a tile as ``[[a, b], [c, d]]``."""
    memory = emitter.scratch(tile.dtype, tile.layout.size)
    emitter.fill()
    write_rows(emitter, memory, tile)
    emitter.filled()
    with emitter.when(emitter.first_thread()):
        _rows(emitter, memory, tile.shape, const(0), match)


def _rows(emitter: Emitter, memory: Buffer, shape: tuple[int, ...], number: Expr, match: re.Match[str]) -> None:
    if not shape:
        value, spec = _printable(memory[number], match)
        emitter.issue("printf", value, format=spec)
        return
    extent, *rest = shape

    def row(i: Expr) -> None:
        if extent > 1:
            comma = emitter.instruction("printf", format=", ")
            emitter.add(If(as_expr(i) > 0, seq(comma), span=emitter.span))
        _rows(emitter, memory, tuple(rest), number * extent + i, match)

    emitter.issue("printf", format="[")
    emitter.loop(extent, row, parallel=False, name="i")
    emitter.issue("printf", format="]")


def _assert(emitter: Emitter, op: Op) -> None:
    """Print the message if the condition is false for any element."""
    cond = emitter.value(op.condition)
    message = f"assertion failed: {op.message}\n".replace("%", "%%")

    def check(holds: Expr) -> None:
        with emitter.when(holds == False):  # noqa: E712
            emitter.issue("printf", format=message)

    if isinstance(cond, Tile):
        emitter.loop(cond.registers, lambda r: check(cond.at(r)), parallel=False)
    else:
        with emitter.when(emitter.first_thread()):
            check(cond)


def _fence(emitter: Emitter, op: Op) -> None:
    emitter.values[op.result_token] = None
    if op.what == "alias":
        emitter.sync()
    else:
        emitter.issue({"gdc_wait": "griddepcontrol.wait"}.get(op.what, "griddepcontrol.launch_dependents"))


OUTPUT_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    aa.print_: _print, aa.assert_: _assert, aa.mem_fence: _fence,
}  # fmt: skip
