"""A task: the contract of its kernel, its problems, and its budget."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.records import dataclass

from ..steps import Shape

Array = npt.NDArray[Any]
Family = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""The extents M, N and K among which a hidden problem is drawn."""


@dataclass(frozen=True)
class Parameter:
    """A buffer of a task's kernel. extents: letters of M, N and K, as in "MK"."""

    name: str
    extents: str
    dtype: str = "float16"

    def shape(self, problem: Shape) -> tuple[int, ...]:
        """Return the shape for a problem (M, N, K)."""
        return tuple(problem["MNK".index(letter)] for letter in self.extents)

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.extents)}{',' * (len(self.extents) == 1)}) of {self.dtype}"


def as_drawn(*inputs: Array) -> tuple[Array, ...]:
    """Return the inputs of a task as they are drawn."""
    return inputs


@dataclass(frozen=True)
class KernelTask:
    """A task.

    letter, title: its names. text: the specification, in Markdown.
    parameters: of the kernel; the last one is the result. zeroed: whether the result holds zeros before the launch.
    expected: computes the result in float32 from the other parameters.
    inputs: makes the inputs, still in float32, of normal numbers: those for which the contract's roundings show.
    shapes: the public problems. timed: the problem of the budget. budget_us: the predicted time allowed for it.
    families: of the hidden problems, one each.
    points: what it is worth. gpu: the modelled one.
    handout: the file of this package with the kernel to begin with; "" for none.
    """

    letter: str
    title: str
    text: str
    parameters: tuple[Parameter, ...]
    expected: Callable[..., Array]
    shapes: tuple[Shape, ...]
    timed: Shape
    budget_us: float
    families: tuple[Family, ...]
    points: float = 20.0
    zeroed: bool = False
    gpu: str = "b200"
    handout: str = ""
    inputs: Callable[..., Sequence[Array]] = as_drawn

    @property
    def factory(self) -> str:
        """The name of the function that builds the kernel."""
        return f"task_{self.letter}"

    @property
    def file(self) -> str:
        """The name of the user's file."""
        return f"{self.factory}.py"

    @property
    def spec(self) -> GpuSpec:
        return gpu_spec(self.gpu)

    @property
    def handed_out(self) -> str:
        """The text of the file to begin with, or ""."""
        return (files("tirx_mini.course.tasks") / self.handout).read_text(encoding="utf-8") if self.handout else ""

    def hidden(self, seed: int) -> tuple[Shape, ...]:
        """Return the hidden problems of a seed, which are none of the public ones."""
        draw = random.Random(f"task {self.letter} {seed}")
        found: list[Shape] = []
        for family in self.families:
            m, n, k = (draw.choice(extents) for extents in family)
            while (m, n, k) in (*self.shapes, self.timed):
                m, n, k = (draw.choice(extents) for extents in family)
            found.append((m, n, k))
        return tuple(found)

    def arrays(self, problem: Shape, seed: int) -> list[Array]:
        """Return inputs made of normal numbers, and a result of NaN or of zeros."""
        draw = np.random.default_rng(seed)
        *given, result = self.parameters
        made = self.inputs(*(draw.standard_normal(each.shape(problem), np.float32) for each in given))
        arrays = [array.astype(each.dtype) for array, each in zip(made, given, strict=True)]
        return [*arrays, np.full(result.shape(problem), 0 if self.zeroed else np.nan, result.dtype)]
