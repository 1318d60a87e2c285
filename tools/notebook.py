"""The outputs of the notebook of the tour: `python -m tools.notebook` executes it and stores them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
PATH = ROOT / "examples" / "tour.ipynb"
LIMIT_S = 300
"""For one cell, on a machine that does much else."""
PAGES = ("timeline-page", "against")
"""The cells whose output is a page with a script, which no viewer of stored notebooks shows."""


def executed(folder: str) -> Any:
    """The notebook, executed in a folder that holds nothing; the first cell that fails raises."""
    notebook = nbformat.read(PATH, as_version=4)
    resources = {"metadata": {"path": folder}}
    client = NotebookClient(notebook, timeout=LIMIT_S, kernel_name="python3", resources=resources)
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    return notebook


def stored(notebook: Any) -> Any:
    """An executed notebook as it is committed: without pages, and without times of this machine."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code" and cell.id in PAGES:
            cell.outputs = []
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(stored(executed(folder)), PATH)
    print(PATH)


if __name__ == "__main__":
    main()
