"""Source locations, and the error pages that display them.

A `Span` is a range of source text. Inlined code (a student's ``@Tx.inline`` helper, a method of `lang`) keeps the span
of its own line and stores the span of the call in `inlined_at`, so a finding can point at either.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Iterator

from tirx_mini.records import dataclass, replace

from .errors import ERROR_KINDS

_CUDA_HEADER = re.compile(
    r".*/(?:nvidia/[\w.-]+|cuda-[\d.]+|local/cuda|targets/[\w-]+-linux)/(?:targets/[\w-]+/)?include/(.+)"
)
_OF_NVRTC = "__nv_nvrtc_builtin_header.h"
"""NVRTC's own header, which it names as if it lay in the working directory."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text. As in Python's `ast`, lines are numbered from 1 and columns from 0."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    inlined_at: Span | None = None
    library: bool = False
    """True for text of tirx_mini itself (`lang`) and for headers of CUDA; reports then show the caller's line."""

    @property
    def user(self) -> Span:
        """The innermost span of the chain that lies in the user's source."""
        for span in self.chain():
            if not span.library:
                return span
        return self

    def chain(self) -> Iterator[Span]:
        """Yield this span, then the calls that inlined it, innermost first."""
        span: Span | None = self
        while span is not None:
            yield span
            span = span.inlined_at

    def inlined(self, call: Span | None) -> Span:
        """Return the same text inlined at `call`, which becomes the outermost span of the chain."""
        if call is None:
            return self
        outer = self.inlined_at.inlined(call) if self.inlined_at else call
        return replace(self, inlined_at=outer)

    def __str__(self) -> str:
        return f"{file_label(self.file)}:{self.line}"


@dataclass(frozen=True)
class Diagnostic:
    """A message with its source location.

    message: the problem.
    hint: the suggested replacement.
    notes: further messages, each with its own place.
    """

    message: str
    span: Span | None = None
    hint: str | None = None
    notes: tuple[tuple[str, Span | None], ...] = ()
    severity: str = "error"
    code: str = ""

    def render(self, context: int = 0) -> str:
        """Render the page as plain text: headline, location, underlined source, notes and hint.

        context: how many source lines to show before and after the span.
        """
        lines = [f"{self.severity}[{self.code}]: {self.message}" if self.code else f"{self.severity}: {self.message}"]
        if self.span is not None:
            lines += excerpt(self.span.user, context)
            lines += [f"  = inlined from {span}" for span in self.span.user.chain() if span is not self.span.user]
        for text, span in self.notes:
            lines.append(f"note: {text}")
            if span is not None:
                lines += excerpt(span.user)
        if self.hint:
            lines.append(f"help: {self.hint}")
        return "\n".join(lines)


def cuda_header(file: str) -> str:
    """Return the name by which a text includes a header of CUDA; "" for other files."""
    path = file.replace(os.sep, "/")
    match = _CUDA_HEADER.match(path)
    return match[1] if match is not None else _OF_NVRTC if path.endswith(_OF_NVRTC) else ""


def file_label(file: str) -> str:
    """Return the label of a source file: "Cell In[3]" for a notebook cell, else its path."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    label = getattr(getattr(shell, "compile", None), "format_code_name", None)  # since IPython 8
    named = label(file) if label is not None else None
    return file if named is None else " ".join(named)


def excerpt(span: Span, context: int = 0) -> list[str]:
    """Return the source lines of `span` underlined with carets, or only its location if the source is unreadable."""
    first = linecache.getline(span.file, span.line).rstrip("\n")
    width = len(str(span.line + context))
    lines = [f"{' ' * width}--> {file_label(span.file)}:{span.line}:{span.column + 1}"]
    if not first.strip():
        return lines
    lines.append(f"{' ' * width} |")
    for number in range(max(1, span.line - context), span.line):
        lines.append(f"{number:>{width}} | {linecache.getline(span.file, number).rstrip()}")
    lines.append(f"{span.line:>{width}} | {first}")
    end = span.end_column if span.end_line == span.line else len(first)
    lines.append(f"{' ' * width} | {' ' * span.column}{'^' * max(1, end - span.column)}")
    for number in range(span.line + 1, span.line + 1 + context):
        text = linecache.getline(span.file, number).rstrip()
        if text:
            lines.append(f"{number:>{width}} | {text}")
    return lines


class TirxError(RuntimeError):
    """An error in a kernel. `str(error)` is the whole page: location, source, problem and suggested fix.

    TVM's errors of this kind are `RuntimeError`s, too.

    kind: the kind of mistake, a key of `ERROR_KINDS`.
    about: the argument of a call that is wrong, where the message is about one: the front end underlines it.
    """

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        notes: tuple[tuple[str, Span | None], ...] = (),
        kind: str = "lowering",
        about: object = None,
    ) -> None:
        self.kind = kind
        self.about = about
        self.diagnostic = Diagnostic(message, span, hint, notes, code=ERROR_KINDS[kind].code)
        super().__init__(message)

    @property
    def span(self) -> Span | None:
        return self.diagnostic.span

    def at(self, span: Span | None) -> TirxError:
        """Return the same error, located at `span` if it has no location yet."""
        if self.diagnostic.span is None and span is not None:
            self.diagnostic = replace(self.diagnostic, span=span)
        return self

    def __str__(self) -> str:
        return self.diagnostic.render()

    def _render_traceback_(self) -> list[str]:
        """Return the text that a notebook prints in place of a traceback."""
        return str(self).splitlines()
