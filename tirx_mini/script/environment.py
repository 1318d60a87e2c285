"""Names: what they stand for while a kernel is read, block by block."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tirx_mini.ir import Buffer, Expr, Span, TirxError

from .diagnostics import UnknownName, did_you_mean

MISSING: Any = object()


@dataclass(frozen=True, eq=False)
class Bound:
    """A name of an IR value that does not change: a first assignment, a loop variable, a parameter.

    how: "value", "loop variable" or "parameter"; literal: the Python number it was assigned, if it was one.
    source: the syntax of the value.
    """

    expr: Expr
    span: Span | None
    how: str = "value"
    literal: Any = None
    source: ast.expr | None = None


@dataclass(frozen=True)
class Gone:
    """A name whose block has ended; `changed` where an outer variable got another value in that block."""

    span: Span | None
    changed: bool


@dataclass
class Env:
    """The names of one block. A function's outermost block has `outer`, where its free names are looked up."""

    parent: Env | None = None
    outer: Env | Outside | None = None
    names: dict[str, Any] = field(default_factory=dict)
    nonlocals: set[str] = field(default_factory=set)

    def find(self, name: str) -> tuple[Env, Any] | None:
        """The block of this function that knows `name`, and what it stands for there."""
        env: Env | None = self
        while env is not None:
            value = env.names.get(name, MISSING)
            if value is not MISSING:
                return env, value
            env = env.parent
        return None

    @property
    def function(self) -> Env:
        """The outermost block of this function."""
        env = self
        while env.parent is not None:
            env = env.parent
        return env

    def find_captured(self, name: str) -> tuple[Env, Any] | None:
        """The same in the functions around this one."""
        outer = self.function.outer
        while isinstance(outer, Env):
            found = outer.find(name)
            if found is not None:
                return found
            outer = outer.function.outer
        return None

    def lookup(self, name: str) -> Any:
        """What `name` stands for, as Python's scoping finds it. Raises `TirxError` for an unknown name."""
        found = self.find(name) or self.find_captured(name)
        if found is None:
            return self.outside.lookup(name, self)
        if isinstance(found[1], Gone):
            raise _gone(name, found[1])
        return found[1]

    @property
    def outside(self) -> Outside:
        outer = self.function.outer
        while isinstance(outer, Env):
            outer = outer.function.outer
        return outer or Outside({}, {}, {})

    def visible(self) -> Iterator[str]:
        """Every name that the kernel itself has given a meaning, for suggestions."""
        env: Env | Outside | None = self
        while isinstance(env, Env):
            yield from env.names
            env = env.parent or env.outer

    def leave(self, span: Span | None, keep: Callable[[Any], bool], conditional: bool) -> None:
        """End this block: names for which `keep` holds stay known in the block around it, others are gone.

        conditional: whether the block runs only sometimes; then no name may change its meaning in it.
        """
        assert self.parent is not None
        for name, value in self.names.items():
            known = self.parent.find(name)
            if (isinstance(value, Gone) and known is None) or (keep(value) and not conditional):
                self.parent.names[name] = value
            elif known is None or isinstance(known[1], Gone):
                self.parent.names[name] = Gone(span, changed=False)
            elif conditional and not isinstance(known[1], Bound):
                known[0].names[name] = Gone(span, changed=True)


@dataclass(frozen=True)
class Outside:
    """The Python world around a kernel: closure cells, the caller's locals, module globals, builtins."""

    cells: Mapping[str, Any]
    caller: Mapping[str, Any]
    globals: Mapping[str, Any]

    @staticmethod
    def of(function: Callable[..., Any], caller: Mapping[str, Any] | None = None) -> Outside:
        code = function.__code__
        return Outside(
            dict(zip(code.co_freevars, function.__closure__ or (), strict=True)), caller or {}, function.__globals__
        )

    def lookup(self, name: str, env: Env) -> Any:
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError:
                raise TirxError(
                    f"`{name}` is not assigned yet at the definition of the kernel",
                    hint=f"assign `{name}` before the definition of the kernel",
                ) from None
        for scope in (self.caller, self.globals):
            if name in scope:
                return scope[name]
        value = getattr(builtins, name, MISSING)
        if value is MISSING:
            known = [*env.visible(), *self.cells, *self.caller, *self.globals, *dir(builtins)]
            hint = self._language(name) or did_you_mean(name, known)
            raise TirxError(f"`{name}` is not defined", hint=hint, kind="unknown-name")
        return value

    def _language(self, name: str) -> str | None:
        """A hint where the language or its layouts have this name, and only the way to it is missing."""
        for alias, module in {**self.globals, **self.caller}.items():
            if isinstance(module, ModuleType) and module.__name__.endswith(".script.tirx"):
                try:
                    getattr(module, name)
                except UnknownName as error:
                    hint = error.diagnostic.hint or ""
                    return hint if hint.startswith("write") else None
                return f"did you mean `{alias}.{name}`?"
        return None


def keeps_meaning(value: Any) -> bool:
    """Whether a value still means the same after the block that assigned it: Python objects and shared storage do."""
    if isinstance(value, Buffer):
        return value.scope != "local"
    return not isinstance(value, (Bound, Expr, Gone))


def _gone(name: str, gone: Gone) -> TirxError:
    notes = (("the block is here", gone.span),) if gone.span else ()
    if gone.changed:
        return TirxError(
            f"`{name}` is reassigned in a block that may not run, so its value here is unknown",
            hint=f"declare it before the block, as in `{name}: Tx.int32 = 0`, and assign to it inside",
            notes=notes,
        )
    return TirxError(
        f"`{name}` is only defined inside a block that has ended",
        notes=notes,
        hint=f"define `{name}` before the block, or use it inside the block",
    )
