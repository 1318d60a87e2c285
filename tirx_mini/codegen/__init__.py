"""Code generation from lowered IR to CUDA C++."""

from .kernel import CudaSource, cuda_source
from .usage import Param

__all__ = ["CudaSource", "cuda_source", "Param"]
