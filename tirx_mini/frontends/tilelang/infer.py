"""The InferLayouts pass: assign each fragment a distribution over threads, and each shared buffer a swizzle.

Layouts begin at the operations that need certain ones (matrix products), at annotations, and at fragments that single
threads index. From there they spread: the parallel loops over a fragment are shared among threads as the fragment is,
the other fragments in these loops follow the loops, and a reduction leaves the layout of its operand without the
dimension that it reduces. Where nothing is known, the loop of most dimensions is spread over the threads in vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tirx_mini.ir import (
    AddressOf,
    Analyzer,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    PrimFunc,
    Region,
    Scope,
    ScopeIds,
    Seq,
    Stmt,
    TileCall,
    TirxError,
    Var,
    While,
    unary,
    walk,
)
from tirx_mini.layout import Layout, SwizzleMode, TileLayout, tma_shared_layout
from tirx_mini.records import dataclass, replace

from .language.hints import LAYOUT_HINT, Swizzled
from .language.memory import FRAGMENT
from .layouts import (
    REGISTER,
    THREAD,
    Digit,
    Fragment,
    Partials,
    ThreadMap,
    compact,
    from_axe,
    replicated,
    seen_through,
    spread,
    with_replicas,
)
from .nest import Access, Nest, lanes_of, nest_of
from .place import Place, Rule
from .raster import RANGES
from .teams import Team, team_of_hint, whole


@dataclass
class Known:
    """The layouts inferred so far."""

    fragments: dict[Buffer, Fragment] = field(default_factory=dict)
    shared: dict[Buffer, Layout] = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """A program point that constrains layouts: parallel loops or a tile operation."""

    what: Nest | TileCall
    team: Team
    analyzer: Analyzer


def infer_layouts(func: PrimFunc, arch: str, rules: Mapping[str, Rule]) -> PrimFunc:
    """Assign a layout to each fragment, and to each shared buffer whose users require one."""
    inference = _Inference(arch, rules)
    inference.collect(func)
    return _Attach(inference.solve()).func(func)


class _Inference:
    def __init__(self, arch: str, rules: Mapping[str, Rule]) -> None:
        self.arch, self.rules = arch, rules
        self.sites: list[Site] = []
        self.known = Known()
        self.teams: dict[Buffer, Team] = {}
        self.single: list[tuple[Access, Team]] = []
        self.swizzled: list[Buffer] = []
        self.addressed: set[Buffer] = set()

    # -- what there is ------------------------------------------------------------------------------------------

    def collect(self, func: PrimFunc) -> None:
        self._stmt(func.body, whole(func), Analyzer(ranges_of(func)))

    def _stmt(self, stmt: Stmt, team: Team, analyzer: Analyzer) -> None:
        nest = nest_of(stmt, analyzer)
        if nest is not None or isinstance(stmt, TileCall):
            self._site(Site(nest or stmt, team, analyzer))  # type: ignore[arg-type]
        elif isinstance(stmt, Seq):
            for part in stmt.stmts:
                self._stmt(part, team, analyzer)
        elif isinstance(stmt, Hint):
            self._annotated(stmt, team)
            if stmt.body is not None:
                inner = team_of_hint(stmt, team)
                self._stmt(stmt.body, inner, with_team(analyzer, inner))
        elif isinstance(stmt, Scope):
            self._stmt(stmt.body, team, analyzer)
        elif isinstance(stmt, For):
            self._stmt(stmt.body, team, with_loop(analyzer, stmt))
        elif isinstance(stmt, While):
            self._stmt(stmt.body, team, analyzer)
        elif isinstance(stmt, If):
            taken = _taken(team, stmt.cond)
            self._stmt(stmt.then, taken, with_team(analyzer, taken))
            if stmt.orelse is not None:
                other = _taken(team, unary("not", stmt.cond))
                self._stmt(stmt.orelse, other, with_team(analyzer, other))
        else:
            self._single(stmt, team)

    def _site(self, site: Site) -> None:
        self.sites.append(site)
        for buffer in fragments_of(site.what):
            self.teams.setdefault(buffer, site.team)

    def _single(self, stmt: Stmt, team: Team) -> None:
        """Record the accesses outside parallel loops.

        Each thread needs the elements of fragments itself, and instructions take the shared memory at a pointer row by
        row.
        """
        for node in walk(stmt):
            if isinstance(node, AddressOf) and node.buffer.scope == "shared":
                self.addressed.add(node.buffer)
            if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope == FRAGMENT:
                self.teams.setdefault(node.buffer, team)
                self.single.append((node, team))

    def _annotated(self, hint: Hint, team: Team) -> None:
        if hint.message != LAYOUT_HINT:
            return
        for buffer, layout in dict(hint.attrs)["layouts"]:
            if isinstance(layout, ThreadMap):
                layout = layout.fragment(team.count)
            elif isinstance(layout, Partials):
                layout = replace(replicated(buffer.shape, team.count), first=team.first, partial=True)
            if isinstance(layout, (Fragment, Layout)) and buffer.scope != "local":
                self._learn(buffer, layout, team)
            elif isinstance(layout, Swizzled) and buffer.scope == "shared":
                self.swizzled.append(buffer)

    # -- what follows -------------------------------------------------------------------------------------------

    def solve(self) -> Known:
        """Infer the layouts of all fragments."""
        for access, team in self.single:
            if access.buffer not in self.known.fragments:
                whole_copies = replicated(access.buffer.shape, team.count)
                self.known.fragments[access.buffer] = replace(whole_copies, first=team.first)
        while True:
            while self._spread():
                pass
            if not self._choose():
                break
        for buffer in self.swizzled:
            layout = widest_swizzle(buffer)
            if layout is not None:
                self.known.shared.setdefault(buffer, layout)
        return self.known

    def _spread(self) -> bool:
        """Propagate the known layouts once. Return whether this determined new ones."""
        before = len(self.known.fragments) + len(self.known.shared)
        for site in self.sites:  # tile operations need what they need, and parallel loops follow
            rule = self.rules.get(site.what.op) if isinstance(site.what, TileCall) else None
            if rule is not None:
                assert isinstance(site.what, TileCall)
                place = Place(self.arch, site.team, site.analyzer, self.known.fragments)
                for buffer, layout in rule.layouts(site.what, place).items():
                    if buffer not in self.addressed or not _moves(site.what):
                        self._learn(buffer, layout, site.team)
        for site in self.sites:
            if isinstance(site.what, Nest):
                self._nest(site)
        return len(self.known.fragments) + len(self.known.shared) > before

    def _nest(self, site: Site) -> None:
        assert isinstance(site.what, Nest)
        layout = known_layout(site.what, self.known.fragments, site.team)
        if layout is not None:
            self._follow(site.what, layout, site.team)

    def _follow(self, nest: Nest, layout: Fragment, team: Team) -> None:
        """Propagate the layout of parallel loops to the fragments that they access."""
        for access in nest.fragments():
            if access.buffer not in self.known.fragments:
                derived = derive(nest, access, layout)
                if derived is not None:
                    self.known.fragments[access.buffer] = derived

    def _learn(self, buffer: Buffer, layout: Fragment | Layout, team: Team) -> None:
        if isinstance(layout, Fragment):
            self.known.fragments.setdefault(buffer, layout)
        elif buffer.scope == FRAGMENT:
            assert isinstance(layout, TileLayout)
            self.known.fragments.setdefault(buffer, replace(from_axe(layout, team.count), first=team.first))
        else:
            self.known.shared.setdefault(buffer, layout)

    def _choose(self) -> bool:
        """Choose a layout for the undetermined loop with the most dimensions. Return False if none is left."""
        left = [site for site in self.sites if any(b not in self.known.fragments for b in fragments_of(site.what))]
        nests = [site for site in left if isinstance(site.what, Nest)]
        for site in sorted(nests, key=lambda site: -len(_full(site.what))):
            nest = site.what
            assert isinstance(nest, Nest)
            before = len(self.known.fragments)
            self._follow(nest, nest_layout(nest, self.known.fragments, site.team, site.analyzer), site.team)
            if len(self.known.fragments) > before:
                return True
        for site in left:
            for buffer in fragments_of(site.what):
                if buffer not in self.known.fragments:
                    team = self.teams[buffer]
                    self.known.fragments[buffer] = replace(spread(buffer.shape, team.count), first=team.first)
                    return True
        return False


def _moves(call: TileCall) -> bool:
    """Return whether a tile operation only copies, and so accepts any shared-memory layout."""
    return call.op in ("tl.copy", "tl.tma_copy", "tl.async_copy")


def widest_swizzle(buffer: Buffer) -> Layout | None:
    """Return the layout with the widest swizzle that the rows of a shared buffer fill, or None."""
    if buffer.ndim < 2 or buffer.dtype.itemsize == 0 or buffer.shape[-2] % 8:
        return None
    width = buffer.shape[-1] * buffer.dtype.itemsize
    modes = (
        (128, SwizzleMode.SWIZZLE_128B_ATOM),
        (64, SwizzleMode.SWIZZLE_64B_ATOM),
        (32, SwizzleMode.SWIZZLE_32B_ATOM),
    )
    mode = next((mode for span, mode in modes if width % span == 0), None)
    return None if mode is None else tma_shared_layout(buffer.dtype, mode, buffer.shape)


def _full(nest: Nest | TileCall) -> tuple[int, ...]:
    return tuple(extent for extent in nest.extents if extent > 1) if isinstance(nest, Nest) else ()


def _taken(team: Team, condition: Expr) -> Team:
    part = team.part(condition)
    return team if part is None or part.count == 0 else part


def fragments_of(what: Nest | TileCall) -> Iterator[Buffer]:
    """Yield the fragments that parallel loops or a tile operation access."""
    if isinstance(what, Nest):
        yield from (access.buffer for access in what.fragments())
    else:
        for operand in what.operands:
            yield from (
                part.buffer for part in walk(operand)
                if isinstance(part, (Region, BufferLoad, AddressOf)) and part.buffer.scope == FRAGMENT
            )  # fmt: skip


def ranges_of(func: PrimFunc) -> dict[Var | str, tuple[int, int]]:
    """Return an analyzer with the ranges of CTA and thread indices."""
    found: dict[Var | str, tuple[int, int]] = {}
    for node in func.nodes:
        if isinstance(node, ScopeIds):
            for var, extent in zip(node.vars, node.extents, strict=True):
                found[var] = (0, extent - 1)
            if node.kind == "thread" and node.parent == "cta":
                found["threadIdx.x"] = (0, node.extents[0] - 1)
        elif isinstance(node, Hint) and node.message == RANGES:
            for var, extent in dict(node.attrs)["extents"]:
                found[var] = (0, extent - 1)
    return found


def with_team(analyzer: Analyzer, team: Team) -> Analyzer:
    """Restrict the thread index to the threads of a team."""
    return analyzer.bind("threadIdx.x", team.first, team.first + team.count - 1)


def with_loop(analyzer: Analyzer, loop: For) -> Analyzer:
    """Add the range of a loop's variable to the analyzer."""
    start, stop = analyzer.bounds(analyzer.simplify(loop.start)), analyzer.bounds(analyzer.simplify(loop.stop))
    if start is None or stop is None or stop[1] <= start[0]:
        return analyzer
    return analyzer.bind(loop.var, start[0], stop[1] - 1)


