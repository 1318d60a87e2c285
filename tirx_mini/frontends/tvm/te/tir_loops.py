"""Loop transformations of `tir.Schedule` that do not move blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tirx_mini.ir import (
    INT32,
    PARALLEL,
    REDUCE,
    SPATIAL,
    SPECIALS,
    THREAD,
    UNROLLED,
    VECTORIZED,
    Block,
    Expr,
    For,
    Mutator,
    Stmt,
    TirxError,
    Var,
    binary,
    const,
    substitute,
    walk,
)
from tirx_mini.script import caller_span

from . import tree
from .axis import VIRTUAL
from .tir_blocks import BlockSchedule, extent_of
from .trace import BlockRV, LoopRV, traced

_KINDS = (SPATIAL, REDUCE)


class LoopSchedule(BlockSchedule):
    """A schedule with loop transformations.

    Raises `TirxError`, at the line of the call, for a transformation that would change the result.
    """

    # -- loops ---------------------------------------------------------------------------------------------------

    @traced
    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into nested loops of extents `factors`, one of which may be None to be inferred.

        preserve_unit_iters, disable_predication: accepted as TVM has them; iterations too many are always left out.
        """
        node = self._loop(loop)
        extent = extent_of(node)
        known = 1
        for factor in factors:
            known *= factor or 1
        if list(factors).count(None) > 1 or not factors or any(f is not None and f < 1 for f in factors):
            raise TirxError(f"split by {list(factors)}", caller_span(), "give positive extents, or one of them as None")
        extents = [-(-extent // known) if factor is None else factor for factor in factors]
        total = 1
        for each in extents:
            total *= each
        if total < extent:
            raise TirxError(f"{total} iterations are fewer than the {extent} of {loop}", caller_span())
        variables = [Var(INT32, f"{loop.var.name}_{number}") for number in range(len(extents))]
        value: Expr = const(0)
        for var, each in zip(variables, extents, strict=True):
            value = value * each + var
        body = substitute(node.body, {node.var: value})
        if total > extent:
            body = _Guarded(binary("<", value, const(extent))).stmt(body)
        self._swap(node, tree.in_loops(body, list(zip(variables, extents, strict=True)), node))
        self._tidy()
        return [LoopRV(var) for var in variables]

    @traced
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse nested loops into one. preserve_unit_iters: accepted as TVM has it."""
        nodes = [self._loop(loop) for loop in loops]
        for outer, inner in pairwise(nodes):
            if outer.body is not inner:
                raise TirxError(f"{inner.var.name} is not the loop directly inside {outer.var.name}", caller_span())
        var = Var(INT32, "_".join([*(node.var.name for node in nodes), "fused"]))
        values: dict[Var, Expr] = {}
        rest: Expr = var
        total = 1
        for node in reversed(nodes):
            total *= extent_of(node)
            values[node.var] = rest if node is nodes[0] else rest % extent_of(node)
            rest = rest // extent_of(node)
        fused = tree.in_loops(substitute(nodes[-1].body, values), [(var, total)], nodes[0])
        self._swap(nodes[0], fused)
        self._tidy()
        return LoopRV(var)

    @traced
    def reorder(self, *loops: LoopRV) -> None:
        """Reorder perfectly nested loops."""
        wanted = [self._loop(loop) for loop in loops]
        outermost = next((n for n in wanted if all(m is n or m in tree.loops_in(n) for m in wanted)), None)
        chain: list[For] = []
        node: Stmt | None = outermost
        while isinstance(node, For) and not all(each in chain for each in wanted):
            chain.append(node)
            node = node.body
        if not all(each in chain for each in wanted) or len(set(wanted)) != len(wanted):
            names = ", ".join(map(str, loops))
            raise TirxError(f"{names} cannot be reordered: they are not one nest of loops", caller_span())
        self._keeps_beginnings([each for each in chain if each in wanted], wanted)
        order = iter(wanted)
        body = chain[-1].body
        for each in reversed([next(order) if each in wanted else each for each in chain]):
            body = replace(each, body=body)
        self._swap(chain[0], body)

    @staticmethod
    def _keeps_beginnings(before: Sequence[For], after: Sequence[For]) -> None:
        """Raise `TirxError` if a reordering would execute an iteration of a reduction before its initialising one.

        The first iteration initialises. It stays the first one as long as each loop counts either elements or their
        reduction; loops that count both, which `fuse` makes, must keep their order.
        """
        for block in tree.blocks_in(before[0]) if before else ():
            pairs = list(zip(block.kinds, block.values, strict=True))
            spatial, reduced = ({v for of, value in pairs if of == kind for v in walk(value)} for kind in _KINDS)
            both, then = ([each for each in loops if each.var in spatial & reduced] for loops in (before, after))
            if block.init is not None and any(old is not new for old, new in zip(both, then, strict=True)):
                raise TirxError(
                    f"{', '.join(loop.var.name for loop in both)} cannot change places: they count elements of "
                    f"{block.name} and their reduction, whose first iteration initialises it",
                    caller_span(),
                    "fuse only loops of one kind, or call decompose_reduction first",
                )

    @traced
    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """Add a loop of extent 1 around a block or loop."""
        node = self.get(block_or_loop)
        var = Var(INT32, "u")
        self._swap(node, tree.in_loops(node, [(var, 1)], node))
        return LoopRV(var)

    @traced
    def vectorize(self, loop: LoopRV) -> None:
        """Vectorise a loop."""
        self._kind(loop, VECTORIZED, "vectorized")

    @traced
    def parallel(self, loop: LoopRV) -> None:
        """Execute the iterations of a loop in parallel on the cores of a CPU."""
        self._kind(loop, PARALLEL, "parallel")

    @traced
    def unroll(self, loop: LoopRV) -> None:
        """Unroll a loop."""
        node = self._loop(loop)
        self._swap(node, replace(node, kind=UNROLLED))

    @traced
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Map the iterations of a loop to CTAs or threads by a grid index.

        The threads of a loop that reduces combine their results through shared memory. Each thread executes the
        iterations of a virtual thread, "vthread" or "vthread.x", one after the other, unrolled. Raises `TirxError` for
        another name.
        """
        if str(thread_axis).split(".")[0] == VIRTUAL:
            self._kind(loop, UNROLLED, f"bound to {thread_axis}")
            return
        if thread_axis not in SPECIALS or not thread_axis.startswith(("blockIdx", "threadIdx")):
            hint = "use blockIdx or threadIdx with .x, .y or .z, or vthread"
            raise TirxError(f"{thread_axis!r} is not an index of a grid", caller_span(), hint)
        self._kind(loop, THREAD, f"bound to {thread_axis}", thread_axis)

    def _kind(self, loop: LoopRV, kind: str, what: str, thread: str = "") -> None:
        node = self._loop(loop)
        for block in tree.blocks_in(node):
            for of, value in zip(block.kinds, block.values, strict=True):
                shared = thread.startswith("threadIdx") and block.init is not None
                if of == REDUCE and loop.var in set(walk(value)) and not shared:
                    raise TirxError(
                        f"{loop} cannot be {what}: {block.name} reduces over it, so its iterations add to the same "
                        "elements",
                        caller_span(),
                        "choose a loop over its spatial variables"
                        if not thread.startswith("threadIdx")
                        else "bind it before decompose_reduction, or call rfactor",
                    )
        self._swap(node, replace(node, kind=kind, thread=thread))

    def _tidy(self) -> None:
        """Simplify the bindings of all block variables."""
        ranges = tree.ranges_of(self.func.body)

        class Tidy(Mutator):
            def visit_Block(self, node: Block) -> Stmt:
                rebuilt = self.rebuild(node)
                return tree.with_values(rebuilt, rebuilt.values, ranges)

        self._set(Tidy().stmt(self.func.body))


class _Guarded(Mutator):
    """Adds a predicate to blocks."""

    def __init__(self, condition: Expr) -> None:
        self.condition = condition

    def visit_Block(self, node: Block) -> Stmt:
        both = self.condition if node.predicate is None else binary("and", node.predicate, self.condition)
        return replace(node, predicate=both)
