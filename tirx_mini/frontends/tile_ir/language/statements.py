"""Tracing of statements other than run-time loops and branches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .errors import TileStaticAssertionError, TileSyntaxError, TileTypeError
from .liveness import exits
from .loop_forms import RETURNED
from .ops.printing import assert_
from .surface import Operation
from .tracer import BREAK, CONTINUE, FALL, Exit, How, Tracer
from .values import Closure, Formatted, TileValue, describe

_UNSUPPORTED: Mapping[type[ast.stmt], tuple[str, str]] = MappingProxyType({
    ast.Try: ("exceptions", "check with `ct.static_assert`, or with `ct.assert_` at run time"),
    ast.ClassDef: ("classes", "define the class outside of the kernel"),
    ast.Import: ("imports", "import at the top of the file"),
    ast.ImportFrom: ("imports", "import at the top of the file"),
    ast.Global: ("`global`", "return the value, or store it to an array"),
    ast.Nonlocal: ("`nonlocal`", "return the value"),
    ast.Delete: ("`del`", "leave it out: values that are not used cost nothing"),
    ast.AsyncFunctionDef: ("coroutines", "a kernel is one function"),
    ast.AsyncFor: ("coroutines", "a kernel is one function"),
    ast.AsyncWith: ("coroutines", "a kernel is one function"),
    **({ast.Match: ("`match`", "write `if … elif`")} if hasattr(ast, "Match") else {}),
})  # fmt: skip


class Statements(Tracer):
    """Traces statements in order, deciding at compile time where possible."""

    def block(self, statements: Sequence[ast.stmt]) -> Exit:
        """Trace statements. A branch that may leave the block absorbs the following statements into its arms."""
        for position, statement in enumerate(statements):
            with self.at(statement):
                end = self._statement(statement, statements[position + 1 :])
            if end is not None:
                return end
        return FALL

    def _statement(self, node: Any, rest: Sequence[ast.stmt]) -> Exit | None:
        """Trace one statement. An `Exit` ends the whole block, with `rest` already traced or unreachable."""
        if isinstance(node, ast.If):
            return self._if(node, rest)
        if isinstance(node, ast.Return):
            return self._return(node)
        if isinstance(node, (ast.Break, ast.Continue)):
            return BREAK if isinstance(node, ast.Break) else CONTINUE
        if isinstance(node, (ast.For, ast.While)):
            self.loop(node)
            return None
        if isinstance(node, ast.Raise):
            return self._raise(node)
        simple: Mapping[type[ast.stmt], Callable[[Any], None]] = {
            ast.Assign: self._assign, ast.AugAssign: self._augmented, ast.AnnAssign: self._annotated,
            ast.Expr: self._expression, ast.Assert: self._assert, ast.FunctionDef: self._define,
            ast.Pass: lambda _: None, ast.With: self.within,  # type: ignore[attr-defined]
        }  # fmt: skip
        if type(node) not in simple:
            what, instead = _UNSUPPORTED.get(type(node), ("this statement", "see the list of what tile code supports"))
            raise TileSyntaxError(f"tile code does not support {what}", hint=instead)
        action: Callable[[Any], None] = simple[type(node)]
        action(node)
        return None

    def _expression(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _return(self, node: ast.Return) -> Exit:
        return Exit(How.RETURN, None if node.value is None else self.evaluate(node.value))

    def _if(self, node: ast.If, rest: Sequence[ast.stmt]) -> Exit | None:
        condition = self.condition(self.evaluate(node.test), "the condition of `if`")
        leaves = exits(node.body) or exits(node.orelse)
        if isinstance(condition, bool):
            arm = node.body if condition else node.orelse
            if leaves:
                return self.block([*arm, *rest])
            self.block(arm)
            return None
        if leaves:
            return self.branch(node, condition, [*node.body, *rest], [*node.orelse, *rest], consumed=True)
        return self.branch(node, condition, node.body, node.orelse, consumed=False)

    # -- Assignments ---------------------------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise _immutable(node.target)
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        combined = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        self.assign(node.target, self.evaluate(combined))

    def assign(self, target: ast.expr, value: object) -> None:
        """Bind a name, or a tuple of names."""
        if isinstance(target, ast.Name):
            if isinstance(value, TileValue) and not value.value.hint:
                value.value.hint = target.id.lstrip("$")
            self.frame.names[target.id] = value
            if target.id == RETURNED:
                self.frame.returned = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        else:
            raise _immutable(target)

    def _unpack(self, target: ast.Tuple | ast.List, value: object) -> None:
        if not isinstance(value, tuple):
            raise TileTypeError(f"only a tuple can be unpacked, not {describe(value)}")
        starred = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
        if starred:
            at = starred[0]
            after = len(target.elts) - at - 1
            if len(value) < at + after:
                raise TileTypeError(f"{describe(value)} cannot be unpacked to at least {at + after} names")
            value = (*value[:at], value[at : len(value) - after], *value[len(value) - after :])
        if len(value) != len(target.elts):
            raise TileTypeError(f"{describe(value)} cannot be unpacked to {len(target.elts)} names")
        for part, item in zip(target.elts, value, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, item)

    def _define(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise TileSyntaxError(
                "tile code does not support decorators", hint="define the function outside of the kernel"
            )
        self.frame.names[node.name] = Closure(node, self.frame)

    # -- Assertions and exceptions -------------------------------------------------------------------------------------

    def _assert(self, node: ast.Assert) -> None:
        """Check an ``assert`` at compile time if its condition is known, else at run time."""
        test = self.evaluate(node.test)
        message = None if node.msg is None else self.evaluate(node.msg)
        if isinstance(test, TileValue):
            if isinstance(message, Formatted):
                raise TileTypeError("the message of an assertion at run time must be a constant")
            mask = self.emit.not_zero(test) if not test.dtype.is_bool else test
            assert_.implementation(self, mask, None if message is None else str(message))
        elif not self.condition(test, "the condition of `assert`"):
            raise TileStaticAssertionError(f"the assertion does not hold{f': {message}' if message else ''}")

    def _raise(self, node: ast.Raise) -> Exit:
        if isinstance(node.exc, ast.Call):
            function = self.evaluate(node.exc.func)
            if isinstance(function, Operation) and function.__name__ == "static_exception":
                self.static("static_exception", node.exc)
        raise TileSyntaxError(
            "tile code does not support exceptions",
            hint="`raise ct.static_exception(…)` raises while the kernel is compiled, `ct.assert_` checks at run time",
        )


def _immutable(target: ast.expr) -> TileSyntaxError:
    if isinstance(target, ast.Subscript):
        return TileSyntaxError(
            "elements cannot be assigned: tiles do not change",
            hint="`ct.store` and `ct.scatter` write to an array, `ct.insert` and `ct.where` make a new tile",
        )
    return TileSyntaxError("attributes cannot be assigned in tile code", hint="assign to a variable")
