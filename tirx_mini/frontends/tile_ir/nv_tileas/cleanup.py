"""Clean-up passes: dead arguments, layout conversions as moves, small loops, and dots without tensor cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..context import Context
from ..cuda_tile import Dense
from ..layouts import Conversion, LinearLayout, Move, conversion, shared_plan
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Scalar, Value, remove_dead, rewrite
from . import ops
from .passes import element_bits

# -- tileas-legalize-fma-dot ---------------------------------------------------------------------------------------


def legalize_fma_dot(module: Module, context: Context) -> Module:
    """Lower dots without tensor-core support to per-thread multiply-add in the accumulator's type."""
    return rewrite(module, {ops.dot: _fma})


def _fma(op: Op, rw: Rewriter) -> object:
    if op.mma != ops.NONE:
        return KEEP
    element = op.acc.type.element
    lhs, rhs = (
        _widened(rw, rw[value], element, signed) for value, signed in ((op.lhs, op.signed_lhs), (op.rhs, op.signed_rhs))
    )
    return rw.add(Op(op.kind, (lhs, rhs, rw[op.acc]), (Value(op.result.type),), {**op.attrs, "mma": ops.FMA})).results


def _widened(rw: Rewriter, value: Value, element: Scalar, signed: bool) -> Value:
    if value.type.element == element:
        return value
    kind = aa.fp_to_fp if element.is_float else std.extsi if signed else std.extui
    return rw.emit(kind, value, types=[value.type.of(element)], hint=value.hint)


# -- tileas-materialize-convert-layout -----------------------------------------------------------------------------


def materialize_convert_layout(module: Module, context: Context) -> Module:
    """Determine the data movement of each layout conversion, and hoist conversions of loop-invariant values."""
    return remove_dead(rewrite(module, {ops.convert_layout: _moved, std.for_: _hoisted}))


def _moved(op: Op, rw: Rewriter) -> Any:
    source: Value = rw[op.source]
    target = op.result.type.layout
    if source.type.layout == target and isinstance(target, LinearLayout):
        return source
    if not isinstance(source.type.layout, LinearLayout) or not isinstance(target, LinearLayout):
        return KEEP
    found = conversion(source.type.layout, target)
    attrs = {"through": found.move.value, "bytes": _bytes(found, source.type)}
    return rw.add(Op(op.kind, (source,), (Value(op.result.type, op.result.hint),), attrs, (), op.span)).results


