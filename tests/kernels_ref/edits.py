"""The reference kernels with edits: their files, small shapes for them, and texts that other texts replace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tirx_mini.course import Shape, load_kernels
from tirx_mini.ir import PrimFunc

ROOT = Path(__file__).parents[2]


def sources_of(arch: str) -> dict[int, Path]:
    """The file of each step's reference."""
    return {int(path.stem[4:6]): path for path in (ROOT / "kernels_ref" / arch).glob("step*.py")}


SOURCES, HOPPER_SOURCES = sources_of("sm100"), sources_of("sm90")
SHAPES: dict[int, Shape] = {
    1: (128, 128, 64),
    2: (128, 128, 256),
    3: (256, 256, 128),
    4: (256, 256, 192),
    5: (256, 128, 320),
    6: (384, 384, 320),
    7: (384, 384, 320),
    8: (384, 384, 448),
    9: (512, 768, 448),
    10: (1024, 768, 448),
}
"""What an edited reference computes: with `SMS`, several tiles per CTA, and K tiles that the depth does not divide."""

HOPPER_SHAPES: dict[int, Shape] = {
    1: (128, 128, 64),
    2: (128, 128, 192),
    4: (128, 256, 192),
    5: (128, 256, 320),
    6: (256, 512, 320),
    7: (256, 512, 320),
    8: (256, 512, 320),
    9: (512, 512, 320),
    10: (256, 1024, 448),
}

SMS = 4
"""The multiprocessors that the persistent kernels are written for here, so that few tiles are several rounds."""


@dataclass(frozen=True)
class Edit:
    """A Blackwell reference in which `old`, which it has exactly once, becomes `new`.

    then: further pairs of an old and a new text. Without any text it is the reference itself, written for `SMS`.
    """

    step: int
    old: str = ""
    new: str = ""
    then: tuple[tuple[str, str], ...] = ()

    sources: ClassVar[dict[int, Path]] = SOURCES
    shapes: ClassVar[dict[int, Shape]] = SHAPES

    @property
    def shape(self) -> Shape:
        """The shape that the edited kernel is made for."""
        return self.shapes[self.step]

    def source(self) -> str:
        """The text of the edited file."""
        path = self.sources[self.step]
        text = path.read_text(encoding="utf-8")
        for old, new in ((self.old, self.new), *self.then) if self.old else ():
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
            text = text.replace(old, new)
        return re.sub(r"(?m)^SM_COUNT = \d+$", f"SM_COUNT = {SMS}", text)

    def kernel(self, folder: Path, shape: Shape | None = None) -> PrimFunc:
        """The edited kernel, from a file `wrong.py` in `folder`. shape: other than the one of its step."""
        path = folder / "wrong.py"
        path.write_text(self.source(), encoding="utf-8")
        return load_kernels(path)[self.step](*(shape or self.shape))

    def line_of(self, text: str) -> int:
        """The line on which `text`, which the edited source has once, begins."""
        source = self.source()
        assert source.count(text) == 1, f"{text!r} stands {source.count(text)} times in the edited source"
        return source.count("\n", 0, source.index(text)) + 1


class HopperEdit(Edit):
    """The same of a Hopper reference."""

    sources, shapes = HOPPER_SOURCES, HOPPER_SHAPES
