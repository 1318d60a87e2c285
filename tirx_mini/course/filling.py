"""Fill-in of open TODOs by the reference's statements, so that the rest of a step can be checked."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from tirx_mini.diagnose import Finding, Report
from tirx_mini.records import dataclass, replace
from tirx_mini.script import StandIn

from .hints import Hints, hints_of, kernel_of, matched, places, reference_file
from .kernel_ref import NO_STAND_INS
from .kernels import arch_folder, read_kernels, step_of
from .todos import Todo, architecture_in, todos_in


@dataclass(frozen=True)
class Filled:
    """The open TODOs of a step, and the statements that replace them.

    step: of the factory. of: how many TODOs the step has.
    open: those that are open, by number.
    by_line: the statements, by the line of the `...`.
    """

    step: int
    of: int
    open: Mapping[int, Todo]
    by_line: Mapping[int, StandIn]

    @property
    def yours(self) -> str:
        """Return the share of the user's TODOs, as in "5 of 12 yours"."""
        return f"{self.of - len(self.open)} of {self.of} yours"

    def __str__(self) -> str:
        """Return a sentence about the origin of the checked code."""
        named = ", ".join(f"{number} (line {todo.line})" for number, todo in self.open.items())
        todos = "TODO" if len(self.open) == 1 else "TODOs"
        return f"step {self.step}: {self.yours}; the reference's code stands for {todos} {named}"

    def told(self, report: Report) -> Report:
        """Return `report` with the user's share of the code, and a note at each finding in other code."""
        return replace(report, yours=self.yours, findings=tuple(map(self._told, report.findings)))

    def note(self, line: int) -> str | None:
        """Return a sentence about a line that the reference's code replaces, or None for any other line."""
        number = next((number for number, todo in self.open.items() if todo.dots == line), None)
        return None if number is None else f"line {line} is TODO {number}, for which the reference's code stands"

    def _told(self, finding: Finding) -> Finding:
        note = self.note(finding.span.user.line) if finding.span is not None else None
        if note is None:
            return finding
        notes = (*finding.details.get("notes", ()), (note, None))
        return replace(finding, details={**finding.details, "notes": notes})


def stand_ins_of(filled: Filled | None) -> Mapping[int, StandIn]:
    """Return the statements for the open TODOs of a fill-in, if there is one."""
    return NO_STAND_INS if filled is None else filled.by_line


def filling(path: Path, name: str) -> Filled | None:
    """Return the fill-in for the factory `name` of a student's file, as in "hgemm_v7".

    The result is None for a step with no open TODO, with only open TODOs, or with an unfinished one; and for other
    files.
    """
    return filling_of(read_kernels(path), path, name) if step_of(name) is not None and path.is_file() else None


def filling_of(text: str, path: Path, name: str) -> Filled | None:
    """Return the fill-in for a factory of `text`, which may not be what the file `path` holds."""
    step = step_of(name)
    if step is None:
        return None
    arch = arch_folder(architecture_in(path, text))
    hints, todos = hints_of(step, arch), todos_in(text).get(step, ())
    mine = {number: todo for number, todo in matched(hints, todos).items() if todo.open}
    unknown = sum(todo.open for todo in todos) - len(mine)
    if unknown or not mine or len(mine) == len(hints) or any(todo.begun for todo in mine.values()):
        return None
    return Filled(step, len(hints), mine, _by_line(step, arch, hints, mine))


def _by_line(step: int, arch: str, hints: tuple[Hints, ...], mine: Mapping[int, Todo]) -> Mapping[int, StandIn]:
    """Return the reference's statements for each open TODO."""
    file = reference_file(step, arch)
    text = file.read_text(encoding="utf-8")
    found = places(hints, kernel_of(ast.parse(text), step), text.splitlines())
    return {todo.dots: StandIn(str(file), found[number - 1].statements) for number, todo in mine.items()}
