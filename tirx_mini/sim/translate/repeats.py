"""The repeated parts of a kernel: the long loops of its roles, and the tile loop of a persistent kernel.

A shorter run leaves some of it out, and is otherwise the same kernel: the loops of all roles omit the same iterations
in the middle, a multiple of their pipelines' length, and a persistent kernel ends correspondingly earlier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from math import lcm

from tirx_mini.ir import (
    AddressOf,
    Binary,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    PrimFunc,
    Special,
    Stmt,
    Var,
    While,
    int_value,
    walk,
)
from tirx_mini.records import dataclass

from .representatives import Led, led_loops

LEAST = 8
"""The minimum number of iterations for a loop to be shortened."""
RING = 32
"""The maximum number of pipeline stages."""


@dataclass(frozen=True)
class Cut:
    """The part of a kernel that a shortened run leaves out.

    middle: for each long loop, the iterations [first, stop). tiles: for each persistent loop, the bound that replaces
    its own. skips: the stores that advance a pipeline over the iterations of another role, with their distances. led:
    the loops that one warp executes for its warpgroup.
    """

    middle: dict[For, tuple[int, int]] = field(default_factory=dict[For, tuple[int, int]])
    tiles: dict[While, int] = field(default_factory=dict[While, int])
    skips: dict[BufferStore, int] = field(default_factory=dict[BufferStore, int])
    led: Led = field(default_factory=Led)
    known_mmas: bool = False


@dataclass(frozen=True)
class Skip:
    """A store that advances a ring position by the trip count of another role's loop, modulo the ring size.

    by: the advance, less than the size of the ring. It may wrap around once, which changes the parity of its phase.
    """

    store: BufferStore
    ring: int
    by: int

    def shorter(self, left_out: int) -> int:
        """Return the advance with `left_out` iterations removed; more than `ring` if it is impossible."""
        return (self.by - left_out) % (2 * self.ring)


@dataclass(frozen=True)
class Repeats:
    """The long loops with their trip counts, and the persistent loops.

    trips: of each long loop; all of them are close to the maximum. ring: the size of their pipelines, in iterations.
    period: the number of iterations of which a multiple may be left out. State that cycles on its own does so in all
        roles equally, however many are left out. Values that depend on the iteration number, and state that a role
        advances outside its loop, repeat after two rounds.
    skips: the stores by which a role advances its state over the stages of another role.
    tiles: the bound of the persistent loops; step: the common advance of all their roles per round.
    led: the operations that one warp can execute for its warpgroup.
    """

    loops: dict[For, int]
    ring: int
    period: int
    persistent: tuple[While, ...] = ()
    tiles: int = 0
    step: int = 0
    skips: tuple[Skip, ...] = ()
    led: Led = field(default_factory=Led)

    @property
    def trips(self) -> int:
        """The trip count of the longest loop; 0 if none is long."""
        return max(self.loops.values(), default=0)

    @property
    def light(self) -> bool:
        """Return whether single warps or threads execute all long loops, which are then cheap to simulate."""
        return bool(self.loops) and self.loops.keys() <= self.led.divergent

    def may_make(self, trips: int) -> bool:
        """Return whether a run may reduce its longest loop to `trips` iterations."""
        left_out = self.trips - trips
        return left_out % self.period == 0 and all(0 <= skip.shorter(left_out) <= skip.ring for skip in self.skips)

    def cut(self, trips: int, tiles: int) -> Cut:
        """Return the cut of a run whose longest loop makes `trips` iterations, and whose persistent loops end at
        `tiles`."""
        left_out = self.trips - trips
        head = trips // 2
        middle = dict.fromkeys(self.loops, (head, head + left_out)) if left_out > 0 else {}
        bounds = dict.fromkeys(self.persistent, tiles) if tiles < self.tiles else {}
        return Cut(middle, bounds, {skip.store: skip.shorter(left_out) for skip in self.skips}, self.led, True)


def repeats(func: PrimFunc) -> Repeats:
    """Return the repeated parts of a lowered function."""
    loops = _long_loops(func.body)
    rings = [ring for loop in loops for ring in _rings(loop)]
    moved = _moved_outside(func.body, loops)
    skips = [skip for ring in rings for skip in _skips(ring, moved, max(loops.values()))]
    skipped = {skip.store.buffer for skip in skips}
    fixed = [ring.size for ring in rings if not ring.state or ring.state & (moved.keys() - skipped)]
    persistent, tiles, step = _persistent(func.body)
    longest = max((ring.size for ring in rings), default=1)
    period = 2 * lcm(*fixed) if fixed else 1
    return Repeats(loops, longest, period, persistent, tiles, step, tuple(skips), led_loops(func))


def _long_loops(body: Stmt) -> dict[For, int]:
    """Return the innermost loops with instructions whose length exceeds half of the longest."""
    found: dict[For, int] = {}
    for loop in walk(body):
        if isinstance(loop, For) and not loop.parallel and loop.step == 1:
            start, stop = int_value(loop.start), int_value(loop.stop)
            if start is not None and stop is not None and stop - start >= LEAST and _works(loop):
                found[loop] = stop - start
    inner = {loop: n for loop, n in found.items() if not any(o in found for o in walk(loop.body) if isinstance(o, For))}
    longest = max(inner.values(), default=0)
    return {loop: n for loop, n in inner.items() if 2 * n > longest}


def _works(loop: For) -> bool:
    return any(isinstance(node, Call) for node in walk(loop.body))


@dataclass(frozen=True)
class _Ring:
    """A ring of `size` stages. state: the scalars that hold the position; none if the iteration determines it."""

    size: int
    state: frozenset[Buffer]


def _rings(loop: For) -> Iterator[_Ring]:
    """Yield the rings that the state of a loop cycles through: divisors and comparands of its counters."""
    for node in walk(loop.body):
        if not isinstance(node, Binary):
            continue
        size = int_value(node.b) if isinstance(node.b, Const) else None
        if size is None or not 1 < size <= RING or not _goes_round(node.a, loop.var):
            continue
        by_number = any(child is loop.var for child in walk(node.a))
        state: frozenset[Buffer] = frozenset() if by_number else _scalars(node.a)
        if node.op in ("%", "//"):
            yield _Ring(size, state)
        elif node.op == ">>":
            yield _Ring(1 << size, state)
        elif node.op == "&":
            yield _Ring(size + 1, state)
        elif node.op in ("==", ">=") and not by_number:
            yield _Ring(size, state)


def _moved_outside(body: Stmt, loops: Iterable[For]) -> dict[Buffer, list[BufferStore]]:
    """Return the stores outside the loops that update a scalar from its old value, by scalar."""
    inside = {id(node) for loop in loops for node in walk(loop.body)}
    moved: dict[Buffer, list[BufferStore]] = {}
    for node in walk(body):
        if isinstance(node, BufferStore) and id(node) not in inside and node.buffer in _scalars(node.value):
            moved.setdefault(node.buffer, []).append(node)
    return moved


def _skips(ring: _Ring, moved: Mapping[Buffer, list[BufferStore]], trips: int) -> list[Skip]:
    """Return the store by which a role advances in a ring by a loop's trip count, if no other store moves it."""
    found: list[Skip] = []
    for buffer in ring.state:
        for store in moved.get(buffer, ()):
            by = _raise(store.value, buffer)
            if by == trips % ring.size != 0:
                found.append(Skip(store, ring.size, by))
            elif by != -ring.size:
                return []
    return found


