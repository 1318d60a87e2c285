"""Drawings of the pages of steps 7 and 10: roles and barriers, blank and filled in, and who owns what of a tile."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tirx_mini.diagnose import Interval
from tirx_mini.report import Picture
from tirx_mini.sim import Signal
from tools.figures._references import reference
from tools.figures._runs import traced
from tools.figures._sheet import MARGIN, arrow, box, lines, sheet
from tools.figures.clusters import operand, rows
from tools.figures.warps import roles

SHAPE = (512, 512, 256)
BLANK = "________"
STATES = {("TMA", "mma2tma"): "tma", ("MMA", "tma2mma"): "mma", ("MMA", "ld2mma"): "ld", ("write-back", "mma2ld"): "wb"}
"""The state with which a role waits for a barrier."""


# -- step 7: three roles, two buffers, four barriers -------------------------------------------------------------------


@dataclass(frozen=True)
class Signalled:
    """A barrier between two roles. sender, waiter: the roles. count: of arrivals in a phase. first: the phase of the
    first wait."""

    name: str
    sender: str
    waiter: str
    count: int
    first: int

    @property
    def begins(self) -> str:
        return f"first wait: phase {self.first}, {'passes' if self.first else 'blocks'}"


def signalled() -> tuple[Signalled, ...]:
    """The barriers of the reference of step 7, by their names in the order of the roles."""
    found = roles(7)
    timeline = traced(7, SHAPE).timeline
    counts = {
        change.barrier.name.partition("[")[0]: change.pending
        for change in timeline.changes if change.kind is Signal.COMPLETE
    }  # fmt: skip
    phases = first_phases()
    return tuple(
        Signalled(name, sender.name, waiter.name, counts[name], phases[STATES[waiter.name, name]])
        for name in ("tma2mma", "mma2tma", "mma2ld", "ld2mma")
        for sender in found[:1] + found[4:] if name in sender.signals
        for waiter in found[:1] + found[4:] if name in waiter.waits
    )  # fmt: skip


def first_phases() -> dict[str, int]:
    """The first phase of each state of the reference of step 7: 1 for a producer."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(reference(7).read_text(encoding="utf-8"))):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="init"),
                keywords=[ast.keyword(arg="is_producer", value=ast.Constant(value=bool(producer)))],
            ):
                found[name.removesuffix("_phase")] = int(producer)
    return found


def roles_picture(barriers: tuple[Signalled, ...], answers: bool) -> str:
    """The roles, the buffers between them, and the barriers: with their labels, or with blanks for them."""
    says = [f"{b.sender} signals {b.name}: {b.count} arrivals, {b.waiter} waits; {b.begins}." for b in barriers]
    title = "Step 7: three roles, two buffers, four barriers"
    described = " ".join(says) if answers else "The names, counts and first phases of the barriers are left blank."
    picture = sheet(330, title, described, f"{title}, filled in" if answers else f"{title}: fill in the blanks")
    width, gap, top = 132.0, 66.0, 150.0
    lefts = [MARGIN + index * (width + gap) for index in range(5)]
    for left, fill, words in zip(lefts, ("c0", "mute", "c1", "mute", "c2"), (
        ["TMA", "one thread"], ["shared memory", "stages"], ["MMA", "one thread"], ["tensor memory", "accumulator"],
        ["write-back", "128 threads"],
    ), strict=True):  # fmt: skip
        box(picture, left, top, width, 56, fill, words)
    for left, right in pairwise(lefts):
        arrow(picture, left + width + 4, top + 28, right - 4, top + 28)
    by_ends = {(b.sender, b.waiter): b for b in barriers}
    for (first, last), ends, above in (
        ((0, 2), ("TMA", "MMA"), True), ((2, 0), ("MMA", "TMA"), False),
        ((2, 4), ("MMA", "write-back"), True), ((4, 2), ("write-back", "MMA"), False),
    ):  # fmt: skip
        _signal(picture, lefts[first] + width / 2, lefts[last] + width / 2, top, by_ends[ends], above, answers)
    return str(picture)


