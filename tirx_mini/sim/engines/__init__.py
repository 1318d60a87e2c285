"""The asynchronous engines: TMA, tensor cores, tensor memory and cp.async, each with its own timing."""

from .bulk_copies import BulkCopy
from .cluster_copy import ClusterCopies
from .cp_async import CopyOutOfBounds, CopyTooLarge, CpAsync, MisalignedCopy
from .issued import Batch, Pipe, pair
from .launch_control import CancelAfterFailure, LaunchControl
from .leaders import Leaders
from .maps_in_memory import UnfencedMap
from .mma_time import arithmetic, fill, operand_bytes
from .operands import OperandOutOfBounds
from .representatives import NoRepresentatives, Representatives
from .scoped import ScopedAccesses
from .scoped_facts import BadAddress, MisalignedAddress, ReadOnlyPath
from .submatrix import LateMatrix, Matrix, Submatrix, below, beside
from .sums import DEPTH, accumulate_registers, accumulate_tmem, fragments
from .tcgen05 import TensorCores
from .tcgen05_facts import CommitAtExit, CommitOfOtherThread, FreedBeforePeer, MmaAtExit
from .tensor_map import BatchedBox, BoxCopier, LoadedBox, Strips, TensorMapRule, broken_rule
from .tile_facts import FactorsMisread, Misread, OwnAccumulator, Seen, TileMisread
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
from .unread import HalfRead, LostResult, OtherResult, UnreadColumns
from .wgmma import WarpWgmma
from .wgmma_engines import WgmmaEngines
from .wgmma_facts import MissingWgmmaFence, WarpgroupTooSmall, WgmmaAtExit, WgmmasDiffer, WgmmaWait

__all__ = [
    "accumulate_registers", "accumulate_tmem", "AccumulatorLane", "AllocRule", "AllocWithoutPermit", "arithmetic",
    "BadAddress", "BadAllocation", "BadBulkSize", "BadDealloc", "BadTensorMap", "BatchedBox", "below", "beside",
    "Batch", "Block", "BoxCopier", "BulkCopy", "Pipe",
    "BoxOutOfSharedMemory", "broken_rule", "BulkCopyAtExit", "BulkWait", "CancelAfterFailure",
    "check_column", "ClusterCopies", "ColumnsWait", "CommitAtExit", "CommitOfOtherThread", "CopyAtExit",
    "CopyOutOfBounds", "CopyOutOfLanes", "CopyOutOfShared", "CopyTooLarge", "CpAsync", "DEPTH", "fill", "fragments",
    "FreedTwice", "GroupOfOtherThread", "ImplicitTmemLane", "LateMatrix", "LaunchControl", "Leaders", "LoadAtExit",
    "LoadedBox", "LostResult", "Matrix", "MisalignedAddress", "MisalignedBox", "MisalignedBoxStart", "MisalignedCopy",
    "MissingWgmmaFence", "MixedCtaGroups", "MmaAtExit", "NoPair", "NoRepresentatives", "operand_bytes",
    "OperandOutOfBounds", "pair", "PairWait", "Representatives", "ScopedAccesses", "StoreAtExit", "StoreBeforeTensor",
    "Strips", "Submatrix", "TensorCores", "TensorMapRule", "TmaEngine", "TmemAccesses", "TmemAllocators", "TmemAtExit",
    "TmemColumnsExceeded", "TmemNotHeld", "UnreadColumns", "WarpgroupTooSmall", "WarpWgmma", "WgmmaAtExit",
    "WgmmaEngines", "WgmmasDiffer", "WgmmaWait", "WrongTmemLane", "FactorsMisread", "FreedBeforePeer", "HalfRead",
    "Misread", "OtherResult", "OwnAccumulator", "ReadOnlyPath", "Seen", "TileMisread", "UnfencedMap",
]  # fmt: skip
