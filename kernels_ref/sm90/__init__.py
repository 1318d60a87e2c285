"""The steps for Hopper (sm_90a): wgmma tensor cores, TMA, multicast in clusters, consumers that take turns."""
