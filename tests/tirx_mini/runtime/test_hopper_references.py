"""The Hopper references as machine code: the instructions that each step teaches, and a main loop of HGMMA."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tirx_mini.course import STEPS, Shape, load_kernels, load_module
from tirx_mini.passes import lower
from tirx_mini.runtime import Executable, build, compile_cuda, summarise

pytestmark = pytest.mark.compiler
FOLDER = Path(__file__).parents[3] / "kernels_ref" / "sm90"
TILES: dict[tuple[int, int], Shape] = {
    (64, 128): (1024, 1024, 1024),
    (128, 128): (4096, 4096, 4096),
    (128, 160): (4096, 14336, 4096),
    (128, 192): (8192, 8192, 8192),
}
"""The tiles of step 10, each with a shape for which it is chosen."""
KERNELS = [
    *((step, steps.shape(1024)) for step, steps in STEPS.items() if step != 10),
    *((10, s) for s in TILES.values()),
]


@cache
def compiled(step: int, shape: Shape, dtype: str = "float16") -> Executable:
    kernel = load_kernels(FOLDER)[step](*shape, dtype=dtype)
    return build(lower(kernel), "sm_90a", original=kernel)


def tile_of(step: int, shape: Shape) -> tuple[int, int]:
    """That of a CTA; a reference that has several chooses by its `tile_shape`."""
    (file,) = FOLDER.glob(f"step{step:02}_*.py")
    choose = getattr(load_module(file), "tile_shape", None)
    return choose(*shape[:2]) if choose is not None else (128, 128)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("step", "shape"), KERNELS)
def test_no_warning_no_spill_no_local_memory(step: int, shape: Shape, dtype: str) -> None:
    exe = compiled(step, shape, dtype)
    resources = exe.compiled.resources
    assert exe.compiled.warnings == ()
    assert (resources.stack_bytes, resources.spill_store_bytes, resources.spill_load_bytes) == (0, 0, 0)


@pytest.mark.parametrize(("step", "shape"), KERNELS)
def test_the_machine_code_has_the_instructions_of_its_step(step: int, shape: Shape) -> None:
    summary = summarise(compiled(step, shape).source("sass"))
    assert summary.local_accesses == 0
    n = tile_of(step, shape)[1]
    assert summary.matching(rf"^HGMMA\.64x{n}x16") == summary.matching(r"^HGMMA") > 0
    assert bool(summary.matching(r"^UTMALDG\.2D")) == bool(summary.matching(r"^UTMASTG\.2D")) == (step >= 4)
    assert bool(summary.matching(r"^STSM")) == (step >= 4)
    assert bool(summary.matching(r"^UTMALDG.*MULTICAST")) == bool(summary.matching(r"^UCGABAR_WAIT")) == (step == 9)
    assert bool(summary.matching(r"^USETMAXREG")) == bool(summary.matching(r"^ACQBULK")) == (step >= 10)


@pytest.mark.compiler
@pytest.mark.parametrize(("step", "shape"), KERNELS)
def test_comments_leave_the_machine_code_as_it_is(step: int, shape: Shape) -> None:
    exe = compiled(step, shape)
    commented = compile_cuda(replace(exe.cuda, text=exe.source("cuda")), "sm_90a")
    assert exe.source("cuda") != exe.cuda.text
    assert (commented.cubin, commented.ptx, commented.warnings) == (exe.compiled.cubin, exe.compiled.ptx, ())


@pytest.mark.parametrize(("step", "shape"), [(step, shape) for step, shape in KERNELS if step >= 8])
def test_only_descriptor_arithmetic_is_between_the_mmas(step: int, shape: Shape) -> None:
    """The loop over K waits, fences, issues its MMAs back to back, waits for the previous group, and frees a stage."""
    sass = compiled(step, shape).source("sass")
    opcodes = re.findall(r"^\s+/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\d\s+)?([A-Z][\w.]*)", sass, re.M)
    mmas = [index for index, opcode in enumerate(opcodes) if opcode.startswith("HGMMA")]
    assert len(mmas) == tile_of(step, shape)[0] // 64 * 64 // 16
    between = {opcode.split(".")[0] for opcode in opcodes[mmas[0] : mmas[-1]]} - {"HGMMA"}
    waits = r"BAR|SYNCS|DEPBAR|WARPGROUP|MEMBAR|BRA|LD|ST|UTMA|F2F"
    assert [opcode for opcode in between if re.match(waits, opcode)] == []