# -- layouts of loops --------------------------------------------------------------------------------------------


def known_layout(nest: Nest, fragments: Mapping[Buffer, Fragment], team: Team) -> Fragment | None:
    """Return the distribution of a parallel loop that its fragments determine, or None."""
    if nest.layout is not None:
        return nest.layout
    best: tuple[int, Access] | None = None
    added = {access.buffer for access in nest.fragments() if isinstance(access, BufferLoad)}
    for access in nest.fragments():
        layout = fragments.get(access.buffer)
        if layout is not None and layout.partial and access.buffer not in added:  # the start of a reduction
            return _of_access(nest, access, layout)
        if access.buffer in fragments and not fragments[access.buffer].partial:
            known = [dim for dim in nest.dimensions(access) if dim is not None]
            score = 2 * len(set(known)) + isinstance(access, BufferStore)
            if known and _fits(nest, access, fragments[access.buffer]) and (best is None or score > best[0]):
                best = score, access
    return None if best is None else _of_access(nest, best[1], fragments[best[1].buffer])


def _fits(nest: Nest, access: Access, layout: Fragment) -> bool:
    """Return whether each thread-distributed dimension of a fragment is indexed by its own loop."""
    places = nest.dimensions(access)
    for dim, (loop, divisor) in enumerate(zip(places, nest.divisors(access), strict=True)):
        in_threads = any(digit.place == THREAD for digit in layout.along(dim))
        if in_threads and loop is None:
            return False
        if loop is not None and (places.count(loop) > 1 or layout.covered(dim) * divisor < nest.extents[loop]):
            return False
    return True


