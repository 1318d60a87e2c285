"""Kernels with one feature each, traced to cuda_tile and executed by its interpreter."""
