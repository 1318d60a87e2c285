"""All references with one mistake that the tests of findings hold, each once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tests.kernels_ref.edits import Edit, HopperEdit
from tests.tirx_mini.diagnose.wrong_kernels import Wrong
from tirx_mini.course import Shape


@dataclass(frozen=True)
class Mistake:
    """A mistake in a reference. name: what it is. shape: at which it is found."""

    name: str
    edit: Edit
    shape: Shape

    @property
    def hopper(self) -> bool:
        return isinstance(self.edit, HopperEdit)

    @property
    def gpu(self) -> str:
        return "h100" if self.hopper else "b200"


def mistakes() -> Iterator[Mistake]:
    """The mistakes of the modules beside this one, without those that the compiler refuses."""
    seen: set[tuple[int, bool, str]] = set()
    for path in sorted(Path(__file__).parent.glob("test_wrong_*.py")):
        for found in _in(import_module(f"tests.tirx_mini.diagnose.{path.stem}")):
            key = found.edit.step, found.hopper, found.edit.source()
            if key not in seen:
                seen.add(key)
                yield found


def _in(module: ModuleType) -> Iterator[Mistake]:
    shapes = getattr(module, "SHAPES", None)
    for group in vars(module).values():
        for each in group if isinstance(group, tuple) else ():
            if isinstance(each, Wrong):
                yield Mistake(each.name, each.edit, each.edit.shape)
            elif isinstance(each, getattr(module, "Case", ())):
                own = each.edit.shape if isinstance(each.edit, HopperEdit) or not shapes else shapes[each.edit.step]
                yield Mistake(each.name, each.edit, each.shape or own)
