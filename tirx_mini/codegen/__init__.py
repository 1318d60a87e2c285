"""Code generation from lowered IR to CUDA C++."""

from .kernel import GENERATED, CudaSource, cuda_source
from .usage import Param

__all__ = ["GENERATED", "CudaSource", "cuda_source", "Param"]
