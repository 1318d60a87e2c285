"""Units that the warps of an SM share, and the time of atomic operations and fences, against an H200's cycles."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.frontends.ptx.programs import read_ptx
from tirx_mini.hardware import H100

MANY = 256


def cycles(line: str, threads: int, count: int = MANY) -> float:
    """The cycles of one CTA whose threads execute a line so often, beyond a CTA that executes it once."""

    def run(times: int) -> float:
        text = f"""
.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {{
  .reg .f32 %f<3>; .reg .b32 %r<4>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  cvt.rn.f32.u32 %f1, %r1;
  {line * times}
  st.global.f32 [%rd1], %f1;
  st.global.b32 [%rd1], %r1;
  ret;
}}
"""
        report = read_ptx(text).entry().simulate([np.zeros(1024, np.int32)], grid=1, block=threads, gpu="h100")
        assert report.cycles is not None
        return report.cycles

    return run(count + 1) - run(1)


def test_a_quarter_of_an_sm_has_four_lanes_of_special_functions() -> None:
    """On an H200: 8.0 cycles an ex2 for each warp of a quarter, with 4 to 32 warps."""
    line = "ex2.approx.ftz.f32 %f1, %f1;\n"
    for threads in (256, 1024):
        warps = threads // 32 / 4
        assert cycles(line, threads) / MANY == pytest.approx(8 * warps, rel=0.15)


def test_an_sm_shuffles_one_warp_in_a_cycle() -> None:
    """On an H200: 4.0 cycles a shuffle for each warp of a quarter, with 32 warps."""
    line = "shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;\n"
    assert cycles(line, 1024) / MANY == pytest.approx(32, rel=0.15)
    assert cycles(line, 128) / MANY < 16


def test_many_warps_compete_for_issue_slots_and_few_do_not() -> None:
    line = "fma.rn.f32 %f1, %f1, %f1, %f1;\n"
    few, more, many = (cycles(line, threads) for threads in (128, 384, 1024))
    assert few == more
    assert many > 2 * few


def test_a_fence_of_the_gpu_waits_for_the_l2_and_one_of_the_system_longer() -> None:
    """On an H200: 266 cycles alone, 392 after a store, 1038 for the system; one of a CTA 10."""
    fence = {scope: cycles(f"fence.acq_rel.{scope};\n", 32, 8) / 8 for scope in ("cta", "gpu", "sys")}
    assert fence["cta"] < 20 < fence["gpu"]
    assert fence["gpu"] == pytest.approx(266, rel=0.1) and fence["sys"] == pytest.approx(1038, rel=0.1)
    stored = cycles("st.global.b32 [%rd1], %r1;\nfence.acq_rel.gpu;\n", 32, 8) / 8
    assert stored == pytest.approx(392, rel=0.1)


def test_an_atomic_operation_with_a_result_is_waited_for_and_a_release_is_a_fence() -> None:
    """On an H200: red 4 cycles, atom 287, with acq_rel 668."""
    red = cycles("red.relaxed.gpu.global.add.u32 [%rd1], %r1;\n", 32, 8) / 8
    atom = cycles("atom.relaxed.gpu.global.add.u32 %r1, [%rd1], %r1;\n", 32, 8) / 8
    both = cycles("atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], %r1;\n", 32, 8) / 8
    assert red < 40
    assert atom == pytest.approx(287, rel=0.2)
    assert both == pytest.approx(668, rel=0.25)


def test_arguments_of_nearly_the_size_of_the_l2_are_lost_in_part_where_launches_have_waves() -> None:
    """Sums of arrays on an H100: with 31 MB no more time than the L2 needs, with 50 MB as from HBM."""
    shares = [H100.lost_share(nbytes * 1e6, waves=True) for nbytes in (20, 25, 34.6, 44, 52, 60)]
    assert shares[0] == 0.0 and shares[-1] == 1.0
    assert shares == sorted(shares)
    assert shares[2] == pytest.approx(0.55, abs=0.05) and shares[3] == pytest.approx(0.78, abs=0.05)
    assert H100.lost_share(44e6, waves=False) == 0.0
