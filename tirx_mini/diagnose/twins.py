"""Twin findings of one mistake: on operands A and B, or at one line of two inlined calls."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace

from tirx_mini.ir import Span

from .deadlock import source_text
from .findings import Finding

_NAME = re.compile(r"[A-Za-z_]\w*")
_IT = re.compile(r"\b(reads|writes|frees) it\b")


def together(findings: Sequence[Finding]) -> list[Finding]:
    """Merge findings of one mistake, and name all affected buffers.

    The merged findings have one code, and their messages, lines and notes differ only in names.
    """
    groups: dict[Hashable, list[Finding]] = {}
    parts: dict[Hashable, list[str]] = {}
    for finding in findings:
        key = _key(finding)
        seen = parts.setdefault((key, finding.details.get("buffer")), [])  # the stages of one buffer stay apart
        if (where := str(finding.details.get("where"))) not in seen:
            seen.append(where)
        groups.setdefault((key, seen.index(where)), []).append(finding)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _key(finding: Finding) -> Hashable:
    """Return the key that findings of one mistake share."""
    if "buffer" not in finding.details:
        return id(finding)
    details = finding.details
    notes = tuple((_unnamed(text, finding), _shape(span)) for text, span in details.get("notes", ()))
    order = None if finding.order is None else _unnamed(finding.order, finding)
    return (
        finding.kind, finding.severity, details.get("operation"), details.get("cta"), details.get("consequence"),
        order, _unnamed(finding.message, finding), _shape(finding.span), notes,
    )  # fmt: skip


def _unnamed(text: str, finding: Finding) -> str:
    """Return a sentence without its buffer names."""
    for name in ("where", "buffer"):
        if value := str(finding.details.get(name) or ""):
            text = text.replace(value, "…")
    return text


def _shape(span: Span | None) -> str:
    """Return the text of a line with all names replaced."""
    return "" if span is None else _NAME.sub("x", source_text(span.user))


def _one(group: Sequence[Finding]) -> Finding:
    """Merge findings of one mistake into one, at the first of their lines."""
    group = sorted(group, key=lambda f: ((0 if f.span is None else f.span.user.line), str(f.details["buffer"])))
    first = group[0]
    parts = {str(f.details.get("where") or f.details["buffer"]): str(f.details["buffer"]) for f in group}
    buffers = list(dict.fromkeys(parts.values()))
    notes = list(dict.fromkeys(note for f in group for note in f.details.get("notes", ())))
    lines = {first.span.user.line} if first.span is not None else set[int]()
    for other in group[1:]:
        if other.span is not None and other.span.user.line not in lines:
            lines.add(other.span.user.line)
            notes.insert(len(lines) - 2, (f"and the same with {other.details['buffer']} here", other.span))
    details = {
        **first.details, "notes": tuple(notes), "buffer": _listed(buffers), "where": _listed(list(parts)),
        "count": sum(f.details.get("count", 1) for f in group),
    }  # fmt: skip
    message, order = first.message, first.order
    if len(parts) > 1:
        where = str(first.details.get("where") or first.details["buffer"])
        message = message.replace(where, _listed(list(parts)), 1).replace("while it may", "while they may")
        order = None if order is None else _IT.sub(r"\1 them", order)
    return replace(first, message=message, order=order, details=details)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
