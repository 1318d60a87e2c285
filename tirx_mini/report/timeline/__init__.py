"""Timelines as people read them: still pictures, two runs side by side, and a page to look around in."""

from .against import Comparison, Difference, Run, as_data, compare
from .marks import Heading
from .page import page_html
from .svg import against_svg, timeline_svg
from .wave import wave_note, wave_svg

__all__ = [
    "Comparison",
    "Difference",
    "Heading",
    "Run",
    "against_svg",
    "as_data",
    "compare",
    "page_html",
    "timeline_svg",
    "wave_note",
    "wave_svg",
]
