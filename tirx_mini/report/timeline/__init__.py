"""Timelines in readable forms: static pictures, side-by-side comparisons, and an interactive page."""

from .against import Comparison, Difference, Run, as_data, compare, run_of
from .against_text import against_text
from .choice import FIRST, SLOWEST, ctas_shown
from .marks import Heading
from .page import page_data, page_html
from .svg import against_svg, timeline_svg
from .text import timeline_text
from .trace_events import trace_json
from .wave import wave_note, wave_svg, wave_text

__all__ = [
    "FIRST",
    "SLOWEST",
    "Comparison",
    "Difference",
    "Heading",
    "Run",
    "against_svg",
    "against_text",
    "as_data",
    "compare",
    "ctas_shown",
    "page_data",
    "page_html",
    "run_of",
    "timeline_svg",
    "timeline_text",
    "trace_json",
    "wave_note",
    "wave_svg",
    "wave_text",
]
