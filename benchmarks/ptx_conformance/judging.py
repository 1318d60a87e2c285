"""Results of a chip and of the simulator, compared: exact forms in every bit, approximations with the exact value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .forms import Bound
from .kinds import FRACTION, HALVES, Words, decoded, plain, shown, unequal, width
from .program import Launch, Slot

ROUNDED = 1.001
"""A factor for the rounded exponents of documented errors: 2^-8 of tanh.approx.bf16 is 2^-7.9998 on a chip."""


@dataclass(frozen=True)
class Difference:
    """A result that differs. slot, thread: where. count: how many do. operands: of the instruction, in the table."""

    what: str
    slot: int
    thread: int
    count: int
    chip: str
    model: str
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Error:
    """The largest errors of an approximation, of the chip and of the simulator, in the unit of its bound.

    outside: results that lie beyond the bound, with the first of them. special: results that are NaN, infinite or zero
    on one side only.
    """

    form: str
    unit: str
    bound: float
    chip: float
    model: float
    outside: int = 0
    example: str = ""


def differences(launch: Launch, given: Words, chip: Sequence[Words], model: Sequence[Words]) -> list[Difference]:
    """The columns in which results differ, and elements of the shared sums."""
    found: list[Difference] = []
    columns = given.reshape(-1, launch.threads)
    ours, theirs = (words[0].reshape(-1, launch.threads) for words in (chip, model))
    for number, slot in enumerate(launch.slots):
        if slot.form is not None and slot.form.bound is not None:
            continue
        wrong = np.flatnonzero(unequal(slot.kind, ours[number], theirs[number]))
        if len(wrong):
            at = int(wrong[0])
            operands = tuple(shown(launch.kinds[each], columns[each, at]) for each in slot.columns)
            values = (shown(slot.kind, words[number, at]) for words in (ours, theirs))
            found.append(Difference(slot.what, number, at, len(wrong), *values, operands))
    wrong = np.flatnonzero(chip[1] != model[1])
    if len(wrong):
        at = int(wrong[0])
        found.append(Difference(
            "sums in global memory", -1, at, len(wrong), f"{chip[1][at]:#x}", f"{model[1][at]:#x}", ()
        ))  # fmt: skip
    return found


def errors(launch: Launch, given: Words, chip: Words, model: Words) -> list[Error]:
    """The errors of the approximations of a table's kernel."""
    found: dict[str, Error] = {}
    columns = given.reshape(-1, launch.threads)
    ours, theirs = (words.reshape(-1, launch.threads) for words in (chip, model))
    for number, slot in enumerate(launch.slots):
        if slot.form is None or slot.form.bound is None:
            continue
        operands = [columns[each] for each in slot.columns]
        for part in _parts(slot, operands, ours[number], theirs[number]):
            one = _error(slot.form.name, slot.form.bound, *part)
            found[one.form] = _worse(found.get(one.form), one)
    return list(found.values())


def _parts(slot: Slot, operands: Sequence[Words], chip: Words, model: Words) -> list[Any]:
    name = plain(slot.kind)
    if name not in HALVES:
        mask = np.uint64((1 << width(name)) - 1)
        return [(name, [each & mask for each in operands], chip & mask, model & mask)]
    half = np.uint64(0xFFFF)
    cut = [[words >> np.uint64(at) & half for words in (*operands, chip, model)] for at in (0, 16)]
    return [(HALVES[name], words[:-2], words[-2], words[-1]) for words in cut]


def _error(form: str, bound: Bound, name: str, operands: Sequence[Words], chip: Words, model: Words) -> Error:
    """The error of one column. Where the result is special on both sides, there is none."""
    values = [decoded(name, each) for each in operands]
    if bound.ftz:
        values = [_flushed(name, each) for each in values]
    with np.errstate(all="ignore"):
        exact = np.asarray(bound.value(*values), np.float64)
    if bound.ftz:
        exact = _flushed(name, exact)
    inside = np.ones(len(exact), np.bool_) if bound.inside is None else np.asarray(bound.inside(*values))
    unit = "ulp" if bound.ulps else "absolute" if bound.absolute and not bound.relative else "relative"
    sizes = [_size(name, bound, exact, decoded(name, words)) for words in (chip, model)]
    limit = bound.ulps or bound.relative or bound.absolute
    beyond = np.flatnonzero(inside & (sizes[0] > limit * ROUNDED)) if limit else np.zeros(0, np.int64)
    example = ""
    if len(beyond):
        at = beyond[np.argmax(sizes[0][beyond])]
        given = ", ".join(shown(name, each[at]) for each in operands)
        example = f"{given}: chip {shown(name, chip[at])}, model {shown(name, model[at])}, exact {exact[at]:.9g}"
    largest = [float(size[inside].max(initial=0.0)) for size in sizes]
    return Error(form, unit, limit, largest[0], largest[1], len(beyond), example)


def _flushed(name: str, numbers: Any) -> Any:
    smallest = {"f64": 2.0**-1022, "f16": 2.0**-14}.get(name, 2.0**-126)
    return np.where(np.abs(numbers) < smallest, np.copysign(0.0, numbers), numbers)


def _size(name: str, bound: Bound, exact: Any, got: Any) -> Any:
    """Errors in the unit of a bound; a special result counts as none where it is the exact one, else as infinite."""
    most = {"f16": 65504.0, "bf16": 2.0**128 - 2.0**120, "f32": 2.0**128 - 2.0**104}.get(name, np.inf)
    least = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149}.get(name, 5e-324)
    smallest = {"f16": 2.0**-14, "f64": 2.0**-1022}.get(name, 2.0**-126)
    with np.errstate(all="ignore"):
        distance = np.abs(got - exact)
        _, exponent = np.frexp(exact)
        step = np.ldexp(1.0, np.maximum(exponent - 1 - FRACTION[name], round(np.log2(least))))
        if bound.ulps:
            size = distance / step
        elif bound.absolute and not bound.relative:
            size = distance
        else:
            size = distance / np.maximum(np.abs(exact), smallest)
            if bound.absolute:
                near = (distance <= bound.absolute) | (distance <= step)
                size = np.where(near, np.minimum(size, bound.relative), size)
        same = (got == exact) | (np.isnan(got) & np.isnan(exact))
        over = np.isinf(got) & (np.abs(exact) > most * (1 - 2.0**-10)) & (np.sign(got) == np.sign(exact))
        over |= np.isinf(exact) & (np.abs(got) >= most) & (np.sign(got) == np.sign(exact))
        tiny = (np.abs(exact) < smallest) & (np.abs(got) <= smallest)  # a subnormal number: a step, or flushed
        special = np.isnan(got) | np.isinf(got) | np.isnan(exact) | np.isinf(exact)
        size = np.where(special, np.inf, size)
        return np.where(same | over | (tiny & ((got == 0) | (distance <= 2 * step))), 0.0, size)


def _worse(a: Error | None, b: Error) -> Error:
    if a is None:
        return b
    return Error(
        a.form, a.unit, a.bound, max(a.chip, b.chip), max(a.model, b.model), a.outside + b.outside,
        a.example or b.example,
    )  # fmt: skip
