"""From a question about a lowered kernel to a report: the simulator records facts, and `diagnose` explains them.

A schedule is run again under other circumstances if its first run leaves an order open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias

from tirx_mini.diagnose import LaunchTime, Report, failed, proof_of, report_of, single_launch_time
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.sim import Circumstances, Doubt, Ends, HoldingClock, Late, Outcome, Question, Simulation

RUNAWAY = "TX114"

MIXED_RUNS = 4
"""The maximum number of runs of one schedule that search for other orders of its signals."""

MOST_HELD = 2
"""The maximum number of warps that are delayed, one at a time, because an mbarrier test of theirs failed."""

Run: TypeAlias = Callable[[Circumstances], Outcome]
"""A function that runs a schedule under given circumstances. The function receives the circumstances that earlier runs
ask for, and adds those of the schedule."""


def answer(func: PrimFunc, args: Sequence[object], question: Question) -> Report:
    """Run a lowered kernel and report its behaviour.

    Results are written into the arguments in place.

    args: a torch tensor or NumPy array for each buffer parameter, a number for each scalar one.

    The report is the worst of all schedules, and includes the number of schedules run. It contains every mistake of the
    kernel. Raises `ArgumentError` for arguments that do not fit the kernel.
    """
    try:
        simulation = Simulation(func, args, question)
    except TirxError as error:
        return failed(func.name, error, question.gpu.name)
    if question.data and (question.schedules > 1 or question.checks):
        simulation.keep()
    worst: Report | None = None
    for number in range(max(1, question.schedules)):
        seed = question.seed + number
        if number:
            simulation.restore()

        def run(circumstances: Circumstances, seed: int = seed) -> Outcome:
            return simulation.run(replace(circumstances, seed=seed or None))

        report = replace(judged(simulation, run), schedules=number + 1, seed=seed)
        worst = report if worst is None or report.badness > worst.badness else replace(worst, schedules=number + 1)
        if not report.comparable:
            break
    assert worst is not None
    if question.single and worst.timing is not None:
        single = single_time(func, args, question, worst)
        worst = replace(worst, timing=replace(worst.timing, single=single))
    return worst


def judged(simulation: Simulation, run: Run) -> Report:
    """Return the report of a run, repeated if other orders may complete phases with other signals.

    In the repeated run, no thread acquires the release of those signals, so that the run shows the races of such
    orders. A run is also repeated if an mbarrier test may precede the completion that it observed. The arguments must
    have been saved.
    """
    with closing(simulation):  # the warps that a run blocks are looked at here, and not afterwards
        return _judged(simulation, run)


def _judged(simulation: Simulation, run: Run) -> Report:
    func, question = simulation.func, simulation.question
    mixed: Ends = {}
    outcome: Outcome | None = None
    report: Report | None = None
    for _ in range(MIXED_RUNS):
        outcome = run(Circumstances(mixed=mixed))
        again = report_of(func, question.gpu, outcome, data=question.data)
        if not question.data:
            return again
        if report is None or not again.ok:
            report = again
        if not again.ok or all(ends <= mixed.get(place, frozenset()) for place, ends in outcome.mixed.items()):
            break
        mixed = {
            place: mixed.get(place, frozenset()) | outcome.mixed.get(place, frozenset())
            for place in (*mixed, *outcome.mixed)
        }
        simulation.restore()
    assert report is not None and outcome is not None
    if not report.ok or not question.checks:
        return report
    results = simulation.results()
    open_orders = list(outcome.open_orders or ())
    for circumstances in _other_answers(simulation, outcome):
        simulation.restore()
        other = run(replace(circumstances, mixed=mixed))
        again = report_of(func, question.gpu, other)
        if any(finding.code != RUNAWAY for finding in again.errors):  # so many tests more may look as if without end
            return again
        open_orders += [one for one in other.open_orders or () if one.doubt is Doubt.VALUES]
        simulation.put_back(results)
    return report if report.proof is None else replace(report, proof=proof_of(open_orders))


def _other_answers(simulation: Simulation, outcome: Outcome) -> Iterator[Circumstances]:
    """Yield circumstances in which mbarrier tests have other results than in a run: in all warps, or in a single
    one."""
    if outcome.tested:
        yield Circumstances(late=Late.ALL)
    if not simulation.asks_once:
        return
    if outcome.tested:
        yield Circumstances(late=Late.FIRST)
        yield Circumstances(late=Late.OTHERS)
    for warp in simulation.doubted(outcome)[:MOST_HELD]:
        yield Circumstances(clock=HoldingClock((warp,)))


def single_time(func: PrimFunc, args: Sequence[object], question: Question, report: Report) -> LaunchTime | None:
    """Return the time of a single launch on an idle GPU with a cold L2.

    report: of a launch in a row, whose cycles are the same where the arguments do not fit in the L2. Otherwise the
    kernel runs once more, without data. The result is None where its control flow depends on data, or the run has no
    end.
    """
    asked = Question(question.gpu, data=False, checks=False, budget=question.budget, watch=question.watch)
    try:
        simulation = Simulation(func, args, asked)
    except TirxError:
        return None
    if not simulation.begins_cold:
        with closing(simulation):
            outcome = simulation.run(Circumstances(cold=True))
        if outcome.blocked or outcome.fault is not None:
            return None
        return single_launch_time(func, question.gpu, outcome.cycles, outcome.stats)
    assert report.cycles is not None
    return single_launch_time(func, question.gpu, report.cycles, report.stats)
