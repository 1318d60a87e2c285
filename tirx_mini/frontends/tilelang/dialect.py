"""The attribute that marks functions written in TileLang."""

TILELANG = "tilelang"
"""The attribute of a function whose passes have not run."""
