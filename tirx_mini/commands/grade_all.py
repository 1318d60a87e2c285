"""``python grade.py --all DIR --out OUT``: a class, graded in parallel, with one table at the end."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tirx_mini.course import STEPS, load_kernels
from tirx_mini.ending import farewell, unwinding
from tirx_mini.files import output_folder, write_whole
from tirx_mini.grading import (
    KERNELS,
    OF_FILES,
    REPORTS,
    Cache,
    Class,
    Entry,
    GradeAll,
    Graded,
    HandIn,
    HandInError,
    Judges,
    Lateness,
    NotClosed,
    Outcome,
    Prints,
    Rules,
    RulesError,
    Standing,
    SubmittedError,
    Times,
    alike_csv,
    entries_of,
    grade,
    grade_class,
    grade_html,
    grade_page,
    grades_csv,
    in_threads,
    kit_version,
    load_rules,
    own_times,
    packed,
    parse_time,
    plain_line,
    points_short,
    points_text,
    prints,
    times_of_files,
    times_of_table,
    unreadable,
)
from tirx_mini.hardware import BLACKWELL, HOPPER
from tirx_mini.passes import lower
from tirx_mini.report import plain
from tirx_mini.resources import resource
from tirx_mini.sandbox import find_sandbox

from .arguments import positive

_INTERRUPTED = "interrupted; the same command goes on from here"
_MOST_ALIKE = 10
"""The maximum number of printed pairs of hand-ins; the file has all pairs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Grade a class. The exit status is 0 if all hand-ins were graded, 1 if not, 2 for bad input, 130 after Ctrl-C."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False)
    try:
        rules = load_rules(options.rules)
        entries, others = entries_of(options.all)
        times, strangers = _times(options.submitted, entries, rules.lateness)
        _make(options.out, options.all)
    except (HandInError, RulesError, SubmittedError) as error:
        console.print(f"error: {error}", markup=False, soft_wrap=True)
        return 2
    for said, names in (("not hand-ins, and left out", others), ("names with a time that no hand-in has", strangers)):
        if names:
            console.print(f"{said}: {', '.join(map(plain_line, names))}", markup=False, soft_wrap=True)
    settings = repr([kit_version(), rules.digest, options.full, options.gpu, options.modal])
    with ExitStack() as stack:
        # Machines elsewhere have to be released in order; here, processes are ended.
        stack.enter_context(unwinding() if options.modal else farewell(_INTERRUPTED))
        try:
            grade_all = _cloud(options) if options.modal else stack.enter_context(_here(rules, options))
            watch = stack.enter_context(_bar(console, len(entries)))
            common = {} if options.modal else _common(rules)
            found = grade_class(
                entries, options.out, grade_all, settings=settings,
                unreadable=lambda name, problem: unreadable(name, problem, rules), common=common,
                lateness=rules.lateness, times=times, watch=watch,
            )  # fmt: skip
        except KeyboardInterrupt:
            console.print(_INTERRUPTED, markup=False)
            return 130
        except ValueError as error:
            console.print(f"error: {error}", markup=False, soft_wrap=True)
            return 2
    _write(found, options.out)
    _show(found, options.out, console)
    if rules.lateness.due is not None:
        _show_times(found, options.submitted, console)
    return 1 if found.not_graded else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python grade.py --all",
        description="Grade every hand-in of a folder. What is graded already is not graded again.",
        epilog="Exit status: 0 if all were graded, whatever their scores, 1 if not, 2 for bad input.",
    )
    parser.add_argument("--all", type=Path, required=True, metavar="DIR", help="the folder that has the hand-ins")
    parser.add_argument("--out", type=Path, required=True, metavar="OUT", help="the folder for tables and reports")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a grading.toml of your own")
    parser.add_argument(
        "--submitted", metavar="WHEN",
        help=f"when they were handed in: a CSV file with a name and a time in each row, or {OF_FILES} for the times of "
        "the files (default: the times in the tars, which students can set)",
    )  # fmt: skip
    parser.add_argument("--gpu", metavar="NAME", help="the modelled GPU (default: one that a file is for)")
    parser.add_argument("--full", action="store_true", help="all sizes of the assignment, with their data")
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="hand-ins at a time (default: one a core; 10 machines in the cloud)"
    )
    parser.add_argument("--modal", metavar="cpu|GPU", help="on machines of Modal: cpu simulates, B200 runs on a GPU")
    return parser


