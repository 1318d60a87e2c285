"""CPU execution through LLVM's just-in-time compiler (llvmlite, the extra `cpu`).

llvmlite is LLVM itself, kept by the Numba project for each new LLVM and Python. Numba would compile Python: the loops
would have to be printed as Python, and vectors and the order of loops would be left to it.
"""

from .executable import CpuExecutable, build, vector_bits
from .module import llvm_module

__all__ = ["CpuExecutable", "build", "llvm_module", "vector_bits"]
