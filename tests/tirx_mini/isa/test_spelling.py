"""Every instruction can be called by the opcode of each of its forms, and the opcode gives back its modifiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tirx_mini.isa import TABLE, Instruction, continuations, opcode_of, readings

SEVERAL = (
    "mbarrier.arrive.remote", "mbarrier.arrive.expect_tx.remote", "mbarrier.try_wait", "mbarrier.try_wait.cluster",
    "barrier.cluster.sync", "clusterlaunchcontrol.query_cancel", "ffs",
)  # fmt: skip
"""Entries that are several instructions of PTX: no one opcode names them."""
NONE = ("wgmma.fence_operand", "trap.unless")
"""Entries that only the compiler sees, or whose predicate is a part of them."""
NUMBERS: dict[str, tuple[Any, ...]] = {"dim": (1, 3), "cta_mask": (0, 3), "count": (40,), "n": (64, 128), "num": (4,)}


def variations(entry: Instruction) -> Iterator[dict[str, Any]]:
    """The defaults of the modifiers, with one of them changed each time."""
    choices = {a.name: a.choices or NUMBERS.get(a.name) or (a.default, not a.default) for a in entry.attributes}
    first = {a.name: a.default for a in entry.attributes}
    first |= {a.name: choices[a.name][-1] for a in entry.attributes if a.required or a.name == entry.typed}
    yield first
    for name, values in choices.items():
        yield from ({**first, name: value} for value in values if value != "")


def opcodes(text: str) -> list[str]:
    """The opcodes of a template, without declarations and moves of constants."""
    words = (line.split()[0].rstrip(";") for line in text.splitlines() if line.split())
    moves = (".reg", "mov.b", "cvt.u8.u32", "cvt.u32.u8", "cvt.u16.u32")
    return [word for word in words if word not in ("{", "}") and not word.startswith(moves)]


@pytest.mark.parametrize("name", [name for name, entry in TABLE.items() if entry.ptx and name not in (*SEVERAL, *NONE)])
def test_an_opcode_leads_to_its_entry_and_modifiers(name: str) -> None:
    entry = TABLE[name]
    for attrs in variations(entry):
        (opcode,) = opcodes(entry.template(attrs))
        opcode = opcode.replace("{bar_space}", "cta")
        found = [reading for reading in readings(opcode) if reading.entry is entry]
        assert found, opcode
        again = [opcodes(entry.template({**attrs, **reading.attrs})) for reading in found]
        assert [opcode] in [[text.replace("{bar_space}", "cta") for text in texts] for texts in again]


@pytest.mark.parametrize("name", SEVERAL)
def test_a_sequence_of_instructions_has_no_opcode(name: str) -> None:
    opcode = opcodes(TABLE[name].template())[-1]
    assert TABLE[name] not in [reading.entry for reading in readings(opcode)]


@pytest.mark.parametrize(
    ("opcode", "entry", "attrs"),
    [
        ("mbarrier.init.shared.b64", "mbarrier.init", {}),
        ("mbarrier.arrive.shared.b64", "mbarrier.arrive", {}),
        ("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64", "mbarrier.arrive.expect_tx", {}),
        ("tcgen05.wait::ld", "tcgen05.wait.ld", {}),
        ("fence.acq_rel.cluster", "fence", {"sem": "acq_rel", "scope": "cluster"}),
        ("ld.relaxed.sys.global.L1::no_allocate.b32", "ld", {"sem": "relaxed", "scope": "sys", "type": "b32"}),
        ("ld.global.nc.v4.f32", "ld.registers", {"nc": True, "vec": "v4", "type": "f32"}),
        ("red.release.gpu.global.add.s32", "red", {"op": "add", "sem": "release", "scope": "gpu", "type": "s32"}),
        ("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes", "cp.async.bulk.tensor.load",
         {"dim": 4, "cta_mask": 0}),
    ],
)  # fmt: skip
def test_parts_that_ptx_lets_out_may_be_missing(opcode: str, entry: str, attrs: dict[str, Any]) -> None:
    (found,) = [reading for reading in readings(opcode) if reading.entry is TABLE[entry]]
    assert attrs.items() <= dict(found.attrs).items()


def test_a_beginning_says_what_may_follow() -> None:
    assert readings("mbarrier.init.shared") == [] and continuations("mbarrier.init.shared") == ["", "b64"]
    assert continuations("mbarrier.unit") == [] and {"acquire", "relaxed"} <= set(continuations("ld"))


@pytest.mark.parametrize(
    ("name", "word"),
    [("async_", "async"), ("shared__cta", "shared::cta"), ("_2d", "2d"), ("complete_tx", "complete_tx")],
)
def test_a_name_of_python_stands_for_a_part_of_an_opcode(name: str, word: str) -> None:
    assert opcode_of(name) == word
