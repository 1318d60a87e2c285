"""The notebook display of an object, by the writer registered for its class.

Findings, reports and timelines are defined below the room that renders them, and do not depend on their HTML:
`tirx_mini.notebook`, which stands above both, registers a writer for each. It is imported when something is shown.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module

WRITERS = "tirx_mini.notebook"


@singledispatch
def as_html(value: object) -> str | None:
    """Return the object as HTML for a notebook, or None without a writer; the notebook then shows text."""
    return None


class Displayed:
    """An object that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        import_module(WRITERS)
        return as_html(self)
