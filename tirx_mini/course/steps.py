"""The steps of the course, with their names and judged sizes.

`STEPS` is the only list of the steps. A new step is one line of it, its references in `kernels_ref/`, its part of the
student's files, its hints in `docs/hints/`, and its test, ``tests/test_stepNN.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from tirx_mini.hardware import BLACKWELL, DEFAULT_ARCH, HOPPER, architecture_of
from tirx_mini.records import dataclass

Shape = tuple[int, int, int]
"""(M, N, K) of D (M, N) = A (M, K) @ B (N, K).T."""

_TILE: Shape = (128, 128, 64)
CLOCK_SIZES = (4096, 8192)
"""The sizes at which a kernel is judged on a GPU, and the simulator predicts its time without data."""
TIME_TOLERANCE = 0.30
"""The fraction by which a kernel may exceed the time of the reference."""
_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


@dataclass(frozen=True)
class FewSms:
    """A problem for a GPU with few SMs. shape: (M, N, K). sms: the number of SMs."""

    shape: Shape
    sms: int


@dataclass(frozen=True)
class Case:
    """A case of a step's test. sms: how many multiprocessors are modelled, None for all. timed: whether its time is
    judged, too.
    """

    shape: Shape
    sms: int | None = None
    timed: bool = True

    def __str__(self) -> str:
        return "x".join(map(str, self.shape)) + (f"-{self.sms}sms" if self.sms else "")


@dataclass(frozen=True)
class Step:
    """One step of the course.

    shapes: the shapes that the simulator finishes in seconds.
    large: further shapes, for a GPU or for ``--full``.
    free: the dimensions that the caller chooses; the others are those of one tile.
    tiles: by the folder of an architecture's references, the shape of which M, N and K are multiples; 128 × 128 × 64
        where a folder is not named.
    oblong: a small shape with three different extents, which shows where one stands for another.
    rounds: by the folder, a small problem of at least three tiles for each CTA of a persistent kernel.
    """

    number: int
    title: str
    shapes: tuple[Shape, ...]
    large: tuple[Shape, ...] = ()
    free: str = "MNK"
    tiles: Mapping[str, Shape] = field(default_factory=dict)
    oblong: Shape | None = None
    rounds: Mapping[str, FewSms] = field(default_factory=dict)

    def shape(self, size: int) -> Shape:
        """Return the step's shape of a given size: `size` in each free dimension."""
        m, n, k = (size if name in self.free else extent for name, extent in zip("MNK", _TILE, strict=True))
        return m, n, k

    def all_shapes(self, full: bool = False) -> tuple[Shape, ...]:
        """Return `shapes`, and with `full` also the large ones."""
        return self.shapes + self.large if full else self.shapes

    def clock_shapes(self) -> tuple[Shape, ...]:
        """Return further shapes whose time the simulator predicts in seconds, without data."""
        return tuple(self.shape(size) for size in CLOCK_SIZES) if self.free == "MNK" else ()

    def cases(self, folder: str, *, full: bool = False, few_sms: bool = True) -> tuple[Case, ...]:
        """Return the cases of the step's test: its shapes, and shapes for mistakes hidden by squares and single tiles.

        full: the large shapes, too. few_sms: also the problem for a GPU with few SMs, which only the simulator has.
        """
        found = [Case(shape) for shape in self.all_shapes(full)]
        if self.oblong is not None:
            found.append(Case(self.oblong, timed=False))
        few = self.rounds.get(folder)
        if few is not None and few_sms:
            found.append(Case(few.shape, few.sms, timed=False))
        return tuple(found)

    def tile(self, folder: str = architecture_of(DEFAULT_ARCH).kernels) -> Shape:
        """Return the shape of which M, N and K are multiples in the references of a folder, as in "sm90"."""
        return self.tiles.get(folder, _TILE)

    def in_tiles(self, m: int, n: int, k: int, folder: str = architecture_of(DEFAULT_ARCH).kernels) -> Shape:
        """Return the shape of m × n × k tiles; a dimension that is not free stays one tile."""
        counts = (count if name in self.free else 1 for name, count in zip("MNK", (m, n, k), strict=True))
        m, n, k = (count * extent for count, extent in zip(counts, self.tile(folder), strict=True))
        return m, n, k


def _cubes(*sizes: int) -> tuple[Shape, ...]:
    return tuple((size, size, size) for size in sizes)


_OBLONG: Shape = (256, 384, 512)
_ROUNDS: Mapping[str, FewSms] = {
    folder: FewSms((384, 640, 256), 2) for folder in (BLACKWELL.kernels, HOPPER.kernels)
}

STEPS: Mapping[int, Step] = MappingProxyType({
    step.number: step
    for step in (
        Step(1, "single tile", ((128, 128, 64),), free=""),
        Step(2, "K loop", tuple((128, 128, k) for k in (64, 512, 1024, 4096)), free="K"),
        Step(3, "tiling", _cubes(256, 512, 1024, 2048), oblong=_OBLONG),
        Step(4, "TMA", _cubes(256, 512, 1024, 2048), oblong=_OBLONG),
        Step(5, "pipeline", _cubes(512, 1024, 2048), _cubes(4096), oblong=_OBLONG),
        Step(6, "persistent", _cubes(1024, 2048), _cubes(4096, 8192), oblong=_OBLONG, rounds=_ROUNDS),
        Step(7, "warp specialisation", _cubes(1024, 2048), _cubes(4096, 8192), oblong=_OBLONG, rounds=_ROUNDS),
        Step(8, "deep pipeline", _cubes(1024, 2048), _cubes(4096, 8192), oblong=_OBLONG, rounds=_ROUNDS),
        Step(9, "2-CTA clusters", _cubes(1024, 2048), _cubes(4096, 8192),
             tiles={BLACKWELL.kernels: (256, 256, 64), HOPPER.kernels: (256, 128, 64)},
             oblong=(512, 768, 1024),
             rounds={BLACKWELL.kernels: FewSms((768, 1280, 256), 4), HOPPER.kernels: FewSms((768, 640, 256), 4)}),
        Step(10, "two consumers", _cubes(1024, 2048), _cubes(4096, 8192),
             tiles={BLACKWELL.kernels: (512, 256, 64), HOPPER.kernels: (64, 64, 64)},
             oblong=(1024, 768, 512),
             rounds={BLACKWELL.kernels: FewSms((1536, 768, 256), 4), HOPPER.kernels: FewSms((384, 1024, 256), 2)}),
    )
})  # fmt: skip


def step_range() -> str:
    """Return the numbers of the steps in words: "1 to 10"."""
    return f"{min(STEPS)} to {max(STEPS)}"


def steps_from(first: int) -> tuple[int, ...]:
    """Return the numbers of the steps from `first` on."""
    return tuple(number for number in STEPS if number >= first)


def parse_steps(text: str) -> tuple[int, ...]:
    """Parse a list of steps: `1-3,7` is (1, 2, 3, 7). Raises `ValueError` for anything else."""
    if not _LIST.fullmatch(text):
        raise ValueError(f"{text!r} is not a list of steps; write for example 1-3 or 1,4,7-10")
    steps: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if first > last:
            raise ValueError(f"{part} is an empty range; write {last}-{first}")
        for number in (first, last):
            if number not in STEPS:
                raise ValueError(f"step {number} does not exist; the steps are {step_range()}")
        steps.update(number for number in STEPS if first <= number <= last)
    return tuple(sorted(steps))


def shape_text(shape: Shape) -> str:
    """Return a shape as `128x128x64`, or as `1024` if all three extents are equal."""
    return str(shape[0]) if len(set(shape)) == 1 else "x".join(map(str, shape))
