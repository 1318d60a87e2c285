"""One batch of kernels: built, simulated, assembled, run on the chip, and compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from tirx_mini import read_ptx
from tirx_mini.ir import TirxError
from tirx_mini.runtime.cuda_driver import DriverError

from .chip import Loaded, assembled
from .forms import Form
from .judging import Difference, Error, differences, errors
from .kinds import Words
from .program import Launch
from .random_programs import random_program
from .table import all_forms, groups, table_program

GPU = "h100"
CHECKED = 4
"""One program of so many is simulated with the detection of hazards."""


@dataclass(frozen=True)
class Job:
    """Kernels of one process. table: numbers of groups of forms. seeds: of random programs. chip: whether they run."""

    table: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()
    seed: int = 0
    chip: bool = True

    def parts(self) -> list[Job]:
        """The same kernels, one by one."""
        tables = [Job((each,), (), self.seed, self.chip) for each in self.table]
        return [*tables, *(Job((), (each,), self.seed, self.chip) for each in self.seeds)]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a kernel, or of one form.

    outcome: "agree", "differ", "refused", "finding", "crash", "rejected" (by ptxas), "fault", "lost" or "not run".
    """

    name: str
    style: str
    outcome: str
    detail: str = ""
    text: str = ""
    differences: tuple[Difference, ...] = ()
    errors: tuple[Error, ...] = ()
    forms: tuple[str, ...] = field(default=())


@cache
def known() -> tuple[tuple[Form, ...], tuple[tuple[Form, ...], ...]]:
    """All forms, and those of each kernel of the table."""
    forms = all_forms()
    return forms, tuple(groups(forms))


def run(job: Job) -> list[Outcome]:
    """The outcomes of a batch."""
    forms, tables = known()
    launches = [(table_program(f"table{n}", tables[n], job.seed), tables[n]) for n in job.table]
    launches += [(random_program(f"random{seed}", seed, forms), ()) for seed in job.seeds]
    found: list[Outcome] = []
    ready: list[tuple[Launch, list[Words], list[Words]]] = []
    for launch, of in launches:
        after = launch.arguments()
        outcome = simulated(launch, after)
        if outcome is None:
            ready.append((launch, launch.arguments(), after))
        elif len(of) > 1:
            found += _each_form(launch.name, of, job)
        else:
            found.append(outcome)
    return [*found, *_on_chip(ready, job.chip)]


def _each_form(name: str, forms: Sequence[Form], job: Job) -> list[Outcome]:
    """The outcomes of a kernel of the table of which one form is not simulated."""
    found: list[Outcome] = []
    for number, form in enumerate(forms):
        launch = table_program(f"{name}_{number}", [form], job.seed)
        after = launch.arguments()
        outcome = simulated(launch, after)
        found += [outcome] if outcome is not None else _on_chip([(launch, launch.arguments(), after)], job.chip)
    return found


def simulated(launch: Launch, arguments: Sequence[Words]) -> Outcome | None:
    """Simulate a kernel; its results are written into the arguments. Return what is wrong, or None."""
    checks = launch.style != "table" and launch.seed % CHECKED == 0
    forms = _names(launch)
    try:
        entry = read_ptx(launch.text).entry(launch.name)
        report = entry.simulate(arguments, grid=launch.grid, block=launch.block, gpu=GPU, checks=checks)
    except Exception as error:  # a crash of the simulator is a result
        return Outcome(launch.name, launch.style, "crash", f"{type(error).__name__}: {error}", launch.text, forms=forms)
    if report.verdict == "ok":
        return None
    message = report.findings[0].message if report.findings else report.verdict
    outcome = "refused" if report.verdict == "incomplete" else "finding"
    return Outcome(launch.name, launch.style, outcome, message, launch.text, forms=forms)


def _on_chip(ready: Sequence[tuple[Launch, list[Words], list[Words]]], chip: bool) -> list[Outcome]:
    if not ready:
        return []
    try:
        binary = assembled([launch for launch, _, _ in ready])
    except TirxError as error:
        if len(ready) > 1:
            return [outcome for each in ready for outcome in _on_chip([each], chip)]
        launch = ready[0][0]
        return [Outcome(launch.name, launch.style, "rejected", str(error), launch.text, forms=_names(launch))]
    if not chip:
        return [judged(launch, before[0], after, after, "not run") for launch, before, after in ready]
    loaded = Loaded(binary)
    found: list[Outcome] = []
    for launch, got, model in ready:
        given = got[0].copy()
        try:
            loaded.run(launch, got)
        except DriverError as error:
            print(f"{launch.name} faults on the chip: {error}", flush=True)
            os._exit(1)  # nothing runs in this process's context any more
        found.append(judged(launch, given, got, model, "agree"))
    loaded.close()
    return found


def judged(launch: Launch, given: Words, got: Sequence[Words], model: Sequence[Words], fine: str) -> Outcome:
    """Compare results with the simulator's. fine: the outcome where nothing differs."""
    wrong = differences(launch, given, (got[1], got[3]), (model[1], model[3]))
    near = errors(launch, given, got[1], model[1])
    outcome = "differ" if wrong or any(each.outside for each in near) else fine
    text = launch.text if wrong else ""
    return Outcome(
        launch.name, launch.style, outcome, "", text, tuple(wrong), tuple(near), forms=_names(launch)
    )  # fmt: skip


def _names(launch: Launch) -> tuple[str, ...]:
    return tuple(dict.fromkeys(slot.form.name for slot in launch.slots if slot.form is not None))
