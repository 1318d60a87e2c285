"""Products in tensor memory that threads compute between: attention and two layers of a network, on Blackwell."""

from __future__ import annotations

import math

import pytest
import torch

from kernels_ref.tile import attention
from tirx_mini.frontends.tile_ir.nv_tileas import pipeline_ops as pipe
from tirx_mini.frontends.tile_ir.ssa import print_module
from tirx_mini.tile_ir import ct, run, simulated


def random(*shape: int, seed: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    scores = q.float() @ k.float().transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        scores.masked_fill_(torch.ones(scores.shape[-2:]).triu(1).bool(), -math.inf)
    return torch.softmax(scores, -1) @ v.float()


CASES = [
    (256, 100, 64, (256, 64), False, torch.float16),
    (128, 128, 64, (128, 64), True, torch.float16),
    (256, 256, 64, (256, 128), True, torch.bfloat16),
    (256, 256, 128, (256, 128), False, torch.float16),
    (512, 128, 64, (512, 64), False, torch.float16),
]


@pytest.mark.parametrize(("queries", "keys", "width", "tiles", "causal", "dtype"), CASES)
def test_attention(
    queries: int, keys: int, width: int, tiles: tuple[int, int], causal: bool, dtype: torch.dtype
) -> None:
    q = random(1, 1, queries, width, seed=0, dtype=dtype)
    k, v = (random(1, 1, keys, width, seed=seed, dtype=dtype) for seed in (1, 2))
    o = torch.zeros_like(q)
    with simulated("b200", schedules=5) as reports:
        attention.attention(q, k, v, o, causal, tiles=tiles)
    (report,) = reports
    assert report.ok and not report.findings
    error = 2e-3 if dtype == torch.float16 else 2e-2
    torch.testing.assert_close(o.float(), attended(q, k, v, causal), rtol=error, atol=error)


@ct.kernel
def two_layers(x, w1, w2, y, M: ct.Constant[int], H: ct.Constant[int], N: ct.Constant[int]):
    """y = relu(x @ w1) @ w2, one block of hidden units after another."""
    a = ct.load(x, (ct.bid(0), 0), shape=(M, x.shape[1]))
    out = ct.zeros((M, N), dtype=ct.float32)
    for j in range(ct.cdiv(w1.shape[1], H)):
        hidden = ct.mma(a, ct.load(w1, (0, j), shape=(x.shape[1], H)), ct.zeros((M, H), dtype=ct.float32))
        hidden = ct.maximum(hidden, 0.0).astype(x.dtype)
        out = ct.mma(hidden, ct.load(w2, (j, 0), shape=(H, N)), out)
    ct.store(y, (ct.bid(0), 0), out.astype(y.dtype))


def test_two_layers() -> None:
    x, w1, w2 = random(140, 64, seed=0), random(64, 192, seed=1), random(192, 64, seed=2)
    w1, w2 = w1 / 8, w2 / 8
    y = torch.zeros((140, 64), dtype=torch.float16)
    args = (x, w1, w2, y, 256, 64, 64)
    with simulated("b200", schedules=5) as reports:
        ct.launch(None, (1,), two_layers, args)
    assert reports[0].ok and not reports[0].findings
    hidden = torch.relu(x.float() @ w1.float()).half().float()
    torch.testing.assert_close(y.float(), hidden @ w2.float(), rtol=5e-3, atol=5e-3)
    dots = list(run.compile(two_layers, args, "b200").nv_tileas.find(pipe.async_dot))
    assert {op.mma for op in dots} == {"tcgen05"}


@ct.kernel
def summed_twice(a, b, c, d, N: ct.Constant[int]):
    """c = a @ b in parts, whose running sums threads also read: so they add."""
    total, largest = ct.zeros((128, N), dtype=ct.float32), ct.zeros((128, N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], 64)):
        total = ct.mma(ct.load(a, (0, k), shape=(128, 64)), ct.load(b, (k, 0), shape=(64, N)), total)
        largest = ct.maximum(largest, total)
    ct.store(c, (0, 0), total)
    ct.store(d, (0, 0), largest)


