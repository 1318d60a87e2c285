"""Programs of PTX for tests: one instruction for each thread, or a body, with arrays in global memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tirx_mini.diagnose import Report
from tirx_mini.frontends.ptx.programs import read_ptx

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
_REGISTERS = {8: ("b16", "h"), 16: ("b16", "h"), 32: ("b32", "r"), 64: ("b64", "d")}


def entry(parameters: str, body: str, before: str = "", header: str = HEADER) -> str:
    """The text of a kernel `k` with registers of all types. parameters: names, separated by blanks, all of 64 bits."""
    listed = ",\n".join(f"    .param .u64 {name}" for name in parameters.split())
    return (
        f"{header}{before}\n.visible .entry k(\n{listed}\n)\n{{\n"
        ".reg .pred %p<40>; .reg .b16 %h<60>; .reg .b32 %r<200>; .reg .b64 %d<120>;\n"
        ".reg .f32 %f<60>; .reg .f64 %g<60>;\n"
        f"{body}\nret;\n}}\n"
    )


def run(text: str, *args: Any, grid: Sequence[int] = (1,), block: Sequence[int] = (32,), **options: Any) -> Report:
    """Simulate the kernel `k` of a text."""
    return read_ptx(text).entry("k").simulate(args, grid=grid, block=block, **{"gpu": "h100", **options})


def one_instruction(lines: Sequence[str], widths: Sequence[int], result: int) -> str:
    """A kernel in which each thread executes lines of PTX on its own operands.

    lines: with {a}, {b}, {c}, {e} for operands, and {result}. widths: of the operands, in bits. result: of the result.
    """
    names = "abce"[: len(widths)]
    body = ["mov.u32 %r0, %tid.x;", "mov.u32 %r1, %ctaid.x;", "mov.u32 %r2, %ntid.x;", "mad.lo.u32 %r0, %r1, %r2, %r0;"]
    places: dict[str, str] = {}
    for number, (name, width) in enumerate(zip([*names, "result"], [*widths, result], strict=True)):
        kind, letter = _REGISTERS[width]
        places[name] = f"%{letter}{20 + number}"
        body += [
            f"ld.param.u64 %d{number}, [{name}];",
            f"mul.wide.u32 %d{10 + number}, %r0, {max(1, width // 8)};",
            f"add.s64 %d{number}, %d{number}, %d{10 + number};",
        ]
        if name != "result":
            loaded = "u8" if width == 8 else f"b{width}"
            body.append(f"ld.global.{loaded} {places[name]}, [%d{number}];")
    body += [line.format(**places) for line in lines]
    stored = "u8" if result == 8 else f"b{result}"
    body.append(f"st.global.{stored} [%d{len(widths)}], {places['result']};")
    return entry(" ".join([*names, "result"]), "\n".join(body))


def computed(lines: Sequence[str], operands: Sequence[np.ndarray], result: int) -> np.ndarray:
    """The result of each thread. operands: unsigned integers, which hold the bits; result: the width in bits."""
    threads = len(operands[0])
    out = np.zeros(threads, f"u{result // 8}")
    text = one_instruction(lines, [8 * each.dtype.itemsize for each in operands], result)
    report = run(text, *operands, out, block=(threads,), checks=False, jobs=1)
    assert report.verdict == "ok", report
    return out
