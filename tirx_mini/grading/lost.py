"""The reasons that a kernel is not judged: excessive cost, or a failure of the judge (docs/grading.md)."""

from __future__ import annotations


class Exceeded(Exception):
    """The error for a kernel that exceeds a judge's limits on any machine; the message is a sentence."""


class Lost(Exception):
    """The error for a failure of the judge, independent of the kernel; the message is a sentence."""
