"""Small tile programs in files of their own, as the tracer reads them."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from tirx_mini.course import load_module
from tirx_mini.tile_ir import ct, interpreted

HEAD = (
    "import math\nimport operator\nfrom dataclasses import dataclass, replace\n"
    "import numpy as np\nfrom tirx_mini.tile_ir import ct\n\n"
)


class Programs:
    """Writes programs to a folder and runs them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.count = folder, capsys, 0

    def load(self, text: str) -> Any:
        """The module with `text` in it."""
        self.count += 1
        path = self.folder / f"program_{self.count}.py"
        path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
        return load_module(path)

    def kernel(self, body: str, parameters: str = "", before: str = "") -> Any:
        """A kernel with the given statements."""
        text = textwrap.dedent(before) + f"\n@ct.kernel\ndef kernel({parameters}):\n"
        return self.load(text + textwrap.indent(textwrap.dedent(body).strip(), "    ")).kernel

    def run(self, body: str, grid: tuple[int, ...] = (1,), before: str = "", **arguments: Any) -> str:
        """What a kernel prints; the names of its parameters are those of `arguments`."""
        kernel = self.kernel(body, ", ".join(arguments), before)
        self.capsys.readouterr()
        with interpreted():
            ct.launch(None, grid, kernel, tuple(arguments.values()))
        return self.capsys.readouterr().out.strip()

    def launch(self, kernel: Any, *arguments: Any) -> None:
        """Interpret one block."""
        with interpreted():
            ct.launch(None, (1,), kernel, arguments)

    def value(self, expression: str, before: str = "", **arguments: Any) -> str:
        """What an expression of tile code prints."""
        return self.run(f"print({expression})", before=before, **arguments)

    def error(self, body: str, before: str = "", **arguments: Any) -> str:
        """The page of the mistake in a kernel."""
        with pytest.raises(ct.TileError) as caught:
            self.run(body, before=before, **arguments)
        return str(caught.value)