def _of_access(nest: Nest, access: Access, layout: Fragment) -> Fragment:
    """Derive the layout of loops from the layout of a fragment that they index."""
    loops, divisors = nest.dimensions(access), nest.divisors(access)
    digits: list[Digit] = []
    below = 1
    for loop, divisor in zip(loops, divisors, strict=True):
        if loop is not None and divisor > 1:  # iterations of the same element are neighbours in one thread
            digits.append(Digit(loop, divisor, 1, REGISTER, below))
            below *= divisor
    for digit in layout.digits:
        if digit.dim is None:
            digits.append(digit)
        elif (loop := loops[digit.dim]) is not None:
            stride = digit.stride * (below if digit.place == REGISTER else 1)
            digits.append(replace(digit, dim=loop, weight=digit.weight * divisors[digit.dim], stride=stride))
    missing = [loop for loop in range(len(nest.vars)) if loop not in loops and nest.extents[loop] > 1]
    top = 1 + sum((d.extent - 1) * d.stride for d in digits if d.place != THREAD)
    for loop in reversed(missing):
        digits.append(Digit(loop, nest.extents[loop], 1, "register", top))
        top *= nest.extents[loop]
    return Fragment(nest.extents, compact(_trimmed(digits, nest.extents)), layout.threads, layout.first)


