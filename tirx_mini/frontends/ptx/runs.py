"""One launch of a kernel, executed in several of its texts, each on its own copy of the arguments."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from types import MappingProxyType
from typing import Protocol

from tirx_mini.diagnose import Report
from tirx_mini.records import dataclass
from tirx_mini.worker import Team, Twin

from .programs import Entry
from .results import Arrays, arrays_in, copied
from .texts import Role


class Launch(Protocol):
    """A launch of a kernel in one of its texts. options: instead of those of the launch, of `tirx_mini.simulate`."""

    def __call__(self, entry: Entry, args: Sequence[object], /, **options: object) -> Report: ...


_ONLY_CHECKS: Mapping[str, object] = MappingProxyType(
    {"trace": False, "log_barriers": False, "single": False, "watch": None, "jobs": 1}
)
"""The options of the other texts: the optimised one has the time."""


@dataclass(frozen=True)
class Run:
    """The run of a text. arrays: its results by name, none where it did not get to its end."""

    report: Report
    arrays: Arrays

    @staticmethod
    def of(entry: Entry, report: Report, args: Sequence[object]) -> Run:
        if report.timing is None:
            return Run(report, {})
        return Run(report, arrays_in(args, [parameter.name for parameter in entry.kernel.parameters]))

    @property
    def ended(self) -> bool:
        return self.report.timing is not None


def run_each(entries: Mapping[Role, Entry], args: Sequence[object], launch: Launch) -> dict[Role, Run]:
    """Run the texts of a kernel, and write the results of the optimised one into the arguments.

    Where the system copies processes, the texts run at the same time.
    """
    inputs = copied(args)
    runs: dict[Role, Run] = {}

    def first() -> None:
        report = launch(entries[Role.TIME], args)
        runs[Role.TIME] = Run.of(entries[Role.TIME], report, args)

    def run(role: Role) -> Run:
        given = copied(inputs)
        fewer: dict[str, object] = {"checks": False, "schedules": 1} if role is Role.VALUES else {}
        with redirect_stdout(StringIO()):  # what a kernel prints is what its optimised text prints
            report = launch(entries[role], given, **{**_ONLY_CHECKS, **fewer})
        return Run.of(entries[role], report, given)

    others = [role for role in entries if role is not Role.TIME]
    jobs = min(len(entries), os.cpu_count() or 1) if Twin.possible() else 1
    room = 2 * sum(array.nbytes for array in arrays_in(inputs).values())
    with Team(_in_worker, str, run, jobs, twin=run, room=room) as team:
        return team.results(others, meanwhile=first) | runs


def _in_worker(payload: object) -> Generator[None, None, object]:
    """Stand for the task of fresh processes: there are copies of this one, or no others."""
    yield
    return payload
