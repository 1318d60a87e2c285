"""Shared-memory addresses (PTX ISA: "State spaces", shared::cta and shared::cluster)."""

WINDOW_BITS = 24
"""The number of address bits below the CTA rank in a shared::cluster address; they hold the byte offset."""


def window(rank: int) -> int:
    """Return the shared::cluster address of byte 0 of the CTA with the given rank."""
    return rank << WINDOW_BITS


OFFSET_MASK = (1 << WINDOW_BITS) - 1


def offset_of(address: int) -> int:
    """Return the byte offset of an address in the shared memory of its CTA."""
    return address & OFFSET_MASK
