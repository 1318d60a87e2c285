"""The loop nest of one stage: extents, and axis values in terms of the loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from tirx_mini.ir import INT32, SERIAL, THREAD, Analyzer, Expr, TirxError, Var, const, key
from tirx_mini.records import dataclass

from .axis import REDUCTION, VIRTUAL, IterVar
from .stage import Fuse, Split, Stage


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop of a stage.

    var: its variable, from 0 on.
    kind: a kind of `For`.
    thread: the index of the grid that it is bound to, "vthread" for a virtual thread, or "".
    """

    axis: IterVar
    var: Var
    extent: int
    kind: str
    thread: str = ""

    @property
    def value(self) -> Expr:
        """The value of the variable, or 0 for a loop of one iteration, which is not emitted."""
        return self.var if self.written else const(0)

    @property
    def written(self) -> bool:
        return self.extent > 1 or self.kind == THREAD


@dataclass(eq=False)
class Nest:
    """The loop nest of a stage that computes a region of its tensor.

    first: where the region begins, for each axis of the tensor.
    sizes: its extent along each axis.
    loops: outermost first.
    values: the value of each axis, of the tensor and of the reduction.
    guards: conditions that an iteration computes an element of the region at all, with the axes that they depend on.
    """

    stage: Stage
    first: tuple[Expr, ...]
    sizes: tuple[int, ...]
    loops: list[Loop] = field(default_factory=list)
    values: dict[Var, Expr] = field(default_factory=dict)
    guards: list[tuple[Expr, bool]] = field(default_factory=list)

    def position(self, axis: IterVar) -> int:
        return next(number for number, loop in enumerate(self.loops) if loop.axis is axis)


def nest_of(stage: Stage, first: tuple[Expr, ...], sizes: tuple[int, ...], ranges: Analyzer) -> tuple[Nest, Analyzer]:
    """Return the loop nest of `stage` for a region of its tensor, and `ranges` extended by its variables."""
    nest = Nest(stage, first, sizes)
    extents = extents_of_loops(stage, sizes)
    for leaf in stage.leaves:
        index = stage.threads.get(leaf)
        extent = extents[leaf]
        if index is not None and index.extent not in (None, extent):
            raise TirxError(
                f"{leaf} of {stage.op.name} has {extent} iterations, but {index.thread} has {index.extent}",
                stage.op.span,
                "split the loop by the extent of the index",
            )
        kind = stage.kinds.get(leaf, SERIAL)
        thread = VIRTUAL if leaf in stage.virtual else index.thread if index is not None else ""
        loop = Loop(leaf, Var(INT32, leaf.name), extent, kind, thread)
        nest.loops.append(loop)
        ranges = ranges.bind(loop.var, 0, extent - 1)
    values: dict[IterVar, Expr] = {loop.axis: loop.value for loop in nest.loops}
    reduction = set(stage.compute.reduce_axis)
    for relation in reversed(stage.relations):
        if isinstance(relation, Split):
            value = ranges.simplify(values[relation.outer] * extents[relation.inner] + values[relation.inner])
            values[relation.parent] = value
            limit = extents[relation.parent]
            if extents[relation.outer] * extents[relation.inner] > limit:
                _guard(nest, value < limit, relation.parent.kind == REDUCTION, ranges)
        else:
            inner = extents[relation.inner]
            values[relation.outer] = ranges.simplify(values[relation.fused] // inner)
            values[relation.inner] = ranges.simplify(values[relation.fused] % inner)
    for axis, start, shape in zip(stage.compute.axis, first, stage.tensor.shape, strict=True):
        nest.values[axis.var] = value = ranges.simplify(start + values[axis])
        _guard(nest, value < shape, False, ranges)
        _guard(nest, value >= 0, False, ranges)
    for axis in reduction:
        nest.values[axis.var] = ranges.simplify(values[axis] + axis.first)
    return nest, ranges


def _guard(nest: Nest, condition: Expr, reduces: bool, ranges: Analyzer) -> None:
    known = ranges.simplify(condition)
    if getattr(known, "value", None) is not True and key(known) not in {key(other) for other, _ in nest.guards}:
        nest.guards.append((known, reduces))


def extents_of_loops(stage: Stage, sizes: tuple[int, ...]) -> Mapping[IterVar, int]:
    """Return the number of iterations of every axis and loop of a stage."""
    extents = dict(zip(stage.compute.axis, sizes, strict=True))
    extents |= {axis: axis.size for axis in stage.compute.reduce_axis}
    for relation in stage.relations:
        if isinstance(relation, Fuse):
            extents[relation.fused] = extents[relation.outer] * extents[relation.inner]
            continue
        whole = extents[relation.parent]
        if relation.factor is not None:
            extents[relation.inner] = relation.factor if isinstance(whole, Expr) else min(relation.factor, whole)
            extents[relation.outer] = (whole + (relation.factor - 1)) // relation.factor
        else:
            assert relation.parts is not None
            extents[relation.inner] = (whole + (relation.parts - 1)) // relation.parts
            extents[relation.outer] = (whole + (extents[relation.inner] - 1)) // extents[relation.inner]
    return extents


def outside(nest: Nest, axis: IterVar) -> Iterator[Loop]:
    """Yield the loops from the outermost one to the loop of `axis`."""
    for loop in nest.loops:
        yield loop
        if loop.axis is axis:
            return
