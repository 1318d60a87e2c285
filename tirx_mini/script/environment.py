"""Name resolution in kernels, block by block."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import ModuleType
from typing import Any

from tirx_mini.ir import Buffer, Expr, Span, TirxError
from tirx_mini.records import dataclass

from .cuda_names import cuda_spelling
from .diagnostics import UnknownName, did_you_mean
from .reassigned import Assignments

MISSING: Any = object()


@dataclass(frozen=True, eq=False)
class Bound:
    """A name bound to an immutable IR value, by a first assignment, a loop or a parameter.

    how: "value", "let" (bound by `Tx.let`), "loop variable", "parameter" (of an inline function) or
        "kernel parameter".
    literal: the Python number that was assigned, or None for any other value.
    source: the syntax of the value.
    """

    expr: Expr
    span: Span | None
    how: str = "value"
    literal: Any = None
    source: ast.expr | None = None


@dataclass(frozen=True)
class Gone:
    """A name that went out of scope. changed: whether its block reassigned a variable of an outer block.

    changed: whether the block reassigned a variable of an outer block.
    """

    span: Span | None
    changed: bool


@dataclass
class Env:
    """The names of a block. The outermost block of a function resolves free names in `outer`.

    body: the statements of the block.
    """

    parent: Env | None = None
    outer: Env | Outside | None = None
    names: dict[str, Any] = field(default_factory=dict)
    nonlocals: set[str] = field(default_factory=set)
    body: Sequence[ast.stmt] = ()

    @cached_property
    def assignments(self) -> Assignments:
        """The names that the statements of the block assign."""
        return Assignments(self.body)

    def find(self, name: str) -> tuple[Env, Any] | None:
        """Return the innermost block of this function that defines `name`, with its value there."""
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
        """Return the innermost enclosing function's block that defines `name`, with its value there."""
        outer = self.function.outer
        while isinstance(outer, Env):
            found = outer.find(name)
            if found is not None:
                return found
            outer = outer.function.outer
        return None

    def lookup(self, name: str) -> Any:
        """Return the value of `name` by Python's scoping rules. Raises `TirxError` for an unknown name."""
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
        """Yield every name that the kernel itself defines, for suggestions."""
        env: Env | Outside | None = self
        while isinstance(env, Env):
            yield from env.names
            env = env.parent or env.outer

    def leave(self, span: Span | None, keep: Callable[[Any], bool], conditional: bool) -> None:
        """End this block. Values that satisfy `keep` remain visible in the enclosing block.

        conditional: whether the block may be skipped; a name that it reassigns is then unusable after it.
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
    """The Python environment of a kernel: closure cells, the caller's locals, module globals and builtins."""

    cells: Mapping[str, Any]
    caller: Mapping[str, Any]
    globals: Mapping[str, Any]

    @staticmethod
    def of(function: Callable[..., object], caller: Mapping[str, object] | None = None) -> Outside:
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
            raise self._undefined(name, env)
        return value

    def _undefined(self, name: str, env: Env) -> TirxError:
        spelling = cuda_spelling(name)
        if spelling is not None:
            message = f"`{name}` is a name of CUDA C++, which a kernel spells otherwise"
            return TirxError(message, hint=spelling.hint(*self._aliases()), kind="unknown-name")
        known = [*env.visible(), *self.cells, *self.caller, *self.globals, *dir(builtins)]
        hint = self._language(name) or did_you_mean(name, known) or "define it before this line, or outside the kernel"
        return TirxError(f"`{name}` is not defined", hint=hint, kind="unknown-name")

    def _language(self, name: str) -> str | None:
        """Return a hint for a name of the language that lacks its prefix."""
        for alias, module in self._aliases().items():
            try:
                getattr(module, name)
            except UnknownName as error:
                hint = error.diagnostic.hint or ""
                return hint if hint.startswith("write") else None
            except AttributeError:  # a name with two underscores, as Python's protocols ask for
                return None
            return f"did you mean `{alias}.{name}`?"
        return None

    def _aliases(self) -> Mapping[str, ModuleType]:
        """Return the names under which the language is imported, at most one of them."""
        visible = {**self.globals, **self.caller}.items()
        modules = ((n, v) for n, v in visible if isinstance(v, ModuleType) and v.__name__.endswith(".script.tirx"))
        return dict(itertools.islice(modules, 1))


def keeps_meaning(value: object) -> bool:
    """Return whether a value outlives the block that assigned it, as Python objects and shared storage do."""
    if isinstance(value, Buffer):
        return value.scope != "local"
    return not isinstance(value, (Bound, Expr, Gone))


def keeps_nothing(value: object) -> bool:
    """Return False: no value outlives its block."""
    return False


def _gone(name: str, gone: Gone) -> TirxError:
    notes = (("the block is here", gone.span),) if gone.span else ()
    if gone.changed:
        return TirxError(
            f"`{name}` is reassigned in a block that may not run, so its value here is unknown",
            hint=f"make it a variable of the kernel, `{name}: Tx.int32 = …`, before the block and assign to it inside "
            "(for a parameter, under another name)",
            notes=notes,
        )
    return TirxError(
        f"`{name}` is only defined inside a block that has ended",
        notes=notes,
        hint=f"define `{name}` before the block, or use it inside the block",
    )
