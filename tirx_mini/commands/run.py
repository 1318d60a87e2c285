"""``python -m tirx_mini run SCRIPT``: a program for another project, run here."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.foreign import scripts


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; the exit status is its own, 1 for a mistake in a kernel, 2 if nothing can be run."""
    return scripts.run_script(argv, "python -m tirx_mini run", scripts.importable())
