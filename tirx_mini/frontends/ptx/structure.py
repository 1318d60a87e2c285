"""Conversion of a control-flow tree (`tree.py`) to `If`, `Loop`, `Break`, `Continue` and, where required, flags.

An exit to a place where control goes anyway costs nothing. One out of the middle of nested statements moves what
follows it into the other arm, breaks or continues the innermost loop, or sets a flag that guards what follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from tirx_mini.records import dataclass, replace

from .blocks import Block
from .loops import direct, reducible, with_locks
from .syntax import Break, Continue, Exit, Flag, If, Instruction, Loop, Node, SetFlag, Switch, Test
from .tree import Again, Before, Cases, Choice, Part, Repeat, Stop, To, tree

DEEPEST = 12
"""So many statements nest before flags are taken instead of further arms: Python's own nesting is limited."""

Place: TypeAlias = tuple[str, int]
"""("to", n) is behind `Before` n, ("again", n) the start of `Repeat` n, `END` the end of the kernel."""
END: Place = ("end", 0)


def structured(found: Mapping[int, Block]) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Convert basic blocks to structured statements, and return them with the names of their flags."""
    structuring = _Structuring()
    blocks, held = with_locks(reducible(direct(found)))
    nodes, _ = structuring.sequence(tree(blocks, held), frozenset({END}), None, 0)
    return nodes, tuple(structuring.flags.values())


@dataclass
class _Around:
    """The innermost enclosing loop. broken: the targets of `Break`; beyond: targets outside the loop reached by flags.
    """

    again: Place
    broken: frozenset[Place]
    inside: set[Place] = field(default_factory=set)
    beyond: dict[Place, None] = field(default_factory=dict)


class _Guarded:
    """A statement list whose later groups are guarded by flags that earlier ones may set."""

    def __init__(self) -> None:
        self.groups: list[tuple[tuple[str, ...], list[Node]]] = [((), [])]
        self.pending: dict[Place, str] = {}

    def add(self, *nodes: Node) -> None:
        self.groups[-1][1].extend(nodes)

    def escape(self, flags: Mapping[Place, str]) -> None:
        """Guard all later statements by the given flags, also those that an earlier group may have set."""
        if flags:
            self.pending.update(flags)
            self.groups.append((tuple(self.pending.values()), []))

    def nodes(self) -> tuple[Node, ...]:
        found: list[Node] = []
        for flags, nodes in self.groups:
            inner = tuple(nodes)
            for flag in reversed(flags if inner else ()):
                inner = (If(Flag(flag, negated=True), inner),)
            found.extend(inner)
        return tuple(found)


class _Structuring:
    """Builds structured statements. flags: the flag of each target that needs one."""

    def __init__(self) -> None:
        self.flags: dict[Place, str] = {}

    def sequence(
        self, parts: Sequence[Part], fall: frozenset[Place], around: _Around | None, depth: int
    ) -> tuple[tuple[Node, ...], Mapping[Place, str]]:
        """Convert a sequence of parts to statements, and return the flags that they may set.

        fall: the places that control reaches behind the last part.
        """
        out = _Guarded()
        for i, part in enumerate(parts):
            if isinstance(part, Instruction):
                out.add(part)
                continue
            rest = parts[i + 1 :]
            if isinstance(part, (To, Again, Stop)):
                nodes, flags = self._exit(part, fall, around)
                out.add(*nodes)
                out.escape(flags)
                break
            if isinstance(part, Choice) and rest and depth < DEEPEST and not _free(part, around):
                then = part.then if _stops(part.then) else (*part.then, *rest)
                orelse = part.orelse if _stops(part.orelse) else (*part.orelse, *rest)
                if _stops(part.then) != _stops(part.orelse):
                    part, rest = replace(part, then=then, orelse=orelse), ()
            last = not rest
            if isinstance(part, Before) and rest:
                first, places = _alternatives(part, rest)
                if len(places) > 1:
                    self._choice(first, places, fall, around, depth, out)
                    break
            nodes, flags = self._part(part, fall if last else frozenset(), around, depth)
            out.add(*nodes)
            out.escape(flags)
            if last:
                break
        return out.nodes(), out.pending

    def _part(
        self, part: Choice | Cases | Before | Repeat, fall: frozenset[Place], around: _Around | None, depth: int
    ) -> tuple[Sequence[Node], Mapping[Place, str]]:
        """Convert one part that contains others."""
        if isinstance(part, Choice):
            then, first = self.sequence(part.then, fall, around, depth + 1)
            orelse, second = self.sequence(part.orelse, fall, around, depth + 1)
            return _if(part, then, orelse), {**first, **second}
        if isinstance(part, Cases):
            arms = [self.sequence(case, fall, around, depth + 1) for case in part.cases]
            flags = {place: flag for _, found in arms for place, flag in found.items()}
            return (Switch(part.index, tuple(nodes for nodes, _ in arms), part.line, part.span),), flags
        if isinstance(part, Before):
            return self._before(part, fall, around, depth)
        return self._loop(part, fall, around, depth)

    def _choice(
        self,
        first: Before,
        places: Sequence[tuple[int, Sequence[Part]]],
        fall: frozenset[Place],
        around: _Around | None,
        depth: int,
        out: _Guarded,
    ) -> None:
        """Convert nested exits to a multi-exit statement and the code of the exit taken (`_alternatives`)."""
        own = [("to", place) for place, _ in places[:-1]]
        if around is not None:
            around.inside.update(own)
        nodes, flags = self._before(first, frozenset(), around, depth)
        taken = [(flags.get(place), code) for place, (_, code) in zip(own, places, strict=False)]
        if around is not None:
            out.add(*(SetFlag(flag, False) for flag, _ in taken if flag))
        out.add(*nodes)
        out.escape({place: flag for place, flag in flags.items() if place not in own})
        chosen, escaped = self.sequence(places[-1][1], fall, around, depth + 1)
        for flag, code in reversed(taken):
            if flag is not None:
                arm, more = self.sequence(code, fall, around, depth + 1)
                chosen = (If(Flag(flag), arm, chosen),)
                escaped = {**escaped, **more}
        out.add(*chosen)
        out.escape(escaped)

    def _before(
        self, part: Before, fall: frozenset[Place], around: _Around | None, depth: int
    ) -> tuple[Sequence[Node], Mapping[Place, str]]:
        place: Place = ("to", part.place)
        if around is not None:
            around.inside.add(place)
        nodes, flags = self.sequence(part.body, fall | {place}, around, depth)
        if place in flags and around is not None:  # it may be set from the last time around
            nodes = (SetFlag(flags[place], False), *nodes)
        return nodes, {other: flag for other, flag in flags.items() if other != place}

    def _loop(
        self, part: Repeat, fall: frozenset[Place], around: _Around | None, depth: int
    ) -> tuple[Sequence[Node], Mapping[Place, str]]:
        """Convert a loop, followed by the exits whose targets lie beyond its `Break`."""
        again: Place = ("again", part.place)
        inner = _Around(again, fall)
        body, _ = self.sequence(part.body, frozenset({again}), inner, depth + 1)
        found: list[Node] = [Loop(body, part.line, part.span)]
        flags: dict[Place, str] = {}
        for place in inner.beyond:
            flag = self.flags[place]
            if around is None or place in around.inside:
                flags[place] = flag
            elif place == around.again:
                found.append(If(Flag(flag), (SetFlag(flag, False), Continue())))
            elif place in around.broken:
                found.append(If(Flag(flag), (SetFlag(flag, False), Break())))
            else:
                around.beyond[place] = None
                found.append(If(Flag(flag), (Break(),)))
        return found, flags

    def _exit(
        self, part: To | Again | Stop, fall: frozenset[Place], around: _Around | None
    ) -> tuple[Sequence[Node], Mapping[Place, str]]:
        place = _place(part)
        if place in fall:
            return (), {}
        if around is not None and place == around.again:
            return (Continue(),), {}
        if around is not None and place in around.broken:
            return (Break(),), {}
        if isinstance(part, Stop):
            return (Exit(part.line, part.span),), {}
        flag = self.flags.setdefault(place, f"exit{len(self.flags)}")
        if around is None or place in around.inside:
            return (SetFlag(flag, True),), {place: flag}
        around.beyond[place] = None
        return (SetFlag(flag, True), Break()), {}


def _place(part: To | Again | Stop) -> Place:
    if isinstance(part, Stop):
        return END
    return ("to" if isinstance(part, To) else "again"), part.place


def _stops(parts: Sequence[Part]) -> bool:
    """Return whether control never falls through the parts."""
    if not parts:
        return False
    last = parts[-1]
    if isinstance(last, Choice):
        return _stops(last.then) and _stops(last.orelse)
    if isinstance(last, Cases):
        return all(map(_stops, last.cases))
    return isinstance(last, (To, Again, Stop, Before, Repeat))


def _free(part: Choice, around: _Around | None) -> bool:
    """Return whether every exit of a choice is a plain break or continue of the enclosing loop, without a flag."""
    if around is None:
        return False
    exits = [arm[-1] for arm in (part.then, part.orelse) if arm]
    return all(
        (isinstance(each, (To, Again)) and _place(each) not in around.inside)
        or (isinstance(each, Stop) and END in around.broken)
        for each in exits
    )


def _exits(parts: Sequence[Part]) -> set[int]:
    """Return the `Before` targets that control may reach from inside the parts."""
    found: set[int] = set()
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if isinstance(part, To):
            found.add(part.place)
        elif isinstance(part, Choice):
            waiting += (*part.then, *part.orelse)
        elif isinstance(part, Cases):
            waiting += (each for case in part.cases for each in case)
        elif isinstance(part, (Before, Repeat)):
            waiting += part.body
    return found


def _alternatives(part: Before, rest: Sequence[Part]) -> tuple[Before, list[tuple[int, Sequence[Part]]]]:
    """Collect a multi-exit statement and the code of each exit target, first target last.

    The code of no place goes to one of the others, so that a thread executes one of them. A single pair stands for
    code that has no such form.
    """
    found = [(part.place, rest)]
    while part.body and isinstance(part.body[0], Before) and _stops(part.body[1:]):
        code = part.body[1:]
        if _exits(code) & {place for place, _ in found}:
            break
        part = part.body[0]
        found.append((part.place, code))
    return part, found


def _if(part: Choice, then: tuple[Node, ...], orelse: tuple[Node, ...]) -> tuple[Node, ...]:
    """Build the statement of a choice: drop it without arms, and negate the test if only the second arm has code."""
    test: Test = part.test
    if not then and not orelse:
        return ()
    if not then:
        test, then, orelse = replace(test, negated=not test.negated), orelse, ()
    return (If(test, then, orelse, part.line, part.span),)
