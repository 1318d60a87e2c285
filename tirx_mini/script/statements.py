"""Execution of statements. Control flow over Python values runs at compile time; over IR values it becomes IR."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import field
from typing import Any

from tirx_mini.ir import (
    SERIAL,
    Break,
    Call,
    Continue,
    Evaluate,
    Expr,
    For,
    If,
    ScopeIds,
    Span,
    Stmt,
    TirxError,
    Var,
    While,
    as_condition,
    const,
    unary,
)  # fmt: skip
from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .access import is_runtime
from .assignment import Assigner
from .blocks import OpenBlock, OpenInit
from .builder import stamp
from .diagnostics import first_sentence, keyword_of, todo_error
from .environment import Bound, Env, keeps_meaning, keeps_nothing
from .expressions import MAX_UNROLL
from .frames import Assert
from .handles import Loop, OpenHint, OpenRole, OpenScope, loop
from .imports import imported
from .loops import loop_variables
from .rounds import read_before_assigned
from .syntax import short

_MAX_ROUNDS = 1 << 18  # iterations of all loops that run at compile time
_NO_ELSE = "a loop in a kernel cannot have an `else`"
_OPEN = (OpenScope, OpenRole, OpenHint, OpenBlock, OpenInit)


@dataclass(frozen=True)
class Returned:
    """The outcome of a body that ended with ``return value``."""

    value: Any


Outcome = Returned | str | None
"""How a list of statements ended: None, a `Returned`, or "break" or "continue" of a loop that runs at compile time."""


@dataclass
class StatementExecutor(Assigner):
    """Executes all statements except ``def`` and ``return``.

    nesting: the constructs that enclose the current statement: "loop", "branch" or "scope" of the kernel, "unrolled"
        for a loop that runs at compile time.
    """

    nesting: list[str] = field(default_factory=list)

    def run(self, statements: Sequence[ast.stmt]) -> Outcome:
        """Execute statements in order."""
        for node in statements:
            self.builder.span = self.span(node)
            handler = self.handlers[type(node)]
            if handler is None:
                hint = "do it outside the kernel, or write it with `if`, `for`, `while` and `with`"
                raise self.error(node, f"`{keyword_of(node)}` is not supported in a kernel", hint)
            try:
                outcome = handler(self, node)
            except TirxError as error:
                raise error.at(self.span(node)) from None
            except RecursionError:
                raise self.endless(node) from None
            if outcome is not None:
                return outcome
        return None

    @contextmanager
    def _inside(self, what: str, span: Span, statements: Sequence[ast.stmt]) -> Iterator[Callable[[], Stmt]]:
        """Open a block of the kernel with its own names, and yield a function that returns its finished body."""
        runtime = what != "scope"
        self.env = Env(parent=self.env, body=statements)
        self.nesting.append(what)
        with self.builder.block() as block, self.builder.read_once(what) if runtime else nullcontext():
            yield lambda: self.builder.body(block)
        self.nesting.pop()
        inner, self.env = self.env, self._parent()
        inner.leave(span, keeps_meaning if what == "scope" else keeps_nothing, conditional=what != "scope")

    def _parent(self) -> Env:
        assert self.env.parent is not None
        return self.env.parent

    # -- simple statements --------------------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> Outcome:
        if isinstance(node.value, ast.Constant) and node.value.value is Ellipsis:
            raise self._placeholder(node)
        if isinstance(node.value, ast.Constant):
            return None
        value = self.eval(node.value)
        if isinstance(value, Call):
            self.builder.emit(Evaluate(value, span=self.span(node)))
        elif isinstance(value, OpenHint):
            self.builder.emit(value.wrap(None))
        elif isinstance(value, Expr) and not self._declares(value):
            raise self.error(
                node,
                f"the value of `{short(node.value)}` is not used",
                "assign it, as in `phase = phase ^ 1`",
            )
        elif callable(value) and not isinstance(node.value, ast.Call):
            raise self.error(
                node, f"`{short(node.value)}` is a function, but is not called", f"write `{short(node.value)}()`"
            )
        elif isinstance(value, (OpenScope, Loop)):
            raise self.error(
                node,
                f"`{short(node.value)}` has no effect by itself",
                "open it with `with`" if isinstance(value, OpenScope) else "use it in a `for` statement",
            )
        return None

    def _declares(self, value: Expr) -> bool:
        """Return whether the statement was an unnamed declaration of ids, such as ``T.cta_id([1])``."""
        stmts = self.builder.blocks[-1].stmts
        named = any(value is index.var for index in self.builder.threads.values())
        return named or (bool(stmts) and isinstance(stmts[-1], ScopeIds) and value in stmts[-1].vars)

    def visit_Pass(self, node: ast.Pass) -> Outcome:
        comment = self.source.comment(node)
        if comment is not None and "TODO" in comment[1]:
            raise self._placeholder(node)
        return None

    def _placeholder(self, node: ast.stmt) -> TirxError:
        """Return the error for an unfilled part, located at its TODO comment if there is one."""
        comment = self.source.comment(node)
        if comment is None or "TODO" not in comment[1]:
            return todo_error(None, self.span(node))
        lines = comment[1].splitlines()
        first = next(i for i, line in enumerate(lines) if "TODO" in line)
        text = first_sentence(lines[first:]) or "this part of the kernel"
        line = comment[0] + first
        return todo_error(text, self.source.line(line, self.inlined_at))

    def visit_Assign(self, node: ast.Assign) -> Outcome:
        first, *others = node.targets
        self.assign(first, node.value)
        for target in others:
            self.assign(target, first)
        return None

    def visit_AugAssign(self, node: ast.AugAssign) -> Outcome:
        self.augment(node)
        return None

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Outcome:
        self.declare(node)
        return None

    def visit_Delete(self, node: ast.Delete) -> Outcome:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise self.error(target, "only names can be deleted in a kernel", "remove the statement")
            self.eval(target)
            self.env.names.pop(target.id, None)
        return None

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Outcome:
        self.env.function.nonlocals.update(node.names)
        return None

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> Outcome:
        return self.env.names.update(imported(node))

    visit_ImportFrom = visit_Import

    def visit_Assert(self, node: ast.Assert) -> Outcome:
        test = self.eval(node.test)
        if is_runtime(test):
            test = self.guarded(node.test, Assert, self._condition(node.test, test))
        if not self.truth(node.test, test):
            text = "this assertion fails" if node.msg is None else str(self.eval(node.msg))
            hint = "it is checked while the kernel is read: change the values, or the condition"
            raise self.error(node.test, f"`{short(node.test)}`: {text}", hint)
        return None

    def visit_Raise(self, node: ast.Raise) -> Outcome:
        if node.exc is None:
            raise self.error(node, "`raise` needs an exception in a kernel", 'write `raise ValueError("…")`')
        value = self.eval(node.exc)
        if value is NotImplementedError or isinstance(value, NotImplementedError):
            text = "" if isinstance(value, type) else str(value).removeprefix("TODO").lstrip(": ")
            raise todo_error(text, self.span(node)) if text else self._placeholder(node)
        raised = isinstance(value, Exception) or (isinstance(value, type) and issubclass(value, Exception))
        what = f"is {'raised' if raised else f'{described(value)}, which cannot be raised'}"
        message = str(value) if isinstance(value, Exception) and str(value) else f"`{short(node.exc)}` {what}"
        raise self.error(node, message, "an exception is raised while the kernel is read; put it under a Python `if`")

    # -- branches and loops -------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> Outcome:
        test = self.eval(node.test)
        if not is_runtime(test):
            return self.run(node.body if self.truth(node.test, test) else node.orelse)
        span = self.span(node)
        condition = self._condition(node.test, test)
        then = self._branch(node.body, span)
        orelse = self._branch(node.orelse, span) if node.orelse else None
        self.builder.emit(If(condition, then, orelse, span=span))
        return None

    def _condition(self, node: ast.expr, test: Expr) -> Expr:
        return stamp(self.guarded(node, as_condition, test), self.span(node))

    def _branch(self, statements: Sequence[ast.stmt], span: Span) -> Stmt:
        with self._inside("branch", span, statements) as body:
            self.run(statements)
            stmt = body()
        return stmt

    def visit_While(self, node: ast.While) -> Outcome:
        if node.orelse:
            raise self.error(node.orelse[0], _NO_ELSE, "write the statements after the loop")
        span = self.span(node)
        with self.builder.block() as before:
            test = const(True) if isinstance(node.test, ast.Constant) and node.test.value else self.eval(node.test)
        if not is_runtime(test):
            self.builder.blocks[-1].stmts.extend(before.stmts)
            return self._while_reading(node, self.truth(node.test, test))
        condition = self._condition(node.test, test)
        with self._inside("loop", span, node.body) as body:
            if before.stmts:  # the condition needs statements of its own, which every iteration repeats
                self.builder.blocks[-1].stmts.extend(before.stmts)
                self.builder.emit(If(unary("not", condition), Break(), span=span))
                condition = const(True, span=span)
            self.run(node.body)
            self._check_rounds([ast.Expr(node.test), *node.body], ())
            inner = body()
        self.builder.emit(While(condition, inner, span=span))
        return None

    def _while_reading(self, node: ast.While, first: bool) -> Outcome:
        """Run a ``while`` loop with a Python condition at compile time."""
        rounds, going = 0, first
        while going:
            rounds += 1
            if rounds > MAX_UNROLL:
                raise self.error(
                    node,
                    f"this loop runs at compile time and has not ended after {MAX_UNROLL} iterations",
                    "its condition is a Python value that never becomes false; use a variable of the kernel",
                )
            outcome = self._round(node.body)
            if outcome == "break":
                return None
            if isinstance(outcome, Returned):
                return outcome
            going = self.decide(node.test)
        return None

    def _round(self, body: Sequence[ast.stmt]) -> Outcome:
        self.builder.rounds += 1
        if self.builder.rounds > _MAX_ROUNDS:
            text = f"the loops that run at compile time have made {_MAX_ROUNDS:,} iterations, all together"
            raise self.error(body[0], text, "use range(…) for a run-time loop")
        self.nesting.append("unrolled")
        outcome = self.run(body)
        self.nesting.pop()
        return outcome

    def visit_For(self, node: ast.For) -> Outcome:
        if node.orelse:
            raise self.error(node.orelse[0], _NO_ELSE, "write the statements after the loop")
        iterable = self._iterable(node.iter)
        if isinstance(iterable, Loop):
            self._loop(node, iterable)
            return None
        for item in self.iterate(node.iter, iterable):
            self.builder.span = self.span(node)
            self._forget(node.target)
            self.store(node.target, item, meta=True, source=node.iter)
            outcome = self._unrolled_round(node)
            if outcome == "break":
                break
            if isinstance(outcome, Returned):
                return outcome
        return None

    def _unrolled_round(self, node: ast.For) -> Outcome:
        """Run one iteration of a loop over Python values, with its own names."""
        outer = self.env
        self.env = Env(parent=outer, body=node.body)
        outcome = self._round(node.body)
        inner, self.env = self.env, outer
        inner.leave(self.span(node), lambda value: not isinstance(value, Bound), conditional=False)
        return outcome

    def _forget(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.env.names.pop(target.id, None)

    def _iterable(self, node: ast.expr) -> object:
        """Return the iterable of a ``for`` statement; a plain ``range(…)`` is a loop of the kernel."""
        if isinstance(node, ast.Call) and not node.keywords and self.eval(node.func) is range:
            return self.guarded(node, loop, SERIAL, tuple(self._items(node.args)))
        return self.eval(node)

    def _loop(self, node: ast.For, description: Loop) -> None:
        targets = list(node.target.elts) if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        ranges = description.ranges
        span = self.span(node)
        together = node.target.id if isinstance(node.target, ast.Name) and len(ranges) > 1 else None
        if together is not None:  # `for at in T.grid(m, n)`: a tuple of variables
            targets *= len(ranges)
        names = [target.id if isinstance(target, ast.Name) else None for target in targets]
        if together is not None:
            names = [f"{together}_{number}" for number in range(len(ranges))]
        variables = self.guarded(node.target, loop_variables, names, [self.span(part) for part in targets], description)
        with self.builder.expanding(description.copies), self._inside("loop", span, node.body) as body:
            if self.builder.copies > MAX_UNROLL:
                text = f"this loop is unrolled into {self.builder.copies:,} copies of its body, which are too many"
                raise self.error(node.iter, text, "use range(…) or Tx.serial(…), which keep one copy")
            for var, (_, stop, _) in zip(variables, ranges, strict=True):
                self.builder.loop_extents[var] = stop
            values, condition = variables, None
            if description.targets is not None:
                values, condition = description.targets(*variables)
            for target, name, value in zip(targets, names, values, strict=True):
                self.env.names[str(name)] = Bound(value, self.span(target), "loop variable")
            if together is not None:
                self.env.names[together] = tuple(values)
            self.run(node.body)
            self._check_rounds(node.body, [together or "", *map(str, names)])
            inner = body()
        if condition is not None:
            inner = If(condition, inner, span=span)
        for var, (start, stop, step) in reversed(list(zip(variables, ranges, strict=True))):
            how = (description.kind, description.parallel, description.unroll, description.thread)
            inner = For(var, start, stop, inner, step, *how, span=span)
        self.builder.emit(inner if description.around is None else stamp(description.around.wrap(inner), span))

    def _check_rounds(self, statements: Sequence[ast.stmt], own: Sequence[str]) -> None:
        """Reject an outer Python value that one iteration would have to pass to the next."""
        for name in self.env.names.keys() - set(own):
            known = self._parent().find(name) or self.env.find_captured(name)
            place = None if known is None else read_before_assigned(statements, name)
            if place is not None:
                raise self.error(
                    place,
                    f"`{name}` is a compile-time value, but this loop changes it between iterations",
                    self._as_variable(name),
                )

    def _as_variable(self, name: str) -> str:
        """Return the statement that would let a loop modify a Python number."""
        arguments = self.source.node.args
        if any(arg.arg == name for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)):
            return f"copy the parameter to a variable before the loop, as in `now: Tx.int32 = {name}`, and change that"
        return (
            f"make it a variable of the kernel: write `{name} = …` before the loop, without Tx.meta_var, or "
            f"`{name}: Tx.int32 = …`"
        )

    def visit_Break(self, node: ast.Break) -> Outcome:
        return self._leave_loop(node, "break", Break(span=self.span(node)))

    def visit_Continue(self, node: ast.Continue) -> Outcome:
        return self._leave_loop(node, "continue", Continue(span=self.span(node)))

    def _leave_loop(self, node: ast.stmt, word: str, stmt: Stmt) -> Outcome:
        for position, what in enumerate(reversed(self.nesting)):
            if what == "loop":
                self.builder.emit(stmt)
                return None
            if what == "unrolled":
                if position:
                    raise self.error(
                        node,
                        f"`{word}` depends on a run-time value, but the enclosing loop is unrolled at compile time",
                        "use range(…) for a run-time loop",
                    )
                return word
        raise self.error(node, f"`{word}` outside a loop", "remove it, or end the thread with Tx.thread_return()")

    # -- with ---------------------------------------------------------------------------------------------------

    def visit_With(self, node: ast.With) -> Outcome:
        return self._with_items(node, list(node.items))

    def _with_items(self, node: ast.With, items: list[ast.withitem]) -> Outcome:
        if not items:
            return self.run(node.body)
        item, rest = items[0], items[1:]
        manager = self._manager(item.context_expr)
        if isinstance(manager, _OPEN):
            if item.optional_vars is not None:
                message = f"`{short(item.context_expr)}` has no value to bind with `as`"
                raise self.error(item.optional_vars, message, f"write `with {short(item.context_expr)}:`")
            span = self.span(item.context_expr)
            filtered = isinstance(manager, OpenRole) or (isinstance(manager, OpenScope) and manager.filter is not None)
            scope = nullcontext()
            if isinstance(manager, (OpenBlock, OpenInit)):
                scope = manager.opened(self.builder)
            elif isinstance(manager, OpenScope):
                scope = self.builder.in_scope(manager.kind)
            with scope, self._inside("branch" if filtered else "scope", self.span(node), node.body) as body:
                if isinstance(manager, OpenRole) and manager.opening is not None:
                    manager.opening()
                outcome = self._with_items(node, rest)
                inner = body()
            self.builder.span = span
            self.builder.emit(stamp(manager.wrap(inner), span))
            return outcome

        with ExitStack() as stack:
            value = self.guarded(item.context_expr, stack.enter_context, manager)
            if item.optional_vars is not None:
                self.store(item.optional_vars, value, meta=True)
            return self._with_items(node, rest)

    def _manager(self, node: ast.expr) -> object:
        value = self.eval(node)
        if isinstance(value, _OPEN) or hasattr(type(value), "__enter__"):
            return value
        if value is None and self.builder.blocks[-1].rest_of is not None:
            return nullcontext()  # with T.attr({"tirx.device_entry": True}), as TVM prints it
        if isinstance(value, Var) and isinstance(node, ast.Call):  # with T.launch_thread("threadIdx.x", 128) as tx:
            return nullcontext(value)
        scopes = "the scopes are Tx.cta(), Tx.warpgroup(), Tx.warp() and Tx.thread()"
        hint = f"write `with {short(node)}():`" if callable(value) else scopes
        raise self.error(node, f"`{short(node)}` is not a scope", hint)
