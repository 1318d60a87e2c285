"""Recognition of chained dots: loops in which threads compute an operand of the second dot from the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.records import dataclass

from ..layouts import LinearLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..ssa import Op, Value
from . import ops
from . import pipeline_ops as pipe
from .operands import begins_at_constant


@dataclass(frozen=True, eq=False)
class Chain:
    """The parts of a loop of chained dots, in the order of a rotated iteration.

    first: the first dot, and before: what precedes it. fetch: what reads the tile that the second dot multiplies by.
    second: this dot. middle: the operations after the first dot that do not need the second dot's sums. leave: what
    releases that tile. late: what computes with the sums of the iteration before.
    sums, position: which of the carried values are the sums, and the iterator of the tile.
    """

    loop: Op
    before: Sequence[Op]
    first: Op
    fetch: Sequence[Op]
    second: Op
    middle: Sequence[Op]
    leave: Sequence[Op]
    late: Sequence[Op]
    sums: int
    position: int

    def conversion(self, defs: Mapping[Value, Op]) -> Op | None:
        """Return the conversion of the second dot's operand to its type, if that is how it is computed."""
        op = defs.get(self.second.lhs)
        return op if op is not None and op.kind is aa.fp_to_fp and op in self.middle else None

    def meanwhile(self, defs: Mapping[Value, Op]) -> list[Value]:
        """Return the tensors that threads compute while a dot is in flight; the operand before its conversion."""
        conversion, made = self.conversion(defs), results_of(self.middle)
        operand = self.second.lhs if conversion is None else conversion.source
        values = (*self.loop.body.ops[-1].operands, operand)
        return [v for v in dict.fromkeys(values) if v in made and isinstance(v.type, Tensor)]


def chain_of_dots(loop: Op, used: Mapping[Value, list[Op]], defs: Mapping[Value, Op]) -> Chain | None:
    """Return the parts of a loop of two chained dots, or None for other loops and for loops of few iterations.

    A loop that does not begin at a constant is taken for the rest of one that does.
    """
    dots = [op for op in loop.body.ops if op.kind is ops.dot and op.mma == ops.WGMMA]
    if len(dots) != 2 or not begins_at_constant(loop, defs):
        return None
    first, second = dots
    read = read_of(second.rhs, defs)
    *body, last = loop.body.ops
    if used.get(second.result) != [last] or read is None or read not in body:
        return None
    wait = next((op for op in body if op.kind is pipe.consumer_wait and op.result is read.stage), None)
    carried = loop.body.params[1:]
    if wait is None or wait.iterator not in carried:
        return None
    sums, position = last.operands.index(second.result), carried.index(wait.iterator)
    leave = [
        op for op in body
        if (op.kind is pipe.consumer_release and op.stage is wait.result)
        or (op.kind is pipe.inc_iter and op.iterator is wait.iterator)
    ]  # fmt: skip
    views = [op for op in body if op in _views(second.rhs, defs)]
    fetch = [wait, read, *views]
    own = {*fetch, second, *leave}
    late = _depending(body, carried[sums])
    place = body.index(first)
    others = [op for op in body if op not in own and op not in late]
    before = [op for op in others if body.index(op) < place]
    middle = [op for op in others if body.index(op) > place]
    chain = Chain(loop, before, first, fetch, second, middle, leave, late, sums, position)
    return chain if _may_turn(chain, used, last) else None


def _may_turn(chain: Chain, used: Mapping[Value, list[Op]], last: Op) -> bool:
    """Return whether each part depends only on earlier parts, and the late part has no side effects."""
    own = {*chain.fetch, chain.second, *chain.leave}
    inner = {value for op in own for value in op.results}
    position = chain.loop.body.params[1 + chain.position]
    others = (*chain.before, chain.first, *chain.middle, *chain.late)
    operand = chain.second.lhs
    if not isinstance(operand.type.layout, LinearLayout) or operand not in results_of(chain.middle):
        return False  # it is not computed from the first dot
    return (
        len(chain.leave) == 2
        and chain.first not in chain.late
        and chain.second not in chain.before
        and all(op.kind.pure and not op.regions for op in chain.late if op is not chain.second)
        and not any(inner & set(all_operands(op)) for op in others)
        and all(user in own for user in used[position])
        and sum(value in inner for value in last.operands) == 2
    )


def results_of(part: Sequence[Op]) -> list[Value]:
    return [value for op in part for value in op.results]


def all_operands(op: Op) -> list[Value]:
    return [*op.operands, *(v for region in op.regions for inner in region.walk() for v in inner.operands)]


def read_of(value: Value, defs: Mapping[Value, Op]) -> Op | None:
    """Return the stage read from which a value derives through views, or None."""
    while (op := defs.get(value)) is not None and op.kind in (ops.view, ops.expand_dims, ops.permute):
        value = op.source
    return op if op is not None and op.kind is pipe.consumer_read else None


def _views(value: Value, defs: Mapping[Value, Op]) -> list[Op]:
    """Return the operations between a stage read and a view of it."""
    found: list[Op] = []
    while (op := defs[value]).kind is not pipe.consumer_read:
        found.append(op)
        value = op.source
    return found


def _depending(body: Sequence[Op], root: Value) -> list[Op]:
    """Return the operations that depend on a value, excluding the second dot."""
    varying, found = {root}, list[Op]()
    for op in body:
        if varying & set(all_operands(op)) and op.kind is not ops.dot:
            found.append(op)
            varying.update(op.results)
    return found
