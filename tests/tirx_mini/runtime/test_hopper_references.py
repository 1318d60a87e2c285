"""The Hopper references as machine code: what each step teaches is in it, and the main loop is made of HGMMA."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tirx_mini.ladder import STEPS, load_kernels
from tirx_mini.passes import lower
from tirx_mini.runtime import Executable, build, summarise

FOLDER = Path(__file__).parents[3] / "kernels_ref" / "sm90"
PING_PONG = 11
"""Stands for the kernel beyond the ladder."""


@cache
def compiled(step: int, size: int = 1024, dtype: str = "float16") -> Executable:
    kernels = load_kernels(FOLDER / "ping_pong.py" if step == PING_PONG else FOLDER)
    kernel = kernels[min(step, 10)](*STEPS[min(step, 10)].shape(size), dtype=dtype)
    return build(lower(kernel), "sm_90a", original=kernel)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("step", [*STEPS, PING_PONG])
def test_no_warning_no_spill_no_local_memory(step: int, dtype: str) -> None:
    exe = compiled(step, 1024, dtype)
    resources = exe.compiled.resources
    assert exe.compiled.warnings == ()
    assert (resources.stack_bytes, resources.spill_store_bytes, resources.spill_load_bytes) == (0, 0, 0)
    assert summarise(exe.source("sass")).local_accesses == 0


@pytest.mark.parametrize("step", STEPS)
def test_each_step_has_what_it_teaches(step: int) -> None:
    summary = summarise(compiled(step).source("sass"))
    assert summary.matching(r"^HGMMA\.64x256x16" if step == 10 else r"^HGMMA\.64x128x16")
    assert bool(summary.matching(r"^UTMALDG\.2D")) == bool(summary.matching(r"^UTMASTG\.2D")) == (step >= 4)
    assert bool(summary.matching(r"^STSM")) == (step >= 4)
    assert bool(summary.matching(r"^UTMALDG.*MULTICAST")) == bool(summary.matching(r"^UCGABAR_WAIT")) == (step == 9)
    assert bool(summary.matching(r"^USETMAXREG")) == (step == 10)


@pytest.mark.parametrize("step", [8, 9, 10, PING_PONG])
def test_nothing_but_arithmetic_on_descriptors_stands_between_the_mmas(step: int) -> None:
    """The loop over K waits, fences, issues its MMAs back to back, waits for the group before, and releases a stage."""
    opcodes = re.findall(
        r"^\s+/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\d\s+)?([A-Z][\w.]*)", compiled(step, 4096).source("sass"), re.M
    )
    mmas = [index for index, opcode in enumerate(opcodes) if opcode.startswith("HGMMA")]
    assert len(mmas) == (4 if step == 10 else 8)
    between = {opcode.split(".")[0] for opcode in opcodes[mmas[0] : mmas[-1]]} - {"HGMMA"}
    waits = r"BAR|SYNCS|DEPBAR|WARPGROUP|MEMBAR|BRA|LD|ST|UTMA|F2F"
    assert [opcode for opcode in between if re.match(waits, opcode)] == []
