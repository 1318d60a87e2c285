"""Instructions by PTX opcode: ``mbarrier.init.shared::cta.b64``, as newer TIRx kernels spell them.

Nothing is listed here: the opcode, its modifiers and the order of the operands follow from the PTX of each entry. A
opcode part that names a modifier's value sets the modifier; parts that PTX allows to omit
(`Facts.implied`) are optional. In a name of Python, ``::`` is two underscores, and a keyword has one behind it
(``fence.proxy.async_.shared__cta``).
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tirx_mini.ir import AddressOf, Buffer, TirxError, int_value
from tirx_mini.narrowing import is_listed
from tirx_mini.records import dataclass

from .core import Instruction
from .operands import Attribute
from .table import TABLE

_SPACES = {f"{kind}_space": ("cta", "cluster") for kind in ("bar", "dst", "src", "addr")}
_OPERAND = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}|(?<![\w:])(0x[0-9a-fA-F]+|\d+)\b|\b([a-z]\w*)\b")


_NARROW = re.compile(r"\s*cvt\.u(?:8|16)\.u32 (\w+), (\{\w+\});")
_WIDE = re.compile(r"\s*cvt\.u32\.u8 (\{\w+\}), (\w+);")
"""Moves between operands and narrower registers, which are not part of an instruction."""


class _Number(str):
    """A placeholder for any number in the PTX of an entry, or for a mask of several CTAs."""

    def bit_count(self) -> int:
        return 2


@dataclass(frozen=True)
class Part:
    """A part of an opcode. values: what it can be, with the modifiers that it then gives; absent: those without it, or
    None if it must be there. number: the modifier whose number is in it, with what is around."""

    values: Mapping[str, Mapping[str, object]]
    absent: Mapping[str, object] | None = None
    number: tuple[str, str, str] | None = None

    def given(self, word: str) -> Mapping[str, object] | None:
        """Return the modifiers that `word` sets in this position, or None if it is not allowed here."""
        if self.number is not None:
            name, before, after = self.number
            inner = word[len(before) : len(word) - len(after)]
            fits = word.startswith(before) and word.endswith(after) and inner.isdigit()
            return {name: int(inner)} if fits else None
        if word == "shared" and word not in self.values:
            word = "shared::cta"
        return self.values.get(word)


@dataclass(frozen=True)
class Form:
    """One form of an instruction. attrs: modifiers that all of its opcodes give.

    places: its operands in the order of PTX: the name of an operand or a modifier, or a number that stands there.
    """

    entry: Instruction
    parts: tuple[Part, ...]
    attrs: Mapping[str, object]
    places: tuple[str | int, ...]

    def read(self, words: Sequence[str]) -> Iterator[tuple[Mapping[str, object], tuple[Part, ...]]]:
        """Yield the ways to read the words as an opcode prefix: (modifiers, remaining parts)."""
        yield from self._read(tuple(words), self.parts, dict(self.attrs))

    def _read(
        self, words: tuple[str, ...], parts: tuple[Part, ...], attrs: Mapping[str, object]
    ) -> Iterator[tuple[Mapping[str, object], tuple[Part, ...]]]:
        if not words:
            yield attrs, parts
            return
        if parts:
            let_out: Mapping[str, object] | None = {} if self._implied(parts[0]) else parts[0].absent
            for given, left in ((parts[0].given(words[0]), words[1:]), (let_out, words)):
                if given is not None and all(attrs.get(name, value) == value for name, value in given.items()):
                    yield from self._read(left, parts[1:], {**attrs, **given})
        if words[0] in self.entry.implied:
            yield from self._read(words[1:], parts, attrs)

    def _implied(self, part: Part) -> bool:
        """Return whether PTX allows the part to be omitted."""
        return bool(part.values) and set(part.values) <= set(self.entry.implied)

    def ends(self, rest: Sequence[Part]) -> bool:
        """Return whether an opcode may end with these parts remaining."""
        return all(part.absent is not None or self._implied(part) for part in rest)


@dataclass(frozen=True)
class Reading:
    """An instruction that an opcode names, with its modifiers and operand positions."""

    entry: Instruction
    attrs: Mapping[str, object]
    places: tuple[str | int, ...]

    def arguments(self, args: Sequence[object]) -> tuple[tuple[object, ...], dict[str, object], tuple[object, ...]]:
        """Return (operands, modifiers, destination) of a call with arguments in PTX order.

        The destination, an argument before the others, is optional; so are the numbers at fixed positions in PTX.
        Raises `TirxError` if the arguments do not fit.
        """
        places = [place for place in self.places if place != "result"]
        named = [place for place in places if isinstance(place, str)]
        flat = list(args)
        destination: tuple[object, ...] = ()
        variadic = {operand.name for operand in self.entry.operands if operand.variadic}
        many = next((place for place in named if place in variadic), None)
        if many is not None and self.entry.result is not None and flat and _in_registers(flat[0]):
            destination, flat = (flat[0],), flat[1:]
        if many is not None and not any(isinstance(arg, (list, tuple)) for arg in flat):
            extra = len(flat) - len(named) + 1
            at = named.index(many)
            flat[at : at + extra] = [tuple(flat[at : at + extra])]
        flat = self._gathered(flat, named)
        more = len(flat) in (len(named) + 1, len(places) + 1) and len(flat) != len(places)
        if self.entry.result is not None and more and not destination:
            destination, flat = (flat[0],), flat[1:]
        if len(flat) == len(places):
            for place, arg in zip(places, flat, strict=True):
                if isinstance(place, int) and _number(arg) != place:
                    raise TirxError(f"{self.entry.name} has {place:#x} here, but {arg!r} is given")
            flat = [arg for place, arg in zip(places, flat, strict=True) if isinstance(place, str)]
        if len(flat) != len(named):
            raise TirxError(f"{self.entry.name} takes {', '.join(named) or 'no operands'}, but {len(flat)} are given")
        given = dict(zip(named, flat, strict=True))
        operands: list[object] = []
        for operand in self.entry.operands:
            value = given.pop(operand.name)
            operands.extend(value if operand.variadic and is_listed(value) else [value])
        return tuple(operands), {**self.attrs, **given}, destination


    def _gathered(self, flat: list[object], named: Sequence[str]) -> list[object]:
        """Gather the separately given registers of each operand into a tuple."""
        counts = self.entry.register_counts(self.attrs)
        many = [counts.get(place, 1) for place in named]
        if len(flat) == len(named) or len(flat) != sum(many):
            return flat
        ends = list(itertools.accumulate(many))
        groups = [tuple(flat[end - count : end]) for end, count in zip(ends, many, strict=True)]
        return [group[0] if len(group) == 1 else group for group in groups]


def _in_registers(arg: object) -> bool:
    """Return whether an argument is a register location."""
    pointer = arg.data if isinstance(arg, Buffer) else arg
    return isinstance(pointer, AddressOf) and pointer.buffer.scope == "local"


_SYNONYMS = (
    (re.compile(r"bar\.cta(?=\.)"), "bar"),
    (re.compile(r"barrier\.cta(?=\.)"), "barrier"),
    (re.compile(r"barrier\.(?=(?:sync|arrive|red)\b.*\.aligned)"), "bar."),
    (re.compile(r"(?<=^bar)\.(sync|arrive|red)(.*)\.aligned"), r".\1\2"),
)
"""The opcodes that PTX defines as synonyms (PTX ISA: "bar, barrier"): a prefix pattern and its replacement."""


def _plain(opcode: str) -> str:
    for pattern, meant in _SYNONYMS:
        opcode = pattern.sub(meant, opcode, count=1)
    return opcode


def readings(opcode: str) -> list[Reading]:
    """Return the instructions that match a complete opcode."""
    opcode = _plain(opcode)
    found: dict[tuple[str, tuple[str | int, ...]], Reading] = {}
    words = opcode.split(".")
    for form in _forms(words[0]):
        for attrs, rest in form.read(words):
            left = {name: value for part in rest for name, value in (part.absent or {}).items()}
            if form.ends(rest) and all(attrs.get(name, value) == value for name, value in left.items()):
                found.setdefault((form.entry.name, form.places), Reading(form.entry, {**attrs, **left}, form.places))
    return list(found.values())


def continuations(opcode: str) -> list[str]:
    """Return the words that may follow an opcode prefix, or an empty list if no opcode has this prefix."""
    words = _plain(opcode).split(".")
    found: dict[str, None] = {}
    for form in _forms(words[0]):
        for _, rest in form.read(words):
            found.setdefault("")
            for part in rest:
                found.update(dict.fromkeys(part.values))
                if part.number is not None:
                    found.setdefault(part.number[1] + "N" + part.number[2])
                if part.absent is None:
                    break
    return list(found)


def opcode_of(name: str) -> str:
    """Return the opcode part spelled by a Python name."""
    word = name.replace("__", "::")
    if word.startswith("_") and word[1:2].isdigit():
        word = word[1:]
    return word.removesuffix("_")


def _number(arg: object) -> int | None:
    return arg if isinstance(arg, int) else int_value(arg)


@lru_cache(maxsize=256)
def _forms(first: str) -> tuple[Form, ...]:
    """Return the forms of instructions whose opcode begins with this word."""
    return tuple(form for form in _all_forms() if form.parts[0].given(first) is not None)


@lru_cache(maxsize=1)
def _all_forms() -> tuple[Form, ...]:
    return tuple(form for entry in TABLE.values() if entry.ptx for form in _forms_of(entry))


def _forms_of(entry: Instruction) -> Iterator[Form]:
    """Yield the forms of an entry, one for each possible PTX text; instruction sequences have none."""
    attributes = {attribute.name: attribute for attribute in entry.attributes}
    if isinstance(entry.ptx, str):
        texts = iter([(entry.ptx, dict[str, object]())])
    else:
        texts = _texts(entry, attributes)
    for text, attrs in texts:
        registers: dict[str, str] = {}
        lines: list[str] = []
        for line in text.splitlines():
            declared = re.fullmatch(r"\s*mov\.\w+ (\w+), (\S+);", line) or _NARROW.fullmatch(line)
            widened = _WIDE.fullmatch(line)
            if declared:
                registers[declared.group(1)] = declared.group(2)
            elif widened:
                registers[widened.group(2)] = widened.group(1)
            elif line.strip() not in ("{", "}") and not line.strip().startswith(".reg"):
                lines.append(line.strip())
        if len(lines) != 1 or lines[0].startswith("@"):
            continue
        opcode, _, operands = lines[0].removesuffix(";").partition(" ")
        for name, value in registers.items():
            operands = re.sub(rf"\b{name}\b", value, operands)
        yield Form(entry, tuple(_parts(opcode, attributes, entry.implied)), attrs, tuple(_places(operands)))


def _texts(entry: Instruction, attributes: Mapping[str, Attribute]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the PTX of an entry for all modifier values that its template distinguishes."""
    assert callable(entry.ptx)
    named = [name for name in inspect.signature(entry.ptx).parameters if name in attributes]
    every = {name: "{" + name + "}" for name in attributes}
    for values in itertools.product(*(_values(attributes[name]) for name in named)):
        given = dict(zip(named, values, strict=True))
        fixed = {name: value for name, value in given.items() if not isinstance(value, _Number)}
        yield entry.ptx(**{**every, **given}), fixed