def _signal(
    picture: Picture, start: float, end: float, top: float, barrier: Signalled, above: bool, answers: bool
) -> None:
    """The arrow of a barrier above or below the boxes, and its label in the middle."""
    edge, far = (top, top - 30) if above else (top + 56, top + 86)
    inset = 14 if start < end else -14
    picture.add("path", d=f"M{start + inset} {edge}V{far}H{end - inset}", class_="arrow")
    arrow(picture, end - inset, far, end - inset, edge + (-3 if above else 3))
    meaning = "the buffer is full" if above else "the buffer is free"
    label = (
        [f"{barrier.name}: {meaning}", f"count: {barrier.count}", barrier.begins]
        if answers
        else [f"{BLANK}: {meaning}", f"count: {BLANK}", f"first wait: phase {BLANK}"]
    )
    first = far - 48 if above else far + 20
    for index, words in enumerate(label):
        picture.text((start + end) / 2, first + 18 * index, words, "ink small", text_anchor="middle")


# -- step 10: who owns what of a tile ----------------------------------------------------------------------------------


def boxes(cta: int, stage: int = 0) -> list[tuple[str, str]]:
    """What a CTA of step 10 loads into a stage: (place, rows)."""
    found: dict[str, str] = {}
    for item in traced(10, (1024, 512, 256)).timeline.intervals:
        if item.track.cta == cta and item.name in ("load A", "load B") and _into(item, stage):
            found.setdefault(operand(item, "to"), rows(operand(item, "box")))
    return sorted(found.items())


def _into(item: Interval, stage: int) -> bool:
    return operand(item, "to").partition("[")[2].startswith(str(stage))


def owners_picture() -> str:
    """Step 10: the blocks of A and B that each CTA loads, and the columns of tensor memory that hold their products."""
    both = [boxes(cta) for cta in (0, 1)]
    described = " ".join(f"CTA {cta} loads {', '.join(text for _, text in found)}." for cta, found in enumerate(both))
    picture = sheet(
        366, "Step 10: who owns which part of a tile of 512 × 256",
        f"{described} Each consumer multiplies one block of A of each CTA by the B of both.",
    )  # fmt: skip
    for cta, (found, left) in enumerate(zip(both, (MARGIN, 490.0), strict=True)):
        picture.rect(left, 52, 454, 236, "lane edge", rx=6)
        picture.text(left + 12, 74, f"CTA {cta}", "ink bold")
        picture.text(left + 12, 98, "shared memory, one stage", "soft small")
        picture.text(left + 442, 190, "tensor memory", "soft small", text_anchor="end")
        a_blocks = [text for place, text in found if place.startswith("A")]
        (b_block,) = (text for place, text in found if place.startswith("B"))
        for consumer, text in enumerate(a_blocks):
            box(picture, left + 12 + consumer * 146, 106, 138, 56, f"c{consumer}", [text, f"block {consumer} of A"])
            columns = f"columns {consumer * 256} to {consumer * 256 + 255}"
            words = [text.replace("A", "D"), columns, f"consumer {consumer}"]
            box(picture, left + 12 + consumer * 218, 198, 210, 76, f"c{consumer}", words)
            arrow(picture, left + 81 + consumer * 146, 162, left + 117 + consumer * 190, 194)
        box(picture, left + 304, 106, 138, 56, "mute", [b_block, "half of B"])
    lines(
        picture, MARGIN, 314,
        [
            "Consumer c is MMA warp c of CTA 0, for both CTAs; its write-back is warpgroup c of each CTA.",
            "Both tensor cores read the B of both CTAs.",
        ],
        "soft",
    )  # fmt: skip
    return str(picture)


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    barriers = signalled()
    yield "figures/step07-roles.svg", roles_picture(barriers, answers=False)
    yield "figures/step07-roles-filled.svg", roles_picture(barriers, answers=True)
    yield "figures/step10-owners.svg", owners_picture()
