"""Library for kernels, written in the language itself: barriers, pipeline states, tile schedulers, the memory pool.

The objects live while a kernel is read; their methods are inlined where they are called.
"""

from tirx_mini.script import PoolAllocator

from .barriers import MBarrier, TCGen05Bar, TMABar
from .pipeline import PipelineState
from .scheduler import ClusterPersistentScheduler2D

SMEMPool = PoolAllocator

__all__ = [
    "ClusterPersistentScheduler2D",
    "MBarrier",
    "PipelineState",
    "PoolAllocator",
    "SMEMPool",
    "TCGen05Bar",
    "TMABar",
]
