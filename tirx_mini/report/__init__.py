"""What people read: explanations of wrong results."""

from .mismatch import Mismatch, explain_mismatch

__all__ = ["Mismatch", "explain_mismatch"]
