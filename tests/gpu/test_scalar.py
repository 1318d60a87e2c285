"""PTX's scalar instructions that are operations of the IR: the chip computes what the simulator does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tirx_mini as tvm
from tests.tirx_mini.isa.test_scalar import EDGES, LANES, groups, kernel_text, same
from tirx_mini.isa.scalar import Scalar
from tirx_mini.script import from_source

pytestmark = pytest.mark.gpu
DRAWS = 20


@pytest.mark.parametrize(("kind", "ones"), [pytest.param(*each, id=each[0]) for each in groups()])
def test_the_chip_computes_the_same(kind: str, ones: list[Scalar]) -> None:
    kernel = from_source(kernel_text(ones))
    exe = tvm.compile(kernel, target="cuda")
    rng = np.random.default_rng(sum(map(ord, kind)))
    for _ in range(DRAWS):
        drawn = rng.integers(0, 1 << 64, (3, LANES), np.uint64, endpoint=False)
        X = np.where(rng.random((3, LANES)) < 0.6, rng.choice(np.array(EDGES, np.uint64), (3, LANES)), drawn)
        X[1] |= np.uint64(any(one.opcode.startswith(("div", "rem")) for one in ones))
        Y = np.zeros((len(ones), LANES), np.uint64)
        assert tvm.simulate(kernel, X, Y).ok
        given, found = (torch.from_numpy(array.view(np.int64)).cuda().view(torch.uint64) for array in (X, 0 * Y))
        exe(given, found)
        torch.cuda.synchronize()
        chip = found.view(torch.int64).cpu().numpy().view(np.uint64)
        wrong = [
            (one.opcode, [*map(hex, map(int, X[:, lane]))], hex(int(chip[row, lane])), hex(int(Y[row, lane])))
            for row, one in enumerate(ones)
            for lane in range(LANES)
            if not same(one, int(chip[row, lane]), int(Y[row, lane]))
            and not (one.opcode.startswith(("div", "rem")) and kind[0] == "s")  # the least number by -1 is undefined
        ]
        assert wrong == []
