"""References with one mistake, compiled and read back: the first finding has the same code at the kernel's own line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tirx_mini.diagnose.catalogue import Mistake, mistakes
from tests.tirx_mini.frontends.ptx.back import read_back
from utils import prepare_data

NAMES = (
    "tma2mma counts two arrivals",
    "the next stage committed",
    "all wait for the last parity, 0",
    "ld2mma.arrive at the CTA's own barrier",
    "no fence.mbarrier_init in a cluster",
    "one of two consumers does not wait for data",
    "phase 1 behind arrivals on Hopper",
    "a stage released before the wait for its MMA",
)
"""Roles, stages, addresses in clusters, fences, and conditions on a thread and a CTA at once."""


def named(name: str) -> Mistake:
    return next(each for each in mistakes() if each.name == name)


@pytest.mark.compiler
@pytest.mark.parametrize("name", NAMES)
def test_the_first_finding_is_that_of_the_kernel(name: str, tmp_path: Path) -> None:
    found = named(name)
    data = prepare_data(*found.shape, target="sim", arrays=True)
    back = read_back(found.edit.kernel(tmp_path, found.shape), data, found.gpu)
    kernel, ptx = back.first
    assert ptx == kernel and back.ptx.verdict == back.kernel.verdict, back.ptx
    assert back.ptx.findings[0].span is not None
    assert Path(back.ptx.findings[0].span.user.file).name == "wrong.py"
