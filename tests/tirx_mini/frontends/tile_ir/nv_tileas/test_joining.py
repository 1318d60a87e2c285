"""Loops of the same iterations become one, whose masks are in branches."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch

from benchmarks.attention_h100 import ORDERS
from kernels_ref.tile.attention import NEG_INF, attend
from tirx_mini.diagnose import Report
from tirx_mini.frontends.tile_ir import program as programs
from tirx_mini.tile_ir import ct, run, simulated

JOINING = ("tileas-join-loops", "tileas-guard-masks")
TILE, WIDTH = 64, 64


def launched(kernel: ct.kernel, length: int, tiles: tuple[int, int], gpu: str = "h100") -> tuple[torch.Tensor, Report]:
    """The result of causal attention of one head, and the report of its launch."""
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn((1, length, WIDTH), generator=draw).to(torch.bfloat16) for _ in range(3))
    out = torch.zeros_like(q)
    with simulated(gpu) as reports:
        args = (q, k, v, out, math.log2(math.e) / math.sqrt(WIDTH), True, *tiles, WIDTH)
        ct.launch(None, (-(-length // tiles[0]), 1), kernel, args)
    assert not reports[0].findings
    return out.view(torch.int16), reports[0]


@pytest.fixture
def as_written(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the loops and masks of programs as they are."""
    passes = programs._passes()
    kept = tuple(each for each in passes if each.name not in JOINING)
    assert len(kept) == len(passes) - len(JOINING)
    monkeypatch.setattr(programs, "_passes", lambda: kept)
    for kernel in ORDERS.values():
        kernel.programs.clear()
    yield
    for kernel in ORDERS.values():
        kernel.programs.clear()


def dots(kernel: ct.kernel, gpu: str = "h100", length: int = 256) -> int:
    """The products of the program of one block of queries, as they are emitted."""
    array = torch.zeros((1, length, WIDTH), dtype=torch.bfloat16)
    args = (array, array, array, torch.zeros_like(array), 0.1, True, TILE, TILE, WIDTH)
    text = run.compile(kernel, args, gpu).text("nv_tileas")
    return text.count("nv_tileas.dot") + text.count("nv_tileas.async.dot")


@pytest.mark.parametrize("name", ORDERS)
def test_one_pipeline_serves_masked_and_plain_blocks(name: str) -> None:
    """Two products before the loop or behind it, and two in it."""
    assert dots(ORDERS[name]) == 4


def test_as_written_there_are_two_pipelines(as_written: None) -> None:
    assert dots(ORDERS["ours"]) > 4


def test_no_order_of_the_blocks_is_a_cliff() -> None:
    """All programs take the time of the reference within 5 %."""
    times = {name: launched(kernel, 3 * TILE, (TILE, TILE))[1].time_us or 0.0 for name, kernel in ORDERS.items()}
    assert all(abs(time / times["ours"] - 1) < 0.05 for time in times.values()), times


@pytest.mark.parametrize(("name", "length"), [("ours", 192), ("one loop", 150), ("diagonal block", 128)])
def test_values_are_the_same_bit_for_bit(name: str, length: int, request: pytest.FixtureRequest) -> None:
    joined, report = launched(ORDERS[name], length, (TILE, TILE))
    request.getfixturevalue("as_written")
    apart, slower = launched(ORDERS[name], length, (TILE, TILE))
    assert torch.equal(joined, apart)
    assert report.time_us is not None and slower.time_us is not None and report.time_us < slower.time_us


def test_blackwell() -> None:
    """Threads compute between products in tensor memory, in one loop too."""
    one, other = (launched(ORDERS[name], 256, (128, 64), "b200")[0] for name in ("ours", "one loop"))
    assert torch.equal(one, other)


@ct.kernel
def parted(Q, K, V, out, scale, CAUSAL: ct.Constant[bool], TM: ct.Constant[int], TN: ct.Constant[int],
           D: ct.Constant[int]):  # fmt: skip
    """The loops differ: the second has another scale."""
    m = ct.bid(0)
    q = ct.load(Q, (0, m, 0), shape=(1, TM, D)).reshape((TM, D))
    top, total = ct.full((TM, 1), NEG_INF, dtype=ct.float32), ct.zeros((TM, 1), dtype=ct.float32)
    state = top, total, ct.zeros((TM, D), dtype=ct.float32)
    for n in range(m):
        state = attend(q, K, V, 0, n, state, m * TM, scale, False, CAUSAL, TN, D)
    for n in range(m, m + 1):
        state = attend(q, K, V, 0, n, state, m * TM, scale * 0.5, True, CAUSAL, TN, D)
    ct.store(out, (0, m, 0), (state[2] / state[1]).astype(out.dtype).reshape((1, TM, D)))


@ct.kernel
def stored_between(Q, K, V, out, scale, CAUSAL: ct.Constant[bool], TM: ct.Constant[int], TN: ct.Constant[int],
                   D: ct.Constant[int]):  # fmt: skip
    """The sums are stored between the loops, too."""
    m = ct.bid(0)
    q = ct.load(Q, (0, m, 0), shape=(1, TM, D)).reshape((TM, D))
    top, total = ct.full((TM, 1), NEG_INF, dtype=ct.float32), ct.zeros((TM, 1), dtype=ct.float32)
    state = top, total, ct.zeros((TM, D), dtype=ct.float32)
    for n in range(m):
        state = attend(q, K, V, 0, n, state, m * TM, scale, False, CAUSAL, TN, D)
    ct.store(out, (0, m, 0), state[2].astype(out.dtype).reshape((1, TM, D)))
    for n in range(m, m + 1):
        state = attend(q, K, V, 0, n, state, m * TM, scale, True, CAUSAL, TN, D)
    ct.store(out, (0, m, 0), (state[2] / state[1]).astype(out.dtype).reshape((1, TM, D)))


@pytest.mark.parametrize("kernel", [parted, stored_between])
def test_loops_that_differ_stay_apart(kernel: ct.kernel) -> None:
    assert dots(kernel) > 4
