"""Lowered IR to CUDA C++."""

from .kernel import CudaSource, cuda_source
from .usage import Param, written_params

__all__ = ["CudaSource", "cuda_source", "Param", "written_params"]
