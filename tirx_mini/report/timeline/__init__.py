"""Timelines as people read them: still pictures."""

from .marks import Heading
from .svg import timeline_svg

__all__ = ["Heading", "timeline_svg"]
