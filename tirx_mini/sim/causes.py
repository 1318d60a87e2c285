"""A cause of a deadlock in words, and the places of the source that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirx_mini.ir import Span

from .sites import Guard, Site

Notes = tuple[tuple[str, Span | None], ...]


@dataclass(frozen=True)
class Cause:
    """What is wrong in one sentence, what to write in another, and the places that show it."""

    message: str
    hint: str
    notes: Notes = ()


def guard_notes(guards: Sequence[Guard]) -> Notes:
    """The conditions around a site."""
    return tuple((f"under the guard `{guard.text}`", guard.cond.span or guard.span) for guard in guards)


def site_notes(sites: Sequence[Site], text: str) -> Notes:
    """Each place of the source once, as what is inlined several times is written there; {role}: the site's."""
    found = {(site.span.file, site.span.line): site for site in reversed(sites) if site.span is not None}
    return tuple((text.format(role=site.role), site.span) for site in reversed(found.values()))