def test_sums_that_threads_read_in_each_iteration() -> None:
    a, b = random(128, 192, seed=0), random(192, 64, seed=1)
    c, d = torch.zeros((128, 64)), torch.zeros((128, 64))
    with simulated("b200", schedules=5) as reports:
        ct.launch(None, (1,), summed_twice, (a, b, c, d, 64))
    assert reports[0].ok and not reports[0].findings
    sums = torch.stack([a[:, :k].float() @ b[:k].float() for k in (64, 128, 192)])
    torch.testing.assert_close(c, sums[-1], rtol=1e-3, atol=1e-2)
    torch.testing.assert_close(d, sums.amax(0).clamp(min=0), rtol=1e-3, atol=1e-2)


def test_scores_of_the_next_keys_are_begun_first() -> None:
    """Part by part: the first product of the next iteration, then the second one of this iteration."""
    array = torch.zeros((2, 512, 64), dtype=torch.float16)
    program = run.compile(
        attention.attention_tile, (array, array, array, array.clone(), 0.1, False, 256, 64, 64), "b200"
    )
    text = print_module(program.nv_tileas)
    agent = text[text.index("agent mma") : text.index("agent compute")]
    loop = agent[agent.rindex("scf.for %n") :]
    parts = [line.split("part = ")[1][0] for line in loop.splitlines() if "async.dot" in line]
    adds = ["if %" in line for line in loop.splitlines() if "async.dot" in line]
    assert parts == ["0", "0", "1", "1"] and adds == [True, False, True, False]
    assert text.count("create_pipeline") == 5


def test_probabilities_take_the_place_of_scores_where_tensor_memory_is_small() -> None:
    """With 128 columns in a head, S and O of 256 rows fill it. Threads then scale O in slices, for their registers."""

    def compiled(width: int) -> str:
        array = torch.zeros((2, 512, width), dtype=torch.float16)
        args = (array, array, array, array.clone(), 0.1, False, 256, 128, width)
        return print_module(run.compile(attention.attention_tile, args, "b200").nv_tileas)

    small, large = compiled(64), compiled(128)
    assert "over %scores" in large and "over %scores" not in small
    loop = large[large.index("agent compute") :]
    loop = loop[loop.index("scf.for %n") : loop.index("scf.yield")]
    assert loop.count("nv_tileas.write") == 3 and loop.count("nv_tileas.copy") == 3


def compute_agent(queries: int, keys: int, width: int) -> str:
    """The loop of the computing warps of attention, with its tile."""
    array = torch.zeros((2, 512, width), dtype=torch.float16)
    args = (array, array, array, array.clone(), 0.1, False, queries, keys, width)
    text = print_module(run.compile(attention.attention_tile, args, "b200").nv_tileas)
    agent = text[text.index("agent compute") :]
    return agent[: agent.index("{")] + agent[agent.index("scf.for %n") : agent.index("scf.yield")]


def in_order(text: str, *parts: str) -> bool:
    """Return whether each part is in the text behind the one before."""
    place = 0
    for part in parts:
        place = text.find(part, place)
        if place < 0:
            return False
    return True


def test_sums_are_copied_beside_the_exponentials() -> None:
    """The copy begins behind the maximum; what was written is waited for once, behind the sum of the row."""
    loop = compute_agent(256, 64, 128)
    assert in_order(
        loop, "combine = max", "{begun}", "math.exp2", "nv_tileas.copied", "nv_tileas.write", "combine = add",
        "nv_tileas.written", "producer_commit %acc",
    )  # fmt: skip
    assert loop.count("nv_tileas.written") == 1


def test_four_warpgroups_share_512_rows() -> None:
    """A thread has 104 registers: it writes P, of 64 numbers, before it copies 64 sums."""
    loop = compute_agent(512, 64, 64)
    assert "warps(16) registers(104)" in loop
    assert in_order(loop, "math.exp2", "xf16, #tmem>", "combine = add", "xf32, #tmem> ->", "nv_tileas.written")


def test_a_stage_of_all_parts_is_waited_for_once() -> None:
    array = torch.zeros((2, 512, 64), dtype=torch.float16)
    args = (array, array, array, array.clone(), 0.1, False, 256, 64, 64)
    text = print_module(run.compile(attention.attention_tile, args, "b200").nv_tileas)
    agent = text[text.index("agent mma") : text.index("agent compute")]
    loop = agent[agent.rindex("scf.for %n") :]
    waits = [line for line in loop.splitlines() if "consumer_wait %pipe" in line]
    assert ["{again}" in line for line in waits] == [False, False, True, True]
