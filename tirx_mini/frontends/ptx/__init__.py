"""PTX text, and CUDA C++ through it, as kernels of the IR: read, structured, lowered, simulated."""
