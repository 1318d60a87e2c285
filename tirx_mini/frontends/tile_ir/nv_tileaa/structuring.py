"""Conversion of cuda_tile control flow to scf, which has no `break`, `continue` or `return` in branches.

The code after a branch with an early exit moves into the continuing paths: ``if c { break } rest`` becomes
``if c { (false, …) } else { rest; (true, …) }``. A loop with `break` becomes an scf.while over a flag that says
whether to go on. If several paths of one `if` continue, each gets a copy of the following code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..cuda_tile import Dense, Ptr
from ..cuda_tile import ops as ct
from ..ssa import Op, OpKind, Region, Rewriter, Scalar, Type, Value, make
from . import ops as aa
from . import standard as st
from .memory_types import MemToken, element_of, shape_of

I1, I64 = Scalar("i1"), Scalar("i64")
Finish = Callable[[Op, Sequence[Value]], Sequence[Value]]
"""What the region hands on when it ends with a terminator of cuda_tile, whose operands are given, converted."""
Step = Op | Callable[[], None]
"""An operation, or something to do at its place."""


def leaves_early(op: Op) -> bool:
    """Return whether a branch of an `if` ends with a terminator other than `yield`."""
    return any(end.kind is not ct.yield_ for region in op.regions for end in ct.ends_of(region))


def _tail(rw: Rewriter, steps: Sequence[Step], finish: Finish, types: Sequence[Type]) -> Sequence[Value]:
    """Emit `steps`, the last of which is a terminator, and return the values that `finish` makes of it."""
    for number, step in enumerate(steps):
        if not isinstance(step, Op):
            step()
        elif step.kind.terminator:
            return finish(step, rw[step.operands])
        elif step.kind is ct.if_ and leaves_early(step):
            return _split(rw, step, steps[number + 1 :], finish, types)
        else:
            rw.op(step)
    raise ValueError("a region ends without a terminator")


def _split(rw: Rewriter, op: Op, rest: Sequence[Step], finish: Finish, types: Sequence[Type]) -> Sequence[Value]:
    """Lower an `if` with an early exit; each continuing path also executes `rest`."""
    condition = rw[op.condition]
    regions = []
    for region in op.regions:
        end = region.terminator
        path: list[Step] = list(region.ops)
        if end.kind is ct.yield_:
            path[-1] = _binding(rw, op, end)
            path += rest
        regions.append(_inside(rw, (), lambda path=path: _tail(rw, path, finish, types)))
    found = rw.emit(st.if_, condition, types=types, regions=regions)
    return (found,) if isinstance(found, Value) else found


def _binding(rw: Rewriter, op: Op, end: Op) -> Callable[[], None]:
    return lambda: rw.bind(op.results, rw[end.operands])


def _inside(rw: Rewriter, params: tuple[Value, ...], write: Callable[[], Sequence[Value]]) -> Region:
    """Build a region from `write`, which yields the values that `write` returns."""
    outer, rw.ops = rw.ops, []
    values = tuple(write())
    rw.ops.append(make(st.yield_, (values,)))
    inner, rw.ops = rw.ops, outer
    return Region(params, tuple(inner))


def _params(rw: Rewriter, old: Sequence[Value]) -> tuple[Value, ...]:
    new = tuple(Value(rw.convert(v.type), v.hint) for v in old)
    rw.bind(old, new)
    return new


def _entry(op: Op, rw: Rewriter) -> None:
    params = _params(rw, op.body.params)
    body = _inside(rw, params, lambda: _tail(rw, op.body.ops, lambda end, values: (), ()))
    attrs: dict[str, Any] = {"sym_name": op.sym_name}
    if op.optimization_hints:
        attrs["kernel_spec"] = op.optimization_hints
    region = Region(params, (*body.ops[:-1], make(aa.return_)))
    rw.emit(aa.func, regions=(region,), **attrs)


def _if(op: Op, rw: Rewriter) -> object:
    types = [rw.convert(v.type) for v in op.results]
    regions = [_inside(rw, (), lambda r=r: _tail(rw, r.ops, lambda end, values: values, types)) for r in op.regions]
    return rw.emit(st.if_, rw[op.condition], types=types, regions=regions)


def _for(op: Op, rw: Rewriter) -> object:
    bounds = [rw[v] for v in (op.lowerBound, op.upperBound, op.step)]
    inits = rw[op.initValues]
    types = [v.type for v in inits]
    params = _params(rw, op.region.params)
    body = _inside(rw, params, lambda: _tail(rw, op.region.ops, lambda end, values: values, types))
    attrs: dict[str, Any] = {"unsigned": True} if op.unsignedCmp else {}
    return rw.emit(st.for_, *bounds, inits, types=types, regions=(body,), **attrs)


def _loop(op: Op, rw: Rewriter) -> list[Value]:
    """Lower a loop with a carried continue flag, its own carried values, and results without a reusable slot."""
    inits = rw[op.initValues]
    free = list(range(len(inits)))
    places: list[int] = []
    extra: list[Type] = []
    for result in op.results:
        type_ = rw.convert(result.type)
        place = next((i for i in free if inits[i].type == type_), None)
        if place is None:
            place = len(inits) + len(extra)
            extra.append(type_)
        else:
            free.remove(place)
        places.append(place)

    go = rw.emit(st.constant, types=[I1], value=Dense.of("i1", True))
    start = (go, *inits, *(_any_value(rw, t) for t in extra))
    types = [v.type for v in start]
    before = tuple(Value(t) for t in types)
    test = Region(before, (make(st.condition, (before[0], before)),))
    params = (Value(I1), *_params(rw, op.region.params), *(Value(t) for t in extra))

    def finish(end: Op, values: Sequence[Value]) -> Sequence[Value]:
        handed = list(params[1:])
        if end.kind is ct.break_:
            for place, value in zip(places, values, strict=True):
                handed[place] = value
        else:
            handed[: len(values)] = values
        flag = rw.emit(st.constant, types=[I1], value=Dense.of("i1", end.kind is not ct.break_))
        return (flag, *handed)

    body = _inside(rw, params, lambda: _tail(rw, op.region.ops, finish, types))
    found = rw.emit(st.while_, start, types=types, regions=(test, body))
    values = (found,) if isinstance(found, Value) else found
    return [values[1 + place] for place in places]


def _any_value(rw: Rewriter, type_: Type) -> Value:
    """Return an arbitrary value of a type, which is never read."""
    element = element_of(type_)
    if isinstance(type_, MemToken):
        return rw.emit(aa.create_mem_token)
    if isinstance(element, Ptr):
        zero = rw.emit(st.constant, types=[I64], value=Dense.of("i64", 0))
        pointer = rw.emit(aa.int_to_ptr, zero, types=[element])
        return rw.emit(aa.splat, pointer, types=[type_]) if shape_of(type_) else pointer
    return rw.emit(st.constant, types=[type_], value=Dense.of(str(element), 0))


STRUCTURED: Mapping[OpKind, Callable[[Op, Rewriter], Any]] = MappingProxyType(
    {ct.entry: _entry, ct.if_: _if, ct.for_: _for, ct.loop: _loop}
)
"""Rules for kernels, branches and loops."""
