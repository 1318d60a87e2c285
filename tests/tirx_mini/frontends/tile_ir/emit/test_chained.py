"""Attention's two dots: the second of an iteration is in flight while threads compute from the first of the next."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from kernels_ref.tile import attention
from tirx_mini.frontends.tile_ir.context import Options
from tirx_mini.frontends.tile_ir.program import TileProgram
from tirx_mini.frontends.tile_ir.ssa import print_module
from tirx_mini.tile_ir import ct, run, simulated


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(torch.float16)


@pytest.mark.parametrize(("queries", "keys", "causal"), [(128, 320, False), (192, 192, True), (64, 50, False)])
def test_attention_of_many_tiles(queries: int, keys: int, causal: bool) -> None:
    q = random(1, 2, queries, 64, seed=0)
    k, v = (random(1, 2, keys, 64, seed=seed) for seed in (1, 2))
    o = torch.zeros_like(q)
    with simulated("h100", schedules=5) as reports:
        attention.attention(q, k, v, o, causal, tiles=(64, 64))
    assert all(report.ok and not report.findings for report in reports)
    scores = q.float() @ k.float().transpose(2, 3) / math.sqrt(64)
    if causal:
        scores.masked_fill_(torch.ones(queries, keys).triu(1).bool(), -math.inf)
    torch.testing.assert_close(o.float(), torch.softmax(scores, 3) @ v.float(), rtol=2e-3, atol=3e-3)


def turned(program: TileProgram) -> tuple[list[str], list[str]]:
    """The lines before and behind the pass that overlaps chained dots."""
    texts: dict[str, tuple[str, str]] = {}
    program.passes(lambda name, before, after: texts.update({name: (print_module(before), print_module(after))}))
    before, after = texts["tileas-optimize-dot-accumulation"]
    assert sum("nv_tileas.dot" in line for line in before.splitlines()) == 2
    return before.splitlines(), after.splitlines()


def places(lines: list[str], part: str) -> list[int]:
    return [number for number, line in enumerate(lines) if part in line]


def test_the_pass_turns_the_loop() -> None:
    """The first iteration's dot and the last one's second dot stand around the loop, which has both in flight."""
    array = torch.zeros((2, 384, 128), dtype=torch.float16)
    args = (array, array, array, torch.zeros_like(array), 0.1, False, 64, 128, 128)
    _, after = turned(run.compile(attention.attention_tile, args, "h100"))
    assert len(places(after, "nv_tileas.dot")) == 2
    begun, waits = places(after, "async.dot"), places(after, "nv_tileas.async.wait %")
    (computed,) = [number for number in places(after, "combine = max") if number > begun[0]]
    assert begun[0] < begun[1] < waits[0] < computed < waits[1]


def test_the_first_dot_begins_an_iteration_ahead_where_registers_suffice() -> None:
    """It takes the registers of the sums that were read, and is in flight while the threads compute powers."""
    array = torch.zeros((2, 320, 64), dtype=torch.float16)
    args = (array, array, array, torch.zeros_like(array), 0.1, False, 64, 64, 64)
    _, after = turned(run.compile(attention.attention_tile, args, "h100"))
    before, last = places(after, "nv_tileas.dot")
    (ahead,), begun = places(after, " over %"), places(after, "async.dot")
    assert begun == [ahead, begun[1]]
    (read,) = [number for number in places(after, "combine = max") if before < number < begun[1]]
    powers, sums = ([n for n in places(after, part) if before < n < begun[1]] for part in ("exp2", "combine = add"))
    waits = places(after, "nv_tileas.async.wait %")
    assert before < waits[0] < read < ahead < powers[0] < sums[0] < waits[1] < begun[1] < waits[2] < waits[3] < last


@pytest.mark.parametrize(
    ("options", "function", "ahead"),
    [(Options(), ct.exp2, 1), (Options(occupancy=2), ct.exp2, 0), (Options(), ct.abs, 0)],
)
def test_the_first_dot_begins_ahead_only_where_that_pays(
    options: Options, function: Callable[[object], object], ahead: int
) -> None:
    """Two CTAs have too few registers, and an absolute value takes threads no time in which a dot could run."""
    array = torch.zeros((320, 64), dtype=torch.float16)
    program = run.compile(two_layers, (array, array, array, torch.zeros_like(array), function), "h100", options)
    _, after = turned(program)
    assert len(places(after, "async.dot")) == 2 and len(places(after, " over %")) == ahead


@pytest.mark.parametrize(("rows", "warps", "turns"), [(64, 4, 0), (128, 8, 1), (256, 16, 1)])
def test_several_warpgroups_take_turns(rows: int, warps: int, turns: int) -> None:
    array = torch.zeros((2, 256, 32), dtype=torch.float16)
    args = (array, array, array, torch.zeros_like(array), 0.1, False, rows, 32, 32)
    kernel = attention.attention_tile.replace_hints(num_worker_warps=warps)
    _, after = turned(run.compile(kernel, args, "h100"))
    taken, passed, (ahead,) = (places(after, part) for part in ("take_turn", "pass_turn", " over %"))
    powers = [number for number in places(after, "exp2") if number > ahead]
    assert len(places(after, "begin_turns")) == len(taken) == len(passed) == turns
    assert not turns or taken[0] < ahead < powers[0] < passed[0]


def test_four_warpgroups_take_turns() -> None:
    q, k, v = (random(1, length, 32, seed=seed) for seed, length in enumerate((256, 64, 64)))
    o, kernel = torch.zeros_like(q), attention.attention_tile.replace_hints(num_worker_warps=16)
    with simulated("h100") as reports:
        ct.launch(None, (1, 1), kernel, (q, k, v, o, math.log2(math.e) / 8, False, 256, 32, 32))
    assert not reports[0].findings
    wanted = torch.softmax(q.float() @ k.float().transpose(1, 2) / 8, 2) @ v.float()
    torch.testing.assert_close(o.float(), wanted, rtol=2e-3, atol=3e-3)


def test_values_of_a_loop_whose_first_dot_stays_in_its_iteration() -> None:
    q, k, v = (random(1, length, 64, seed=seed) for seed, length in enumerate((64, 192, 192)))
    o, kernel = torch.zeros_like(q), attention.attention_tile.replace_hints(occupancy=2)
    with simulated("h100", schedules=3) as reports:
        ct.launch(None, (1, 1), kernel, (q, k, v, o, math.log2(math.e) / 8, False, 64, 64, 64))
    assert not reports[0].findings
    wanted = torch.softmax(q.float() @ k.float().transpose(1, 2) / 8, 2) @ v.float()
    torch.testing.assert_close(o.float(), wanted, rtol=2e-3, atol=3e-3)


def test_two_warpgroups_share_a_tile() -> None:
    q, k, v = (random(1, 1, 384, 64, seed=seed) for seed in range(3))
    o = torch.zeros_like(q)
    with simulated("h100", schedules=5) as reports:
        attention.attention(q, k, v, o, tiles=(128, 128))
    (report,) = reports
    assert report.ok and not report.findings
    wanted = torch.softmax(q.float() @ k.float().transpose(2, 3) / math.sqrt(64), 3) @ v.float()
    torch.testing.assert_close(o.float(), wanted, rtol=2e-3, atol=3e-3)


@ct.kernel
def two_layers(X, A, B, Y, function: ct.Constant[Callable]):
    x = ct.load(X, (ct.bid(0), 0), shape=(64, 64))
    y = ct.zeros((64, 64), dtype=ct.float32)
    for n in range(ct.cdiv(A.shape[0], 64)):
        a = ct.load(A, (0, n), shape=(64, 64), order=(1, 0))
        hidden = function(ct.mma(x, a, ct.zeros((64, 64), dtype=ct.float32)) * 0.5)
        y = ct.mma(hidden.astype(B.dtype), ct.load(B, (n, 0), shape=(64, 64)), y)
    ct.store(Y, (ct.bid(0), 0), y.astype(Y.dtype))


@ct.kernel
def two_products(a, b, d, e, N: ct.Constant[int], K: ct.Constant[int]):
    p, q = ct.zeros((128, N), dtype=ct.float32), ct.zeros((128, N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], K)):
        left = ct.load(a, (0, k), shape=(128, K))
        p = ct.mma(left, ct.load(b, (k, 0), shape=(K, N)), p)
        q = ct.mma(left, ct.load(b, (k, 1), shape=(K, N)), q)
    ct.store(d, (0, 0), p)
    ct.store(e, (0, 0), q)


def test_dots_that_do_not_depend_on_one_another_stay_in_their_iteration() -> None:
    a, b = random(128, 256, seed=0), random(256, 128, seed=1)
    d, e = torch.zeros((128, 64)), torch.zeros((128, 64))
    with simulated("h100", schedules=3) as reports:
        ct.launch(None, (1,), two_products, (a, b, d, e, 64, 64))
    assert not reports[0].findings
    torch.testing.assert_close(torch.cat([d, e], 1), a.float() @ b.float(), rtol=1e-3, atol=1e-2)


@ct.kernel
def two_scales(Q, K, V, O, scale, T: ct.Constant[int], D: ct.Constant[int]):
    m = ct.bid(0)
    q = ct.load(Q, (0, m, 0), shape=(1, T, D)).reshape((T, D))
    top, total = ct.full((T, 1), attention.NEG_INF, dtype=ct.float32), ct.zeros((T, 1), dtype=ct.float32)
    state = top, total, ct.zeros((T, D), dtype=ct.float32)
    for n in range(m):
        state = attention.attend(q, K, V, 0, n, state, m * T, scale, False, True, T, D)
    for n in range(m, m + 1):
        state = attention.attend(q, K, V, 0, n, state, m * T, scale * 0.5, True, True, T, D)
    ct.store(O, (0, m, 0), (state[2] / state[1]).astype(O.dtype).reshape((1, T, D)))


def test_loops_one_after_another_share_their_pipelines() -> None:
    """Keys and values of the rows before the diagonal, and of those on it, which have another scale."""
    array = torch.zeros((1, 256, 64), dtype=torch.float16)
    args = (array, array, array, torch.zeros_like(array), 0.1, 64, 64)
    program = run.compile(two_scales, args, "h100")
    text = program.text("nv_tileas")
    assert text.count("create_pipeline") == 3 and text.count("scf.for %n") >= 4
    (note,) = program.context.notes
    assert note.message.startswith("each iteration waits for this product, about 128 cycles of the tensor core")
    assert note.message.endswith("known at run time only, and is taken for one of few iterations")
    assert "acc = ct.mma(powers.astype(V.dtype), v, acc * shrink)" in note.render()