def _values(attribute: Attribute) -> Sequence[object]:
    if attribute.choices is not None:
        return attribute.choices
    if isinstance(attribute.default, bool):
        return (False, True)
    if attribute.default is None or attribute.default == 0:
        return (attribute.default, _Number("{" + attribute.name + "}"))
    return (_Number("{" + attribute.name + "}"),)


def _parts(opcode: str, attributes: Mapping[str, Attribute], implied: Sequence[str]) -> Iterator[Part]:
    for word in re.sub(r"\{\.(\w+)\}", r".<\1>", opcode).split("."):
        if word.startswith("<"):
            name = word[1:-1]
            values = _values(attributes[name])
            tokens = {str(name if v is True else v): {name: v} for v in values if v not in ("", False)}
            default = attributes[name].default
            let_out = [default] if default in implied else [v for v in values if v in ("", False)]
            yield Part(tokens, {name: let_out[0]} if let_out else None)
            continue
        inside = re.fullmatch(r"(.*)\{(\w+)\}(.*)", word)
        if inside is None:
            yield Part({word: {}})
            continue
        before, name, after = inside.groups()
        if name in attributes and attributes[name].choices is None:
            yield Part({}, number=(name, before, after))
        else:
            choices = attributes[name].choices if name in attributes else _SPACES[name]
            assert choices is not None
            yield Part({f"{before}{v}{after}": {name: v} if name in attributes else {} for v in choices})


def _places(operands: str) -> Iterator[str | int]:
    for several, one, number, word in _OPERAND.findall(operands):
        if number:
            yield int(number, 0)
        elif several or one:
            yield several or one
        elif word:
            continue
