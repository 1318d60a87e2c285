"""Cross-thread reductions: reduction loops bound to ``threadIdx``.

Each thread combines the values of its iteration, puts the result into shared memory, and one thread combines those.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import BufferLoad, TirxError

from .axis import IterVar
from .schedule import Schedule
from .stage import At, Fuse, Split, Stage


def across_threads(schedule: Schedule, args: Sequence[object]) -> tuple[Schedule, Sequence[Any]]:
    """Rewrite a schedule's cross-thread reductions, copying the schedule and its arguments if there are any.

    Raises `TirxError` for a reduction that its threads cannot share.
    """
    if all(stage.across is None for stage in schedule.stages):
        return schedule, args
    made, own = copy.deepcopy((schedule, list(args)))
    for stage in [stage for stage in made.stages if stage.across is not None]:
        _share(made, stage)
    return made, own


def _share(schedule: Schedule, stage: Stage) -> None:
    assert stage.across is not None
    loop, index = stage.across
    stage.across = None
    partial = _partial(schedule, stage, loop)
    reduction = stage.compute.reduction
    assert reduction is not None and isinstance(reduction.source, BufferLoad)
    over = reduction.axes[0]
    factor = next(n for n, place in enumerate(reduction.source.indices) if place is over.var)
    bound = {leaf: thread for leaf, thread in stage.threads.items() if thread.thread.startswith("threadIdx")}
    first = next(n for n, leaf in enumerate(stage.leaves) if leaf in bound or leaf is over)
    if first == 0 and not isinstance(stage.place, At):
        raise _refused(stage, loop, "no loop is around its threads", "bind an outer loop to blockIdx")
    partial.place = At(stage, stage.leaves[first - 1]) if first else stage.place
    partial.scope = "shared"
    axes = list(partial.compute.axis)
    own = axes.pop(factor)
    roots = {leaf: _root(stage, leaf) for leaf in bound}
    wanted = {own: index, **{axes[stage.compute.axis.index(roots[leaf])]: bound[leaf] for leaf in bound}}
    taken = {thread.thread for thread in partial.threads.values()}
    for axis, thread in wanted.items():
        if axis in partial.leaves and axis not in partial.threads and thread.thread not in taken:
            partial.bind(axis, thread)


def _partial(schedule: Schedule, stage: Stage, loop: IterVar) -> Stage:
    """Return the stage that computes the partial results per iteration of `loop`, created by `rfactor` if needed."""
    inside = [each for each in schedule.stages if isinstance(each.place, At) and each.place.stage is stage]
    at_loop = [each for each in inside if isinstance(each.place, At) and each.place.axis is loop]
    if not at_loop and not inside:
        return schedule[schedule.rfactor(stage.tensor, loop)]
    reduction = stage.compute.reduction
    source = reduction.source if reduction is not None else None
    same = len(at_loop) == 1 and isinstance(source, BufferLoad) and source.buffer is at_loop[0].tensor
    if not same or reduction is None or reduction.axes != (loop,) or loop not in stage.leaves:
        hint = "call rfactor, and bind the loop that it leaves"
        raise _refused(stage, loop, "other stages are computed in its loops", hint)
    return at_loop[0]


def _root(stage: Stage, leaf: IterVar) -> IterVar:
    """Return the tensor axis from which a loop derives."""
    axis = leaf
    for relation in reversed(stage.relations):
        if isinstance(relation, Split) and axis in (relation.outer, relation.inner):
            axis = relation.parent
        elif isinstance(relation, Fuse) and axis is relation.fused:
            raise _refused(stage, leaf, "it is fused of several axes", "bind loops of single axes")
    return axis


def _refused(stage: Stage, loop: IterVar, why: str, hint: str) -> TirxError:
    return TirxError(f"{stage.op.name} cannot be reduced across the threads of {loop}: {why}", stage.op.span, hint)
