"""Pages for the findings of a simulation, explanations of wrong results, and timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_mini.on_demand import named

from .barriers import barrier_states, barrier_table
from .pages import WIDTH, finding_page, headline, plain, plan_text, report_page, to_json
from .palette import COLOURS, PAPER
from .product import (
    Multiply,
    ProductError,
    accesses,
    exact_product,
    product_error,
    product_shape,
    wrong_product,
    wrong_result,
)

if TYPE_CHECKING:
    from .html import finding_html, report_html, timeline_html
    from .mismatch import Mismatch, explain_mismatch
    from .picture import PICTURE_LEGEND, product_picture
    from .stuck import ring, stuck_page
    from .svg import Paint, Picture
    from .timeline import (
        FIRST,
        SLOWEST,
        Comparison,
        Heading,
        against_svg,
        against_text,
        compare,
        ctas_shown,
        page_data,
        page_html,
        run_of,
        timeline_svg,
        timeline_text,
        trace_json,
        wave_note,
        wave_svg,
        wave_text,
    )

_NAMES = {
    "html": ("finding_html", "report_html", "timeline_html"),
    "mismatch": ("Mismatch", "explain_mismatch"),
    "picture": ("PICTURE_LEGEND", "product_picture"),
    "stuck": ("ring", "stuck_page"),
    "svg": ("Paint", "Picture"),
    "timeline": (
        "FIRST", "SLOWEST", "Comparison", "Heading", "against_svg", "against_text", "compare", "ctas_shown",
        "page_data", "page_html", "run_of", "timeline_svg", "timeline_text", "trace_json", "wave_note",
        "wave_svg", "wave_text",
    ),
}  # fmt: skip
"""The names that a page of text does not need, by their module."""
__getattr__ = named(__name__, _NAMES)

__all__ = [
    "COLOURS",
    "FIRST",
    "PAPER",
    "PICTURE_LEGEND",
    "SLOWEST",
    "WIDTH",
    "Comparison",
    "Heading",
    "Mismatch",
    "Multiply",
    "Paint",
    "Picture",
    "ProductError",
    "accesses",
    "against_svg",
    "against_text",
    "barrier_states",
    "barrier_table",
    "compare",
    "ctas_shown",
    "explain_mismatch",
    "finding_html",
    "finding_page",
    "headline",
    "page_data",
    "page_html",
    "plain",
    "exact_product",
    "product_error",
    "product_picture",
    "product_shape",
    "report_html",
    "plan_text",
    "report_page",
    "ring",
    "run_of",
    "stuck_page",
    "timeline_html",
    "timeline_svg",
    "timeline_text",
    "to_json",
    "trace_json",
    "wave_note",
    "wave_svg",
    "wave_text",
    "wrong_product",
    "wrong_result",
]
