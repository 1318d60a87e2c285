"""Tracing of loops, with their carried variables and tokens."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ..ssa import Region, Value
from .arguments import materialize, scalar_index
from .carrying import Carrying, LoopContext
from .dtypes import int32, int64
from .errors import TileSyntaxError, TileTypeError, TileValueError
from .liveness import assigned, breaks, exits
from .loop_forms import RETURNED
from .ops.unary import negative
from .surface import Operation
from .tracer import How
from .values import MISSING, ArrayValue, RangeValue, TileValue, Undefined, describe, is_constant, map_leaves, plain


class Loops(Carrying):
    """Traces `for` and `while`."""

    def loop(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise TileSyntaxError("tile code does not support `else` of a loop", hint="test a variable after the loop")
        if RETURNED in assigned(node.body) and RETURNED not in self.frame.names:
            self.frame.names[RETURNED] = self._before_return(node)
        self._loop(node)

    def _before_return(self, node: ast.For | ast.While) -> object:
        """Trace a loop once to determine the type of a `return` inside it, and initialise its result."""
        names, tokens = self.frame.names, self.order.state
        self.frame.names, self.order.state = dict(names), dict(tokens)
        self.frame.returned = MISSING
        with self.emit.region():  # left out
            self._loop(node)
        self.frame.names, self.order.state = names, tokens
        template = self.frame.returned
        if template is MISSING:
            return None
        return map_leaves(lambda leaf: self._zero(leaf), template)

    def _zero(self, leaf: object) -> object:
        if is_constant(leaf):
            leaf = materialize(self, leaf)
        return self.emit.constant(0, leaf.dtype, leaf.shape) if isinstance(leaf, TileValue) else leaf

    def _loop(self, node: ast.For | ast.While) -> None:
        if isinstance(node, ast.While):
            self._while(node)
            return
        if isinstance(node.iter, ast.Call):
            function = self.evaluate(node.iter.func)
            if isinstance(function, Operation) and function.__name__ == "static_iter":
                self._unrolled(node)
                return
        values = self.evaluate(node.iter)
        if not isinstance(values, RangeValue):
            raise TileTypeError(
                f"a loop runs over a range, not over {describe(values)}",
                hint="unroll it: `for x in ct.static_iter(…):`"
                if isinstance(values, tuple)
                else "write `for i in range(n):`",
            )
        if not isinstance(node.target, ast.Name):
            raise TileSyntaxError("the loop variable of a range must be one name")
        self._for(node, node.target.id, values)

    def _unrolled(self, node: ast.For) -> None:
        """Unroll ``for x in ct.static_iter(…)``, tracing the body once per item."""
        assert isinstance(node.iter, ast.Call)
        if exits(node.body):
            raise TileSyntaxError(
                "a `ct.static_iter` loop has no `break`, `continue` or `return`",
                hint="leave items out of the iterable, or test with `if`",
            )
        for item in self.static("static_iter", node.iter):
            self.assign(node.target, item)  # type: ignore[attr-defined]
            self.block(node.body)

    def _bounds(self, values: RangeValue) -> tuple[TileValue, TileValue, TileValue]:
        """Return start, stop and step as scalars of one type."""
        given = (values.start, values.stop, values.step)
        scalars = [
            scalar_index(self, v, f"the {n} of the range")
            for v, n in zip(given, ("start", "stop", "step"), strict=True)
        ]
        wide = int64 if any(s.dtype.bitwidth > 32 for s in scalars) else int32
        start, stop, step = (self.emit.cast(s, wide) for s in scalars)
        return start, stop, step

    def _context(self, node: ast.For | ast.While) -> tuple[LoopContext, list[Value]]:
        """Return the loop-carried values and their initial values, from the variables and tokens before the loop."""
        frame = self.frame
        header = frame.live.header.get(node, frozenset())
        names: dict[str, Any] = {}
        initial: list[Value] = []
        for name in assigned(node.body):
            value = frame.names.get(name, MISSING)
            if name in header and value is not MISSING and not isinstance(value, Undefined):
                names[name] = self._dynamic(self._one_of_arrays(value, node))
                initial += [t.value for t in self._tiles(names[name])]
        roots = self.order.carried(node)
        before = {name: frame.names[name] for name in names}
        return LoopContext(names, roots, before), [*initial, *self.order.start(roots)]

    def _one_of_arrays(self, value: object, node: ast.For | ast.While) -> object:
        """Return a choice value for an argument array that the loop may exchange, else the value itself."""
        if not isinstance(value, ArrayValue):
            return value
        items = [value]
        for statement in ast.walk(node):
            if isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Name, ast.Tuple, ast.IfExp)):
                read = (n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name))
                found = [self.frame.names.get(name) for name in read]
                items += [a for a in found if isinstance(a, ArrayValue) and a not in items]
        return self.one_of_arrays(items[:1], items[1:]) or value

    def _params(self, initial: Sequence[Value], context: LoopContext) -> list[Value]:
        """Create the body's parameters for the carried values, named after the variables."""
        hints = self._hints(context)
        return [Value(v.type, hint) for v, hint in zip(initial, [*hints, *[""] * len(initial)], strict=False)]

    def _hints(self, context: LoopContext) -> list[str]:
        """Return the text name of each carried tile; the items of a tuple are numbered."""
        counts = {name.lstrip("$"): len(self._tiles(value)) for name, value in context.names.items()}
        return [name if count == 1 else f"{name}_{i}" for name, count in counts.items() for i in range(count)]

    def _continue_with(self, context: LoopContext, values: Sequence[Value]) -> None:
        """Bind the carried variables to values: the body's parameters, or the loop's results."""
        tiles = list(values)
        for name, template in context.names.items():
            self.frame.names[name] = self._rebuilt(template, tiles)
        self.order.put(context.roots, tiles)

    def _body(self, node: ast.For | ast.While, context: LoopContext) -> None:
        """Trace the body and its terminator."""
        self.frame.loops.append(context)
        end = self.block(node.body)
        self.frame.loops.pop()
        if end.how is How.BREAK:
            self.emit.emit("break", self._carried(context, leaves=True))
            return
        values = self._carried(context)
        context.ends.append(dict(self.frame.names))
        if context.index is not None and context.step is not None:
            values.insert(0, self.emit.index("addi", context.index, context.step).value)
        self.emit.emit("continue", values)

    def _after(self, node: ast.For | ast.While, context: LoopContext, names: dict[str, Any], results: Any) -> None:
        """Continue after a loop, whose non-carried variables become undefined."""
        self.frame.names = names
        names.update((name, lost) for name, lost in self._lost(node).items() if name not in context.names)
        values = results if isinstance(results, tuple) else (results,)
        for value, hint in zip(values, self._hints(context), strict=False):
            value.hint = hint
        self._continue_with(context, values)
        names.update(context.constants())

    def _lost(self, node: ast.For | ast.While) -> dict[str, Undefined]:
        """Return the variables assigned in a loop, as they are after zero iterations."""
        places = dict(assigned(node.body))
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            places[node.target.id] = node.target
        why = "after the loop, which may make no iteration"
        return {name: Undefined(self.frame.span(place), why) for name, place in places.items()}

    def _upwards(self, values: RangeValue) -> tuple[RangeValue, bool]:
        """Return an equivalent range with positive step, and whether its numbers are negated."""
        step = plain(values.step)
        if not is_constant(values.step) or not isinstance(step, int) or step > 0:
            return values, False
        if step == 0:
            raise TileValueError("the step of a range cannot be 0", hint="write a positive or a negative number")
        return RangeValue(*(negative.implementation(self, v) for v in (values.start, values.stop, values.step))), True

    def _for(self, node: ast.For, variable: str, given: RangeValue) -> None:
        values, downwards = self._upwards(given)
        start, stop, step = self._bounds(values)
        if all(is_constant(v) for v in (values.start, values.stop)) and plain(values.start) >= plain(values.stop):
            self.frame.names = {**self._lost(node), **self.frame.names}
            return
        names = self.frame.names
        context, initial = self._context(node)
        as_loop = breaks(node.body)
        index = TileValue(Value(start.value.type, variable.lstrip("$")), start.dtype, ())
        params = self._params(initial, context)
        span = self.emit.span
        with self.emit.region() as block:
            self.frame.names = {**names, variable: negative.implementation(self, index) if downwards else index}
            self._continue_with(context, params)
            context.header = dict(self.frame.names)
            self.order.loops.append(node)
            if as_loop:
                context.index, context.step = index, step
                self._leave_unless(self.emit.compare("less_than", index, stop), context)
            self._body(node, context)
            self.order.loops.pop()
        self.emit.span = self.emit.block.span = span
        region = Region((index.value, *params), tuple(block.ops))
        types = [v.type for v in initial]
        if as_loop:
            results = self.emit.emit("loop", [start.value, *initial], types=types, regions=(region,))
        else:
            bounds = (start.value, stop.value, step.value)
            context.runs_out = True
            results = self.emit.emit("for", *bounds, initial, types=types, regions=(region,))
        self._after(node, context, names, results)

    def _leave_unless(self, condition: TileValue, context: LoopContext) -> None:
        """Emit ``if condition { } else { break }``."""
        with self.emit.region() as stays:
            self.emit.emit("yield", [])
        with self.emit.region() as leaves_:
            self.emit.emit("break", self._carried(context))
        context.runs_out = True
        regions = [Region((), tuple(b.ops)) for b in (stays, leaves_)]
        self.emit.emit("if", condition.value, types=[], regions=regions)

    def _while(self, node: ast.While) -> None:
        names = self.frame.names
        context, initial = self._context(node)
        params = self._params(initial, context)
        span = self.emit.span
        with self.emit.region() as block:
            self.frame.names = dict(names)
            self._continue_with(context, params)
            context.header = dict(self.frame.names)
            self.order.loops.append(node)
            condition = self.condition(self.evaluate(node.test), "the condition of `while`")
            if isinstance(condition, TileValue):
                self._leave_unless(condition, context)
                self._body(node, context)
            elif condition:
                self._body(node, context)
            else:
                context.runs_out = True
                self.emit.emit("break", self._carried(context))
            self.order.loops.pop()
        self.emit.span = self.emit.block.span = span
        region = Region(tuple(params), tuple(block.ops))
        results = self.emit.emit("loop", initial, types=[v.type for v in initial], regions=(region,))
        self._after(node, context, names, results)
