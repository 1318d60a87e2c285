"""Lowering of `T.reduce_sum` and similar: within a thread, by warp shuffles, then through shared memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tirx_mini.hardware import WARP_SIZE
from tirx_mini.ir import (
    FLOAT32,
    INT32,
    UNROLLED,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Expr,
    For,
    If,
    Region,
    Stmt,
    TileCall,
    TirxError,
    Var,
    binary,
    cast,
    const,
    magnitude,
    select,
    seq,
)
from tirx_mini.isa import NAMES
from tirx_mini.records import dataclass, replace

from ..language.memory import FRAGMENT
from ..layouts import REGISTER, THREAD, Digit, Fragment, fit
from ..place import Place


@dataclass(frozen=True)
class Operator:
    """A reduction operator.

    op: the operator of the IR.
    identity: of a dtype, the value that changes nothing.
    magnitude: whether elements count without their sign.
    """

    op: str
    identity: Callable[[DataType], float | int]
    magnitude: bool = False


def _lowest(dtype: DataType) -> float | int:
    return -math.inf if dtype.is_float else -(1 << (dtype.bits - 1)) if dtype.is_signed else 0


def _highest(dtype: DataType) -> float | int:
    return math.inf if dtype.is_float else (1 << (dtype.bits - dtype.is_signed)) - 1


def _zero(dtype: DataType) -> float | int:
    return 0


OPERATORS: Mapping[str, Operator] = {
    "sum": Operator("+", _zero), "max": Operator("max", _lowest), "min": Operator("min", _highest),
    "abssum": Operator("+", _zero, True), "absmax": Operator("max", _zero, True),
    "bitand": Operator("&", lambda dtype: -1 if dtype.is_signed else (1 << dtype.bits) - 1),
    "bitor": Operator("|", _zero), "bitxor": Operator("^", _zero),
}  # fmt: skip


class Reduce:
    """Reduces a fragment along a dimension into another fragment, replicated over the threads that hold parts."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Fragment]:
        """Return the operand's layout without the reduced dimension, as the layout of the result."""
        source, target, dim = _operands(call)
        layout = place.fragments.get(source.buffer)
        if layout is None or target.buffer.scope != FRAGMENT:
            return {}
        return {target.buffer: _of_result(layout, target.buffer, dim)}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        """Emit the reduction within each thread, then across lanes, then across warps."""
        source, target, dim = _operands(call)
        if source.buffer.scope != FRAGMENT or target.buffer.scope != FRAGMENT:
            other = source if source.buffer.scope != FRAGMENT else target
            raise TirxError(
                f"T.reduce works on fragments, but {other.buffer.name} is in {other.buffer.scope} memory",
                call.span,
                "copy it to a fragment first: T.copy(shared, fragment)",
            )
        return _Reduction(call, place, source.buffer, target.buffer, dim).stmt()


class Finalize:
    """Combines the partial results of a reducer over all threads."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Fragment]:
        """Return a layout that replicates the results in every thread."""
        source, target = call.operands
        assert isinstance(source, Region) and isinstance(target, Region)
        layout = place.fragments.get(source.buffer)
        if layout is None or target.buffer is source.buffer or target.buffer.scope != FRAGMENT:
            return {}
        return {target.buffer: replace(layout, partial=False)}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        """Emit a reduction along the thread dimension."""
        source, target = call.operands
        assert isinstance(source, Region) and isinstance(target, Region)
        held = place.fragment(source.buffer)
        dim = len(held.shape)
        own = [digit for digit in held.digits if digit.place == REGISTER]
        lanes = Digit(dim, held.threads, 1, THREAD, 1)
        layout = Fragment((*held.shape, held.threads), (*own, lanes), held.threads, held.first)
        made = replace(call, options=(*call.options, ("clear", True)))
        return _Reduction(made, place, source.buffer, target.buffer, dim, layout).stmt()


def result_layout(call: TileCall, place: Place) -> Fragment | None:
    """Return the layout in which a reduction leaves its results if the target's differs, else None."""
    source, target, dim = _operands(call)
    if source.buffer.scope != FRAGMENT or target.buffer.scope != FRAGMENT:
        return None
    own, wanted = _of_result(place.fragment(source.buffer), target.buffer, dim), place.fragment(target.buffer)
    threads, registers, places = own.table()
    if own.threads == wanted.threads and np.all(wanted.holds(places, threads)):
        table = np.broadcast_to(wanted.register(places), registers.shape)
        if fit(table[0], own.of(REGISTER)) is not None:
            return None
    return own


def combine(call: TileCall, a: Expr, b: Expr) -> Expr:
    """Combine two partial results of a reduction."""
    return binary(OPERATORS[str(call.option("kind"))].op, a, b, span=call.span)


def _operands(call: TileCall) -> tuple[Region, Region, int]:
    source, target = call.operands
    assert isinstance(source, Region) and isinstance(target, Region)
    dim: Any = call.option("dim")
    return source, target, dim


