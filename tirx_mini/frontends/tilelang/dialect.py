"""The mark of functions in TileLang."""

TILELANG = "tilelang"
"""The attribute of a function whose passes have not run."""
