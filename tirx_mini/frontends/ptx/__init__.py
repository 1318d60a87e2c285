"""The frontend for PTX text and, through NVRTC, CUDA C++: read, structure, lower and simulate kernels."""
