"""The ten steps of the assignment: what each is called and the sizes it is judged at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

Shape = tuple[int, int, int]
"""(M, N, K) of D (M, N) = A (M, K) @ B (N, K).T."""


@dataclass(frozen=True)
class Step:
    """One step: `shapes` finish in the simulator in seconds; `large` ones are for a GPU, or for `--full`.

    free: the dimensions that the step's kernel lets one choose; the others are those of one tile.
    """

    number: int
    title: str
    shapes: tuple[Shape, ...]
    large: tuple[Shape, ...] = ()
    free: str = "MNK"

    def shape(self, size: int) -> Shape:
        """The step's shape of a given size: `size` in each dimension that is free."""
        tile = self.shapes[0]
        m, n, k = (size if name in self.free else extent for name, extent in zip("MNK", tile, strict=True))
        return m, n, k

    def all_shapes(self, full: bool = False) -> tuple[Shape, ...]:
        return self.shapes + self.large if full else self.shapes


def _cubes(*sizes: int) -> tuple[Shape, ...]:
    return tuple((size, size, size) for size in sizes)


STEPS: Mapping[int, Step] = MappingProxyType({
    step.number: step
    for step in (
        Step(1, "single tile", ((128, 128, 64),), free=""),
        Step(2, "K loop", tuple((128, 128, k) for k in (64, 512, 1024, 4096)), free="K"),
        Step(3, "tiling", _cubes(256, 512, 1024, 2048)),
        Step(4, "TMA", _cubes(256, 512, 1024, 2048)),
        Step(5, "pipeline", _cubes(512, 1024, 2048), _cubes(4096)),
        Step(6, "persistent", _cubes(1024, 2048), _cubes(4096, 8192)),
        Step(7, "warp specialisation", _cubes(1024, 2048), _cubes(4096, 8192)),
        Step(8, "deep pipeline", _cubes(1024, 2048), _cubes(4096, 8192)),
        Step(9, "2-CTA clusters", _cubes(1024, 2048), _cubes(4096, 8192)),
        Step(10, "two consumers", _cubes(1024, 2048), _cubes(4096, 8192)),
    )
})  # fmt: skip


def shape_text(shape: Shape) -> str:
    """`128x128x64`, or `1024` where all three are equal."""
    return str(shape[0]) if len(set(shape)) == 1 else "x".join(map(str, shape))
