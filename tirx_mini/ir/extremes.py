"""min and max of constants, as the code that is emitted computes them: as PTX's instructions without .NaN."""

from __future__ import annotations

from typing import Any


def least(a: Any, b: Any) -> Any:
    """Return the smaller of two constants; a NaN gives way to a number, and -0 is smaller than 0."""
    return -greatest(-a, -b) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def greatest(a: Any, b: Any) -> Any:
    """Return the greater of two constants; a NaN gives way to a number, and 0 is greater than -0."""
    if a == b == 0:
        return a + b
    return b if a != a else a if b != b else max(a, b)
