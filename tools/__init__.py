"""Tools that test the simulator by making kernels wrong on purpose."""
