"""The state of a user's drills: the open drill, the next one, and their notes."""

from __future__ import annotations

from pathlib import Path

from tirx_mini.hardware import DEFAULT_ARCH, architecture_of
from tirx_mini.records import dataclass, replace

from ..notes import Notes, NotesError
from .drill import Dealt, Drill, deal

OPEN, REPAIRED, SHOWN = "open", "repaired", "shown"
"""The states of a drill: to be repaired, repaired by the reader, and given up."""

_MARKS = ("line", "cause")


@dataclass(frozen=True)
class Session:
    """A dealt drill.

    number, of: its place among the drills of the step. path: the file to repair.
    line, cause: the answer: a line of that file, and the number of a cause; 0 before it is given.
    """

    dealt: Dealt
    number: int
    of: int
    path: Path
    line: int = 0
    cause: int = 0

    @property
    def answered(self) -> bool:
        return self.line > 0 and self.cause > 0

    @property
    def right_line(self) -> bool:
        """Return whether the line is one of the mistake, or adjacent to one, as for a missing statement."""
        return any(abs(self.line - line) <= 1 for line in self.dealt.lines)

    @property
    def right_cause(self) -> bool:
        return self.cause == self.dealt.right

    @property
    def changed(self) -> bool:
        """Return whether the user has edited the file."""
        return self.path.read_text(encoding="utf-8", errors="replace") != self.dealt.text

    def noted(self, notes: Notes, state: str = OPEN) -> Notes:
        """Return the notes with this drill added."""
        note: dict[str, object] = {"state": state, "seed": self.dealt.seed, "file": self.path.name}
        note |= {"line": self.line, "cause": self.cause}
        if self.answered and state != OPEN:
            note |= dict(zip((f"right {part}" for part in _MARKS), (self.right_line, self.right_cause), strict=True))
        return notes.with_drill(_key(self.dealt.drill), note)


def session(drills: tuple[Drill, ...], notes: Notes, seed: int | None = None) -> Session:
    """Return the open drill of a step, else the first drill that is not repaired, else the first again.

    seed: of a drill that is dealt anew; by default the number of times that it was dealt. Raises `NotesError` for a
    note that is invalid, and as `deal` does.
    """
    states = [notes.drills.get(_key(drill), {}).get("state") for drill in drills]
    if OPEN in states:
        index = states.index(OPEN)
        return _opened(drills, index, notes)
    index = next((index for index, state in enumerate(states) if state != REPAIRED), 0)
    drill = drills[index]
    before = notes.drills.get(_key(drill), {}).get("seed")
    next_seed = before + 1 if isinstance(before, int) else 0
    return Session(deal(drill, next_seed if seed is None else seed), index + 1, len(drills), _free(drill, notes))


def _opened(drills: tuple[Drill, ...], index: int, notes: Notes) -> Session:
    note = notes.drills[_key(drills[index])]
    try:
        seed, line, cause = (int(note[name]) for name in ("seed", "line", "cause"))
        path = notes.path.parent / Path(note["file"]).name
    except (KeyError, TypeError, ValueError):
        raise NotesError(f"{notes.path} says nothing useful about {_key(drills[index])!r}; remove that entry") from None
    return Session(deal(drills[index], seed), index + 1, len(drills), path, line, cause)


def standings(drills: tuple[Drill, ...], notes: Notes) -> list[str]:
    """Return a line for each drill with its state and file, without information on its mistake."""
    lines: list[str] = []
    for drill in drills:
        note = notes.drills.get(_key(drill), {})
        state, file = note.get("state", "not dealt yet"), note.get("file", "")
        marks = [(part, note.get(f"right {part}")) for part in _MARKS]
        said = [f"{part} {'right' if mark else 'not right'}" for part, mark in marks if mark is not None]
        lines.append(", ".join(part for part in (state, file, *said) if part))
    return lines


def write_new(opened: Session) -> bool:
    """Write the file of a drill if it is missing; return whether it was written."""
    try:
        with opened.path.open("x", encoding="utf-8") as file:
            file.write(opened.dealt.text)
    except FileExistsError:
        return False
    return True


def answered(opened: Session, line: int, cause: int) -> Session:
    """Return the session with the user's answer."""
    return replace(opened, line=line, cause=cause)


def _key(drill: Drill) -> str:
    return f"{drill.arch} {drill.step} {drill.name}"


def _free(drill: Drill, notes: Notes) -> Path:
    """Return an unused file name beside the notes: "drill07.py", "drill07_2.py", …"""
    default = drill.arch == architecture_of(DEFAULT_ARCH).kernels
    stem = f"drill{drill.step:02}" if default else f"drill{drill.step:02}_{drill.arch}"
    folder, number = notes.path.parent, 1
    path = folder / f"{stem}.py"
    while path.exists():
        number += 1
        path = folder / f"{stem}_{number}.py"
    return path
