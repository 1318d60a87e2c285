"""The reference kernels of the ladder, after every pass of the pipeline."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tirx_mini.course import STEPS
from tirx_mini.ir import (
    UNROLLED,
    AllocBuffer,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    If,
    Launch,
    PrimFunc,
    Seq,
    Stmt,
    walk,
)
from tirx_mini.passes import PIPELINE, lower

FILES = sorted((Path(__file__).parents[3] / "kernels_ref" / "sm100").glob("step*.py"))


def reference(step: int, *shape: int) -> PrimFunc:
    (path,) = [p for p in FILES if p.stem.startswith(f"step{step:02}")]
    return getattr(importlib.import_module(f"kernels_ref.sm100.{path.stem}"), f"hgemm_v{step}")(*shape)


@pytest.fixture(params=STEPS, ids=lambda step: f"step{step:02}", scope="module")
def lowered(request) -> tuple[int, PrimFunc]:
    return request.param, lower(reference(request.param, *STEPS[request.param].shape(1024)))


def calls(func: PrimFunc) -> list[Call]:
    return [node for node in walk(func.body) if isinstance(node, Call)]


def test_every_statement_has_its_source_line(lowered):
    """Findings of the simulator and comments in the CUDA code point at the student's line."""
    _, func = lowered
    for node in walk(func.body):
        if isinstance(node, Stmt) and not isinstance(node, Seq):
            assert node.span is not None, repr(node)
            assert "kernels_ref" in node.span.user.file, repr(node)


LAUNCHES = {
    1: Launch((1, 1, 1), 128), 3: Launch((8, 8, 1), 128), 6: Launch((148, 1, 1), 128), 7: Launch((148, 1, 1), 256),
    9: Launch((148, 1, 1), 256, (2, 1, 1)), 10: Launch((148, 1, 1), 384, (2, 1, 1)),
}  # fmt: skip


def test_the_launch_of_each_step(lowered):
    step, func = lowered
    assert func.launch is not None
    expected = LAUNCHES.get(step)
    if expected is not None:
        assert (func.launch.grid, func.launch.threads, func.launch.cluster) == (
            expected.grid, expected.threads, expected.cluster)  # fmt: skip
    assert 32 * 1024 < func.launch.smem_bytes <= 232_448


def test_each_step_uses_the_instructions_that_it_teaches(lowered):
    step, func = lowered
    names = {call.op for call in calls(func)}
    tma = {"cp.async.bulk.tensor.load", "cp.async.bulk.tensor.store"}
    assert {"tcgen05.mma", "tcgen05.commit", "tcgen05.ld", "tcgen05.wait.ld"} <= names
    assert tma <= names if step >= 4 else not tma & names
    assert {m.buffer.name for m in func.tensor_maps} == ({"A", "B", "D"} if step >= 4 else set())
    groups = {call.attr("cta_group") for call in calls(func) if call.op == "tcgen05.mma"}
    assert groups == {2 if step >= 9 else 1}
    words = {call.args[3].value for call in calls(func) if call.op == "tcgen05.mma"}
    assert words == {0x10400010 if step >= 9 else 0x08200010}


def test_a_k_tile_takes_four_mma_instructions(lowered):
    _, func = lowered
    loops = [n for n in walk(func.body) if isinstance(n, For) and isinstance(n.body, Evaluate)
             and n.body.call.op == "tcgen05.mma"]  # fmt: skip
    assert loops and all((n.start.value, n.stop.value, n.kind) == (0, 4, UNROLLED) for n in loops)


def test_register_indices_are_compile_time_constants(lowered):
    """An array with a run-time index would be placed in local memory."""
    _, func = lowered
    unrolled = {n.var for n in walk(func.body) if isinstance(n, For) and n.kind == UNROLLED}
    serial = {n.var for n in walk(func.body) if isinstance(n, For) and n.kind != UNROLLED}
    for node in walk(func.body):
        if isinstance(node, BufferStore) and node.buffer.scope == "local" and not node.buffer.scalar:
            used = set(walk(node.indices[0]))
            assert not used & serial and (used & unrolled or node.buffer.size == 1)


def test_names_from_the_source_are_kept(lowered):
    step, func = lowered
    names = {n.buffer.name for n in walk(func.body) if isinstance(n, (AllocBuffer, DeclBuffer))}
    assert {"tmem_addr", "Asmem", "Bsmem", "Dreg", "Dreg_16b"} <= names
    if step >= 7:
        assert {"tma2mma", "mma2tma", "mma2ld", "ld2mma", "Dsmem"} <= names


def test_roles_are_conditions_on_warpgroups_and_warps():
    """The assignment tells students to look for these conditions in the code of step 7."""
    conditions = {repr(n.cond) for n in walk(lower(reference(7, 1024, 1024, 1024)).body) if isinstance(n, If)}
    assert "Tx.threadIdx.x < 1" in conditions
    assert {"Tx.warp_id_in_cta >> 2 == 1", "Tx.warp_id_in_cta % 4 == 3", "Tx.warp_id_in_cta % 4 == 0"} <= conditions


def test_every_pass_returns_a_printable_function(lowered):
    step, _ = lowered
    texts: list[str] = []
    lower(reference(step, *STEPS[step].shape(1024)), after=lambda _, func: texts.append(func.script()))
    assert len(texts) == len(PIPELINE) and all(text.startswith("#") or "def " in text for text in texts)
