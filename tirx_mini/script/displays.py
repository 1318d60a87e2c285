"""Literals, displays, comprehensions, f-strings and lambdas, which are evaluated as in Python.

Their elements may be IR values, but the values themselves are Python's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tirx_mini.ir import TirxError
from tirx_mini.records import replace
from tirx_mini.wording import described

from .environment import Env
from .expressions import Evaluator, element_names
from .syntax import describe


class DisplayEvaluator(Evaluator):
    """An evaluator that also handles literals, displays, comprehensions, f-strings and lambdas."""

    def visit_Dict(self, node: ast.Dict, names: Sequence[str] = ()) -> dict[Any, Any]:
        result: dict[Any, Any] = self.builder.made({})
        for key_node, value in zip(node.keys, node.values, strict=True):
            if key_node is None:
                result.update(self.mapping(value, self.eval(value)))
            else:
                key = self._key(key_node)
                result[key] = self.eval(value, element_names(names, key))
        return result

    def _key(self, node: ast.expr) -> Any:
        key = self.eval(node)
        try:
            hash(key)
        except TypeError:
            message = f"{described(key)} cannot be a key of a dict"
            raise self.error(node, message, "use a number, a string or a tuple of these") from None
        return key

    def visit_DictComp(self, node: ast.DictComp, names: Sequence[str] = ()) -> dict[Any, Any]:
        inner = replace(self, env=Env(outer=self.env))
        result: dict[Any, Any] = self.builder.made({})
        for _ in inner.generate(node.generators):
            key = inner._key(node.key)
            result[key] = inner.eval(node.value, element_names(names, key))
        return result

    def visit_ListComp(self, node: Any, names: Sequence[str] = ()) -> Any:
        inner = replace(self, env=Env(outer=self.env))
        rounds = enumerate(inner.generate(node.generators))
        values = [inner.eval(node.elt, element_names(names, i)) for i, _ in rounds]
        return self.builder.made(self.guarded(node, set, values) if isinstance(node, ast.SetComp) else values)

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def generate(self, generators: Sequence[ast.comprehension]) -> Iterator[None]:
        """Run the ``for … if …`` clauses of a comprehension, binding their names."""
        if not generators:
            yield
            return
        head = generators[0]
        for item in self.iterate(head.iter, self.eval(head.iter)):
            self._bind_plain(head.target, item)
            if all(self.decide(test) for test in head.ifs):
                yield from self.generate(generators[1:])

    def _bind_plain(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self.env.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = self.iterate(target, value)
            if len(values) != len(target.elts):
                message = f"expected {len(target.elts)} values to assign, found {len(values)}"
                raise self.error(target, message, "give as many names as there are values")
            for part, item in zip(target.elts, values, strict=True):
                self._bind_plain(part, item)
        else:
            raise self.error(target, f"cannot assign to {describe(target)} here", "use a name")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.eval(part)) for part in node.values)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> str:
        value = self.eval(node.value)
        self.check_text(node.value, value)
        convert = {115: str, 114: repr, 97: ascii}.get(node.conversion)
        spec = "" if node.format_spec is None else self.eval(node.format_spec)
        return self.guarded(node, format, convert(value) if convert else value, spec)

    def visit_Lambda(self, node: ast.Lambda) -> Callable[..., Any]:
        parameters = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
        defaults = [self.eval(default) for default in node.args.defaults]
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            raise self.error(
                node, "a lambda in a kernel can only have plain parameters", "write it as an @Tx.inline function"
            )

        def function(*args: object) -> Any:
            missing = len(parameters) - len(args)
            if missing < 0 or missing > len(defaults):
                message = f"this lambda expects the arguments ({', '.join(parameters)}), found {len(args)}"
                raise TirxError(message, hint="give it so many")
            values = [*args, *defaults[len(defaults) - missing :]]
            return replace(self, env=Env(outer=self.env, names=dict(zip(parameters, values, strict=True)))).eval(
                node.body
            )

        return function

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_Tuple(self, node: ast.Tuple, names: Sequence[str] = ()) -> tuple[Any, ...]:
        return tuple(self._items(node.elts, names))

    def visit_List(self, node: ast.List, names: Sequence[str] = ()) -> list[Any]:
        return self.builder.made(self._items(node.elts, names))

    def visit_Set(self, node: ast.Set) -> set[Any]:
        return self.builder.made(self.guarded(node, set, self._items(node.elts)))
