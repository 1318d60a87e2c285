"""What the steps teach, on the references of both ladders: each is its own step's, and no other's."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tirx_mini import simulate
from tirx_mini.compat.tvm import imports
from tirx_mini.course import STEPS, Case, load_kernels
from tirx_mini.grading import (
    LARGE,
    Facts,
    Seen,
    ahead,
    canonical,
    contract_broken,
    facts_of,
    missing,
    observed,
    observed_case,
    resident_ctas,
)
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import Buffer, Launch, PrimFunc
from tirx_mini.passes import lower

ROOT = Path(__file__).parents[3]
GPUS = {"sm100": "b200", "sm90": "h100"}
BOTH = {(1, 2), (2, 1), (3, 1), (3, 2)}
"""(reference, step) where a reference does all that another step teaches, and nothing that comes later: one K tile is a
loop of one round, and one tile of D a grid of one CTA. Where sizes do not fit, correctness tells them apart."""


def seen(
    kernel: PrimFunc, launch: Launch | None, gpu: str, sms: int | None = None, *, needed: bool = True
) -> Seen:
    """Return the facts about a right kernel. launch: of the kernel at `LARGE`. needed: only those that its D needs."""
    form, spec = canonical(lower(kernel)), gpu_spec(gpu).with_sms(sms)
    (m, k), (n, _), _ = (param.shape for param in form.params if isinstance(param, Buffer))
    if needed:
        facts = observed(form, spec, (m, n, k), "float16", 7)
    else:
        facts = facts_of(form, simulate(form, gpu=spec, data=False, trace=True).trace)
    assert facts is not None
    held = resident_ctas(launch, gpu_spec(gpu)) if launch is not None else 0
    return Seen(facts, launch.num_ctas if launch is not None else None, held, gpu_spec(gpu))


@cache
def large_launch(folder: str, number: int) -> Launch | None:
    """How a reference is launched at `LARGE`; None where it does not take it."""
    if STEPS[number].free != "MNK":
        return None
    return lower(load_kernels(ROOT / "kernels_ref", folder)[number](*LARGE)).launch


@cache
def reference(folder: str, number: int, case: Case, needed: bool = False) -> Seen | None:
    """A reference at the problem by which some step is judged; None where it does not take it. needed: as of `seen`."""
    factory = load_kernels(ROOT / "kernels_ref", folder, sms=case.sms)[number]
    try:
        kernel = factory(*case.shape)
    except ValueError:
        return None
    return seen(kernel, large_launch(folder, number), GPUS[folder], case.sms, needed=needed)


@pytest.mark.parametrize("folder", GPUS)
@pytest.mark.parametrize("step", STEPS)
def test_a_reference_is_its_own_step_and_no_other(step: int, folder: str) -> None:
    for number in STEPS:
        found = reference(folder, number, observed_case(step, folder), needed=number == step)
        problems = ["not built"] if found is None else [*missing(step, found), *ahead(step, found)]
        if number == step:
            assert not problems
        elif (number, step) not in BOTH:
            assert problems, f"the reference of step {number} passes as step {step}"
        assert all("\n" not in problem and len(problem) < 240 for problem in problems)


@pytest.mark.parametrize(
    ("number", "step", "sentence"),
    [
        (3, 4, "TMA does not load A and B"),
        (4, 3, "it uses TMA, which step 4 introduces"),
        (4, 5, "one K tile is loaded at a time"),
        (5, 4, "2 K tiles are loaded before the first MMA ends"),
        (5, 6, "the grid has 4,096 CTAs, and a B200 holds 296 of them"),
        (6, 5, "the grid has 148 CTAs that compute several tiles each, which step 6 introduces"),
        (6, 7, "warp 0 issues TMA loads and MMAs"),
        (7, 6, "have warps of their own, which step 7 introduces"),
        (7, 8, "2 K tiles are loaded ahead: step 8 has a pipeline of four stages"),
        (8, 7, "4 K tiles are loaded ahead, as step 8 introduces"),
        (8, 9, "the kernel has no clusters"),
        (9, 8, "it has clusters of 2 CTAs, which step 9 introduces"),
        (9, 10, "one warp of a CTA issues MMAs: step 10 has two"),
        (10, 9, "2 warps of a CTA issue MMAs, which step 10 introduces"),
        (10, 4, "K tiles are loaded before the first MMA ends, in stages, which step 5 introduces"),
    ],
)
def test_the_page_says_what_is_missing_or_ahead(number: int, step: int, sentence: str) -> None:
    found = reference("sm100", number, observed_case(number, "sm100"))
    assert found is not None
    assert any(sentence in problem for problem in [*missing(step, found), *ahead(step, found)])


def test_stages_that_are_not_loaded_ahead_are_no_pipeline(tmp_path: Path) -> None:
    """Shared memory and mbarriers for two stages, of which one is filled before the first MMA."""
    kernel = Edit(
        5, "PRE_NUM = min(PIPE_DEPTH, K_TILES)", "PRE_NUM = 1",
        (("if k + PIPE_DEPTH < K_TILES:", "if k + 1 < K_TILES:"),
         ("tma_load(stage, k + PIPE_DEPTH)", "tma_load((stage + 1) % PIPE_DEPTH, k + 1)")),
    ).kernel(tmp_path)  # fmt: skip
    assert "one K tile is loaded at a time" in " ".join(missing(5, seen(kernel, None, "b200")))


@pytest.mark.parametrize(
    ("step", "old", "new", "sentence"),
    [
        (3, "Tx.copy(D[row, n_st : n_st + BLK_N], Dreg_16b[:])",
         "Tx.copy(D[row, n_st : n_st + BLK_N], Dreg_16b[:])\n                A[row, 0] = Dreg_16b[0]", "writes to A"),
        (3, "Tx.copy(D[row, n_st : n_st + BLK_N], Dreg_16b[:])",
         "Dreg_16b[0] = D[row, n_st]\n                Tx.copy(D[row, n_st : n_st + BLK_N], Dreg_16b[:])", "reads D"),
    ],
)  # fmt: skip
def test_arguments_are_read_or_written_but_not_both(
    tmp_path: Path, step: int, old: str, new: str, sentence: str
) -> None:
    kernel = lower(Edit(step=step, old=old, new=new).kernel(tmp_path))
    assert sentence in contract_broken(kernel)


@pytest.mark.parametrize("folder", GPUS)
def test_no_reference_breaks_the_contract(folder: str) -> None:
    for number, factory in load_kernels(ROOT / "kernels_ref", folder).items():
        assert contract_broken(lower(factory(*STEPS[number].shape(512 if number < 9 else 1024)))) == ""


@pytest.mark.parametrize("folder", GPUS)
def test_facts_survive_json(folder: str) -> None:
    found = reference(folder, 7, Case((256, 256, 256)), needed=True)
    assert found is not None
    assert Facts.from_dict(json.loads(json.dumps(found.facts.as_dict()))) == found.facts


STYLES = [
    ("by_the_book", "hgemm_v1", 1, (128, 128, 64), {}),
    ("terse", "hgemm_v2", 2, (128, 128, 256), {"acc_style": "bool"}),
    ("scopes", "hgemm_v3", 3, (256, 384, 128), {}),
    ("overlap", "hgemm_v4", 4, (256, 256, 192), {}),
    ("one_thread", "gemm", 4, (128, 256, 192), {}),
    ("phase_arithmetic", "hgemm_v5", 5, (128, 256, 320), {}),
    ("persistent", "hgemm_v6", 6, (384, 256, 192), {}),
    ("roles_inlined", "hgemm_v8", 8, (256, 256, 384), {}),
    ("two_accumulators", "gemm", 8, (256, 384, 320), {}),
    ("cluster", "hgemm_v9", 9, (512, 512, 384), {}),
    ("pair", "gemm", 9, (512, 256, 320), {}),
    ("consumers", "hgemm_v10", 10, (512, 512, 384), {}),
]
"""Kernels in other styles than the references': (file of the students', factory, step, shape, options)."""


@pytest.mark.torch
@pytest.mark.parametrize(("name", "factory", "step", "shape", "options"), STYLES)
def test_what_counts_is_what_a_kernel_does_and_not_how_it_is_written(
    name: str, factory: str, step: int, shape: tuple[int, int, int], options: dict[str, object]
) -> None:
    path = ROOT / "tests" / "tirx_mini" / "frontends" / "tvm" / "students" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with imports():
        spec.loader.exec_module(module)
    kernel = getattr(module, factory)(*shape, **options)
    found = replace(seen(kernel, None, "b200"), large=148 if step >= 6 else 10_000, held=148)
    assert [*missing(step, found), *ahead(step, found)] == []
