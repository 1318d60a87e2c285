"""The setup of a machine for one execution of a launch or a part of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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

    seed: None for the deterministic schedule, else randomises the order of simultaneous events, engine latencies and
        the placement of CTAs.
    clock: what orders the events, by default their times.
    trace, log_barriers: whether to keep a timeline and every change of every mbarrier.
    values: computes and moves values; without, only time passes, and no access is recorded.
    order: finds accesses that nothing orders, and those of memory that nothing has written.
    time: of engines and of memory; without, the results alone matter, and equal clusters are checked elsewhere.
    pedantic: whether also for ordinary reads before writes of the async proxy with no fence between.
    budget: iterations of loops that the run may make, all warps together.
    mixed: phases that another order may complete with other signals: `Outcome.mixed` of the same run before.
    late: whose tests of mbarriers come before completions, where another order has them there.
    part: what is run of the launch; None for all of it.
    share: which clusters have data, where only some do.
    cold: whether the L2 holds nothing at first; otherwise it holds the arguments, if they fit.
    functions: what functions of CUDA C++ that the kernel calls compute, by their names.
    equal: whether to check a few clusters for all that are equal. The machine raises `Unequal` where there is anything
        to report.
    strips: as for `TmaEngine`; the arguments that nothing writes are then the same in all of its runs.
    probe: changes the data on their way, to see what results depend on.
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
    mixed: Ends = field(default_factory=dict)
    late: Late | None = None
    part: Part | None = None
    share: Share | None = None
    cold: bool = False
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    equal: bool = False
    strips: dict[str, Strips] | None = None
    probe: Probe | None = None


DEFAULT_SETUP = Setup()
"""The default setup: the whole launch is executed and checked, in the deterministic order."""
