"""The machine as its parts see one another: what barriers, memories and engines may ask of a warp, a CTA, the GPU.

The classes here are protocols. `RunningWarp`, `ResidentCta`, `ResidentCluster` and `sim.gpu.Gpu` satisfy them; no part
imports those, so parts can be read, tested and replaced one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import Span, TensorMap
from tirx_mini.isa import WgmmaVerbs

from ..doubts import Doubts, Ends, Tests
from ..facts import FactLog, Origin
from ..ordering import Actor, Agent, Causality, GridDependence, Lanes, SyncClock
from ..timing import Clock, FairShare, SmTraffic, Traffic
from .barriers import RepeatedWait
from .image import KernelImage
from .masks import Mask
from .memory import Element, GlobalMemory, Locator, SharedMemory, TensorMemory
from .probe import Probe
from .registers import Registers


@dataclass
class Wait:
    """Why a warp does not run. warp: which. since: its time when the wait began, in cycles. span: where.

    instruction: what waits, in PTX. polls: whether nothing ends the wait but time. looks: whether whoever waits is
    woken without being told why, and looks again at what it waits for.
    over: whether what it waits for has happened. beside: what other lanes of the warp wait for.
    """

    instruction: ClassVar[str]
    polls: ClassVar[bool] = False
    looks: ClassVar[bool] = False
    warp: Warp
    since: float
    span: Span | None
    over: bool = field(default=False, init=False)
    beside: tuple[Wait, ...] = field(default=(), init=False)

    @property
    def ready(self) -> bool:
        """Whether the lanes, or some of those that went ways of their own among them, can go on."""
        return self.over or any(wait.ready for wait in self.beside)

    @property
    def subject(self) -> str:
        """The name of what is waited for, for a timeline."""
        return self.instruction


Blocking = Iterable[Wait]
"""What a function returns that blocks: it yields what the warp waits for."""


QUARTERS = 4
"""The parts of an SM: warp w of a CTA runs in part w % 4, which has a tensor core."""


class Sm(Protocol):
    """A streaming multiprocessor. tensor_free, stores_free: when its tensor core and its TMA stores are idle again."""

    tensor_free: float
    stores_free: float

    @property
    def index(self) -> int: ...
    @property
    def multipliers(self) -> Sequence[set[Any]]:
        """The warps of each quarter that have executed an mma, and share its tensor core."""
        ...

    @property
    def traffic(self) -> SmTraffic: ...
    @property
    def tensor(self) -> FairShare:
        """Its tensor cores, which serve the MMAs of several warpgroups in turns."""
        ...


class Recorder(Protocol):
    """What engines tell of their work, for a timeline."""

    def loaded(self, copy: Any) -> None:
        """A TMA load lands now, and has not yet signalled its barriers."""
        ...

    def stored(self, copy: Any) -> None:
        """A TMA store has made its writes."""
        ...

    def multiplying(self, pipe: Any, batch: Any, first: float, end: float) -> None:
        """A tensor core works on a batch of MMAs from `first` to `end`."""
        ...

    def multiplied(self, pipe: Any, batch: Any) -> None:
        """The batch is complete, and has not yet signalled its barriers. A pipe's batches come in their order."""
        ...

    def group_multiplied(self, cta: Cta, mmas: Any, first: float, end: float) -> None:
        """A tensor core has worked on a group of a warpgroup's MMAs from `first` to `end`."""
        ...


class Gpu(Protocol):
    """The GPU."""

    @property
    def recorder(self) -> Recorder | None:
        """What makes the timeline, where one is asked for."""
        ...

    @property
    def probe(self) -> Probe | None:
        """The probe that changes data on their way, and is told of their use; None as a rule."""
        ...

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """What functions of CUDA C++ compute, by their names."""
        ...

    @property
    def checks(self) -> bool:
        """Whether it looks for accesses that nothing orders."""
        ...

    @property
    def footprints(self) -> dict[Hashable, Any]:
        """What is known of the accesses of a run without data."""
        ...

    @property
    def spec(self) -> GpuSpec: ...
    @property
    def image(self) -> KernelImage: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def traffic(self) -> Traffic: ...
    @property
    def memory(self) -> GlobalMemory: ...
    @property
    def locator(self) -> Locator: ...
    @property
    def facts(self) -> FactLog: ...
    @property
    def mixed(self) -> Ends:
        """Phases of which a run before has shown that another order may complete them with other signals."""
        ...

    @property
    def doubts(self) -> Doubts: ...
    @property
    def tests(self) -> Tests: ...
    @property
    def barrier_log(self) -> list[Any] | None: ...
    @property
    def unread(self) -> dict[Hashable, Any]: ...
    @property
    def repeats(self) -> dict[Hashable, RepeatedWait]: ...
    @property
    def fresh_waits(self) -> dict[Hashable, tuple[Origin, Element, int]]:
        """The first waits of warps that passed before a phase was complete, as `FreshWait` has them."""
        ...

    def wake(self, warp: Any, time: float) -> None:
        """Let a blocked warp run on from `time`."""
        ...

    def take_cluster(self) -> tuple[int, int, int] | None:
        """Cancel the launch of the next cluster: the blockIdx of its first CTA; None where none is left."""
        ...

    def lasts(self, time: float) -> None:
        """The kernel is not over before `time`."""
        ...

    def count(self, name: str, amount: float) -> None:
        """Add to a figure of the statistics."""
        ...

    def wgmma_of(self, warp: Any) -> WgmmaVerbs[Registers]:
        """The warp's path to the tensor core of its warpgroup."""
        ...


