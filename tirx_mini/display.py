"""What a notebook shows of an object: `Displayed` asks the writer that is registered for its class.

Findings, reports and timelines are defined below the room that renders them, so they do not know their HTML:
`tirx_mini.notebook`, which stands above both, registers a writer for each. It is imported when something is shown.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module

WRITERS = "tirx_mini.notebook"


@singledispatch
def as_html(value: object) -> str | None:
    """The object as HTML for a notebook; None for an object without a writer, which the notebook shows as text."""
    return None


class Displayed:
    """An object that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        import_module(WRITERS)
        return as_html(self)
