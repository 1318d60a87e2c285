"""The edit of a help that names exactly one other spelling."""

from __future__ import annotations

import re

from .findings import Data

_ONE = re.compile(r"did you mean `([\w.]+)`\?")
_NAMES = re.compile(r"`(?:\w+\.)*(\w+)`")


def with_edit(finding: Data, text: str) -> Data:
    """Return a finding with its edit: the line in error, and that line with the name that the help gives.

    There is none if the help leaves a choice, or if the line does not have the wrong name exactly once.
    """
    one, names, lines = _ONE.fullmatch(finding["help"]), _NAMES.findall(finding["title"]), text.split("\n")
    if one is None or not names or not 1 <= finding["line"] <= len(lines):
        return finding
    before = lines[finding["line"] - 1]
    after, count = re.subn(rf"\b{names[-1]}\b", one[1], before)
    return {**finding, "edit": {"line": finding["line"], "before": before, "after": after}} if count == 1 else finding