class Cluster(Protocol):
    """CTAs that are launched together. live_warps: those that have not ended. domain: the number of its clocks."""

    @property
    def gpu(self) -> Gpu: ...
    @property
    def index(self) -> int: ...
    @property
    def domain(self) -> int: ...
    @property
    def causality(self) -> Causality: ...
    @property
    def checked(self) -> bool:
        """Whether accesses are checked that its threads make."""
        ...

    @property
    def data(self) -> bool:
        """Whether values are computed and moved, or only time passes."""
        ...

    @property
    def prompt(self) -> bool:
        """Whether engines do at once what they are given: neither time nor accesses matter, only results."""
        ...

    @property
    def numbers(self) -> Sequence[int]:
        """Of the clusters that it stands for, where several are executed together; else none."""
        ...

    @property
    def width(self) -> int:
        """How many these are."""
        ...

    @property
    def late(self) -> list[Callable[[], None]]:
        """What these do to global memory when they have ended."""
        ...

    @property
    def ctas(self) -> Sequence[Cta]: ...
    @property
    def live_warps(self) -> int: ...


class Cta(Protocol):
    """A resident CTA. rank: its %cluster_ctarank. exited: how many of its warps have ended."""

    @property
    def gpu(self) -> Gpu: ...
    @property
    def cluster(self) -> Cluster: ...
    @property
    def sm(self) -> Sm: ...
    @property
    def rank(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def number(self) -> int:
        """Its linear number in the grid, x fastest."""
        ...

    @property
    def alive(self) -> bool: ...
    @property
    def exited(self) -> int: ...
    @property
    def smem(self) -> SharedMemory: ...
    @property
    def tmem(self) -> TensorMemory: ...
    @property
    def warps(self) -> Sequence[Warp]: ...
    def origin(self, span: Span | None) -> Origin:
        """The CTA itself, where no warp acts."""
        ...

    def known_to(self, w: Any) -> bool:
        """Whether what a warp does next comes after something that a thread of this CTA has done."""
        ...

    def accessed(self, w: Any, writes: bool) -> None:
        """A thread of another CTA accesses the shared memory."""
        ...

    @property
    def barriers_end(self) -> int:
        """The byte of shared memory behind the last mbarrier."""
        ...

    def written(self, origin: Origin, first: Any, width: int, what: str) -> None:
        """Record an ordinary store onto an mbarrier."""
        ...


class Warp(Protocol):
    """A warp with its active lanes.

    time: its own, in cycles. span: the place being executed. mask: the active lanes. agent: theirs.
    register_fences: how many wgmma.fence it
    has executed. dependence: while some lanes may run beside the grid before.
    """

    time: float
    span: Span | None
    mask: Mask
    register_fences: int
    data: bool
    dependence: GridDependence | None

    @property
    def gpu(self) -> Gpu: ...
    @property
    def cta(self) -> Cta: ...
    @property
    def warp_id(self) -> int: ...
    @property
    def role(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def origin(self) -> Origin: ...
    @property
    def all_lanes(self) -> Mask: ...
    @property
    def lanes(self) -> Lanes:
        """The agents of its lanes."""
        ...

    @property
    def lane(self) -> int: ...
    @property
    def done(self) -> bool: ...
    @property
    def agent(self) -> Agent: ...
    @property
    def loads(self) -> Actor: ...
    @property
    def stores(self) -> Actor: ...
    def tensor_map(self, name: str) -> TensorMap: ...
    def select(self, mask: Mask) -> None:
        """Go on with the lanes of `mask`."""
        ...

    def release(self, released: SyncClock) -> None:
        """The active lanes release what each of them did and acquired."""
        ...

    def meet(self) -> None:
        """All lanes synchronise, and order their accesses."""
        ...

    def uniform(self, value: Any, what: str) -> Any:
        """The value that all active lanes give; a fault where they differ."""
        ...

    def converged(self, what: str) -> bool:
        """Whether the whole warp executes this; records illegal convergence otherwise."""
        ...

    def require_converged(self, what: str) -> None:
        """Raise a fault unless the whole warp executes this."""
        ...


