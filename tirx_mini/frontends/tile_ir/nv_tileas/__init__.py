"""The dialect nv_tileas: tile programs for one architecture, with layouts, asynchronous copies, pipelines and agents.
"""

from . import ops, passes, pipeline_ops
from .accumulation import optimize_dot_accumulation
from .agents import materialize_schedule
from .catalogue import IN_ORDER, PRINTING
from .dialect import NV_TILEAS
from .gathers import COPY_BYTES
from .persistent import dynamic_persistent
from .pipeline_ops import COMPUTE, MATRIX, PRODUCER, pipeline_of
from .pipeline_types import ASYNC, CP_ASYNC, ITERATOR, MMA, STAGE, THREADS, TMA, TMA_DESC, WGMMA, Pipeline
from .pipelining import materialize_async
from .tma import lower_tma_load_store_to_async

__all__ = [
    "ASYNC", "COMPUTE", "COPY_BYTES", "CP_ASYNC", "IN_ORDER", "ITERATOR", "MATRIX", "MMA", "NV_TILEAS", "PRINTING",
    "PRODUCER", "Pipeline", "STAGE", "THREADS", "TMA", "TMA_DESC", "WGMMA", "dynamic_persistent",
    "lower_tma_load_store_to_async", "materialize_async", "materialize_schedule", "ops", "optimize_dot_accumulation",
    "passes", "pipeline_of", "pipeline_ops",
]  # fmt: skip
