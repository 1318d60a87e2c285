"""Correct variations of the references, of other depths, tiles, chunks, roles and orders, have no findings.

A quick run tries each in two schedules, ``--full`` in twenty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, Shape, load_kernels
from utils import prepare_data, verify

ROOT = Path(__file__).parents[2]
SOURCES = {int(path.stem[4:6]): path for path in (ROOT / "kernels_ref" / "sm100").glob("step*.py")}
QUICK, FULL = 2, 20


@dataclass(frozen=True)
class Variation:
    """A reference in which constants of the file have other values, and texts, each standing there, are replaced."""

    name: str
    step: int
    shape: Shape
    constants: tuple[tuple[str, str], ...] = ()
    edits: tuple[tuple[str, str], ...] = ()
    dtype: str = "float16"

    def source(self) -> str:
        text = SOURCES[self.step].read_text(encoding="utf-8")
        for constant, value in self.constants:
            text, found = re.subn(rf"(?m)^{constant} = .*$", f"{constant} = {value}", text)
            assert found == 1, f"{constant} is set {found} times in {SOURCES[self.step]}"
        for old, new in self.edits:
            assert old in text, f"{old!r} does not stand in {SOURCES[self.step]}"
            text = text.replace(old, new)
        return text


def sets(**values: object) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in values.items())


TILE = "BLK_M, BLK_N, BLK_K"
FEW = ("SM_COUNT", "2")
FOUR = ("SM_COUNT", "4")
"""SMs so few that small matrices are several tiles for each CTA."""

SWIZZLE_64B = (("SWIZZLE_128B_ATOM", "SWIZZLE_64B_ATOM"),)
COLUMNS_256 = (("n_cols=512", "n_cols=256"), ("(128, 512)", "(128, 256)"))
TMA_WARP, MMA_WARP = "if warp_id == 3:", "elif warp_id == 0:"
OTHER_WARPS = (
    (TMA_WARP, "if warp_id == 9:"),
    (MMA_WARP, "elif warp_id == 2:"),
    ("if warp_id == 9:", "if warp_id == 1:"),
)
OTHER_WARPGROUPS = (
    ("            if wg_id == 1:\n", "            if wg_id == 9:\n"),
    ("            elif wg_id == 0:\n", "            elif wg_id == 1:\n"),
    ("            if wg_id == 9:\n", "            if wg_id == 0:\n"),
)
FREES = "                    Tx.ptx.tcgen05.fence.before_thread_sync()\n                    ld2mma.arrive(0)\n"
STORES = "                    store()\n"
STORES_THEN_FREES = ((FREES + STORES, STORES + FREES),)
LOADS = "Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)\n"
EXPECT = "                tma2mma.arrive(stage, TMA_BYTES)\n"
EXPECTS_FIRST = ((EXPECT, ""), ("                " + LOADS, EXPECT + "                " + LOADS))

EXPECTS_IN_CTA_0 = "                if cbx == 0:\n                    tma2mma_cta0.arrive("
EXPECTS_IN_CTA_1 = ((EXPECTS_IN_CTA_0, EXPECTS_IN_CTA_0.replace("cbx == 0", "cbx == 1")),)
SWIZZLE_64B_OPERANDS = tuple(
    (f"SWIZZLE_128B_ATOM, (PIPE_DEPTH, {rows}, BLK_K)", f"SWIZZLE_64B_ATOM, (PIPE_DEPTH, {rows}, BLK_K)")
    for rows in ("BLK_M", "BLK_N")
)
SWIZZLE_64B_RESULT = (
    ("SWIZZLE_128B_ATOM, (NUM_CONSUMER, BLK_M, EPI_N)", "SWIZZLE_64B_ATOM, (NUM_CONSUMER, BLK_M, EPI_N)"),
)
BARRIER_7 = (("warpgroup_sync(1)", "warpgroup_sync(7)"),)
ACCUMULATES_BY_A_VARIABLE = (
    ("def mma(stage, k):", "def mma(stage, accum):"),
    ("accum=(k != 0)", "accum=accum"),
    ("mma(mma_phase.stage, k)\n", "mma(mma_phase.stage, accum)\n                                accum = 1\n"),
    (
        "                            ld_phase.move_to_next_stage()\n",
        "                            ld_phase.move_to_next_stage()\n                            accum = 0\n",
    ),
)
"""``accum = 0`` before the loop over K and ``accum = 1`` at its end, passed to an inline function."""
UNICASTS = (("cta_mask=1", "cta_mask=0"),)
TMA_AUTO = (('"dispatch": "tma"', '"dispatch": "tma_auto", "cta_mask": 1'), ('dispatch="tma"', 'dispatch="tma_auto"'))

VARIATIONS = (
    Variation("64 columns of B", 3, (256, 192, 192), sets(**{TILE: "128, 64, 64"})),
    Variation("K tiles of 32", 2, (128, 128, 160), sets(**{TILE: "128, 128, 32"}), SWIZZLE_64B),
    Variation("K tiles of 128", 3, (256, 128, 384), sets(**{TILE: "128, 128, 128"})),
    Variation("256 columns of tensor memory", 3, (256, 256, 192), (), COLUMNS_256),
    Variation("K tiles of 32, by TMA", 4, (256, 128, 160), sets(**{TILE: "128, 128, 32"}), SWIZZLE_64B),
    Variation("K tiles of 128, by TMA", 4, (256, 128, 384), sets(**{TILE: "128, 128, 128"}), (), "bfloat16"),
    Variation("64 columns of B, by TMA", 4, (384, 192, 192), sets(**{TILE: "128, 64, 64"})),
    Variation("three stages", 5, (256, 128, 512), sets(PIPE_DEPTH=3)),
    Variation("four stages for three K tiles", 5, (128, 256, 192), sets(PIPE_DEPTH=4)),
    Variation("one stage", 5, (128, 128, 256), sets(PIPE_DEPTH=1)),
    Variation("three stages, five tiles for two CTAs", 6, (640, 128, 448), (FEW, *sets(PIPE_DEPTH=3))),
    Variation("groups of one tile row", 6, (384, 384, 192), (FEW,), (("l2_group_size=8", "l2_group_size=1"),)),
    Variation("groups of two tile rows", 6, (640, 384, 128), (FEW,), (("l2_group_size=8", "l2_group_size=2"),)),
    Variation("64 columns of B, persistent", 6, (256, 320, 192), (FEW, (TILE, "128, 64, 64"))),
    Variation("three stages and roles", 7, (384, 256, 448), (FEW, *sets(PIPE_DEPTH=3))),
    Variation("one stage and roles", 7, (256, 384, 192), (FEW, *sets(PIPE_DEPTH=1))),
    Variation("other warps for the roles", 7, (384, 256, 320), (FEW,), OTHER_WARPS),
    Variation("other warpgroups for the roles", 7, (384, 256, 320), (FEW,), OTHER_WARPGROUPS),
    Variation("tensor memory is free after the store", 7, (384, 256, 320), (FEW,), STORES_THEN_FREES),
    Variation("bytes are expected before the loads", 7, (384, 256, 320), (FEW,), EXPECTS_FIRST),
    Variation("a variable that says whether to accumulate", 7, (384, 256, 320), (FEW,), ACCUMULATES_BY_A_VARIABLE),
    Variation("masks without a bit", 7, (384, 256, 320), (FEW,), UNICASTS),
    Variation("TVM's other name of TMA, masks of one bit", 7, (384, 256, 320), (FEW,), TMA_AUTO),
    Variation("chunks of 8 from tensor memory", 7, (384, 256, 192), (FEW, *sets(TMEM_LD_N=8))),
    Variation("chunks of 128 from tensor memory", 7, (384, 256, 192), (FEW, *sets(TMEM_LD_N=128))),
    Variation("chunks of 128 to D", 7, (384, 256, 192), (FEW, *sets(EPI_N=128))),
    Variation("chunks of 64 to D, of 16 from tensor memory", 8, (384, 256, 192), (FEW, *sets(EPI_N=64, TMEM_LD_N=16))),
    Variation("five stages", 8, (384, 256, 448), (FEW, *sets(PIPE_DEPTH=5))),
    Variation("six stages for one K tile", 8, (384, 384, 64), (FEW, *sets(PIPE_DEPTH=6))),
    Variation("64 columns of B, four stages", 8, (384, 192, 320), (FEW, (TILE, "128, 64, 64"))),
    Variation("K tiles of 32, four stages", 8, (384, 256, 224), (FEW, (TILE, "128, 128, 32")), SWIZZLE_64B_OPERANDS),
    Variation("another barrier for the write-back", 8, (384, 256, 192), (FEW,), BARRIER_7),
    Variation("a pair, three stages", 9, (768, 512, 448), (FOUR, *sets(PIPE_DEPTH=3))),
    Variation("a pair, two stages", 9, (768, 256, 320), (FOUR, *sets(PIPE_DEPTH=2)), (), "bfloat16"),
    Variation("a pair, chunks of 128", 9, (512, 768, 192), (FOUR, *sets(PIPE_DEPTH=3, EPI_N=128, TMEM_LD_N=128))),
    Variation("a pair, other warps", 9, (512, 768, 320), (FOUR,), OTHER_WARPS),
    Variation("a pair, CTA 1 expects the bytes", 9, (512, 768, 320), (FOUR,), EXPECTS_IN_CTA_1),
    Variation("a pair, 64 rows of B each", 9, (768, 384, 320), (FOUR, (TILE, "128, 64, 64"))),
    Variation("two consumers, three stages", 10, (512, 1280, 448), (FOUR, *sets(PIPE_DEPTH=3))),
    Variation("two consumers, two stages", 10, (1024, 512, 192), (FOUR, *sets(PIPE_DEPTH=2)), (), "bfloat16"),
    Variation("two consumers, chunks of 32", 10, (512, 768, 192), (FOUR, *sets(EPI_N=32)), SWIZZLE_64B_RESULT),
    Variation("two consumers, 64 rows of B each", 10, (1024, 384, 320), (FOUR, (TILE, "128, 64, 64"))),
    Variation("two consumers, one pair", 10, (512, 768, 320), (FEW,)),
)  # fmt: skip


@pytest.fixture(scope="session")
def seeds(pytestconfig: pytest.Config) -> range:
    """The deterministic schedule, then random ones."""
    return range(FULL if pytestconfig.getoption("--full") else QUICK)


def reports(variation: Variation, folder: Path, seeds: range) -> Iterator[tvm.Report]:
    path = folder / "variation.py"
    path.write_text(variation.source(), encoding="utf-8")
    kernel = load_kernels(path)[variation.step](*variation.shape, dtype=variation.dtype)
    for seed in seeds:
        A, B, D = prepare_data(*variation.shape, dtype=variation.dtype, target="sim", seed=seed, arrays=True)
        yield tvm.simulate(kernel, A, B, D, seed=seed)
        verify(A, B, D)


@pytest.mark.parametrize("variation", VARIATIONS, ids=lambda v: f"{v.step} {v.name}")
def test_a_correct_variation_has_no_findings(variation: Variation, tmp_path: Path, seeds: range) -> None:
    for report in reports(variation, tmp_path, seeds):
        assert (report.verdict, report.findings) == ("ok", ()), str(report)
        assert report.proof is not None and report.proof.holds, str(report)


def test_there_are_variations_of_each_step_after_the_first() -> None:
    assert len(VARIATIONS) >= 30
    varied = {variation.step for variation in VARIATIONS}
    assert varied == set(range(2, max(varied) + 1)) and varied <= set(STEPS)
