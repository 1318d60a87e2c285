"""Every instruction of the table that is one line of PTX is read back from its own text."""

from __future__ import annotations

import inspect
import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry
from tirx_mini.arguments import TensorMap
from tirx_mini.frontends.ptx.programs import read_ptx
from tirx_mini.isa import TABLE, Attribute, Instruction, OperandKind

HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"
SETUP = "ld.param.u64 %d1, [a]; mov.b64 %d5, m; mov.u32 %r2, tile; mov.u64 %d3, 0; mov.u32 %r3, 0;\n"
TILE = ".shared .align 128 .b8 tile[1024];\n"
MOST = 6
"""Forms of an instruction that are read."""
_REGISTERS = {
    **dict.fromkeys(("b8", "u8", "s8", "b16", "u16", "s16", "f16", "bf16"), "%h1"),
    **dict.fromkeys(("b32", "u32", "s32"), "%r1"), **dict.fromkeys(("b64", "u64", "s64"), "%d3"), "f32": "%f1",
    "f64": "%g1",
}  # fmt: skip
_KINDS = {
    OperandKind.U32: "%r1", OperandKind.S32: "%r1", OperandKind.U64: "%d3", OperandKind.F32: "%f1",
    OperandKind.F64: "%g1", OperandKind.PREDICATE: "%p1", OperandKind.ANY: "%r1", OperandKind.SHARED: "%r2",
    OperandKind.MBARRIER: "%r2", OperandKind.CTA_RANK: "%r1", OperandKind.GLOBAL: "%d1", OperandKind.TMEM: "%r3",
    OperandKind.TENSOR_MAP: "%d5", OperandKind.TCGEN05_DESCRIPTOR: "%d3", OperandKind.WGMMA_DESCRIPTOR: "%d3",
    OperandKind.INSTRUCTION_DESCRIPTOR: "%r1",
}  # fmt: skip
_FIRST = {"a": 60, "b": 80, "c": 100}


def choices(attribute: Attribute, typed: str) -> tuple[Any, ...]:
    if attribute.choices is not None:
        return tuple(choice for choice in attribute.choices if choice or attribute.name != typed)
    if isinstance(attribute.default, bool):
        return (False, True)
    return (8 if attribute.default in (inspect.Parameter.empty, None) else attribute.default,)


def forms(instruction: Instruction) -> Iterator[str]:
    """Some texts of an instruction with operands in registers."""
    every = list(itertools.islice(
        itertools.product(*(choices(each, instruction.typed) for each in instruction.attributes)), 3000
    ))  # fmt: skip
    random.Random(0).shuffle(every)
    names = [each.name for each in instruction.attributes]
    found = 0
    for values in every:
        attrs = dict(zip(names, values, strict=True))
        words = int(str(attrs.get("vec") or "v1")[1:])
        given: Any = (None,) * (1 + words) if instruction.name == "st" else ()
        wrong = instruction.check(given, **attrs) if instruction.check else None
        if wrong or found == MOST or "\n" in instruction.template(attrs).strip():
            continue
        found += 1
        yield filled(instruction, attrs)


def filled(instruction: Instruction, attrs: Mapping[str, Any]) -> str:
    """The text of one form."""
    text = instruction.template(attrs)
    for place in ("bar_space", "dst_space", "src_space", "addr_space"):
        text = text.replace("{" + place + "}", "cta")
    counts = instruction.register_counts(attrs)
    for operand in instruction.operands:
        kind, several = operand.type.kind, 1
        if kind is OperandKind.REGISTERS:
            first, several = _FIRST.get(operand.name, 20), counts.get(operand.name, 1)
            registers = [f"%r{first + number}" for number in range(several)]
        else:
            if operand.variadic:
                several = attrs.get("dim") or int(str(attrs.get("vec") or "v1")[1:])
                pair = attrs.get("atype") == "f32" and str(attrs.get("dtype")).endswith("x2")
                four = str(attrs.get("dtype")).endswith("x4")
                several = 2 if pair else 4 if four else several
                several = 4 * attrs.get("cta_group", 1) if operand.name == "lanes" else several
            registers = [register(instruction, kind, attrs, 0)] * several
        listed = ", ".join(registers)
        text = text.replace("{{" + operand.name + "}}", "{" + listed + "}").replace("{" + operand.name + "}", listed)
    if instruction.result is not None:
        text = text.replace("{result}", register(instruction, instruction.result.kind, attrs, 1))
    return text


def register(instruction: Instruction, kind: OperandKind, attrs: Mapping[str, Any], place: int) -> str:
    if kind is OperandKind.TYPED:
        known = instruction.carriers(**attrs)[place] if instruction.carriers else str(attrs[instruction.typed])
        return _REGISTERS[known]
    if kind is OperandKind.MEMORY:
        return "%r2" if str(attrs.get("space", "")).startswith("shared") else "%d1"
    return _KINDS[kind]


@pytest.mark.parametrize("name", [name for name, each in TABLE.items() if each.ptx])
def test_an_instruction_is_read_back_from_its_text(name: str) -> None:
    for line in forms(TABLE[name]):
        if ".kind::mxf4.block_scale " in line:  # this kind has a vector of scales
            continue
        text = entry("a m", f"{SETUP}{line}\nst.shared.b32 [tile], %r1;", TILE, HEADER)
        text = text.replace(".param .u64 m", ".param .align 64 .b8 m[128]").replace("%r<200>", "%r<400>")
        maps = TensorMap(np.zeros((64, 64), np.float16), (8, 8))
        read_ptx(text).entry("k").lowered([np.zeros(64, np.float32), maps], grid=1, block=32)
