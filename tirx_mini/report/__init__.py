"""What people read: pages for what a simulation found, and explanations of wrong results."""

from .mismatch import Mismatch, explain_mismatch
from .pages import barrier_table, finding_page, headline, plain, report_page, stuck_table, to_json

__all__ = [
    "Mismatch",
    "barrier_table",
    "explain_mismatch",
    "finding_page",
    "headline",
    "plain",
    "report_page",
    "stuck_table",
    "to_json",
]
