"""The registers of a CTA: the counts that `setmaxnreg` takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tirx_mini.sim.bare import block, run
from tirx_mini.sim import RunningWarp


@pytest.mark.parametrize(("count", "fine"), [(24, True), (168, True), (16, False), (100, False), (264, False)])
def test_setmaxnreg_takes_multiples_of_8_from_24_to_256(count: int, fine: bool) -> None:
    def program(w: RunningWarp) -> Any:
        yield from block(w, "setmaxnreg.dec", count=count)

    assert run(program, threads=384).kinds == ([] if fine else ["illegal-instruction"])
