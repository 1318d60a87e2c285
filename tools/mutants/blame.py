"""Whether a finding points at what was changed: at the statement, or at another one at the same barrier or buffer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tools.source import KernelSource, dotted

from .mutation import BARRIERS, Mutation, barriers, kind_of

BUFFERS = ("pool.alloc", "Tx.alloc_local", "Tx.decl_buffer")
ALIASES = ("Tx.meta_var", "Tx.decl_buffer")
TOUCHING = ("copy", "MMA", "allocation", "init", "arrive", "part")
"""Kinds of statement that a fence or a synchronisation may be there for."""

OBJECTS = ("pool", "tile_scheduler")
"""What is neither barrier nor buffer, and has statements that belong together all the same."""

LONG = 8
"""A block of more lines than this is not pointed at by one of its lines."""


@dataclass(frozen=True)
class Concerned:
    """Lines of a mutant's text. own: of the changed statement. partners: of the others at its barriers and buffers."""

    own: frozenset[int]
    partners: frozenset[int]


@dataclass(frozen=True, eq=False)
class Relations:
    """Which statements of a kernel have to do with one another, by the barriers and buffers they name."""

    source: KernelSource

    @cached_property
    def barriers(self) -> frozenset[str]:
        return frozenset(barriers(self.source))

    @cached_property
    def buffers(self) -> frozenset[str]:
        """Barriers, buffers, and the kernel's arguments."""
        source = self.source
        made = [a for a in source.find(ast.Assign) if isinstance(a.value, ast.Call)]
        names = {a.targets[0].id for a in made if isinstance(a.targets[0], ast.Name) and dotted(a.value) in BUFFERS}
        return frozenset({*names, *(arg.arg for arg in source.kernel.args.args)}) | self.barriers

    @cached_property
    def aliases(self) -> Mapping[str, frozenset[str]]:
        """For each name that stands for an expression, the names in that expression."""
        found: dict[str, frozenset[str]] = {}
        for assign in self.source.find(ast.Assign):
            value, target = assign.value, assign.targets[0]
            if isinstance(value, ast.Call) and isinstance(target, ast.Name):
                name = dotted(value)
                if name in ALIASES or name.endswith((".view", ".remote_view")):
                    found[target.id] = frozenset(_names(value)) - {target.id}
        return found

    @cached_property
    def counters(self) -> Mapping[str, frozenset[str]]:
        """For each pipeline state, stage or phase variable, the barriers that are used with it."""
        found: dict[str, set[str]] = {}
        for call in self.source.find(ast.Call):
            named = set(_names(call))
            at = self._expanded(named) & self.barriers
            if at and isinstance(call.func, ast.Attribute) and dotted(call).rpartition(".")[0] not in BARRIERS:
                for name in named - self.buffers:
                    found.setdefault(name, set()).update(at)
        return {name: frozenset(at) for name, at in found.items() if "phase" in name or name == "stage"}

    def _expanded(self, names: set[str]) -> set[str]:
        """The names with what they stand for."""
        todo, done = list(names), set(names)
        while todo:
            for name in self.aliases.get(todo.pop(), ()):
                if name not in done:
                    done.add(name)
                    todo.append(name)
        return done

    @cached_property
    def _of(self) -> dict[ast.AST, frozenset[str]]:
        return {}

    def of(self, node: ast.AST) -> frozenset[str]:
        """The barriers and buffers that a part of the kernel is about; what its inline functions do included."""
        if node not in self._of:
            self._of[node] = self._find(node)
        return self._of[node]

    def _find(self, node: ast.AST) -> frozenset[str]:
        names = self._expanded(set(_names(node)))
        for name, function in self.source.inline_functions.items():
            if name in names and node is not function:
                names |= self.of(function)
        for name in set(names):
            names |= self.counters.get(name, frozenset())
        return frozenset(names) & self.buffers

    # -- what a mutation concerns ------------------------------------------------------------------------------

    def concerned(self, mutation: Mutation) -> Concerned:
        """The lines that a finding about a mutation may point at."""
        statement = mutation.place
        names = frozenset().union(*(self._ordered(s) for s in (statement, *mutation.also)))
        statements = [p.statement for p in self.source.places]
        partners = [s for s in statements if _simple(s) and self.of(s) & names]
        owner = dotted(statement.value).rpartition(".")[0] if isinstance(statement, ast.Expr) else ""
        if owner in OBJECTS:
            partners += [p for p in self._headers() if owner in _names(p)]
        if isinstance(statement, ast.Assign):
            defined = {t.id for t in statement.targets if isinstance(t, ast.Name)}
            partners += [s for s in statements if _simple(s) and self._expanded(set(_names(s))) & defined]
        moved = _Lines(self.source, mutation)
        own = moved.lines(statement) if len(_span(statement)) <= LONG else {moved.line(statement.lineno)}
        return Concerned(frozenset(own), frozenset().union(*(moved.lines(s) for s in partners)))

    def _ordered(self, statement: ast.stmt) -> frozenset[str]:
        """What a statement is about; for one that names nothing, what it keeps in order."""
        names = self.of(statement)
        if kind_of(self.source, statement) in ("fence", "sync", "wait", "commit") and not names:
            return frozenset().union(*(self.of(s) for s in self._around(statement)))
        return names

    def _headers(self) -> Iterator[ast.stmt | ast.expr]:
        """Simple statements, and the conditions of others."""
        for place in self.source.places:
            statement = place.statement
            if _simple(statement):
                yield statement
            elif isinstance(statement, (ast.If, ast.While)):
                yield statement.test

    @cached_property
    def _order(self) -> list[ast.stmt]:
        """The statements of the kernel as it runs them."""
        return list(self._in_order(self.source.kernel.body))

    def _around(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that touch memory next to one that does not, before and after, as the kernel runs."""
        order = self._order
        for position, one in enumerate(order):
            if one is statement:
                before = [s for s in reversed(order[:position]) if kind_of(self.source, s) in TOUCHING]
                after = [s for s in order[position + 1 :] if kind_of(self.source, s) in TOUCHING]
                yield from (*before[:2], *after[:2])

    def _in_order(self, block: list[ast.stmt]) -> Iterator[ast.stmt]:
        functions = self.source.inline_functions
        for statement in block:
            if isinstance(statement, ast.FunctionDef):
                continue
            yield statement
            if isinstance(statement, ast.Expr) and dotted(statement.value) in functions:
                yield from self._in_order(functions[dotted(statement.value)].body)
            for name in ("body", "orelse"):
                yield from self._in_order(getattr(statement, name, []))


class _Lines:
    """Where lines of the original text are in a mutant's."""

    def __init__(self, source: KernelSource, mutation: Mutation) -> None:
        self.shifts: list[tuple[int, int]] = []
        data = source.text.encode()
        for edit in mutation.edits:
            line = data[: edit.stop].count(b"\n") + 1
            grown = edit.new.count("\n") - data[edit.start : edit.stop].count(b"\n")
            self.shifts.append((line, grown))

    def line(self, number: int) -> int:
        return number + sum(grown for line, grown in self.shifts if line < number)

    def lines(self, node: ast.stmt | ast.expr) -> set[int]:
        # Where a text grew on the line itself, the statement may be on either side of what was inserted.
        grown = max((g for line, g in self.shifts if line in _span(node)), default=0)
        first, last = self.line(node.lineno), self.line(node.end_lineno or node.lineno)
        return set(range(first, last + 1 + max(0, grown)))


def _simple(statement: ast.stmt) -> bool:
    return not hasattr(statement, "body")


def _span(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
