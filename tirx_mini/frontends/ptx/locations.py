"""Source locations: ``.file`` and ``.loc`` (PTX ISA: "Debugging Directives")."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tirx_mini.codegen import GENERATED
from tirx_mini.ir import Span, cuda_header

_FILE = re.compile(r'^[ \t]*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.MULTILINE)
_LOC = re.compile(
    r"(\d+)\s+(\d+)(?:\s+(\d+))?(?:\s*,\s*function_name\s+[^,]*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?\s*\Z"
)


def kept_lines(text: str, language: str, file: str = "") -> str:
    """Register a text's lines for messages, and return its file name or a name derived from its hash."""
    name = file or f"<{language} {sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    return name


class Locations:
    """The source locations in a text.

    files: the names of ``.file``, by number. not_the_users: the numbers of text that tirx_mini wrote, and of headers of
    CUDA: a finding in them is shown at the user's line that calls them. Line information of the same place with the
    calls that inlined it is in `places`: a location that was inlined names its call by file, line and column alone.
    """

    def __init__(self, files: Mapping[int, str]) -> None:
        self.files = files
        self.not_the_users = frozenset(
            number for number, name in files.items() if Path(name).name == GENERATED or cuda_header(name)
        )
        self.places: dict[tuple[str, ...], Span] = {}

    @classmethod
    def of(cls, text: str) -> Locations:
        """Collect the locations of a text; ``.file`` may follow the code that refers to it."""
        return cls({int(number): str(Path(*parts)) for number, *parts in _FILE.findall(text)})

    def span(self, text: str, before: Span | None) -> Span | None:
        """Return the span of a ``.loc`` directive, or `before` for code without a line (line 0)."""
        match = _LOC.match(text)
        if match is None or match[2] == "0":
            return before
        call = self.places.get((match[4], match[5], match[6])) if match[4] else None
        if match[4] and call is None:
            call = self._span(match[4], match[5], match[6], None)
        span = self._span(match[1], match[2], match[3] or "0", call)
        self.places[match[1], match[2], match[3] or "0"] = span
        return span

    def _span(self, file: str, line: str, column: str, inlined_at: Span | None) -> Span:
        name = self.files.get(int(file), "")
        column_from_0 = max(0, int(column) - 1)
        return Span(name, int(line), column_from_0, inlined_at=inlined_at, library=int(file) in self.not_the_users)
