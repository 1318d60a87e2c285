"""The machine as mechanism: SMs, resident CTAs and warps, their memories, registers and barriers."""

from .access import ElementOutOfBounds, LanesDisagree, MisalignedVector, spend_global, spend_shared
from .addresses import OFFSET_MASK, WINDOW_BITS, offset_of
from .apart import POLL_CYCLES, Apart
from .arriving import Arriving
from .banks import conflicts
from .barriers import (
    AccessBeforeStart,
    Arrival,
    ArrivalOverflow,
    BadInitCount,
    BadThreadCount,
    BarrierEvent,
    BarrierOfEndedCta,
    BarrierUse,
    ClusterBarrierMisuse,
    EarlySignal,
    FreshWait,
    IncompletePhase,
    MbarrierFact,
    MisalignedBarrier,
    MissingInitFence,
    NoSuchBarrier,
    Reinitialised,
    RemoteAccessAtExit,
    RemoteSignal,
    RepeatedWait,
    RoundsUnordered,
    Signal,
    SignalAtExit,
    StoreOverBarrier,
    ThreadCountsDiffer,
    TxCountOverflow,
    UninitialisedBarrier,
    UnorderedInit,
    UnorderedPhases,
    UnpairedClusterBarrier,
)
from .counting import (
    ClusterBarrierWait,
    CountingBarrier,
    CountingWait,
    GridBarrier,
    GridBarrierWait,
    NamedBarrierWait,
)
from .cta import Multiprocessor, ResidentCluster, ResidentCta
from .dtypes import numpy_dtype
from .each import Each, Parted, each_of, values_of
from .image import GlobalBuffer, KernelImage, SharedBuffer
from .interfaces import Blocking, Cluster, Cta, Gpu, Sm, Wait, Warp
from .masks import EMPTY, FULL, LANES, Mask
from .matrix import MatrixRowOutOfBounds, MisalignedMatrixRow
from .mbarrier import Mbarrier, MbarrierWait
from .memory import (
    WIDTHS,
    Element,
    GlobalMemory,
    Locator,
    SharedMemory,
    TensorMemory,
    element_of,
    partition,
)
from .probe import Probe
from .register_facts import (
    BorrowedRegister,
    PendingRegister,
    RegisterOutOfBounds,
    UninitialisedRegister,
    WideRegisters,
)
from .register_pool import (
    BadRegisterCount,
    PartialSetmaxnreg,
    RegisterCountsDiffer,
    RegisterPool,
    RegisterWait,
    UnsynchronisedRegisters,
    WrongRegisterDirection,
)
from .registers import Flight, RegisterArray, Registers, ScatteredRegisters, UniformArray
from .unchecked import PartMbarrier, UncheckedMbarrier
from .warp import HostCluster, HostCta, RunningWarp
from .warp_facts import LanesDiffer, PartialWarp
from .wide import WideRegisterArray, WideSharedMemory, WideWarp, wide_memory

__all__ = [
    "Apart", "Arrival", "ArrivalOverflow", "BadInitCount", "BadRegisterCount", "BadThreadCount", "BarrierEvent",
    "AccessBeforeStart",
    "Arriving", "BarrierOfEndedCta", "BarrierUse", "Blocking", "BorrowedRegister", "Cluster", "ClusterBarrierMisuse",
    "ClusterBarrierWait", "CountingBarrier", "CountingWait", "Cta", "EMPTY", "Each", "EarlySignal", "Element",
    "ElementOutOfBounds", "FULL", "Flight", "GlobalBuffer", "GlobalMemory", "Gpu", "GridBarrier", "GridBarrierWait",
    "HostCluster", "HostCta", "IncompletePhase", "KernelImage", "LANES", "LanesDiffer", "LanesDisagree", "Locator",
    "Mask", "MatrixRowOutOfBounds", "Mbarrier", "MbarrierFact", "MbarrierWait", "MisalignedBarrier",
    "MisalignedMatrixRow", "MisalignedVector", "MissingInitFence", "Multiprocessor", "NamedBarrierWait",
    "NoSuchBarrier", "OFFSET_MASK", "POLL_CYCLES", "PartMbarrier", "Parted", "PartialSetmaxnreg", "PartialWarp",
    "PendingRegister", "Probe", "RegisterArray", "RegisterCountsDiffer", "RegisterOutOfBounds", "RegisterPool",
    "RegisterWait",
    "Registers", "Reinitialised", "RemoteSignal", "FreshWait", "RepeatedWait", "ResidentCluster", "ResidentCta",
    "RemoteAccessAtExit",
    "RoundsUnordered", "RunningWarp", "ScatteredRegisters", "SharedBuffer", "SharedMemory", "Signal", "SignalAtExit",
    "Sm", "StoreOverBarrier", "TensorMemory", "ThreadCountsDiffer", "TxCountOverflow", "UncheckedMbarrier",
    "UniformArray",
    "UninitialisedBarrier", "UninitialisedRegister", "UnorderedInit", "UnorderedPhases", "UnpairedClusterBarrier",
    "UnsynchronisedRegisters", "WIDTHS", "WINDOW_BITS", "Wait", "Warp", "WideRegisterArray",
    "WideRegisters", "WideSharedMemory", "WideWarp", "WrongRegisterDirection", "each_of", "element_of",
    "numpy_dtype", "offset_of", "partition", "spend_global", "spend_shared", "conflicts", "values_of", "wide_memory",
]  # fmt: skip
