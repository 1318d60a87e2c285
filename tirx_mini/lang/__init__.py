"""The kernel library, written in the language itself: barriers, pipelines, tile schedulers, memory pools, roles.

Its objects exist at compile time; their methods are inlined at each call.
"""

from tirx_mini.script import PoolAllocator

from .attention import FlashAttentionLinearScheduler, FlashAttentionLPTScheduler, IndexedTripleTileScheduler
from .barriers import MBarrier, Pipeline, TCGen05Bar, TMABar
from .descriptors import SmemDescriptor
from .descriptors import smem_desc_add_16B_offset as smem_desc_add_16B_offset
from .launch_control import ClusterLaunchControlScheduler
from .pipeline import PipelineState
from .roles import WarpgroupRole, WarpRole
from .scheduler import BaseTileScheduler, ClusterPersistentScheduler2D, GroupMajor3D
from .tmem import TMEMPool

SMEMPool = PoolAllocator

__all__ = [
    "BaseTileScheduler",
    "ClusterLaunchControlScheduler",
    "ClusterPersistentScheduler2D",
    "FlashAttentionLPTScheduler",
    "FlashAttentionLinearScheduler",
    "GroupMajor3D",
    "IndexedTripleTileScheduler",
    "MBarrier",
    "Pipeline",
    "PipelineState",
    "PoolAllocator",
    "SMEMPool",
    "SmemDescriptor",
    "TCGen05Bar",
    "TMABar",
    "TMEMPool",
    "WarpRole",
    "WarpgroupRole",
]