def _raise(value: Expr, counter: Buffer) -> int:
    """Return the increment of a value over a scalar; 0 if unknown."""
    if not isinstance(value, Binary) or value.op not in ("+", "-"):
        return 0
    by = int_value(value.b)
    if by is None or not isinstance(value.a, BufferLoad) or value.a.buffer is not counter:
        return 0
    return by if value.op == "+" else -by


def _scalars(expr: Expr) -> frozenset[Buffer]:
    return frozenset(
        node.buffer for node in walk(expr) if isinstance(node, BufferLoad) and node.buffer.scope == "local"
    )


def _goes_round(expr: Expr, var: Var) -> bool:
    """Return whether a value changes between iterations, and depends on neither addresses nor the thread."""
    nodes = list(walk(expr))
    if any(isinstance(node, (AddressOf, Special)) for node in nodes):
        return False
    return any(node is var or (isinstance(node, BufferLoad) and node.buffer.scope == "local") for node in nodes)


def _persistent(body: Stmt) -> tuple[tuple[While, ...], int, int]:
    """Return (the persistent loops, their common bound, their common advance per round).

    Such a loop ends when a scalar that it increases by constants reaches a constant.
    """
    found: list[While] = []
    bounds: set[int] = set()
    rounds: list[int] = []
    for loop in walk(body):
        if not isinstance(loop, While):
            continue
        cond = loop.cond
        bound = int_value(cond.b) if isinstance(cond, Binary) and cond.op == "<" else None
        if bound is None or not isinstance(cond, Binary) or not isinstance(cond.a, BufferLoad):
            return (), 0, 0
        advance = _advance(loop, cond.a.buffer)
        if not advance:
            return (), 0, 0
        found.append(loop)
        bounds.add(bound)
        rounds.append(advance)
    return (tuple(found), bounds.pop(), lcm(*rounds)) if len(bounds) == 1 else ((), 0, 0)


def _advance(loop: While, counter: Buffer) -> int:
    """Return the increment of a scalar per iteration; 0 if unknown."""
    total = 0
    for node in walk(loop.body):
        if not isinstance(node, BufferStore) or node.buffer is not counter:
            continue
        step = _raise(node.value, counter)
        if step <= 0:
            return 0
        total += step
    return total
