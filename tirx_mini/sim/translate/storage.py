"""Storage of the kernel's buffers in generated code, with their reads and addresses."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tirx_mini.ir import AddressOf, Buffer, BufferLoad, Expr, Ramp, TirxError
from tirx_mini.records import dataclass, replace

from ..machine import GlobalMemory, Registers, numpy_dtype
from .expressions import flat_index
from .values import Value, literal, ranged

if TYPE_CHECKING:
    from .expressions import Expressions
    from .writer import Writer

Kind = Literal["scalar", "list", "lanes", "array", "memory"]


@dataclass(frozen=True)
class Place:
    """The storage of a buffer.

    scalar: a Python number, one mutable variable that is uniform across the lanes. list: several of them. lanes: an
    array [32], one variable. array: a `RegisterArray`. memory: shared or global, through the warp.
    """

    kind: Kind
    name: str
    low: int = 0
    high: int = 0


@dataclass(frozen=True)
class Rows:
    """A range of registers per step: its `start` (text) and, in a parallel loop, the number of steps."""

    start: str
    steps: int
    lanes: int


class Storage:
    """The storage of one function's buffers, for `Expressions`.

    alone: whether a uniform value of a warp is a single number, because no warp represents several CTAs.
    """

    def __init__(self, writer: Writer) -> None:
        self.out = writer
        self.alone = False
        self.places: dict[Buffer, Place] = {}
        self.expressions: Expressions
        self._verb = "load"

    def place(self, buffer: Buffer) -> Place:
        found = self.places.get(buffer)
        if found is None:
            raise TirxError(f"{buffer.name} is used before it is allocated", buffer.span)
        return found

    def name(self, buffer: Buffer) -> str:
        """Return the name of the buffer in generated code."""
        return self.place(buffer).name

    def is_checked(self, buffer: Buffer) -> bool:
        """Return whether the machine checks reads of the buffer, for bounds and initialisation."""
        place = self.places.get(buffer)
        return place is None or place.kind not in ("scalar", "lanes")

    # -- reading -------------------------------------------------------------------------------------------------

    @contextmanager
    def peeking(self) -> Generator[None]:
        """Read shared memory without advancing time, in a run without data."""
        with self._reading("peek"):
            yield

    @contextmanager
    def spending(self) -> Generator[None]:
        """Read shared memory only for its time, except for indices of other reads, without checks."""
        with self._reading("spend"):
            yield

    @contextmanager
    def _reading(self, verb: str) -> Generator[None]:
        before, self._verb = self._verb, verb
        yield
        self._verb = before

    def load(self, expr: BufferLoad, raw: bool) -> Value:
        """Return an element or a vector. raw: in the dtype of its memory, for moves; otherwise normalised for
        arithmetic."""
        place = self.place(expr.buffer)
        self.out.spend(1)
        if place.kind in ("scalar", "lanes"):
            value = ranged(place.name, expr.dtype, lanes=place.kind == "lanes", view=place.kind == "lanes")
            return replace(value, low=place.low, high=place.high)
        index = flat_index(expr, expr.buffer)
        lanes, base = (index.lanes, index.base) if isinstance(index, Ramp) else (1, index)
        if place.kind == "list":
            return ranged(f"{place.name}.load(w, {self.expressions.value(base).code})", expr.dtype)
        if place.kind == "array":
            rows = self.rows(base, lanes)
            if rows is not None:
                code = f"{place.name}.block(w, {rows.start}, {rows.steps}, {lanes})"
                value = ranged(code, expr.dtype, lanes=True, view=True)
            else:
                at = self.expressions.index(base)
                value = ranged(f"{place.name}.load(w, {at.code}, {lanes})", expr.dtype, lanes=True, depth=at.depth + 1)
            return value if raw else self._normal(value, expr)
        verb = self._verb
        with self._reading("load" if verb == "spend" else verb):
            at = self.expressions.index(base)
        if verb == "spend":
            if expr.buffer.scope == "shared" and lanes == 1 and at.known is not None and at.known < expr.buffer.size:
                return ranged(f"w.spend_read({expr.buffer.dtype.itemsize})", expr.dtype)
            verb = "load"
        width = f", {lanes}" if lanes > 1 else ""
        code = f"w.{verb}({place.name}, {at.code}{width})"
        value = ranged(code, expr.dtype, lanes=at.lanes, depth=at.depth + 1)
        return value if raw and (at.lanes or lanes > 1) else self._normal(value, expr)

    def _normal(self, value: Value, expr: BufferLoad) -> Value:
        """Convert a value from memory to its arithmetic form: wide integers, and floats of the right precision."""
        dtype = expr.dtype
        if dtype.is_integer and value.lanes and dtype != "int64" and dtype != "uint64":
            return replace(value, code=f"{value.code}.astype(int64)", view=False)
        if dtype.is_float and not value.lanes and dtype.lanes == 1:
            kind = self.out.object("T", numpy_dtype(dtype).type, str(dtype))
            return replace(value, code=f"{kind}({value.code})")
        return value

    def rows(self, base: Expr, lanes: int) -> Rows | None:
        """Return the lane-uniform register range from `base` on, or None."""
        expressions = self.expressions
        at = expressions.split(base)
        uniform, pattern, rest = at
        if rest is not None:
            return None
        if pattern is None:
            return Rows(uniform.code if uniform else "0", 0, lanes) if not expressions.iterations else None
        if not expressions.iterations:
            return None
        table = expressions.table(pattern)
        first = int(table.flat[0])
        run = first + lanes * np.arange(expressions.iterations)
        if not (table == run[:, None]).all():
            return None
        start = str(first) if uniform is None else f"{uniform.code} + {first}" if first else uniform.code
        return Rows(start, expressions.iterations, lanes)

    # -- addresses -----------------------------------------------------------------------------------------------

    def address(self, expr: AddressOf) -> Value:
        """Return a pointer: a shared::cluster or global address as a number, or `Registers`."""
        place = self.place(expr.buffer)
        at = self.expressions.index(flat_index(expr, expr.buffer))
        if place.kind == "array":
            if at.lanes:
                name = expr.buffer.name
                hint = f"index {name} with a value that all threads of the warp share"
                raise TirxError(f"each thread would give the instruction another element of {name}", expr.span, hint)
            registers = self.out.object("Registers", Registers)
            return Value(f"{registers}(w, {place.name}, {at.code})", expr.dtype)
        if place.kind != "memory":
            raise TirxError(f"{expr.buffer.name} is kept in a register, which has no address", expr.span)
        if expr.buffer.scope == "shared":
            return self._shared_address(expr, place, at)
        if at.known is not None and 0 <= at.known < expr.buffer.size:
            made: Any = self.out.namespace[place.name]
            return literal(GlobalMemory.base(made.slot) + at.known * made.dtype.itemsize, expr.dtype)
        return Value(f"w.global_address({place.name}, {at.code})", expr.dtype, at.lanes, 0, (1 << 62) - 1)

    def _shared_address(self, expr: AddressOf, place: Place, at: Value) -> Value:
        """Return cluster_ctarank << 24 | byte offset, with a bounds check unless the index is known to be valid."""
        top = (1 << 28) - 1
        inside = at.low >= 0 and at.high < expr.buffer.size
        named = at.code.isidentifier()
        if not inside and (at.lanes or not (named or self.alone)):
            return Value(f"w.shared_address({place.name}, {at.code})", expr.dtype, at.lanes, 0, top)
        buffer: Any = self.out.namespace[place.name]
        size, offset = buffer.dtype.itemsize, buffer.byte_offset
        where = at.code if inside or named else self.out.fresh("at")
        if at.known is not None and inside:
            offset, scaled = offset + at.known * size, ""
            if self.expressions.launch.cluster_size == 1:
                return literal(offset, expr.dtype)
        else:
            scaled = f"{where} * {size} + " if size > 1 else f"{where} + "
        window = "    window = w.window"
        if window not in self.out.prologue:
            self.out.prologue.append(window)
        otherwise = ""
        if not inside:
            index = where if named else f"({where} := {at.code})"
            otherwise = f" if 0 <= {index} < {expr.buffer.size} else w.shared_address({place.name}, {where})"
        return Value(f"({scaled}{offset} + window{otherwise})", expr.dtype, at.lanes, 0, top)
