"""Tracing of run-time branches, and merging of their variables."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.records import dataclass

from ..cuda_tile import TOKEN
from ..ssa import Builder, Region, Value
from .arguments import common_dtype, materialize
from .carrying import Carrying, LoopContext
from .loop_forms import RETURNED
from .ordering import Tokens
from .tracer import FALL, Exit, How
from .values import (
    MISSING,
    Strict,
    TileValue,
    Undefined,
    is_constant,
    is_record,
    plain,
    record_fields,
    same_constant,
    with_fields,
)


@dataclass(eq=False)
class Path:
    """One arm of a branch: its emitted code and exit, with the variables and tokens at its end."""

    block: Builder
    end: Exit
    names: dict[str, Any]
    tokens: dict[int, Tokens]
    where: str


class Branches(Carrying):
    """Traces `if`, `x if c else y` and short-circuit operators."""

    def branch(
        self,
        node: ast.If,
        condition: TileValue,
        then: Sequence[ast.stmt],
        otherwise: Sequence[ast.stmt],
        consumed: bool,
    ) -> Exit | None:
        """Trace an `if`. consumed: whether its arms include the rest of the block, since one of them may leave it."""
        frame = self.frame
        names, tokens = frame.names, self.order.state
        arms = [
            self._arm(arm, names, tokens, consumed, f"where the condition of the `if` {holds}")
            for arm, holds in ((then, "holds"), (otherwise, "does not hold"))
        ]
        frame.names, self.order.state = dict(names), dict(tokens)
        hows = {arm.end.how for arm in arms}
        if consumed and hows == {How.BREAK, How.CONTINUE}:
            return self._leave(condition, arms, names, tokens)
        if not consumed:
            wanted = frame.live.after.get(node, frozenset())
            self._merge(condition, arms, names, tokens, wanted)
            return None
        (how,) = hows
        if how is How.RETURN:
            return Exit(how, self._merge(condition, arms, names, tokens, frozenset(), returned=True))
        self._merge(condition, arms, names, tokens, frozenset(frame.loops[-1].names))
        return Exit(how)

    def _arm(
        self,
        statements: Sequence[ast.stmt],
        names: dict[str, Any],
        tokens: dict[int, Tokens],
        consumed: bool,
        where: str,
    ) -> Path:
        self.frame.names, self.order.state = dict(names), dict(tokens)
        with self.emit.region() as block:
            end = self.block(statements)
        if consumed and end is FALL:
            end = Exit(How.CONTINUE if self.frame.loops else How.RETURN)
        return Path(block, end, self.frame.names, self.order.state, where)

    def _merge(
        self, condition: TileValue, arms: Sequence[Path], names: Mapping[str, object], tokens: Mapping[int, Tokens],
        wanted: frozenset[str], returned: bool = False,
    ) -> object:  # fmt: skip
        """Terminate both arms, and continue with the merged variables.

        wanted: the variables that are read later. returned: whether the arms' return values are merged and returned.
        """
        merged: dict[str, object] = {}
        yields: list[list[Value]] = [[], []]
        templates: list[tuple[str, Any]] = []
        result = RETURNED
        pairs = {
            n: tuple(a.names.get(n, MISSING) for a in arms) for n in dict.fromkeys((*arms[0].names, *arms[1].names))
        }
        if returned:
            pairs = {result: (arms[0].end.value, arms[1].end.value)}
        for name, (a, b) in pairs.items():
            if a is b:
                merged[name] = a
            elif not returned and name not in wanted:
                merged[name] = Undefined(None, "here")
            elif any(v is MISSING or isinstance(v, Undefined) for v in (a, b)):
                merged[name] = _undefined(arms, a, b)
            else:
                merged[name] = template = self._unify(name, a, b, arms, yields)
                templates.append((name, template))
        roots = self.order.changed(tokens, *(arm.tokens for arm in arms))
        for arm, values in zip(arms, yields, strict=True):
            self._end(arm, "yield", values, roots)
        made = self._if_operation(condition, arms, [v.type for v in yields[0]] + [TOKEN] * (2 * len(roots)))
        tiles = list(made[: len(yields[0])])
        for name, template in templates:
            merged[name] = self._rebuilt(template, tiles)
        self.order.state = dict(tokens)
        self.order.put(roots, list(made[len(yields[0]) :]))
        if returned:
            return merged[result]
        self.frame.names = {n: v for n, v in merged.items() if v is not MISSING}
        return None

    def _unify(self, name: str, a: object, b: object, arms: Sequence[Path], yields: list[list[Value]]) -> Any:
        """Merge the values of a variable after a branch into a template, and append each arm's value to `yields`."""
        if same_constant(a, b):
            return b if isinstance(b, Strict) else a
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            items = tuple(self._unify(name, x, y, arms, yields) for x, y in zip(a, b, strict=True))
            return type(a)(*items) if hasattr(a, "_fields") else items
        if is_record(a) and type(a) is type(b):
            fields = zip(record_fields(a), record_fields(b), strict=True)
            return with_fields(a, tuple(self._unify(name, x, y, arms, yields) for x, y in fields))
        template = self.one_of_arrays([a], [b]) or self._template(a, b)
        for arm, value, into in zip(arms, (a, b), yields, strict=True):
            with self.emit.into(arm.block):
                tiles = self._conform(template, value, name, arms[0].where, arms[1].where)
            into += [t.value for t in tiles]
        return template

    def _template(self, a: object, b: object) -> object:
        """Return a template of a variable's type after a branch; a tile's type takes precedence over a constant's."""
        tile = next((v for v in (a, b) if isinstance(v, TileValue)), None)
        if tile is not None:
            return tile
        if is_constant(a) and is_constant(b):
            return materialize(self, plain(a), common_dtype(a, b))
        return a

    def _end(self, arm: Path, how: str, values: list[Value], roots: list[int]) -> None:
        """Append an arm's terminator."""
        with self.emit.into(arm.block):
            self.order.state = arm.tokens
            self.emit.emit(how, [*values, *self.order.start(roots)])

    def _if_operation(self, condition: TileValue, arms: Sequence[Path], types: Sequence[Any]) -> Sequence[Value]:
        regions = [Region((), tuple(arm.block.ops)) for arm in arms]
        made = self.emit.emit("if", condition.value, types=types, regions=regions)
        return made if isinstance(made, tuple) else (made,)

    def _leave(
        self, condition: TileValue, arms: Sequence[Path], names: Mapping[str, object], tokens: Mapping[int, Tokens]
    ) -> Exit:
        """Trace an `if` with one arm that leaves the loop; the iteration continues with the other arm."""
        context: LoopContext = self.frame.loops[-1]
        stays = next(arm for arm in arms if arm.end.how is How.CONTINUE)
        leaves_ = next(arm for arm in arms if arm.end.how is How.BREAK)
        with self.emit.into(leaves_.block):
            self.frame.names, self.order.state = leaves_.names, leaves_.tokens
            self.emit.emit("break", self._carried(context, leaves=True))
        yields: list[Value] = []
        kept: dict[str, Any] = {}
        templates: list[tuple[str, Any]] = []
        for name in context.names:
            value = stays.names.get(name, MISSING)
            if value is names.get(name, MISSING) or value is MISSING or isinstance(value, Undefined):
                kept[name] = value
                continue
            with self.emit.into(stays.block):
                value = self._dynamic(value)
            templates.append((name, value))
            yields += [t.value for t in self._tiles(value)]
        roots = self.order.changed(tokens, stays.tokens)
        self._end(stays, "yield", yields, roots)
        made = self._if_operation(condition, arms, [v.type for v in yields] + [TOKEN] * (2 * len(roots)))
        tiles = list(made[: len(yields)])
        self.frame.names = {**names, **{n: v for n, v in kept.items() if v is not MISSING}}
        for name, template in templates:
            self.frame.names[name] = self._rebuilt(template, tiles)
        self.order.state = dict(tokens)
        self.order.put(roots, list(made[len(yields) :]))
        return Exit(How.CONTINUE)

    def choose(self, node: ast.IfExp | ast.BoolOp, condition: TileValue, then: object, otherwise: object) -> Any:
        """Trace ``x if condition else y``, whose arms are syntax trees or values."""
        names, tokens = self.frame.names, self.order.state
        arms = []
        for arm, where in ((then, "where the condition holds"), (otherwise, "where the condition does not hold")):
            self.frame.names, self.order.state = dict(names), dict(tokens)
            with self.emit.region() as block:
                value = self.evaluate(arm) if isinstance(arm, ast.expr) else arm
                if isinstance(node, ast.BoolOp):
                    value = self.condition(value, "an operand of `and` and `or`")
            arms.append(Path(block, Exit(How.RETURN, value), self.frame.names, self.order.state, where))
        self.frame.names, self.order.state = names, dict(tokens)
        a, b = (arm.end.value for arm in arms)
        if all(isinstance(v, TileValue) or is_constant(v) for v in (a, b)) and not any(arm.block.ops for arm in arms):
            template = self._template(a, b)
            x, y = (self._conform(template, v, "this expression", *(arm.where for arm in arms))[0] for v in (a, b))
            if x.shape == ():
                return self.emit.tile("select", x.dtype, (), condition, x, y)
        return self._merge(condition, arms, names, tokens, frozenset(), returned=True)


def _undefined(arms: Sequence[Path], a: object, b: object) -> Undefined:
    """Return the value of a variable that only one arm assigns."""
    for arm, value in zip(arms, (a, b), strict=True):
        if value is MISSING:
            return Undefined(None, arm.where)
        if isinstance(value, Undefined):
            return value
    raise AssertionError("both arms assign it")
