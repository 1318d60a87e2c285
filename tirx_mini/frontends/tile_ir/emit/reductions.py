"""Code generation for reductions and scans: within a thread, across lanes, then across warps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tirx_mini.ir import Binary, Buffer, Call, DataType, Expr, Var, as_expr, const

from ..layouts import LinearLayout, bits_of, blocked, linear_index
from .emitter import Emitter
from .movement import converted
from .values import Tile, in_buffer

ALIGNMENT = 16
"""Of buffers in shared memory, in bytes."""

Combine = Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]]
"""What two groups of elements give, one of each tile that is reduced together (a maximum and its index)."""


def reduce(emitter: Emitter, tiles: Sequence[Tile], axis: int, combine: Combine, name: str) -> list[Tile]:
    """Reduce tiles of one layout along `axis`."""
    layout = tiles[0].layout
    mask = layout.mask(axis)
    for basis in layout.bases:
        if basis & mask and basis & ~mask:
            raise emitter.refuse(f"this reduction needs a layout whose bits lie along single dimensions, not {layout}")
    out = layout.reduce(axis)
    buffers = [emitter.local(name, out.registers, tile.dtype) for tile in tiles]
    _in_thread(emitter, tiles, axis, combine, buffers)
    _in_warp(emitter, layout, mask, combine, buffers)
    if any(basis & mask for basis in layout.warp):
        _across_warps(emitter, layout, mask, out, combine, buffers)
    return [in_buffer(buffer, out) for buffer in buffers]


CHAINS = 4
"""Sums that a thread builds side by side: an addition waits for the one before it in its chain."""
STEP = 4
"""Elements that a statement adds to a chain, so that an instruction for three numbers takes two of them (`max3`)."""


def _in_thread(emitter: Emitter, tiles: Sequence[Tile], axis: int, combine: Combine, buffers: Sequence[Buffer]) -> None:
    """Reduce a thread's registers along `axis`, in several independent chains if it has few results."""
    layout = tiles[0].layout
    mask = layout.mask(axis)
    kept = [1 << bit for bit, basis in enumerate(layout.register) if basis & ~mask]
    along = [1 << bit for bit, basis in enumerate(layout.register) if not basis & ~mask and basis]
    results = 1 << len(kept)
    split = max(0, min(bits_of(max(1, CHAINS // results)), len(along) - 1))
    chained, rest = [*kept, *along[len(along) - split :]], along[: len(along) - split]
    sums = buffers if not split else [emitter.local("sums", results << split, b.dtype) for b in buffers]

    def first(p: Expr) -> None:
        for buffer, tile in zip(sums, tiles, strict=True):
            emitter.store(buffer, p, tile.at(linear_index((p, chained))))

    emitter.loop(results << split, first)

    def elements(p: Expr, number: Expr | int) -> list[Expr]:
        return [tile.at(linear_index((p, chained), (as_expr(number), rest))) for tile in tiles]

    def one(step: Expr, width: int = 1) -> None:
        def add(p: Expr) -> None:
            _combined(emitter, sums, p, combine, *(elements(p, step + i) for i in range(width)))

        emitter.loop(results << split, add, name="q")

    count = 1 << len(rest)
    width = 1
    if len(tiles) == 1 and count > STEP and _is_one_operation(emitter, tiles[0].dtype, combine):
        width = STEP
    if width > 1:  # the elements after the first one, up to a whole step
        one(const(1), width - 1)
        _from_one(emitter, count // width, lambda step: one(step * width, width))
    elif rest:
        _from_one(emitter, count, one)
    for level in reversed(range(split)):
        _join(emitter, sums, results << level, combine)
    if split:
        emitter.loop(results, lambda q: _copy(emitter, sums, buffers, q))


def _join(emitter: Emitter, sums: Sequence[Buffer], count: int, combine: Combine) -> None:
    """Combine the first `count` partial results with the next ones."""
    emitter.loop(count, lambda p: _combined(emitter, sums, p, combine, [buffer[p + count] for buffer in sums]))


def _copy(emitter: Emitter, sums: Sequence[Buffer], buffers: Sequence[Buffer], register: Expr) -> None:
    for source, buffer in zip(sums, buffers, strict=True):
        emitter.store(buffer, register, source[register])


def _from_one(emitter: Emitter, count: int, body: Callable[[Expr], None]) -> None:
    """Emit `body` for 1 … count - 1, serially."""
    if count == 2:
        body(const(1))
    else:
        emitter.loop(count - 1, lambda r: body(r + 1), parallel=False, name="k")


def _is_one_operation(emitter: Emitter, dtype: DataType, combine: Combine) -> bool:
    """Return whether the combination of two elements is one operation on them, which may be nested."""
    a, b = (Var(dtype, name) for name in "ab")
    with emitter.block():
        (result,) = combine([a], [b])
    operands = result.args if isinstance(result, Call) else (result.a, result.b) if isinstance(result, Binary) else ()
    return sorted(map(id, operands)) == sorted(map(id, (a, b)))


def _combined(
    emitter: Emitter, buffers: Sequence[Buffer], register: Expr, combine: Combine, *others: Sequence[Expr]
) -> None:
    """Emit buffers[register] = combine(buffers[register], others), with one group of elements after the other."""
    index = [const(0) if buffer.scalar else register for buffer in buffers]
    results: Sequence[Expr] = [buffer[i] for buffer, i in zip(buffers, index, strict=True)]
    for group in others:
        results = combine(results, group)
    if len(buffers) > 1:
        results = [emitter.bind("best", result) for result in results]
    for buffer, i, result in zip(buffers, index, results, strict=True):
        emitter.store(buffer, i, result)


def _in_warp(emitter: Emitter, layout: LinearLayout, mask: int, combine: Combine, buffers: Sequence[Buffer]) -> None:
    """Reduce across lanes by a butterfly of shuffles."""
    for bit, basis in enumerate(layout.lane):
        if basis & mask:

            def exchange(q: Expr, lanes: int = 1 << bit) -> None:
                index = [const(0) if buffer.scalar else q for buffer in buffers]
                own = [buffer[i] for buffer, i in zip(buffers, index, strict=True)]
                others = [
                    emitter.bind("other", emitter.value_of("shfl.xor", value.dtype, value, lanes)) for value in own
                ]
                _combined(emitter, buffers, q, combine, others)

            emitter.loop(buffers[0].size, exchange)


def _across_warps(
    emitter: Emitter, layout: LinearLayout, mask: int, out: LinearLayout, combine: Combine, buffers: Sequence[Buffer]
) -> None:
    """Reduce across warps through shared memory."""
    bits = [bit for bit, basis in enumerate(layout.warp) if basis & mask]
    group = linear_index((emitter.warp, [1 << bits.index(b) if b in bits else 0 for b in range(len(layout.warp))]))
    size = out.size
    unique = out.without_replicas()
    kept = [1 << out.register.index(basis) for basis in unique.register]
    lanes, warps = unique.owners()
    warps &= ~sum(1 << bit for bit in bits)
    memories = _memories(emitter, buffers, size << len(bits))
    emitter.fill()

    def write(q: Expr) -> None:
        for buffer, memory in zip(buffers, memories, strict=True):
            value = buffer[const(0) if buffer.scalar else linear_index((q, kept))]
            emitter.store(memory, group * size + emitter.index(unique, q), value)

    with emitter.when(emitter.zero_bits(lanes, warps)):
        emitter.loop(unique.registers, write)
    emitter.filled()

    def first(q: Expr) -> None:
        for buffer, memory in zip(buffers, memories, strict=True):
            emitter.store(buffer, q, memory[emitter.index(out, q)])

    emitter.loop(out.registers, first)

    def one(step: Expr) -> None:
        def add(q: Expr) -> None:
            others = [memory[step * size + emitter.index(out, q)] for memory in memories]
            _combined(emitter, buffers, q, combine, others)

        emitter.loop(out.registers, add, name="q")

    _from_one(emitter, 1 << len(bits), one)


def _memories(emitter: Emitter, buffers: Sequence[Buffer], count: int) -> list[Buffer]:
    """Allocate scratch memory for `count` elements of each buffer, side by side."""
    found, offset = [], 0
    for buffer in buffers:
        found.append(emitter.scratch(buffer.dtype, count, offset))
        offset += -(-found[-1].nbytes // ALIGNMENT) * ALIGNMENT
    return found


# -- scans ---------------------------------------------------------------------------------------------------------


def scan(emitter: Emitter, tiles: Sequence[Tile], axis: int, combine: Combine, reverse: bool, name: str) -> list[Tile]:
    """Emit inclusive scans of the tiles along `axis`, in reverse if `reverse`."""
    layout = scan_layout(tiles[0].shape, axis, emitter.warps)
    own = [emitter.local(name, layout.registers, tile.dtype) for tile in tiles]
    for buffer, tile in zip(own, tiles, strict=True):
        emitter.fill_registers(buffer, converted(emitter, tile, layout))
    walk = _Walk(emitter, layout, axis, combine, reverse, own)
    walk.in_thread()
    totals = walk.in_warp()
    if walk.warp_bits:
        walk.across_warps(totals)
    return [in_buffer(buffer, layout) for buffer in own]


def scan_layout(shape: Sequence[int], axis: int, warps: int) -> LinearLayout:
    """Return the layout with neighbours along `axis` in a thread's registers, then in lanes, then in warps."""
    order = (axis, *(a for a in reversed(range(len(shape))) if a != axis))
    return blocked(shape, warps=warps, vector=max(1, shape[axis] // (32 * warps)), order=order)


class _Walk:
    """A scan in progress. The registers `own` hold the elements, and later their prefix results."""

    def __init__(
        self, emitter: Emitter, layout: LinearLayout, axis: int, combine: Combine, reverse: bool, own: Sequence[Buffer]
    ) -> None:
        self.emitter, self.layout, self.combine, self.reverse, self.own = emitter, layout, combine, reverse, own
        mask = layout.mask(axis)
        self.along = [1 << bit for bit, basis in enumerate(layout.register) if basis & mask]
        self.rest = [1 << bit for bit, basis in enumerate(layout.register) if not basis & mask]
        self.lane_bits = sum(bool(basis & mask) for basis in layout.lane)
        self.warp_bits = sum(bool(basis & mask) for basis in layout.warp)

    def register(self, group: Expr | int, step: Expr | int) -> Expr:
        """Return the register of the element at position `step` in scan order."""
        last = (1 << len(self.along)) - 1
        return linear_index((group, self.rest), (last - step if self.reverse else step, self.along))

    def groups(self, body: Callable[[Expr], None]) -> None:
        self.emitter.loop(1 << len(self.rest), body, parallel=False, name="q")

    def load(self, buffers: Sequence[Buffer], register: Expr) -> list[Expr]:
        return [buffer[const(0) if buffer.scalar else register] for buffer in buffers]

    def in_thread(self) -> None:
        def one(step: Expr) -> None:
            def add(group: Expr) -> None:
                before = self.load(self.own, self.register(group, step - 1))
                _combined(self.emitter, self.own, self.register(group, step), self._after(before), [])

            self.groups(add)

        if self.along:
            _from_one(self.emitter, 1 << len(self.along), one)

    def _after(self, before: Sequence[Expr]) -> Combine:
        """Return a combination that prepends the preceding elements' result to its first argument."""
        return lambda elements, _: self.combine(before, elements)

    def position(self, number: Expr, bits: int) -> Expr:
        """Return the number of preceding lanes or warps in scan order."""
        place = number % (1 << bits)
        return (1 << bits) - 1 - place if self.reverse else place

    def in_warp(self) -> list[Buffer]:
        """Scan across lanes; return the inclusive prefix of lane totals, by group."""
        emitter, last = self.emitter, (1 << len(self.along)) - 1
        totals = [emitter.local("total", 1 << len(self.rest), buffer.dtype) for buffer in self.own]
        place = emitter.bind("place", self.position(emitter.lane, self.lane_bits))

        def group(q: Expr) -> None:
            for total, value in zip(totals, self.load(self.own, self.register(q, last)), strict=True):
                emitter.store(total, q, value)
            for bit in range(self.lane_bits):
                before = self._from_lane(totals, q, 1 << bit)
                with emitter.when(place >= 1 << bit):
                    _combined(emitter, totals, q, self._after(before), [])
            if self.lane_bits:
                before = self._from_lane(totals, q, 1)
                with emitter.when(place >= 1):
                    self.prefix(q, before)

        self.groups(group)
        return totals

    def _from_lane(self, totals: Sequence[Buffer], group: Expr, distance: int) -> list[Expr]:
        """Return the values of the lane `distance` lanes earlier in scan order."""
        emitter = self.emitter
        name = "shfl.down" if self.reverse else "shfl.up"
        return [
            emitter.bind("before", emitter.value_of(name, value.dtype, value, distance))
            for value in self.load(totals, group)
        ]

    def prefix(self, group: Expr, before: Sequence[Expr]) -> None:
        """Combine the elements of a group with the result of the preceding elements."""

        def one(step: Expr) -> None:
            _combined(self.emitter, self.own, self.register(group, step), self._after(before), [])

        self.emitter.loop(1 << len(self.along), one, parallel=False, name="k")

    def across_warps(self, totals: Sequence[Buffer]) -> None:
        """Scan across warps through shared memory."""
        emitter, warps = self.emitter, 1 << self.warp_bits
        lane_mask = (1 << self.lane_bits) - 1
        slots = (1 << len(self.rest)) * (32 >> self.lane_bits) * emitter.warps
        memories = _memories(emitter, totals, slots)
        rows = 32 >> self.lane_bits

        def slot(group: Expr, warp: Expr) -> Expr:
            return (group * emitter.warps + warp) * rows + emitter.lane // (1 << self.lane_bits)

        emitter.fill()
        end = 0 if self.reverse else lane_mask
        with emitter.when(emitter.lane % (lane_mask + 1) == end):
            self.groups(lambda q: self._write(memories, slot(q, emitter.warp), totals, q))
        emitter.filled()
        mine = emitter.bind("mine", self.position(emitter.warp, self.warp_bits))
        first = emitter.warp - emitter.warp % warps

        def group(q: Expr) -> None:
            def one(step: Expr) -> None:
                source = first + (warps - 1 - step if self.reverse else step)
                with emitter.when(step < mine):
                    for buffer, value in zip(sums, self.load(memories, slot(q, source)), strict=True):
                        emitter.store(buffer, 0, value)
                    self._add_warp(q, sums)

            sums = [emitter.local("warp_total", 1, buffer.dtype) for buffer in totals]
            emitter.loop(warps - 1, lambda back: one(warps - 2 - back), parallel=False, name="w")

        self.groups(group)

    def _write(self, memories: Sequence[Buffer], place: Expr, totals: Sequence[Buffer], group: Expr) -> None:
        for memory, value in zip(memories, self.load(totals, group), strict=True):
            self.emitter.store(memory, place, value)

    def _add_warp(self, group: Expr, sums: Sequence[Buffer]) -> None:
        self.prefix(group, [buffer[const(0)] for buffer in sums])
