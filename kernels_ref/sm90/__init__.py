"""The steps for Hopper (sm_90a): wgmma tensor cores, accumulators in registers, TMA, clusters."""