def _of_result(layout: Fragment, target: Buffer, dim: int) -> Fragment:
    """Return the layout of a result, which may keep the reduced dimension with extent 1."""
    left = layout.without(dim)
    if len(target.shape) == len(left.shape):
        return replace(left, shape=tuple(target.shape))
    moved = [replace(d, dim=d.dim + (d.dim >= dim)) if d.dim is not None else d for d in left.digits]
    return Fragment(tuple(target.shape), tuple(moved), left.threads, left.first)


class _Reduction:
    def __init__(
        self, call: TileCall, place: Place, source: Buffer, target: Buffer, dim: int, layout: Fragment | None = None
    ) -> None:
        self.call, self.place, self.dim = call, place, dim
        self.source, self.target = place.registers(source), place.registers(target)
        self.layout = layout or place.fragment(source)
        self.own, self.wanted = _of_result(self.layout, target, dim), place.fragment(target)
        self.operator = OPERATORS[str(call.option("kind"))]
        small = target.dtype.is_float and target.dtype.bits < 32
        self.dtype = FLOAT32 if small else target.dtype
        self.thread = place.team.thread
        self.parts = Buffer(f"{target.name}_parts", (self.own.registers,), self.dtype, "local")

    def stmt(self) -> Stmt:
        threads = [part for d in self.layout.along(self.dim) if d.place == THREAD for part in _at_warps(d)]
        inside = [d for d in threads if self._by_shuffles(d)]
        across = [d for d in threads if not self._by_shuffles(d)]
        made: list[Stmt] = [AllocBuffer(self.parts), *self._in_registers()]
        made += [self._shuffled(mask) for digit in inside for mask in self._masks(digit)]
        if across:
            made += self._through_shared(across, inside)
        made.append(self._result())
        return seq(*made, span=self.call.span)

    def combined(self, a: Expr, b: Expr) -> Expr:
        return binary(self.operator.op, a, b, span=self.call.span)

    def identity(self) -> Expr:
        return const(self.operator.identity(self.dtype), self.dtype)

    def _loop(self, count: int, body: Callable[[Expr], Stmt], parallel: bool = True) -> Stmt:
        if count == 1:
            return body(const(0))
        var = Var(INT32, "q")
        kind = UNROLLED
        return For(var, const(0), const(count), body(var), kind=kind, parallel=parallel, span=self.call.span)

    # -- in a thread --------------------------------------------------------------------------------------------

    def _in_registers(self) -> list[Stmt]:
        """Reduce the elements of each thread by pairwise halving if their number is a power of two."""
        reduced = [d for d in self.layout.of(REGISTER) if d.dim == self.dim]
        kept = [d for d in self.layout.of(REGISTER) if d.dim != self.dim]
        count = math.prod(d.extent for d in reduced)

        def first(at: Expr) -> Expr:
            return _digits(at, kept)

        def element(at: Expr, number: Expr) -> Expr:
            value: Expr = BufferLoad(self.source.dtype, self.source, (first(at) + _digits(number, reduced),))
            value = cast(self.dtype, value)
            if self.operator.magnitude:
                value = magnitude(value)
            inside = self._inside(number, reduced)
            return value if inside is None else select(inside, value, self.identity())

        def start(at: Expr) -> Stmt:
            return BufferStore(self.parts, (at,), element(at, const(0)), span=self.call.span)

        made = [self._loop(self.own.registers, start)]
        if count > 1:
            var = Var(INT32, "k")

            def more(at: Expr) -> Stmt:
                before = BufferLoad(self.dtype, self.parts, (at,))
                return BufferStore(self.parts, (at,), self.combined(before, element(at, var)), span=self.call.span)

            inner = self._loop(self.own.registers, more)
            made.append(For(var, const(1), const(count), inner, kind=UNROLLED, span=self.call.span))
        return made

    def _inside(self, number: Expr, reduced: Sequence[Digit]) -> Expr | None:
        """Return the condition that an element is inside a padded tile, or None without padding."""
        if not self.layout.padded(self.dim):
            return None
        place: Expr = const(0)
        rest = number
        for digit in sorted(reduced, key=lambda d: d.stride):
            place = place + rest % digit.extent * digit.weight
            rest = rest // digit.extent
        for digit in self.layout.along(self.dim):
            if digit.place == THREAD:
                place = place + self.thread // digit.stride % digit.extent * digit.weight
        return place < self.layout.shape[self.dim]

    # -- in a warp ----------------------------------------------------------------------------------------------

    def _by_shuffles(self, digit: Digit) -> bool:
        """Return whether a digit spans lanes in powers of two, so that shuffles can reduce it."""
        two = not digit.extent & (digit.extent - 1) and not digit.stride & (digit.stride - 1)
        return two and digit.stride * digit.extent <= WARP_SIZE and self.place.team.count % WARP_SIZE == 0

    def _masks(self, digit: Digit) -> list[int]:
        return [digit.stride << bit for bit in reversed(range(digit.extent.bit_length() - 1))]

    def _shuffled(self, mask: int) -> Stmt:
        """Combine each value with the value of the lane whose index differs in the bits of `mask`."""

        def body(at: Expr) -> Stmt:
            own = BufferLoad(self.dtype, self.parts, (at,))
            other = NAMES["cuda.shfl_xor"].call(own, mask)
            typed = replace(other, dtype=self.dtype) if other.dtype != self.dtype else other
            return BufferStore(self.parts, (at,), self.combined(own, typed), span=self.call.span)

        return self._loop(self.own.registers, body, parallel=False)

    # -- between warps ------------------------------------------------------------------------------------------

    def _through_shared(self, across: Sequence[Digit], inside: Sequence[Digit]) -> list[Stmt]:
        """Reduce across warps: each warp stores its results to shared memory, and all threads combine them."""
        groups = math.prod(d.extent for d in across)
        size = math.prod(self.own.covered(dim) for dim in range(len(self.own.shape)))
        scratch = Buffer(f"{self.target.name}_warps", (groups, size), self.dtype, "shared", span=self.call.span)
        number: Expr = const(0)
        for digit in across:
            number = number * digit.extent + self.thread // digit.stride % digit.extent
        once: Expr | None = None
        for digit in (*inside, *self.layout.replicas):
            one = (self.thread // digit.stride % digit.extent).__eq__(0)
            once = one if once is None else binary("and", once, one)

        def place(at: Expr) -> Expr:
            linear: Expr = const(0)
            for dim, coordinate in enumerate(self.own.coordinates(self.thread, at)):
                linear = linear * self.own.covered(dim) + coordinate
            return self.place.analyzer.simplify(linear)

        def store(at: Expr) -> Stmt:
            return BufferStore(scratch, (number, place(at)), BufferLoad(self.dtype, self.parts, (at,)))

        def first(at: Expr) -> Stmt:
            return BufferStore(self.parts, (at,), BufferLoad(self.dtype, scratch, (const(0), place(at))))

        stores = self._loop(self.own.registers, store)
        made: list[Stmt] = [AllocBuffer(scratch), stores if once is None else If(once, stores, span=self.call.span)]
        made.append(self._loop(self.own.registers, first))
        var = Var(INT32, "w")

        def more(at: Expr) -> Stmt:
            before, other = BufferLoad(self.dtype, self.parts, (at,)), BufferLoad(self.dtype, scratch, (var, place(at)))
            return BufferStore(self.parts, (at,), self.combined(before, other), span=self.call.span)

        body = self._loop(self.own.registers, more)
        return [*made, For(var, const(1), const(groups), body, kind=UNROLLED, span=self.call.span)]

    def _result(self) -> Stmt:
        """Store the results, combined with the target's contents unless the target is cleared."""
        threads, registers, places = self.own.table()
        if not np.all(self.wanted.holds(places, threads)):
            raise TirxError(
                f"the threads that hold {self.target.name} are not those that have the results of reducing "
                f"{self.source.name}",
                self.call.span,
                "reduce into a fragment of its own, and copy it",
            )
        table = self.wanted.register(places)
        function = fit(np.broadcast_to(table, registers.shape)[0], self.own.of(REGISTER))
        if function is None:
            raise TirxError(f"{self.target.name} has its elements in another order than the reduction", self.call.span)

        def body(at: Expr) -> Stmt:
            value: Expr = BufferLoad(self.dtype, self.parts, (at,))
            there = function(at)
            if not self.call.option("clear"):
                before = cast(self.dtype, BufferLoad(self.target.dtype, self.target, (there,)))
                value = self.combined(before, value)
            return BufferStore(self.target, (there,), cast(self.target.dtype, value), span=self.call.span)

        return self._loop(self.own.registers, body)


def _at_warps(digit: Digit) -> tuple[Digit, ...]:
    """Split a thread digit into a lane digit and a warp digit if it spans both."""
    lanes = WARP_SIZE // digit.stride if digit.stride < WARP_SIZE and WARP_SIZE % digit.stride == 0 else 1
    if lanes == 1 or digit.extent <= lanes or digit.extent % lanes:
        return (digit,)
    low = replace(digit, extent=lanes)
    return replace(digit, extent=digit.extent // lanes, weight=digit.weight * lanes, stride=WARP_SIZE), low


def _digits(number: Expr, digits: Sequence[Digit]) -> Expr:
    """Return the register for a number in the mixed radix of some layout digits."""
    total: Expr = const(0)
    below = 1
    ordered = sorted(digits, key=lambda d: d.stride)
    for position, digit in enumerate(ordered):
        value = number // below if below > 1 else number
        if position < len(ordered) - 1:
            value = value % digit.extent
        total = total + value * digit.stride
        below *= digit.extent
    return total
