"""The asynchronous engines: TMA, tensor cores, tensor memory, cp.async; each works on its own time."""

from .cluster_copy import ClusterCopies
from .cp_async import CopyOutOfBounds, CopyTooLarge, CpAsync, MisalignedCopy
from .issued import pair
from .launch_control import LaunchControl
from .leading import Leads
from .operands import OperandOutOfBounds
from .stand_ins import StandIns
from .strong import BadAddress, MisalignedAddress, ReadOnlyPath, StrongAccesses
from .submatrix import LateMatrix, Matrix, Submatrix, below, beside
from .sums import DEPTH, accumulate_registers, accumulate_tmem, fragments
from .tcgen05 import TensorCores
from .tcgen05_facts import CommitAtExit, CommitOfOtherThread, FreedBeforePeer, MmaAtExit
from .tensor_map import BoxCopier, LoadedBox, Strips, TensorMapRule, WideBox, broken_rule
from .tma import BulkWait, TmaEngine
from .tma_rules import (
    BadBulkSize,
    BadTensorMap,
    BoxOutOfSharedMemory,
    BulkCopyAtExit,
    GroupOfOtherThread,
    LoadAtExit,
    MisalignedBox,
    MisalignedBoxStart,
    StoreAtExit,
    StoreBeforeTensor,
)
from .tmem import (
    AllocRule,
    AllocWithoutPermit,
    BadAllocation,
    BadDealloc,
    Block,
    ColumnsWait,
    FreedTwice,
    MixedCtaGroups,
    NoPair,
    PairWait,
    TmemAllocators,
    TmemAtExit,
    TmemNotHeld,
)
from .tmem_access import (
    AccumulatorLane,
    ImplicitTmemLane,
    TmemAccesses,
    TmemColumnsExceeded,
    WrongTmemLane,
    check_column,
)
from .tmem_copy import CopyAtExit, CopyOutOfLanes, CopyOutOfShared
from .unread import LostResult, UnreadColumns
from .wgmma import WarpWgmma
from .wgmma_engines import WgmmaEngines
from .wgmma_facts import MissingWgmmaFence, WarpgroupTooSmall, WgmmaAtExit, WgmmasDiffer, WgmmaWait

__all__ = [
    "ReadOnlyPath",
    "AccumulatorLane", "AllocRule", "AllocWithoutPermit", "BadAddress", "BadAllocation", "BadBulkSize", "BadDealloc",
    "BadTensorMap", "Block", "BoxCopier", "BoxOutOfSharedMemory", "BulkCopyAtExit", "BulkWait", "ClusterCopies",
    "ColumnsWait", "CommitAtExit", "CommitOfOtherThread", "CopyAtExit", "CopyOutOfBounds", "CopyOutOfLanes",
    "CopyOutOfShared", "CopyTooLarge", "CpAsync", "FreedBeforePeer",
    "FreedTwice", "GroupOfOtherThread", "ImplicitTmemLane", "LaunchControl", "Leads",
    "LoadAtExit", "LoadedBox", "LostResult", "MisalignedAddress", "MisalignedBox", "MisalignedBoxStart",
    "MisalignedCopy",
    "MissingWgmmaFence", "MixedCtaGroups", "MmaAtExit", "NoPair", "OperandOutOfBounds", "PairWait", "StoreAtExit",
    "StandIns", "StoreBeforeTensor", "Strips", "StrongAccesses", "TensorCores", "TensorMapRule", "TmaEngine",
    "TmemAccesses", "TmemAllocators", "TmemAtExit", "TmemColumnsExceeded", "TmemNotHeld", "UnreadColumns", "WarpWgmma",
    "WarpgroupTooSmall", "WgmmaAtExit", "WideBox", "WgmmaEngines", "WgmmaWait", "WgmmasDiffer", "WrongTmemLane",
    "DEPTH", "LateMatrix", "Matrix", "Submatrix", "accumulate_registers", "accumulate_tmem", "below", "beside",
    "broken_rule", "check_column", "fragments", "pair",
]  # fmt: skip