def _times(submitted: str | None, entries: Sequence[Entry], rules: Lateness) -> tuple[Times, list[str]]:
    """Return the time of each hand-in, and the table's names without a hand-in. Raises `SubmittedError`."""
    if submitted is None:
        return own_times, []
    try:
        parse_time(submitted)
    except ValueError:
        return (times_of_files, []) if submitted == OF_FILES else times_of_table(Path(submitted), entries, rules)
    raise SubmittedError(f"--submitted of a class is a CSV file with a time for each hand-in, or {OF_FILES}")


def _make(out: Path, handins: Path) -> None:
    """Create the results folder, which must not be among the hand-ins, or the next run would grade it."""
    place = out.resolve()
    if any(above.exists() and above.samefile(handins) for above in (place, *place.parents)):
        raise HandInError(f"{out} is in the folder of the hand-ins; name a folder beside it with --out")
    output_folder(out)


@contextmanager
def _here(rules: Rules, options: argparse.Namespace) -> Iterator[GradeAll]:
    """Provide grading in processes of this machine, which share results for equal kernels."""
    jobs = options.jobs or os.cpu_count() or 1
    sandbox = find_sandbox()
    if not sandbox.closed:
        raise ValueError(str(NotClosed()))
    with Judges(jobs, rules.judge, Cache(options.out / KERNELS), options.full) as judges:

        def one(handin: HandIn) -> Outcome:
            known: dict[int, Prints] = {}
            graded = grade(
                handin, rules, gpu=options.gpu, jobs=1, full=options.full, judges=judges, sandbox=sandbox,
                prints=known.__setitem__,
            )  # fmt: skip
            return Outcome(graded, known)

        yield in_threads(one, jobs, judges.close)


def _cloud(options: argparse.Namespace) -> GradeAll:
    """Grade on machines of Modal, without kernel prints, so that hand-ins are compared by file only.

    Raises `ValueError` if the kit's run_modal.py is not beside the package, for an unknown machine, and, when
    hand-ins are graded, for whatever keeps Modal from it.
    """
    script = resource("run_modal.py")
    if not script.exists():
        raise ValueError("--modal needs run_modal.py: run it in a checkout of the kit")
    sys.path.insert(0, str(script.parent))
    import cloud
    import run_modal

    machines = ("cpu", *cloud.GPUS)
    wanted = "cpu" if options.modal.lower() == "cpu" else cloud.named(options.modal)
    if wanted not in machines:
        raise ValueError(f"--modal has no {options.modal!r}; write {', '.join(machines[:-1])} or {machines[-1]}")
    if options.full or options.gpu is not None:
        raise ValueError("--modal grades as the rules say: leave out --full and --gpu")
    text = options.rules.read_text(encoding="utf-8") if options.rules is not None else None

    def grade_all(todo: Mapping[str, HandIn]) -> Iterable[tuple[str, Outcome | Exception]]:
        fitting = cloud.GPUS[wanted].student_file if wanted != "cpu" else None
        others = {name: handin.file for name, handin in todo.items() if fitting not in (None, handin.file)}
        for name, file in others.items():
            yield name, ValueError(f"the kernels in {file} are not for a {wanted}")
        tars = {name: packed(handin) for name, handin in todo.items() if name not in others}
        if not tars:
            return
        try:
            for name, results in run_modal.grade_many(tars, machines=wanted, rules=text, jobs=options.jobs or 10):
                yield name, results if isinstance(results, Exception) else _from_cloud(todo[name].name, results)
        except run_modal.CloudFailed as error:
            raise ValueError(str(error)) from None
        except run_modal.modal.exception.Error as error:
            raise ValueError(run_modal.explained(error)) from None

    return grade_all


