"""One form of an instruction, as text with places for its operands, and grammars that expand to many forms."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

_CHOICE = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Bound:
    """The documented error of an approximation. value: the exact function of float64 numbers.

    relative, absolute: the bounds (PTX ISA), of which one must hold; both are 0 where the ISA gives none. ulps: of the
    result, instead. ftz: whether subnormal numbers are zero. inside: the operands for which the bound is stated.
    """

    value: Callable[..., Any]
    relative: float = 0.0
    absolute: float = 0.0
    ulps: float = 0.0
    ftz: bool = False
    inside: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Form:
    """A form of an instruction.

    name: its opcode, or what tells it from others of the opcode. text: the statements, with {d}, {e}, {f} and {g} for
    results, {a}, {b}, {c} and {o} for operands, {G}, {S} and {L} for addresses of 64 bytes of the thread in global,
    shared and local memory, and {m} for the mask of the lanes that execute it. operands, results: their kinds.

    bound: None where every bit is defined. warp: "" for an instruction of each thread, "mask" for one of the lanes of a
    mask, "all" for one of a whole warp, "cta" for one of all threads. usable: whether random programs have it: its
    result has no bits that depend on the payload of a NaN, and its rounding is stated.
    """

    name: str
    text: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    bound: Bound | None = None
    warp: str = ""
    usable: bool = True

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]


def expanded(grammar: str) -> Iterator[str]:
    """Opcodes of a grammar: each `[…]` is one of the alternatives between bars."""
    parts = _CHOICE.split(grammar)
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    for chosen in itertools.product(*choices):
        yield "".join(chosen)


_NAMES, _RESULTS = "abco", "defg"


def forms(grammar: str, operands: str, result: str, **options: Any) -> Iterator[Form]:
    """Forms of one instruction. operands: kinds; `$` is the last word of the opcode."""
    for opcode in expanded(grammar):
        kind = opcode.rpartition(".")[2]
        kinds = tuple(each.replace("$", kind) for each in operands.split())
        places = ", ".join(f"{{{name}}}" for name in _NAMES[: len(kinds)])
        yield Form(opcode, f"{opcode} {{d}}, {places};", kinds, (result.replace("$", kind),), **options)


def written(name: str, text: str, operands: str, results: str, **options: Any) -> Form:
    """A form of any text."""
    return Form(name, text, tuple(operands.split()), tuple(results.split()), **options)


def unusable(of: Iterable[Form], *, unless: Callable[[Form], bool] = lambda form: False) -> list[Form]:
    """The forms, for the table alone."""
    return [each if unless(each) else replace(each, usable=False) for each in of]


def distinct(of: Sequence[Form]) -> tuple[Form, ...]:
    """The forms, each name once."""
    found = {form.name: form for form in of}
    return tuple(found.values())
