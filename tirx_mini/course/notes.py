"""A reader's own notes: predictions of the quiz, in one JSON file beside the kernels. It is never graded or sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tirx_mini.files import write_whole
from tirx_mini.records import dataclass

NAME = "tirx_notes.json"
"""The file, in the working directory; git ignores it."""


class NotesError(Exception):
    """The file of notes cannot be read; the message is one sentence for the user."""


@dataclass(frozen=True)
class Notes:
    """path: of the file. predictions: by question, as in "7.2": the answer, the reason, and whether it was right."""

    path: Path
    predictions: Mapping[str, Mapping[str, Any]]

    @staticmethod
    def read(folder: Path | None = None) -> Notes:
        """The notes of a folder, by default the working directory; empty where there are none. Raises `NotesError`."""
        path = (folder or Path()) / NAME
        if not path.exists():
            return Notes(path, {})
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["quiz"]
        except (OSError, ValueError, KeyError, TypeError):
            found = None
        if not isinstance(found, dict):
            raise NotesError(f"{path} is not a file of notes; move it away")
        return Notes(path, found)

    def with_prediction(self, question: str, answer: float, why: str, right: bool) -> Notes:
        """The same with an answer, which replaces the one before to that question."""
        return Notes(self.path, {**self.predictions, question: {"answer": answer, "why": why, "right": right}})

    def write(self) -> None:
        """Write the file, whole. Raises `OutputError` where that is not possible."""
        write_whole(self.path, json.dumps({"quiz": dict(self.predictions)}, ensure_ascii=False, indent=1) + "\n")