def _from_cloud(name: str, results: str) -> Outcome | Exception:
    """Return the outcome of a hand-in, which was transferred without its name."""
    try:
        return Outcome(replace(Graded.from_dict(json.loads(results)), name=name))
    except ValueError as error:
        return error


def _common(rules: Rules) -> dict[int, frozenset[int]]:
    """Return by step the prints that every solution shares, taken from the references."""
    found: dict[int, frozenset[int]] = {step: frozenset() for step in STEPS}
    for arch in (BLACKWELL, HOPPER):
        factories = load_kernels(resource("kernels_ref"), arch.kernels)
        for step in STEPS:
            case = rules.cases(step, arch.kernels)[0]
            found[step] |= prints(lower(factories[step](*case.shape)))
    return found


@contextmanager
def _bar(console: Console, among: int) -> Iterator[Callable[[Standing], None]]:
    """Show the progress of the class: a bar on a terminal, else a line for each hand-in."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("grading", total=among)

        def watch(standing: Standing) -> None:
            last = standing.last.graded if standing.last is not None else None
            said = f"{last.name[:20]:<20} {points_text(last.score)}" if last is not None else "grading"
            progress.update(bar, completed=standing.done, description=f"{said:<28}")
            if not console.is_terminal:
                console.print(f"{standing.done} of {standing.among}  {said}".rstrip(), markup=False)

        yield watch


def _write(found: Class, out: Path) -> None:
    """Write the tables, and each hand-in's reports."""
    for name, outcome in found.outcomes.items():
        write_whole(out / REPORTS / f"{name}.html", grade_html(outcome.graded))
        write_whole(out / REPORTS / f"{name}.txt", plain(grade_page(outcome.graded)))
    write_whole(out / "grades.csv", grades_csv(found, tuple(STEPS)))
    write_whole(out / "alike.csv", alike_csv(found.alike, found.files))


def _show(found: Class, out: Path, console: Console) -> None:
    """Print the table of scores, and the most similar pairs."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("hand-in", max_width=18, no_wrap=True)
    for step in STEPS:
        table.add_column(str(step), justify="right", min_width=4, no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    for name, outcome in found.outcomes.items():
        scores = {step.step: points_short(step.score) for step in outcome.graded.steps}
        late = outcome.graded.late
        when = "" if late is None else " late" if late.days is not None else " time?"
        row = [scores.get(step, "–") for step in STEPS]
        table.add_row(Text(found.shown(name)), *row, f"{points_text(outcome.graded.score)}{when}")
    console.print(table)
    for name, why in found.not_graded.items():
        console.print(f"{found.shown(name)} was not graded: {why}", markup=False, soft_wrap=True)
    if found.not_graded:
        console.print("the same command tries again what was not graded", markup=False)
    if found.alike:
        console.print(f"\n{len(found.alike)} pairs of hand-ins are alike; read both before you judge:", markup=False)
    for pair in found.alike[:_MOST_ALIKE]:
        said = "the same file" if pair.same_file else f"{pair.share:.0%} of what sets them apart from the class"
        pair_shown = f"{found.shown(pair.first)} and {found.shown(pair.second)}"
        console.print(f"  {pair_shown}: {said}", markup=False, soft_wrap=True)
    said = f"\nwrote {out / 'grades.csv'}, alike.csv and a report for each hand-in in {REPORTS}/"
    console.print(said, markup=False, soft_wrap=True)


def _show_times(found: Class, submitted: str | None, console: Console) -> None:
    """Print the hand-ins without a known time, and the source of the times."""
    lates = {name: outcome.graded.late for name, outcome in found.outcomes.items()}
    unknown = [name for name, late in lates.items() if late is not None and late.days is None]
    if unknown:
        names = ", ".join(map(found.shown, unknown))
        said = f"when they were handed in is not known, and nothing is deducted from them: {names}"
        console.print(said, markup=False, soft_wrap=True)
    if submitted is None:
        console.print(
            "the times are those in the hand-ins, which students can set: give those of the course system with "
            "--submitted", markup=False, soft_wrap=True,
        )  # fmt: skip