def _trimmed(digits: Sequence[Digit], extents: Sequence[int]) -> list[Digit]:
    """Return the digits without steps beyond the extents of the loops."""
    found = []
    for digit in digits:
        if digit.dim is not None and digit.place != THREAD:
            needed = -(-extents[digit.dim] // digit.weight)
            if needed < digit.extent:
                digit = replace(digit, extent=needed)
        if digit.extent > 1:
            found.append(digit)
    return found


def nest_layout(nest: Nest, fragments: Mapping[Buffer, Fragment], team: Team, analyzer: Analyzer) -> Fragment:
    """Return the distribution of a parallel loop: as its fragments determine it, else in vectors."""
    known = known_layout(nest, fragments, team)
    if known is not None:
        return known
    inner = analyzer
    for var, extent in zip(nest.vars, nest.extents, strict=True):
        inner = inner.bind(var, 0, extent - 1)
    shared = spread(nest.extents, team.count, lanes_of(nest, inner, team.count))
    return replace(shared, first=team.first)


def derive(nest: Nest, access: Access, layout: Fragment) -> Fragment | None:
    """Derive the layout of a fragment from its loops' layout, or return None if an index is not a loop variable."""
    shape, digits = access.buffer.shape, []
    places = nest.dimensions(access)
    for dim, (loop, divisor) in enumerate(zip(places, nest.divisors(access), strict=True)):
        if loop is not None:
            if places.count(loop) > 1 or layout.covered(loop) < shape[dim] * divisor:
                return None
            for digit in layout.along(loop):
                if digit.weight % divisor == 0:
                    digits.append(replace(digit, dim=dim, weight=digit.weight // divisor))
                elif divisor % (digit.weight * digit.extent):
                    return None
        elif nest.names_loops(access.indices[dim]):
            return None
    stride = 1 + sum((d.extent - 1) * d.stride for d in digits if d.place != THREAD)
    for dim in reversed([dim for dim, loop in enumerate(places) if loop is None and shape[dim] > 1]):
        digits.append(Digit(dim, shape[dim], 1, "register", stride))
        stride *= shape[dim]
    threads = [digit for digit in digits if digit.place == THREAD]
    rest = [digit for digit in digits if digit.place != THREAD]
    every = compact((*with_replicas(threads, layout.threads), *rest))
    return Fragment(tuple(shape), every, layout.threads, layout.first)


# -- the result --------------------------------------------------------------------------------------------------


class _Attach(Mutator):
    """Attaches layouts to buffers, and the layouts of their sources to views."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.changed: dict[Buffer, Buffer] = {}

    def buffer(self, buffer: Buffer) -> Buffer:
        if buffer not in self.changed:
            layout = self.known.fragments.get(buffer) or self.known.shared.get(buffer)
            source = None if buffer.source is None else self.buffer(buffer.source)
            if buffer.scope == FRAGMENT and buffer.source is not None:
                raise TirxError(f"{buffer.name} is a view of a fragment, which is not provided", buffer.span)
            if layout is None and source is not None and source.layout is not None and buffer.layout is None:
                layout = seen_through(source, buffer)
            if layout is None and source is buffer.source:
                self.changed[buffer] = buffer
            else:
                self.changed[buffer] = replace(buffer, layout=layout or buffer.layout, source=source)
        return self.changed[buffer]

    def visit_DeclBuffer(self, node: DeclBuffer) -> Stmt:
        return self.rebuild(node)

    def visit_Hint(self, node: Hint) -> Stmt:
        attrs = tuple((name, self._replaced(value)) for name, value in node.attrs)
        body = None if node.body is None else self.stmt(node.body)
        return Hint(node.message, attrs, body, span=node.span)

    def _replaced(self, value: object) -> object:
        if isinstance(value, Buffer):
            return self.buffer(value)
        return tuple(self._replaced(part) for part in value) if isinstance(value, tuple) else value
