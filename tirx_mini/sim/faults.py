"""Collecting findings while a kernel runs, and the exception that stops it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tirx_mini.ir import Span

from .findings import Finding, Severity


class Fault(Exception):
    """The kernel broke a rule after which no hardware goes on; `finding` says which."""

    def __init__(self, kind: str, message: str, span: Span | None = None, **details: Any) -> None:
        super().__init__(message)
        self.finding = Finding(kind, "error", message, span, details)


MoreNotes = Callable[[], "tuple[tuple[str, Span | None], ...]"]


class Findings:
    """What was found so far. The same thing found again at the same places is counted, not repeated.

    The number of different findings is bounded by `limit`; a kernel that breaks everything is cut short by the reader.
    """

    def __init__(self, limit: int = 200) -> None:
        self._found: dict[tuple[Any, ...], Finding] = {}
        self._counts: dict[tuple[Any, ...], int] = {}
        self._more: dict[tuple[Any, ...], MoreNotes] = {}
        self.limit = limit

    def add(
        self,
        kind: str,
        severity: Severity,
        message: str,
        span: Span | None,
        *,
        other: Span | None = None,
        details: Mapping[str, Any] | None = None,
        more: MoreNotes | None = None,
    ) -> None:
        """Record a finding; `other` is the second place it concerns. Merged by kind, severity and both places.

        more: gives further notes, and is asked when the run is over.
        """
        key = (kind, severity, _place(span), _place(other))
        if key in self._found:
            self._counts[key] += 1
        elif len(self._found) < self.limit:
            self._found[key] = Finding(kind, severity, message, span, dict(details or {}))
            self._counts[key] = 1
            if more is not None:
                self._more[key] = more

    def seen(self, kind: str, severity: Severity, span: Span | None, other: Span | None = None) -> bool:
        """Whether this was found already; counts it again if so. Saves composing the message."""
        key = (kind, severity, _place(span), _place(other))
        if key not in self._found:
            return False
        self._counts[key] += 1
        return True

    def __iter__(self):
        for key, finding in self._found.items():
            added: dict[str, Any] = {}
            if self._counts[key] > 1:
                added["count"] = self._counts[key]
            if key in self._more and (notes := self._more[key]()):
                added["notes"] = (*finding.details.get("notes", ()), *notes)
            yield replace(finding, details={**finding.details, **added}) if added else finding

    def __len__(self) -> int:
        return len(self._found)


def _place(span: Span | None) -> Any:
    return None if span is None else (span.file, span.line, span.column, span.inlined_at and _place(span.inlined_at))
