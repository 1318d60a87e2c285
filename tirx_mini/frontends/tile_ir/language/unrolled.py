"""Compile-time expansion of generators and context managers."""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

from .errors import TileSyntaxError, TileTypeError
from .frames import Frame
from .liveness import exits
from .statics import MAX_ITEMS
from .surface import Operation, TileFunction
from .tracer import FALL, Tracer
from .values import RangeValue, TileValue, describe, plain

COLLECTING = (tuple, sum, any, all, min, max)
"""Functions of Python that take a generator."""


def is_context_manager(function: object) -> bool:
    """Return whether a function was created by `contextlib.contextmanager`."""
    inner = getattr(function, "__wrapped__", None)
    code = getattr(function, "__code__", None)
    made = code is not None and code.co_filename == contextlib.contextmanager.__code__.co_filename
    return made and inspect.isgeneratorfunction(inner)


class Unrolled(Tracer):
    """Expands ``tuple(f(i) for i in range(4))`` and ``with manager(…) as x:``."""

    # -- Generators ----------------------------------------------------------------------------------------------------

    def collected(self, node: ast.GeneratorExp) -> tuple[Any, ...]:
        """Expand a generator and return its items; its variables are local to it."""
        outer = self.frame.names
        self.frame.names = dict(outer)
        try:
            items = tuple(self._items(node.elt, node.generators))
        finally:
            self.frame.names = outer
        return items

    def _items(self, element: ast.expr, clauses: Sequence[ast.comprehension]) -> Iterator[object]:
        if not clauses:
            yield self.evaluate(element)
            return
        clause, *inner = clauses
        if clause.is_async:
            raise TileSyntaxError("tile code does not support coroutines", hint="write `for` without `async`")
        for item in self._iterated(clause.iter):
            self.assign(clause.target, item)  # type: ignore[attr-defined]
            if all(self._kept(test) for test in clause.ifs):
                yield from self._items(element, inner)

    def _kept(self, test: ast.expr) -> bool:
        kept = self.condition(self.evaluate(test), "the condition of a generator")
        if isinstance(kept, TileValue):
            raise TileTypeError(
                "the condition of a generator must be known when the kernel is compiled",
                hint="choose elements with `ct.where`",
            )
        return kept

    def _iterated(self, node: ast.expr) -> Iterable[Any]:
        if isinstance(node, ast.Call):
            function = self.evaluate(node.func)
            if isinstance(function, Operation) and function.__name__ == "static_iter":
                return self.static("static_iter", node)
        values = self.evaluate(node)
        if isinstance(values, RangeValue):
            bounds = [plain(v) for v in (values.start, values.stop, values.step)]
            if not all(isinstance(bound, int) for bound in bounds):
                raise TileTypeError(
                    "a generator runs over a range that is known when the kernel is compiled",
                    hint="write a loop: `for i in range(n):`",
                )
            values = range(*bounds)
        if not isinstance(values, (tuple, list, range)):
            raise TileTypeError(f"a generator runs over a range or a tuple, not over {describe(values)}")
        if len(values) > MAX_ITEMS:
            raise TileTypeError(f"a generator is unrolled to at most {MAX_ITEMS} items, not {len(values)}")
        return values

    # -- Context managers ----------------------------------------------------------------------------------------------

    def within(self, node: ast.With) -> None:
        """Trace ``with manager(…) as x:``: the manager up to its `yield`, the block, then the rest of the manager."""
        if exits(node.body):
            raise TileSyntaxError(
                "a `with` block has no `break`, `continue` or `return` that leaves it",
                hint="assign to a variable there, and leave after the block",
            )
        self._entered(node, list(node.items))

    def _entered(self, node: ast.With, items: list[ast.withitem]) -> None:
        if not items:
            self.block(node.body)
            return
        item = items.pop(0)
        frame, before, given, after = self._manager(item.context_expr)
        value = self._run(frame, before, given)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, value)  # type: ignore[attr-defined]
        self._entered(node, items)
        self._run(frame, after, None)

    def _manager(self, node: ast.expr) -> tuple[Frame, list[ast.stmt], ast.expr | None, list[ast.stmt]]:
        """Return a manager's frame, the statements before its `yield`, the yielded expression and the rest."""
        function = self.evaluate(node.func) if isinstance(node, ast.Call) else None
        function = function.function if isinstance(function, TileFunction) else function
        if not isinstance(node, ast.Call) or not isinstance(function, FunctionType) or not is_context_manager(function):
            raise TileSyntaxError(
                "`with` in tile code takes a call of a function that `@contextlib.contextmanager` marks",
                hint="write the function with one `yield`, and call it: `with scaled(x, 2) as y:`",
            )
        args, kwargs = self.arguments(node)  # type: ignore[attr-defined]
        generator: Any = function.__wrapped__  # type: ignore[attr-defined]
        source, names = self.bound(generator, args, kwargs)  # type: ignore[attr-defined]
        body = source.node.body
        yields = [n for n in ast.walk(source.node) if isinstance(n, (ast.Yield, ast.YieldFrom))]
        place = next((i for i, s in enumerate(body) if isinstance(s, ast.Expr) and s.value in yields), None)
        if place is None or len(yields) != 1 or not isinstance(yields[0], ast.Yield) or exits(body):
            raise TileSyntaxError(
                f"the context manager `{generator.__name__}` needs one `yield`, as a statement of its own",
                source.span(source.node),
                hint="write it between the statements of the function, outside of `if`, loops and `try`",
            )
        frame = self.frame_of(source, source.node, source.node, generator, names, None, self.emit.span)  # type: ignore[attr-defined]
        return frame, body[:place], yields[0].value, body[place + 1 :]

    def _run(self, frame: Frame, statements: list[ast.stmt], value: ast.expr | None) -> object:
        """Trace a manager's statements in its frame, and return the value of an expression after them."""
        self.frames.append(frame)
        try:
            end = self.block(statements)
            assert end is FALL, "a manager has no exits"
            return None if value is None else self.evaluate(value)
        finally:
            self.frames.pop()
