"""Source locations that show the cause of a deadlock."""

from __future__ import annotations

from collections.abc import Sequence

from ..kind import Notes
from .guards import Guard
from .sites import Site


def guard_notes(guards: Sequence[Guard]) -> Notes:
    """Return notes on the conditions around a site."""
    return tuple((f"under the guard `{guard.text}`", guard.cond.span or guard.span) for guard in guards)


def site_notes(sites: Sequence[Site], text: str) -> Notes:
    """Return a note for each distinct source location. text: of the note; {role} is the site's."""
    found = {(site.span.user.file, site.span.user.line): site for site in reversed(sites) if site.span is not None}
    return tuple((text.format(role=site.role), site.span) for site in reversed(found.values()))
