"""Lowering of parallel loops to per-thread code, with contiguous iterations combined into vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tirx_mini.ir import (
    INT32,
    SERIAL,
    UNROLLED,
    AddressOf,
    AllocBuffer,
    Analyzer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    For,
    If,
    Mutator,
    Ramp,
    Region,
    Seq,
    Span,
    Stmt,
    TirxError,
    Var,
    as_expr,
    binary,
    const,
    int_value,
    select,
    seq,
    substitute,
    walk,
)
from tirx_mini.records import dataclass, replace

from .evaluate import table_of
from .language.memory import FRAGMENT
from .layouts import REGISTER, THREAD, Fragment, fit
from .nest import Access, Nest, guarded, is_straight, vector_width
from .place import Place
from .teams import Team

MOST_UNROLLED = 256
"""Iterations of a thread that are unrolled at most."""
STAGED = 64
"""Elements that a thread loads before it computes with them."""


class Elsewhere(TirxError):
    """A fragment whose elements lie in other threads than those that access them. buffer: the fragment."""

    def __init__(self, buffer: Buffer, message: str, span: Span | None, hint: str) -> None:
        super().__init__(message, span, hint)
        self.buffer = buffer


def lower_nest(nest: Nest, layout: Fragment, place: Place) -> Stmt:
    """Emit the iterations of parallel loops that one thread executes."""
    lowering = _Loops(nest, layout, place)
    lanes = lowering.lanes()
    return lowering.vectors(lanes) if lanes > 1 else lowering.scalars()


@dataclass(frozen=True)
class _Steps:
    """One iteration of a thread: its number and its loop coordinates.

    element: the number of the iteration among those of the thread.
    inside: the condition that the coordinates are within the loops; None if they always are.
    """

    element: Expr
    coordinates: tuple[Expr, ...]
    inside: Expr | None
    analyzer: Analyzer


class _Loops:
    def __init__(self, nest: Nest, layout: Fragment, place: Place) -> None:
        self.nest, self.layout, self.place = nest, layout, place
        self.thread = Team(layout.first, layout.threads).thread if layout.threads > 1 else const(0)
        threads, _, tables = layout.table()
        self.tables = dict(zip(nest.vars, tables, strict=True))
        self.valid = np.ones(threads.shape, bool)
        for table, extent in zip(tables, nest.extents, strict=True):
            self.valid &= table < extent
        self.adds = any(_is_partial(a, place) for a in nest.fragments() if isinstance(a, BufferLoad))
        self.straight = is_straight(nest.body) and not self.adds
        self.guarded = guarded(nest.body)

    # -- one element after the other ----------------------------------------------------------------------------

    def at(self, element: Expr, analyzer: Analyzer) -> _Steps:
        """Return the coordinates of a thread's iteration with the given number."""
        raw = self.layout.coordinates(self.thread, element)
        coordinates = tuple(analyzer.simplify(as_expr(value)) for value in raw)
        inside: Expr | None = None
        for coordinate, extent in zip(coordinates, self.nest.extents, strict=True):
            inside = _both(inside, _checked(analyzer, coordinate < extent))
        return _Steps(element, coordinates, inside, analyzer)

    def scalars(self) -> Stmt:
        """Emit a loop over the elements of the thread."""
        return self._loop(self.layout.registers, lambda step: self.element(self.at(*step)), self.straight)

    def _loop(self, count: int, body: object, parallel: bool) -> Stmt:
        if count == 1:
            return body((const(0), self.place.analyzer))  # type: ignore[operator]
        var = Var(INT32, "e")
        made = body((var, self.place.analyzer.bind(var, 0, count - 1)))  # type: ignore[operator]
        kind = UNROLLED if count <= MOST_UNROLLED else SERIAL
        return For(var, const(0), const(count), made, kind=kind, parallel=parallel, span=self.nest.span)

    def element(self, steps: _Steps, staged: dict[Access, Expr] | None = None) -> Stmt:
        """Emit the loop body for one element."""
        names = dict(zip(self.nest.vars, steps.coordinates, strict=True))
        made = _Body(self, steps, names, staged or {}).stmt(self.nest.body)
        return made if steps.inside is None else If(steps.inside, made, span=self.nest.span)

    def register(self, access: Access, steps: _Steps) -> Expr:
        """Return the register that holds the fragment element accessed in an iteration."""
        fragment = self.place.fragment(access.buffer)
        places = [table_of(index, self.tables) for index in access.indices]
        self._check_owner(access, fragment, places)
        if all(place is not None for place in places):
            table = np.broadcast_to(fragment.register(places), self.valid.shape)
            first = table[0]
            if not ((table != first) & self.valid).any():
                function = fit(first, self.layout.of(REGISTER))
                if function is not None:
                    return steps.analyzer.simplify(as_expr(function(steps.element)))
        names = dict(zip(self.nest.vars, steps.coordinates, strict=True))
        indices = [substitute(index, names) for index in access.indices]
        return steps.analyzer.simplify(as_expr(fragment.register(indices)))

    def _check_owner(self, access: Access, fragment: Fragment, places: Sequence[object]) -> None:
        """Check that the thread executing an iteration holds the element."""
        threads = np.arange(self.layout.threads)[:, None]
        for digit in fragment.of(THREAD):
            if digit.dim is None:
                continue
            if places[digit.dim] is None:
                raise Elsewhere(
                    access.buffer,
                    f"{access.buffer.name} is spread over the threads along dimension {digit.dim}, so its index there "
                    "must be a variable of the parallel loop",
                    access.span,
                    "index it with the variables of T.Parallel, or keep it in shared memory",
                )
        held = True
        if all(places[d.dim] is not None for d in fragment.of(THREAD) if d.dim is not None):
            known = [0 if place is None else place for place in places]
            held = np.broadcast_to(fragment.holds(known, threads), self.valid.shape)
        if (~np.asarray(held) & self.valid).any():
            raise Elsewhere(
                access.buffer,
                f"the threads that hold {access.buffer.name} are not those that execute these iterations",
                access.span,
                "copy it to shared memory with T.copy, and back into a fragment that this loop uses alone",
            )

    def first_replica(self) -> Expr | None:
        """Return the condition that a thread is the first replica to execute its iterations."""
        return self.layout.first_replica(self.thread)

    # -- vectors ------------------------------------------------------------------------------------------------

    def lanes(self) -> int:
        """Return the number of consecutive elements of a thread that form one vector."""
        last = len(self.nest.vars) - 1
        digits = [d for d in self.layout.of(REGISTER) if d.stride == 1 and d.dim == last and d.weight == 1]
        if not digits or not self.straight or self.nest.extents[last] % digits[0].extent:
            return 1
        lanes = digits[0].extent & -digits[0].extent
        widths = [self.width(access, lanes) for access in self.memory_accesses()]
        return min(lanes, max(widths, default=1))

    def memory_accesses(self) -> list[Access]:
        """Return the memory accesses that can be vectorised."""
        found = [a for a in self.nest.accesses() if a.buffer.scope in ("global", "shared") and a not in self.guarded]
        return list(found)

    def width(self, access: Access, lanes: int) -> int:
        """Return the vector width of an access, in elements."""
        var, step = Var(INT32, "lane"), Var(INT32, "step")
        analyzer = self.place.analyzer.bind(var, 0, lanes - 1)
        analyzer = analyzer.bind(step, 0, max(self.layout.registers // lanes - 1, 0))
        *outer, first = self.at(step * lanes, analyzer).coordinates  # lanes are neighbours along the last dimension
        names = dict(zip(self.nest.vars, (*outer, first + var), strict=True))
        indices = tuple(analyzer.simplify(substitute(index, names)) for index in access.indices)
        if any(isinstance(part, BufferLoad) and part.buffer.scope == FRAGMENT for i in indices for part in walk(i)):
            return 1
        width = math.gcd(vector_width(replace(access, indices=indices), var, analyzer), lanes)
        return width if self._uniform(access.buffer, indices, var, width, analyzer) else 1

    def _uniform(self, buffer: Buffer, indices: Sequence[Expr], lane: Var, width: int, analyzer: Analyzer) -> bool:
        """Return whether a vector is either wholly inside or wholly outside a buffer."""
        if buffer.scope != "global":
            return True
        inside = _inside(buffer, indices, analyzer)
        return inside is None or int(buffer.shape[-1]) % width == 0

    def vectors(self, lanes: int) -> Stmt:
        """Emit all vector loads, then the computation, then all vector stores."""
        steps = self.layout.registers // lanes
        parts = self.nest.body.stmts if isinstance(self.nest.body, Seq) else (self.nest.body,)
        if len(parts) == 1 and isinstance(parts[0], BufferStore):
            direct = self._direct(parts[0], lanes, steps)
            if direct is not None:
                return direct
        chunk = max(1, STAGED // lanes)
        while steps % chunk:
            chunk -= 1
        rounds = steps // chunk

        def part(step: tuple[Expr, Analyzer]) -> Stmt:
            return self._staged(step[0] * chunk, step[1], chunk, lanes)

        return self._loop(rounds, part, False)

    def _direct(self, store: BufferStore, lanes: int, steps: int) -> Stmt | None:
        """Emit a copy between two vector accesses without an intermediate array."""
        value = store.value
        if not isinstance(value, BufferLoad) or value.buffer.dtype != store.buffer.dtype:
            return None
        width = min(self._reach(store, lanes), self._reach(value, lanes))
        if width < lanes:
            return None

        def body(step: tuple[Expr, Analyzer]) -> Stmt:
            at = self.at(step[0] * lanes, step[1])
            load, inside = self._place(value, at)
            place, target = self._place(store, at)
            whole = BufferLoad(value.dtype.with_lanes(lanes), load.buffer, ramp(load.indices, lanes), span=value.span)
            made: Stmt = BufferStore(place.buffer, ramp(place.indices, lanes), whole, span=store.span)
            if inside is not None:  # zeros in the place of what is outside
                made = If(inside, made, _zeros(place, lanes), span=store.span)
            guard = _both(_both(at.inside, target), self.once(store.buffer))
            return made if guard is None else If(guard, made, span=store.span)

        return self._loop(steps, body, True)

    def once(self, buffer: Buffer) -> Expr | None:
        """Return the condition that ensures each element of a buffer is stored by only one thread."""
        return self.first_replica() if buffer.scope in ("global", "shared") else None

    def _reach(self, access: Access, lanes: int) -> int:
        """Return the vector width of a memory or register access."""
        if access.buffer.scope == FRAGMENT:
            var, step = Var(INT32, "lane"), Var(INT32, "step")
            analyzer = self.place.analyzer.bind(var, 0, lanes - 1).bind(step, 0, self.layout.registers // lanes - 1)
            here = self.register(access, self.at(step * lanes, analyzer))
            there = self.register(access, self.at(step * lanes + var, analyzer))
            return lanes if analyzer.equal(there, here + var) and analyzer.divisible(here, lanes) else 1
        return self.width(access, lanes) if access.buffer.scope in ("global", "shared") else 1

    def _place(self, access: Access, steps: _Steps) -> tuple[Access, Expr | None]:
        """Return an access in a given iteration, and the condition that it is in bounds."""
        if access.buffer.scope == FRAGMENT:
            array = self.place.registers(access.buffer)
            return replace(access, buffer=array, indices=(self.register(access, steps),)), None
        names = dict(zip(self.nest.vars, steps.coordinates, strict=True))
        indices = tuple(steps.analyzer.simplify(substitute(index, names)) for index in access.indices)
        inside = _inside(access.buffer, indices, steps.analyzer) if access.buffer.scope == "global" else None
        return replace(access, indices=indices), inside

    def _staged(self, first: Expr, analyzer: Analyzer, steps: int, lanes: int) -> Stmt:
        """Emit the staged computation of `steps` vectors of the thread, starting at vector `first`."""
        wide = {a: self.width(a, lanes) for a in self.memory_accesses()}
        made: list[Stmt] = []
        arrays: dict[Access, Buffer] = {}
        for access, width in wide.items():
            if width > 1:
                shape = (steps * lanes,)
                arrays[access] = Buffer(f"{access.buffer.name}_part", shape, access.buffer.dtype, "local")
                made.append(AllocBuffer(arrays[access]))
        for access, array in arrays.items():
            if isinstance(access, BufferLoad):
                made.append(self._vector_loop(access, array, first, analyzer, steps, lanes, wide[access]))
        made.append(self._computed(arrays, first, analyzer, steps, lanes))
        for access, array in arrays.items():
            if isinstance(access, BufferStore):
                made.append(self._vector_loop(access, array, first, analyzer, steps, lanes, wide[access]))
        return seq(*made, span=self.nest.span)

    def _vector_loop(
        self, access: Access, array: Buffer, first: Expr, analyzer: Analyzer, steps: int, lanes: int, width: int
    ) -> Stmt:
        """Emit the vector loads into, or stores from, an array of `steps` · `lanes` elements."""
        count = steps * lanes // width
        var = Var(INT32, "v")
        inner = analyzer.bind(var, 0, count - 1)
        number: Expr = var if count > 1 else const(0)
        at = self.at(first * lanes + number * width, inner)
        place, inside = self._place(access, at)
        own = ramp((number * width,), width)
        guard = _both(at.inside, inside)
        if isinstance(access, BufferLoad):
            value = BufferLoad(access.dtype.with_lanes(width), place.buffer, ramp(place.indices, width))
            made: Stmt = BufferStore(array, own, value, span=access.span)
            if guard is not None:
                made = If(guard, made, _zeros(BufferLoad(array.dtype, array, (number * width,)), width))
        else:
            value = BufferLoad(array.dtype.with_lanes(width), array, own)
            made = BufferStore(place.buffer, ramp(place.indices, width), value, span=access.span)
            guard = _both(guard, self.once(access.buffer))
            made = made if guard is None else If(guard, made, span=access.span)
        if count == 1:
            return made
        return For(var, const(0), const(count), made, kind=UNROLLED, parallel=True, span=access.span)

    def _computed(self, arrays: dict[Access, Buffer], first: Expr, analyzer: Analyzer, steps: int, lanes: int) -> Stmt:
        """Emit the computation on array elements, one element at a time."""
        count, var = steps * lanes, Var(INT32, "e")
        inner = analyzer.bind(var, 0, count - 1)
        at = self.at(first * lanes + var, inner)
        names = dict(zip(self.nest.vars, at.coordinates, strict=True))
        staged: dict[Access, Expr] = {a: BufferLoad(b.dtype, b, (var,)) for a, b in arrays.items()}
        body = _Body(self, at, names, staged)
        made = body.stmt(self.nest.body)
        return For(var, const(0), const(count), made, kind=UNROLLED, parallel=True, span=self.nest.span)


class _Body(Mutator):
    """Rewrites the body of parallel loops for one iteration.

    staged: for accesses of memory that are vectors, the element of an array that stands for them.
    """

    def __init__(self, loops: _Loops, steps: _Steps, names: dict[Var, Expr], staged: dict[Access, Expr]) -> None:
        self.loops, self.steps, self.names, self.staged = loops, steps, names, staged

    def visit_Var(self, node: Var) -> Expr:
        return self.names.get(node, node)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        if node in self.staged:
            return self.staged[node]
        if node.buffer.scope == FRAGMENT:
            array = self.loops.place.registers(node.buffer)
            return replace(node, buffer=array, indices=(self.loops.register(node, self.steps),))
        made = self.rebuild(node)
        made = replace(made, indices=tuple(self.steps.analyzer.simplify(index) for index in made.indices))
        inside = _inside(made.buffer, made.indices, self.steps.analyzer) if made.buffer.scope == "global" else None
        return made if inside is None else select(inside, made, const(0, made.dtype))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        value = self.expr(node.value)
        if node in self.staged:
            array = self.staged[node]
            assert isinstance(array, BufferLoad)
            return BufferStore(array.buffer, array.indices, value, span=node.span)
        if node.buffer.scope == FRAGMENT:
            array = self.loops.place.registers(node.buffer)
            made = BufferStore(array, (self.loops.register(node, self.steps),), value, span=node.span)
            guard = self.loops.first_replica() if self.loops.adds and _is_partial(node, self.loops.place) else None
            return made if guard is None else If(guard, made, span=node.span)
        indices = tuple(self.steps.analyzer.simplify(self.expr(index)) for index in node.indices)
        made: Stmt = replace(node, indices=indices, value=value)
        inside = _inside(node.buffer, indices, self.steps.analyzer) if node.buffer.scope == "global" else None
        guard = _both(inside, self.loops.once(node.buffer))
        return made if guard is None else If(guard, made, span=node.span)

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        made = self.rebuild(node)
        guard = self.loops.first_replica()
        for argument in made.call.args:
            if isinstance(argument, (BufferLoad, AddressOf)) and argument.buffer.scope == "global":
                indices = tuple(self.steps.analyzer.simplify(index) for index in argument.indices)
                guard = _both(_inside(argument.buffer, indices, self.steps.analyzer), guard)
        return made if guard is None else If(guard, made, span=node.span)

    def visit_Bind(self, node: Bind) -> Stmt:
        var = Var(node.var.dtype, node.var.name, span=node.var.span)
        value = self.expr(node.value)
        self.names[node.var] = var
        return Bind(var, value, span=node.span)

    def visit_Region(self, node: Region) -> Expr:
        raise TirxError("a tile operation cannot be inside a parallel loop", node.span, "write it before the loop")


def _is_partial(access: Access, place: Place) -> bool:
    layout = place.fragments.get(access.buffer)
    return layout is not None and layout.partial


def stores_all(nest: Nest, buffer: Buffer) -> bool:
    """Return whether parallel loops store to every element of a buffer unconditionally."""
    if any(isinstance(part, If) for part in walk(nest.body)):
        return False
    grids = dict(zip(nest.vars, np.indices(nest.extents), strict=True))
    stored = np.zeros(tuple(map(int, buffer.shape)), bool)
    for access in nest.accesses():
        if isinstance(access, BufferStore) and access.buffer is buffer:
            places = [table_of(index, grids) for index in access.indices]
            if any(place is None for place in places):
                return False
            stored[tuple(places)] = True
    return bool(stored.all())


def ramp(indices: Sequence[Expr], lanes: int) -> tuple[Expr, ...]:
    """Return the index of a vector access."""
    *outer, last = indices
    return (*outer, Ramp(last.dtype, last, lanes)) if lanes > 1 else tuple(indices)


def _zeros(first: Access, lanes: int) -> Stmt:
    """Emit zeros for the elements starting at `first`."""
    var = Var(INT32, "z")
    *outer, last = first.indices
    store = BufferStore(first.buffer, (*outer, last + var), const(0, first.buffer.dtype))
    return For(var, const(0), const(lanes), store, kind=UNROLLED, parallel=True)


def _both(a: Expr | None, b: Expr | None) -> Expr | None:
    return b if a is None else a if b is None else binary("and", a, b)


def _checked(analyzer: Analyzer, condition: Expr) -> Expr | None:
    """Return a condition, or None if it is always true."""
    known = int_value(analyzer.simplify(condition))
    return None if known else condition


def _inside(buffer: Buffer, indices: Sequence[Expr], analyzer: Analyzer) -> Expr | None:
    """Return the condition that an element is inside an argument, or None if it always is."""
    inside: Expr | None = None
    for index, extent in zip(indices, buffer.shape, strict=True):
        inside = _both(inside, _checked(analyzer, index < extent))
        bounds = analyzer.bounds(index)
        if bounds is None or bounds[0] < 0:
            inside = _both(inside, _checked(analyzer, index >= 0))
    return inside
