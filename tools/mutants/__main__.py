"""How many mistakes the simulator catches: run mutants of the reference kernels, and print what became of them.

python -m tools.mutants                         # all (minutes)
python -m tools.mutants --steps 7 --sample 100  # some
python -m tools.mutants --list equivalent       # and each mutant that came out so: caught, missed, unblamed, …
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from tirx_mini.commands import step_list
from tirx_mini.ending import command
from tirx_mini.pool import Lost, run_bounded
from tools.source import REFERENCES

from .equivalent import EQUIVALENTS, Equivalent, reason
from .judge import Outcome, judge
from .mutants import Mutant, mutants, sample

BOUND_S = 60.0
CAUGHT_SHARE, BLAMED_SHARE = 0.98, 0.90


@dataclass(frozen=True)
class Result:
    """A mutant and what became of it. entry: of the table of equivalents, where nothing was found."""

    mutant: Mutant
    outcome: Outcome
    entry: Equivalent | None

    @property
    def status(self) -> str:
        if self.outcome.caught:
            return "caught"
        return "equivalent" if self.entry is not None else "missed"

    @property
    def blamed(self) -> bool:
        """Whether the first finding points at the changed statement, or at another at the same barrier or buffer."""
        lines = {line for place in self.outcome.lines for line in place}
        return bool(lines & (self.mutant.concerned.own | self.mutant.concerned.partners))


def run(found: Sequence[Mutant], jobs: int) -> list[Result]:
    """Judge the mutants, showing the progress."""
    results: dict[int, Result] = {}
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("mutants", total=len(found))
        for index, answer in run_bounded(judge, [m.task for m in found], jobs=jobs, bound_s=BOUND_S):
            outcome = Outcome(answer.reason) if isinstance(answer, Lost) else answer
            m = found[index]
            survived = outcome.how == "survived"
            entry = reason(m.step, m.operator, m.change, m.inside, m.before) if survived else None
            results[index] = Result(m, outcome, entry)
            progress.advance(task)
    return [results[index] for index in sorted(results)]


def operator_table(results: Iterable[Result]) -> Table:
    """One row for each operator."""
    table = Table(box=None, pad_edge=False)
    table.add_column("what is changed")
    columns = ("mutants", "caught", "by a warning", "equivalent", "missed")
    for name in columns:
        table.add_column(name, justify="right")
    rows: dict[str, Counter[str]] = {}
    for result in results:
        row = rows.setdefault(result.mutant.operator, Counter())
        row["mutants"] += 1
        row[result.status] += 1
        row["by a warning"] += result.outcome.warning
    for name, row in rows.items():
        table.add_row(name, *(str(row[column] or "") for column in columns))
    return table


def survivors_table(results: Iterable[Result]) -> Table:
    """The mutants that are no mistakes, by the reason why."""
    groups: dict[str, list[Mutant]] = {}
    for result in results:
        if result.entry is not None:
            groups.setdefault(result.entry.why, []).append(result.mutant)
    table = Table("equivalent", "because", box=None, pad_edge=False, show_lines=True)
    for why, found in groups.items():
        steps = ", ".join(map(str, sorted({m.step for m in found})))
        table.add_row(Text(f"{len(found)} × {found[0].operator}: {found[0].change} (steps {steps})"), Text(why))
    return table


def listed(results: Iterable[Result], which: str) -> Iterable[Result]:
    """The results that an option of ``--list`` asks for."""
    for result in results:
        if which in (result.status, result.outcome.how) or (
            which == "unblamed" and result.status == "caught" and not result.blamed
        ):
            yield result


def as_json(result: Result) -> dict[str, object]:
    mutant, outcome = result.mutant, result.outcome
    return {
        "step": mutant.step, "line": mutant.line, "operator": mutant.operator, "change": mutant.change,
        "status": result.status, "blamed": result.blamed, "why": result.entry.why if result.entry else None,
        **asdict(outcome),
    }  # fmt: skip


def report(results: Sequence[Result], console: Console, whole: bool) -> bool:
    """Print the outcome; whether it is as good as it has to be."""
    caught = [r for r in results if r.status == "caught"]
    missed = [r for r in results if r.status == "missed"]
    equivalent = len(results) - len(caught) - len(missed)
    console.print(operator_table(results), "")
    console.print(survivors_table(results), "")
    for result in missed:
        console.print(f"missed: {result.mutant} ({result.outcome.how})", markup=False)
        if result.outcome.message:
            console.print(result.outcome.message, markup=False)
    used = {r.entry for r in results if r.entry is not None}
    stale = [entry for entry in EQUIVALENTS if entry not in used] if whole else []
    for entry in stale:
        console.print(f"out of date: no survivor is {entry.operators}, {entry.change!r} in steps {entry.steps}")
    blamed = sum(r.blamed for r in caught)
    share = blamed / max(1, len(caught))
    console.print(
        f"the first finding points at the change, or at the other end of its barrier or buffer, in {blamed} of "
        f"{len(caught)} ({share:.1%})\ncaught {len(caught)} of {len(results)} mutants, {equivalent} equivalent",
        soft_wrap=True,
    )
    wrong = len(caught) + len(missed)
    return len(caught) >= CAUGHT_SHARE * wrong and share >= BLAMED_SHARE and not stale


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=step_list, default=tuple(REFERENCES), metavar="LIST", help="as in 1-3 or 7")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many, chosen at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the choice")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--list", metavar="WHICH", help="print the mutants of an outcome or a kind of finding")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one object for each mutant")
    options = parser.parse_args()
    found = list(mutants(options.steps))
    whole = options.sample is None and options.steps == parser.get_default("steps")
    chosen = sample(found, options.sample, options.seed) if options.sample is not None else found
    results = run(chosen, options.jobs)
    console = Console()
    for result in listed(results, options.list) if options.list else ():
        lines = " ".join("/".join(map(str, place)) for place in result.outcome.lines)
        console.print(f"{result.mutant}\n  {result.outcome.how} at {lines}: {result.outcome.message}", markup=False)
    if options.json:
        options.json.write_text("".join(json.dumps(as_json(r)) + "\n" for r in results), encoding="utf-8")
    return 0 if report(results, console, whole) else 1


if __name__ == "__main__":
    sys.exit(command(main))
