"""The setup of a machine for one execution of a launch or a part of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from typing import Any

from tirx_mini.records import dataclass

from .budget import BUDGET
from .doubts import Ends, Late
from .engines import Strips
from .machine import ORDER, TIME, VALUES, KernelImage, Order, Probe, Time, Values
from .timing import Clock


@dataclass(frozen=True)
class Part:
    """A partial run of a launch. clusters: their numbers. weight: of loads, as in `L2`."""

    clusters: Sequence[int]
    weight: float = 1.0


@dataclass(frozen=True)
class Share:
    """The clusters of a launch that run with data. bare: the kernel that the others execute for time alone."""

    clusters: range
    bare: KernelImage


@dataclass(frozen=True)
class Setup:
    """The setup of one machine.

    seed: None for the deterministic schedule; otherwise it randomises the order of simultaneous events, engine
        latencies and the placement of CTAs.
    clock: orders the events, by default by time.
    trace, log_barriers: whether to keep a timeline and every change of every mbarrier.
    values: computes and moves values; without it, only time passes, and no access is recorded.
    order: finds unordered accesses and uninitialised reads.
    time: of engines and of memory; without it, only the results matter, and equal clusters are checked elsewhere.
    pedantic: whether to report missing fences between ordinary reads and writes of the async proxy as well.
    budget: the maximum total number of loop iterations of all warps.
    mixed: phases that another order may complete with other signals: `Outcome.mixed` of an earlier run of the same
        launch.
    late: the warps whose mbarrier tests precede completions, wherever another order allows it.
    part: the part of the launch to run; None for all of it.
    share: the clusters with data, if only some have data.
    cold: whether the L2 is empty initially; otherwise it holds the arguments, if they fit.
    functions: the semantics of CUDA C++ functions that the kernel calls, by name.
    equal: whether to check a few clusters on behalf of all equal ones. The machine raises `Unequal` if there is a
        finding.
    strips: as in `TmaEngine`; read-only arguments are then the same in all of its runs.
    probe: perturbs the data in flight, to find what results depend on.
    """

    seed: int | None = None
    clock: Clock | None = None
    trace: bool = False
    log_barriers: bool = False
    values: Values = VALUES
    order: Order = ORDER
    time: Time = TIME
    pedantic: bool = False
    budget: int = BUDGET
    mixed: Ends = field(default_factory=dict[tuple[str, int], Set[int]])
    late: Late | None = None
    part: Part | None = None
    share: Share | None = None
    cold: bool = False
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    equal: bool = False
    strips: dict[str, Strips] | None = None
    probe: Probe | None = None


DEFAULT_SETUP = Setup()
"""The default setup: the whole launch is executed and checked, in the deterministic order."""
