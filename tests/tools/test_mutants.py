"""Mistakes in the references are caught: a sample of the mutants here, all of them by ``make mutants``."""

from __future__ import annotations

import ast

import pytest

from tools.mutants.__main__ import Result
from tools.mutants.equivalent import EQUIVALENTS, reason
from tools.mutants.judge import Outcome, Task, judge, on_small_gpu
from tools.mutants.mutants import Mutant, mutants, sample
from tools.mutants.operators import OPERATORS
from tools.source import REFERENCES, KernelSource

SAMPLE = {**dict.fromkeys(REFERENCES, 8), 4: 10, 5: 10, 6: 10, 7: 12, 8: 10}
"""How many mutants of each step a quick run judges; few of a hundred or more."""


@pytest.fixture(scope="module")
def found() -> list[Mutant]:
    return list(mutants(REFERENCES))


def test_there_are_many_and_every_operator_has_some(found: list[Mutant]) -> None:
    assert len(found) >= 2000
    assert {mutant.operator for mutant in found} == set(OPERATORS)
    for step in REFERENCES:
        assert len({mutant.text for mutant in found if mutant.step == step}) >= 80


def test_each_is_python_and_differs_from_the_reference(found: list[Mutant]) -> None:
    texts = {step: on_small_gpu(step, KernelSource.reference(step).text) for step in REFERENCES}
    for mutant in found:
        assert mutant.text != texts[mutant.step]
        assert mutant.concerned.own
    for mutant in {(mutant.step, mutant.operator): mutant for mutant in found}.values():  # to parse all takes seconds
        ast.parse(mutant.text)


@pytest.mark.parametrize("step", REFERENCES)
def test_a_sample_is_caught(step: int, found: list[Mutant]) -> None:
    for mutant in sample([m for m in found if m.step == step], SAMPLE[step], seed=step):
        outcome = judge(mutant.task)
        entry = reason(mutant.step, mutant.operator, mutant.change, mutant.inside, mutant.before)
        result = Result(mutant, outcome, entry)
        assert result.status != "missed", f"{mutant}: {outcome.how}\n{outcome.message}"


@pytest.mark.parametrize("step", REFERENCES)
def test_the_references_themselves_survive(step: int) -> None:
    """Or else every mutant would be caught, and nothing shown by it."""
    text = on_small_gpu(step, KernelSource.reference(step).text)
    assert judge(Task(step, text)).how == "survived"


def test_the_reasons_are_sentences_about_sites() -> None:
    for entry in EQUIVALENTS:
        assert len(entry.why) >= 20 and entry.change.strip("^$.*")
        assert set(entry.operators.split("|")) <= set(OPERATORS)


def test_a_reason_is_for_its_own_site_alone() -> None:
    fence = 'drop `Tx.ptx.fence.proxy_async("shared::cta")`'
    assert reason(7, "drop a fence", fence, "with Tx.kernel():", "Tx.ptx.fence.mbarrier_init()") is not None
    assert reason(7, "drop a fence", fence, "with Tx.thread():", "") is None
    assert reason(9, "drop a fence", "drop `Tx.ptx.fence.mbarrier_init()`", "with Tx.kernel():", "") is None


def test_a_finding_blames_the_mutated_line_or_the_same_barrier(found: list[Mutant]) -> None:
    wait = next(m for m in found if m.step == 7 and m.change.startswith("drop `tma2mma.wait("))
    own, *_ = wait.concerned.own
    arrive = next(n for n, line in enumerate(wait.text.splitlines(), 1) if "tma2mma.arrive(" in line)
    store = next(n for n, line in enumerate(wait.text.splitlines(), 1) if "Tx.copy_async(D[" in line)
    for line, blamed in ((own, True), (arrive, True), (store, False)):
        assert Result(wait, Outcome("race", lines=((line,),)), None).blamed is blamed
