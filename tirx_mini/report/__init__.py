"""Pages for the findings of a simulation, and explanations of wrong results."""

from .barriers import barrier_table
from .mismatch import Mismatch, explain_mismatch
from .pages import finding_page, headline, plain, report_page, to_json
from .product import ProductError, accesses, product_error, product_shape, wrong_product
from .stuck import ring, stuck_page
from .svg import Paint, Picture

__all__ = [
    "Mismatch",
    "Paint",
    "Picture",
    "ProductError",
    "accesses",
    "barrier_table",
    "explain_mismatch",
    "finding_page",
    "headline",
    "plain",
    "product_error",
    "product_shape",
    "report_page",
    "ring",
    "stuck_page",
    "to_json",
    "wrong_product",
]
