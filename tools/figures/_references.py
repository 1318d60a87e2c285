"""The Blackwell references as files: where they are, and with a text replaced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tirx_mini.course import KernelRef, default_kernels


def reference(step: int) -> Path:
    """The file of a Blackwell reference."""
    return next((default_kernels() / "sm100").glob(f"step{step:02}_*.py"))


def patched(step: int, edits: Mapping[str, str], folder: Path) -> KernelRef:
    """The reference of a step with these replacements, as a file of its own in `folder`.

    Raises `ValueError` for a text that does not occur exactly once.
    """
    text = reference(step).read_text(encoding="utf-8")
    for old, new in edits.items():
        if text.count(old) != 1:
            raise ValueError(f"step {step} has {text.count(old)} times {old!r}")
        text = text.replace(old, new)
    path = folder / f"step{step:02}.py"
    path.write_text(text, encoding="utf-8")
    return KernelRef(path, f"hgemm_v{step}")
