"""nv_tileas: tile programs for one architecture, with layouts, asynchronous copies, pipelines and agents."""

from . import ops, pipeline_ops
from .dialect import NV_TILEAS
from .pipeline_ops import COMPUTE, MATRIX, PRODUCER, pipeline_of
from .pipeline_types import ASYNC, ITERATOR, MMA, STAGE, THREADS, TMA, TMA_DESC, WGMMA, Pipeline

__all__ = [
    "ASYNC", "COMPUTE", "ITERATOR", "MATRIX", "MMA", "NV_TILEAS", "PRODUCER", "Pipeline", "STAGE", "THREADS", "TMA",
    "TMA_DESC", "WGMMA", "ops", "pipeline_of", "pipeline_ops",
]  # fmt: skip
