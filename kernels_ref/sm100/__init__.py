"""The steps for Blackwell (sm_100a): tcgen05 tensor cores, tensor memory, TMA, CTA pairs."""
