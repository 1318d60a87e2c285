"""Functions: the kernel itself, and inline functions, which are expanded at each call.

The nodes of an inline function record both their own line and the line of the call. Executing a body and expanding a
call need each other: a function defined in a body is an inline function, and a call executes another body.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from inspect import Parameter
from typing import Any, TypeVar, cast

from tirx_mini.ir import Expr, Region, TirxError
from tirx_mini.records import dataclass, replace

from .builder import current
from .environment import Bound, Env, Outside
from .handles import BufferType, Untyped
from .misuse import unfitting
from .source import FunctionSource, check_function, source_of
from .statements import Outcome, Returned, StatementExecutor

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class InlineFunction:
    """A function whose body is expanded into the kernel at each call.

    origin: the Python function, read at the first call, or the source of a function that is defined in a kernel.
    outer: the enclosing names: those of the kernel that defines it, or those of the Python code.
    defaults: the values of the default arguments, positional and keyword-only, by name.
    """

    origin: Callable[..., Any] | FunctionSource
    outer: Env | Outside
    defaults: Mapping[str, Any]

    @cached_property
    def source(self) -> FunctionSource:
        return self.origin if isinstance(self.origin, FunctionSource) else source_of(self.origin)

    @property
    def of_library(self) -> bool:
        """Return whether it belongs to this package."""
        return self.source.library

    @property
    def __name__(self) -> str:
        return self.origin.node.name if isinstance(self.origin, FunctionSource) else self.origin.__name__

    def __call__(self, *args: object, **kwargs: object) -> Any:
        builder = current(f"`{self.__name__}`")
        given = self.bind(args, kwargs)
        with builder.inlining(self.__name__) as call:
            env = Env(outer=self.outer, body=self.source.node.body)
            for name, value in given.items():
                fixed = isinstance(value, Expr) and not isinstance(value, Region)
                env.names[name] = (
                    Bound(value, self.source.span(self._parameter(name), call), "parameter") if fixed else value
                )
            if self.source.node.args.kwarg is not None:
                builder.made(given[self.source.node.args.kwarg.arg])
            outcome = Executor(self.source, builder, env, call).run(self.source.node.body)
        return outcome.value if isinstance(outcome, Returned) else None

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else BoundInline(self, instance)

    def _parameter(self, name: str) -> ast.arg:
        arguments = self.source.node.args
        return next(arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if arg.arg == name)

    @cached_property
    def _names(self) -> tuple[list[str], list[str]]:
        """The positional parameters, and all parameters with the keyword-only ones."""
        node = self.source.node.args
        names = [arg.arg for arg in (*node.posonlyargs, *node.args)]
        return names, [*names, *(arg.arg for arg in node.kwonlyargs)]

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
        """Bind arguments to parameters. Raises `TirxError` with the signature for a mismatch."""
        node = self.source.node.args
        names, every = self._names
        given: dict[str, Any] = dict(zip(names, args, strict=False))
        extra: dict[str, Any] = {}
        fits = len(args) <= len(names) or node.vararg is not None
        for name, value in kwargs.items():
            fits = fits and name not in given and (name in every or node.kwarg is not None)
            (given if name in every else extra)[name] = value
        if not fits or any(name not in given and name not in self.defaults for name in every):
            raise self._mismatch(args, kwargs)
        bound = {name: given[name] if name in given else self.defaults[name] for name in every}
        if node.vararg is not None:
            bound[node.vararg.arg] = tuple(args[len(names) :])
        if node.kwarg is not None:
            bound[node.kwarg.arg] = extra
        return bound

    def _mismatch(self, args: Sequence[object], kwargs: Mapping[str, object]) -> TirxError:
        """Return the error page for mismatched arguments, not counting the object of a method."""
        node = self.source.node.args
        names, every = self._names
        kinds = [Parameter.POSITIONAL_OR_KEYWORD] * len(names) + [Parameter.KEYWORD_ONLY] * (len(every) - len(names))
        shown = [
            Parameter(name, kind, default=self.defaults.get(name, Parameter.empty))
            for name, kind in zip(every, kinds, strict=True)
        ]
        if node.vararg is not None:
            shown.append(Parameter(node.vararg.arg, Parameter.VAR_POSITIONAL))
        if node.kwarg is not None:
            shown.append(Parameter(node.kwarg.arg, Parameter.VAR_KEYWORD))
        method = int(names[:1] == ["self"])
        why = unfitting(shown[method:], args[method:], kwargs)
        hint = f"its signature is {self.__name__}({_parameters(node)})"
        return TirxError(f"`{self.__name__}` {why}", hint=hint)


def _parameters(arguments: ast.arguments) -> str:
    """Return the parameters as callers see them, without annotations and the object of a method."""
    shown = copy.deepcopy(arguments)
    for arg in ast.walk(shown):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    return ast.unparse(shown).removeprefix("self").removeprefix(", ")


@dataclass(frozen=True, eq=False)
class BoundInline:
    """An inline method of an object."""

    function: InlineFunction
    instance: Any

    @property
    def of_library(self) -> bool:
        """Return whether it belongs to this package."""
        return self.function.of_library

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.function(self.instance, *args, **kwargs)


def default_values(arguments: ast.arguments, positional: Sequence[object], keyword: Sequence[object]) -> dict[str, Any]:
    """Return the default values by parameter name.

    positional, keyword: the values in the order of the syntax tree; None for a keyword-only parameter without one.
    """
    names = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(names[len(names) - len(positional) :], positional, strict=True))
    for arg, node, value in zip(arguments.kwonlyargs, arguments.kw_defaults, keyword, strict=True):
        if node is not None:
            defaults[arg.arg] = value
    return defaults


def inline(function: _F) -> _F:
    """Expand the function's statements into the kernel at each call (decorator).

    The function may have parameters and defaults, read enclosing names, assign to enclosing declared scalars, and
    return a value.
    """
    if isinstance(function, InlineFunction):
        return cast("_F", function)
    check_function(function, "@Tx.inline")
    code, positional = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(names[len(names) - len(positional) :], positional, strict=True)) | (
        function.__kwdefaults__ or {}
    )
    made = InlineFunction(function, Outside.of(function), defaults)
    vars(made).update(__doc__=function.__doc__, __signature__=inspect.signature(function))  # for `help`
    return cast("_F", made)


class Executor(StatementExecutor):
    """Executes the body of the kernel or of an inline function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Outcome:
        """Define an inline function, decorated or not, inside the kernel."""
        positional = [self.eval(default) for default in node.args.defaults]
        keyword = [None if default is None else self.eval(default) for default in node.args.kw_defaults]
        function: Any = InlineFunction(
            self.source.nested(node), self.env, default_values(node.args, positional, keyword)
        )
        for decorator in reversed(node.decorator_list):
            wrapper = self.eval(decorator)
            if wrapper is not inline:
                function = self.call(decorator, wrapper, (function,), {})
        self.env.names[node.name] = function
        return None

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Outcome:
        """Execute an annotation: ``A: T.Tensor((M, K), "float16")`` types a parameter, others declare a variable."""
        target = node.target
        name = target.id if isinstance(target, ast.Name) and node.value is None else ""
        if not isinstance(self.env.names.get(name), Untyped):
            return super().visit_AnnAssign(node)
        kind = self.eval(node.annotation)
        if not isinstance(kind, BufferType):
            raise self.error(node.annotation, f"`{name}` is a tensor: its type is T.Tensor((…), dtype)")
        made = replace(kind.buffer(name), span=self.span(node))
        self.builder.params.append(made)
        self.env.names[name] = made
        return None

    def visit_Return(self, node: ast.Return) -> Outcome:
        value = None if node.value is None else self.eval(node.value)
        if not set(self.nesting) <= {"scope", "unrolled"}:
            raise self.error(
                node,
                f"`return` is not allowed inside a {'loop' if 'loop' in self.nesting else 'branch'} of the kernel: "
                "every thread must reach the end",
                "put the remaining statements under an `if`",
            )
        return Returned(value)
