"""What bounds each step is what the next step removes."""

from __future__ import annotations

import re

import pytest

from tirx_mini.diagnose import Resource

from .references import run

CAUSES = {1: "one-batch", 2: "one-cta", 3: "copies-by-threads", 4: "one-stage", 5: "ctas-in-turn", 6: "one-role",
          7: "too-few-stages", 8: "bandwidth", 9: "bandwidth-of-pair", 10: "peak"}  # fmt: skip
REMEDIES = {
    1: "a loop over K", 2: "a grid of CTAs, one for each tile of D", 3: "TMA copies a whole tile",
    4: "with two stages the next tile is loaded while", 5: "a persistent CTA, which loops over tiles",
    6: "Warps of their own for loads, MMAs and write-back", 7: "four would", 8: "a cluster of two CTAs",
    9: "a second consumer", 10: r"of [\d.]+ µs, launch and set-up take .*, the loop .*, and the write-back",
}  # fmt: skip


@pytest.mark.parametrize("step", CAUSES)
def test_the_sentence_of_a_step_motivates_the_next(step: int) -> None:
    bound = run(step).bound
    assert bound is not None
    assert bound.cause.kind == CAUSES[step], bound
    assert re.search(REMEDIES[step], bound.sentence), bound


@pytest.mark.parametrize("step", range(1, 10))
def test_a_bound_without_remedies_has_the_facts_alone(step: int) -> None:
    bound = run(step).bound
    assert bound is not None
    asked = bound.without_remedies
    assert not re.search(REMEDIES[step], f"{asked}") and str(bound).startswith(str(asked))
    assert (asked.shares, asked.lanes, asked.usage) == (bound.shares, bound.lanes, bound.usage)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 9])
def test_so_does_that_of_hoppers_steps_where_the_cause_is_the_same(step: int) -> None:
    bound = run(step, "h100").bound
    assert bound is not None and bound.cause.kind == CAUSES[step], bound
    assert re.search(REMEDIES[step], bound.sentence), bound


@pytest.mark.parametrize("gpu", ["b200", "h100"])
@pytest.mark.parametrize("step", CAUSES)
def test_the_critical_path_is_all_of_the_predicted_time(step: int, gpu: str) -> None:
    report = run(step, gpu)
    assert report.bound is not None and report.time_us is not None
    assert sum(share.share for share in report.bound.shares) == pytest.approx(1)
    assert sum(share.percent for share in report.bound.shares) == 100
    assert sum(share.us for share in report.bound.shares) == pytest.approx(round(report.time_us, 1))


@pytest.mark.parametrize("step", CAUSES)
def test_the_time_of_a_role_is_work_waits_and_nothing_else(step: int) -> None:
    bound = run(step).bound
    assert bound is not None
    for lane in bound.lanes:
        assert lane.busy + lane.waiting + lane.idle == pytest.approx(1, abs=0.05), lane


def test_as_many_stages_as_the_sentence_asks_for_bring_what_it_promises() -> None:
    two, three, four, six = (run(7, PIPE_DEPTH=depth) for depth in (2, 3, 4, 6))
    assert two.bound is not None and two.bound.sentence.endswith("; four would")
    assert two.cycles and three.cycles and four.cycles and six.cycles
    assert four.cycles < 0.8 * two.cycles and four.cycles < three.cycles
    assert six.cycles > 0.97 * four.cycles
    assert four.bound is not None and four.bound.cause.kind == "bandwidth"


def test_the_wait_of_the_mma_warp_is_what_more_stages_remove() -> None:
    def waits(depth: int) -> float:
        bound = run(7, PIPE_DEPTH=depth).bound
        assert bound is not None
        mma = next(lane for lane in bound.lanes if lane.name == "MMA")
        return next(wait.share for wait in mma.waits if wait.name == "tma2mma")

    assert waits(1) > waits(2) > waits(4)


def test_the_tensor_core_gets_busier_from_step_to_step() -> None:
    bounds = [bound for step in (4, 6, 8, 9, 10) if (bound := run(step).bound)]
    busy = [round(usage.share, 6) for bound in bounds for usage in bound.usage[:1]]
    assert busy == sorted(busy) and busy[0] < 0.25 and busy[-1] > 0.8


def test_copies_and_loads_are_told_apart() -> None:
    three, four = run(3).bound, run(4).bound
    assert three is not None and four is not None
    parts = [{share.resource: share.share for share in bound.shares} for bound in (three, four)]
    assert parts[0][Resource.COPIES] > 0.4 and Resource.LATENCY not in parts[0]
    assert parts[1][Resource.LATENCY] > 0.2 and Resource.COPIES not in parts[1]


def test_a_short_loop_waits_for_the_write_back() -> None:
    bound = run(8, k=128).bound
    assert bound is not None and bound.cause.kind == "one-accumulator", bound
    assert re.search(r"the MMA warp waits \d\d % of its time for ld2mma, .* a second accumulator", bound.sentence)
