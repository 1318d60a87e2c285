"""Pages for the findings of a simulation, explanations of wrong results, and timelines."""

from .barriers import barrier_states, barrier_table
from .html import finding_html, report_html, timeline_html
from .mismatch import Mismatch, explain_mismatch
from .pages import WIDTH, finding_page, headline, plain, plan_text, report_page, to_json
from .palette import COLOURS, PAPER
from .picture import PICTURE_LEGEND, product_picture
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
