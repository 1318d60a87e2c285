"""Lowered IR to CUDA C++."""

from .kernel import CudaSource, cuda_source
from .usage import Param, check_target, written_params

__all__ = ["CudaSource", "cuda_source", "Param", "check_target", "written_params"]
