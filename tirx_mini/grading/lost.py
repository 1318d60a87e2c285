"""A kernel is not judged if it takes too much, or if the judge fails; docs/grading.md has the rule."""

from __future__ import annotations


class Exceeded(Exception):
    """A kernel that takes more than a judge may use, on any machine; the message is a sentence."""


class Lost(Exception):
    """The judge failed, which says nothing of the kernel; the message is a sentence."""
