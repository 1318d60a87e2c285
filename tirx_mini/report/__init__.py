"""Pages for the findings of a simulation, explanations of wrong results, and timelines."""

from .barriers import barrier_table
from .mismatch import Mismatch, explain_mismatch
from .pages import finding_page, headline, plain, report_page, to_json
from .product import ProductError, accesses, product_error, product_shape, wrong_product
from .stuck import ring, stuck_page
from .svg import Paint, Picture
from .timeline import FIRST, SLOWEST, Heading, ctas_shown, page_html, timeline_svg, timeline_text, trace_json

__all__ = [
    "FIRST",
    "SLOWEST",
    "Heading",
    "Mismatch",
    "Paint",
    "Picture",
    "ProductError",
    "accesses",
    "barrier_table",
    "ctas_shown",
    "explain_mismatch",
    "finding_page",
    "headline",
    "page_html",
    "plain",
    "product_error",
    "product_shape",
    "report_page",
    "ring",
    "stuck_page",
    "timeline_svg",
    "timeline_text",
    "to_json",
    "trace_json",
    "wrong_product",
]
