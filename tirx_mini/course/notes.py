"""A user's notes: quiz predictions and drills, in one JSON file beside the kernels.

The file is never graded or sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from tirx_mini.files import write_whole
from tirx_mini.records import dataclass, replace

NAME = "tirx_notes.json"
"""The file in the working directory; git ignores it."""

_PARTS = ("quiz", "drills")


class NotesError(Exception):
    """The error for an unreadable notes file; the message is one sentence for the user."""


@dataclass(frozen=True)
class Notes:
    """The notes of a folder.

    path: of the file. predictions: by question, as in "7.2": the answer, the reason, and whether it was right.
    drills: by architecture, step and name, as in "sm100 7 lanes": the seed, the file, the answers, and the state.
    """

    path: Path
    predictions: Mapping[str, Mapping[str, Any]]
    drills: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @staticmethod
    def read(folder: Path | None = None) -> Notes:
        """Read the notes of a folder, by default the working directory; empty without a file. Raises `NotesError`."""
        path = (folder or Path()) / NAME
        if not path.exists():
            return Notes(path, {})
        parts = _read(path)
        if parts is None:
            raise NotesError(f"{path} is not a file of notes; move it away")
        return Notes(path, *parts)

    def with_prediction(self, question: str, answer: float, why: str, right: bool) -> Notes:
        """Return the notes with an answer, which replaces an earlier answer to the question."""
        new = {"answer": answer, "why": why, "right": right}
        return replace(self, predictions={**self.predictions, question: new})

    def with_drill(self, name: str, note: Mapping[str, object]) -> Notes:
        """Return the notes with a note about a drill, which replaces an earlier one."""
        return replace(self, drills={**self.drills, name: note})

    def write(self) -> None:
        """Write the file atomically. Raises `OutputError` if that is not possible."""
        parts = zip(_PARTS, (self.predictions, self.drills), strict=True)
        written = {name: dict(part) for name, part in parts if part}
        write_whole(self.path, json.dumps(written, ensure_ascii=False, indent=1) + "\n")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the parts of a notes file, or None for any other file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not set(found) <= set(_PARTS):
        return None
    quiz, drills = (found.get(name, {}) for name in _PARTS)
    return (quiz, drills) if _is_part(quiz) and _is_part(drills) else None


def _is_part(part: object) -> bool:
    return isinstance(part, dict) and all(isinstance(note, dict) for note in part.values())