def _bytes(found: Conversion, tensor: Tensor) -> int:
    """Return the shared memory in bytes that a conversion needs."""
    if found.move is not Move.SHARED:
        return 0
    itemsize = max(1, element_bits(tensor) // 8)
    return shared_plan(found.source.without_replicas(), found.target, itemsize).size * itemsize


def _hoisted(op: Op, rw: Rewriter) -> object:
    """Hoist conversions of loop-invariant values out of a loop."""
    inside = set(_defined(op.body))
    for inner in op.body.ops:
        if _is_move(inner) and inner.source not in inside:
            rw.op(inner)
            inside.discard(inner.result)
    kept = tuple(inner for inner in op.body.ops if not _is_move(inner) or inner.source in inside)
    return rw.copy(Op(op.kind, op.args, op.results, op.attrs, (Region(op.body.params, kept),), op.span)).results


def _is_move(op: Op) -> bool:
    """Return whether an operation converts between two register layouts."""
    return op.kind is ops.convert_layout and all(
        isinstance(value.type.layout, LinearLayout) for value in (op.source, op.result)
    )


def _defined(region: Region) -> Iterator[Value]:
    yield from region.params
    for op in region.ops:
        yield from op.results


# -- tileas-unroll-register-loops ----------------------------------------------------------------------------------

MOST_ROUNDS = 4
"""Rounds of a loop that is unrolled."""
_MEMORY = (ops.tiled_load, ops.tiled_store, ops.load, ops.store, ops.gather_load, ops.scatter_store)


def unroll_register_loops(module: Module, context: Context) -> Module:
    """Unroll loops of few iterations that compute only in registers."""
    return rewrite(module, {std.for_: _unrolled})


def _unrolled(op: Op, rw: Rewriter) -> object:
    rounds = _rounds(op, rw)
    if rounds is None or any(inner.kind in _MEMORY or inner.regions for inner in op.body.ops):
        return KEEP
    carried: Sequence[Value] = [rw[value] for value in op.inits]
    index, *params = op.body.params
    for number in rounds:
        place = rw.emit(std.constant, types=[index.type], value=_dense(index, number), hint=index.hint)
        rw.bind([index, *params], [place, *carried])
        for inner in op.body.ops[:-1]:
            rw.op(inner)
        carried = [rw[value] for value in op.body.ops[-1].values]
    return carried


def _dense(index: Value, number: int) -> Any:
    return Dense.of(str(index.type), number)


def _rounds(op: Op, rw: Rewriter) -> range | None:
    """Return the iterations of a loop with constant bounds if they are few, else None."""
    known = {made.result: made.value.item() for made in rw.ops if made.kind is std.constant}
    first, stop, step = (known.get(rw[value]) for value in (op.lower, op.upper, op.step))
    if first is None or stop is None or step is None or step <= 0:
        return None
    rounds = range(first, stop, step)
    return rounds if len(rounds) <= MOST_ROUNDS else None


# -- tileas-print-decomposed-tv-layout -----------------------------------------------------------------------------


def print_decomposed_tv_layout(module: Module, context: Context) -> Module:
    """Add a note for each layout that lists the elements of the first threads, leaving the module unchanged."""
    seen: set[LinearLayout] = set()
    for op in module.walk():
        for value in op.results:
            layout = value.type.layout if isinstance(value.type, Tensor) else None
            if isinstance(layout, LinearLayout) and layout not in seen:
                seen.add(layout)
                context.note(f"{value.hint or op.kind.mnemonic}, {value.type}: {thread_values(layout)}", op.span)
    return module


def thread_values(layout: LinearLayout, threads: int = 2, registers: int = 4) -> str:
    """Return the elements of the first registers of the first threads: ``thread 0: (0, 0) (0, 1) …; thread 1: …``."""
    texts = []
    for thread in range(threads):
        held = [layout.coordinates(layout.element(r, thread)) for r in range(min(registers, layout.registers))]
        more = " …" if layout.registers > registers else ""
        texts.append(f"thread {thread}: {' '.join(map(str, held))}{more}")
    return "; ".join(texts)


# -- tileas-remove-dead-args ---------------------------------------------------------------------------------------


def remove_dead_args(module: Module, context: Context) -> Module:
    """Remove unused values from loops and branches."""
    live = _Live(module)
    rules = {std.for_: live.for_, std.if_: live.if_, std.while_: live.while_}
    return remove_dead(Rewriter(rules).module(module))


class _Live:
    """Liveness of a module's values: those that reach a side effect, a condition or a loop bound."""

    def __init__(self, module: Module) -> None:
        self.uses: dict[Value, tuple[Value, ...]] = {}
        """What a value needs, if it is needed."""
        self.values: set[Value] = set()
        roots: list[Value] = []
        for op in module.ops:
            for region in op.regions:
                self._walk(region, roots)
        while roots:
            value = roots.pop()
            if value not in self.values:
                self.values.add(value)
                roots += self.uses.get(value, ())

    def _walk(self, region: Region, roots: list[Value]) -> None:
        for op in region.ops:
            if op.kind is std.for_:
                roots += (op.lower, op.upper, op.step)
                self._slots(op.results, op.body.ops[-1].values, op.inits)
                self._slots(op.body.params[1:], op.body.ops[-1].values, op.inits)
            elif op.kind is std.if_:
                roots.append(op.condition)
                for branch in op.regions:
                    self._slots(op.results, branch.ops[-1].values if branch.ops else ())
            elif op.kind is std.while_:
                last = op.before.ops[-1]
                roots.append(last.condition)
                self._slots(op.results, last.values)
                self._slots(op.after.params, last.values)
                self._slots(op.before.params, op.inits, op.after.ops[-1].values)
            elif op.kind.pure and not op.regions:
                for value in op.results:
                    self.uses[value] = op.operands
                continue
            elif op.kind not in (std.yield_, std.condition):
                roots += op.operands
            for inner in op.regions:
                self._walk(inner, roots)

    def _slots(self, values: Sequence[Value], *needed: Sequence[Value]) -> None:
        for i, value in enumerate(values):
            self.uses[value] = (*self.uses.get(value, ()), *(group[i] for group in needed if group))

    def for_(self, op: Op, rw: Rewriter) -> Any:
        params = op.body.params[1:]
        kept = [i for i, v in enumerate(op.results) if v in self.values or params[i] in self.values]
        body = _with_end(op.body, kept, (op.body.params[0], *(params[i] for i in kept)))
        inits = tuple(rw[op.inits[i]] for i in kept)
        args = (rw[op.lower], rw[op.upper], rw[op.step], inits)
        return self._made(op, rw, args, (rw.region(body),), kept, dict(zip(range(len(params)), op.inits, strict=True)))

    def if_(self, op: Op, rw: Rewriter) -> Any:
        kept = [i for i, v in enumerate(op.results) if v in self.values]
        regions = tuple(rw.region(_with_end(region, kept, region.params)) for region in op.regions)
        return self._made(op, rw, (rw[op.condition],), regions, kept, {})

    def while_(self, op: Op, rw: Rewriter) -> Any:
        last = op.before.ops[-1]
        outs = [i for i, v in enumerate(op.results) if v in self.values or op.after.params[i] in self.values]
        ins = [i for i, v in enumerate(op.before.params) if v in self.values]
        before = Region(
            tuple(op.before.params[i] for i in ins),
            (*op.before.ops[:-1], Op(last.kind, (last.condition, tuple(last.values[i] for i in outs)), span=last.span)),
        )
        after = _with_end(op.after, ins, tuple(op.after.params[i] for i in outs))
        regions = (rw.region(before), rw.region(after))
        return self._made(op, rw, (tuple(rw[op.inits[i]] for i in ins),), regions, outs, {})

    def _made(
        self, op: Op, rw: Rewriter, args: tuple[Any, ...], regions: tuple[Region, ...], kept: list[int],
        instead: dict[int, Value],
    ) -> list[Value]:  # fmt: skip
        """Rebuild the operation with only the results `kept`, replacing dropped results by any value of the same type.
        """
        results = {i: Value(op.results[i].type, op.results[i].hint) for i in kept}
        rw.add(Op(op.kind, args, tuple(results.values()), op.attrs, regions, op.span))
        return [
            results[i] if i in results else rw[instead[i]] if i in instead else Value(v.type, v.hint)
            for i, v in enumerate(op.results)
        ]


def _with_end(region: Region, kept: Sequence[int], params: Sequence[Value]) -> Region:
    """Return a region that yields only the values `kept`."""
    if not region.ops:
        return region
    last = region.ops[-1]
    end = Op(last.kind, (tuple(last.values[i] for i in kept),), (), last.attrs, (), last.span)
    return Region(tuple(params), (*region.ops[:-1], end))
