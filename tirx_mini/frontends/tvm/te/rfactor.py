"""`rfactor`: factoring of a reduction into two steps, the first data parallel along a reduction loop."""

from __future__ import annotations

from tirx_mini.ir import INT32, Expr, TirxError, Var, binary, select, substitute
from tirx_mini.script import caller_span

from .axis import DATA_PARALLEL, REDUCTION, IterVar
from .nest import extents_of_loops
from .reduction import Reduce
from .stage import Split, Stage
from .tensor import ComputeOp, Tensor, defined


def partial_results(stage: Stage, axis: IterVar, factor_axis: int) -> tuple[Tensor, IterVar, Expr]:
    """Return the tensor of a reduction's partial sums. Also return the remaining reduction axis, and the value of an
    element after the rewrite.

    axis: a loop of the reduction of `stage`. factor_axis: the position of the new dimension. Raises `TirxError` for
    another loop.
    """
    reduction, op = stage.compute.reduction, stage.compute
    if reduction is None or axis not in stage.leaves or axis.kind != REDUCTION:
        loops = [str(leaf) for leaf in stage.leaves if leaf.kind == REDUCTION]
        hint = f"it reduces over {', '.join(loops)}" if loops else f"{op.name} reduces over nothing"
        raise TirxError(f"rfactor: {axis} is not a loop over which {op.name} reduces", caller_span(), hint)
    if not 0 <= factor_axis <= len(op.axis):
        raise TirxError(f"rfactor: {op.name} has no dimension {factor_axis}", caller_span())
    extents = extents_of_loops(stage, stage.tensor.shape)
    own = IterVar(Var(INT32, axis.name), DATA_PARALLEL, 0, extents[axis])
    rest = {
        leaf: IterVar(Var(INT32, leaf.name), REDUCTION, 0, extents[leaf])
        for leaf in stage.leaves if leaf.kind == REDUCTION and leaf is not axis
    }  # fmt: skip
    values, where = _values(stage, {axis: own.var, **{leaf: new.var for leaf, new in rest.items()}})
    axes = [IterVar(Var(INT32, each.name), DATA_PARALLEL, 0, extent) for each, extent in _with_extents(stage)]
    renamed: dict[Var, Expr] = {old.var: new.var for old, new in zip(op.axis, axes, strict=True)}
    for each in op.reduce_axis:
        renamed[each.var] = values[each] + each.first
    source = substitute(reduction.source, renamed)
    if reduction.where is not None:
        inside = substitute(reduction.where, renamed)
        where = inside if where is None else binary("and", where, inside)
    neutral = Reduce(reduction.dtype, reduction.reducer, source, ()).identity
    if rest:
        body: Expr = Reduce(reduction.dtype, reduction.reducer, source, tuple(rest.values()), where)
    else:
        body = source if where is None else select(where, source, neutral)
    axes.insert(factor_axis, own)
    partial_op = ComputeOp(f"{op.name}.rf", tuple(axes), body, span=caller_span())
    partial = defined(partial_op, tuple(each.size for each in axes), stage.tensor.dtype)
    over = IterVar(Var(INT32, f"{axis.name}.v"), REDUCTION, 0, extents[axis])
    place: list[Expr] = [each.var for each in op.axis]
    place.insert(factor_axis, over.var)
    whole = Reduce(reduction.dtype, reduction.reducer, partial[tuple(place)], (over,), None, reduction.start)
    return partial, over, whole


def _with_extents(stage: Stage) -> list[tuple[IterVar, int]]:
    return [(axis, extent) for axis, extent in zip(stage.compute.axis, stage.tensor.shape, strict=True)]


def _values(stage: Stage, leaves: dict[IterVar, Expr]) -> tuple[dict[IterVar, Expr], Expr | None]:
    """Return the reduction axes in terms of the loops, and the condition that an iteration is valid."""
    extents = extents_of_loops(stage, stage.tensor.shape)
    values: dict[IterVar, Expr] = dict(leaves)
    where: Expr | None = None
    for relation in reversed(stage.relations):
        if isinstance(relation, Split):
            if relation.parent.kind != REDUCTION:
                continue
            values[relation.parent] = values[relation.outer] * extents[relation.inner] + values[relation.inner]
            limit = extents[relation.parent]
            covered = extents[relation.outer] * extents[relation.inner]
            if isinstance(limit, Expr) or covered > limit:
                inside = binary("<", values[relation.parent], limit)
                where = inside if where is None else binary("and", where, inside)
        elif relation.fused.kind == REDUCTION:
            inner = extents[relation.inner]
            values[relation.outer] = values[relation.fused] // inner
            values[relation.inner] = values[relation.fused] % inner
    return values, where
