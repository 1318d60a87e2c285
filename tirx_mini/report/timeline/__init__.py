"""Timelines as people read them: still pictures, and a page to look around in."""

from .marks import Heading
from .page import page_html
from .svg import timeline_svg

__all__ = ["Heading", "page_html", "timeline_svg"]
