"""The quiz of a step: figures to predict, the runs that yield them, and the mistakes behind wrong figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

from tirx_mini.diagnose import Report
from tirx_mini.driver import simulate
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.ir import Launch, PrimFunc
from tirx_mini.passes import lower
from tirx_mini.records import dataclass
from tirx_mini.resources import resource
from tirx_mini.sim import BarrierChange, Signal, Timeline

from .kernels import arch_folder, load_kernels
from .measured import measured_times
from .steps import Shape

FACTOR = 1.25
"""The accepted factor between a prediction and a time, share or amount; counts are exact."""


@dataclass(frozen=True)
class Reference:
    """The reference of a step for one problem, and its timed run on a modelled GPU."""

    step: int
    shape: Shape
    gpu: str = DEFAULT_GPU

    @property
    def launch(self) -> Launch:
        launch = _lowered(self.step, self.shape, arch_folder(gpu_spec(self.gpu).arch)).launch
        assert launch is not None
        return launch

    @property
    def us(self) -> float:
        """The predicted time of one of many consecutive launches, in microseconds."""
        time_us = self._run(False).time_us
        assert time_us is not None
        return time_us

    @property
    def measured_us(self) -> float | None:
        """The time on the GPU in microseconds, or None if it was not measured."""
        table = measured_times(gpu_spec(self.gpu).name)
        ms = table.ms(self.step, self.shape, "float16") if table is not None else None
        return None if ms is None else 1000 * ms

    def amount(self, name: str) -> float:
        """Return a figure of the run by name, as in "tma_load_bytes"."""
        return float(self._run(False).stats[name])

    def arrivals(self, barrier: str) -> int:
        """Return the number of arrivals that complete a phase of an mbarrier of CTA 0."""
        return next(change.pending for change in self._changes(barrier) if change.kind is Signal.COMPLETE)

    def phases(self, barrier: str) -> int:
        """Return the number of phases that an mbarrier of CTA 0 completes."""
        return sum(change.kind is Signal.COMPLETE for change in self._changes(barrier))

    def tiles(self) -> Mapping[int, int]:
        """Return the number of tiles of D for each CTA that computes any."""
        ctas = [tile.cta for tile in self._timeline.tiles]
        return {cta: ctas.count(cta) for cta in dict.fromkeys(ctas)}

    def tensor_share(self) -> float:
        """Return the share of time, in percent, in which the tensor core of an SM with a tile is busy."""
        return 100 * self.amount("tensor_cycles") / (len(self.tiles()) * self._timeline.cycles)

    @property
    def _timeline(self) -> Timeline:
        trace = self._run(True).trace
        assert trace is not None
        return trace

    def _run(self, trace: bool) -> Report:
        return _run(self.step, self.shape, self.gpu, trace)

    def _changes(self, barrier: str) -> list[BarrierChange]:
        return [each for each in self._timeline.changes if each.barrier.cta == 0 and each.barrier.name == barrier]


@lru_cache(maxsize=8)
def _lowered(step: int, shape: Shape, folder: str) -> PrimFunc:
    return lower(load_kernels(resource("kernels_ref"), folder)[step](*shape))


@lru_cache(maxsize=8)
def _run(step: int, shape: Shape, gpu: str, trace: bool) -> Report:
    kernel = _lowered(step, shape, arch_folder(gpu_spec(gpu).arch))
    return simulate(kernel, gpu=gpu, data=False, trace=trace)


Figure = Callable[[], float]


@dataclass(frozen=True)
class Slip:
    """A wrong figure caused by a mistake. said: the mistake, in a sentence."""

    figure: Figure
    said: str


@dataclass(frozen=True)
class Prediction:
    """A figure to predict.

    asked: the question. unit: of the answer. figure: computes it.
    reasons: the reasoning, a sentence a line. slips: figures of common mistakes.
    factor: by which an answer may differ; 1 for a count.
    measured: the same figure on a chip; None if it was not measured.
    """

    asked: str
    unit: str
    figure: Figure
    reasons: tuple[str, ...]
    slips: tuple[Slip, ...]
    factor: float = 1.0
    measured: Callable[[], float | None] = lambda: None

    def shown(self, figure: float) -> str:
        """Return a figure with its unit: "1 arrival", "2 arrivals"."""
        unit = self.unit[:-1] if figure == 1 and self.factor == 1 and self.unit.endswith("s") else self.unit
        return f"{figure_text(figure)} {unit}"


@dataclass(frozen=True)
class Marked:
    """The mark of an answer. right: whether it is accepted. figure: the computed one. said: the mistake, if known."""

    right: bool
    figure: float
    said: str = ""


def marked(question: Prediction, answer: float) -> Marked:
    """Compare an answer with the simulator's figure, and a wrong answer with the figures of known mistakes."""
    figure = question.figure()
    if _near(answer, figure, question.factor):
        return Marked(True, figure)
    slip = next((slip for slip in question.slips if _near(answer, slip.figure(), question.factor)), None)
    return Marked(False, figure, slip.said if slip is not None else "")


def answer_of(text: str) -> float:
    """Return the number that a reader has written, as in "1,024", "1.5" or "40 %". Raises `ValueError`."""
    try:
        answer = float(text.strip().replace(",", "").removesuffix("%"))
    except ValueError:
        answer = math.nan
    if not math.isfinite(answer):
        raise ValueError("Write a number, as in 128 or 1.5.")
    return answer


def figure_text(figure: float) -> str:
    """Return a figure as the quiz shows it."""
    return f"{figure:,.0f}" if figure == round(figure) else f"{figure:.3g}"


def _near(answer: float, figure: float, factor: float) -> bool:
    if factor == 1 or figure <= 0 or answer <= 0:
        return answer == figure
    return figure / factor <= answer <= figure * factor
