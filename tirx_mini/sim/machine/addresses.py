"""Shared-memory addresses (PTX ISA: "State spaces", shared::cta and shared::cluster)."""

WINDOW_BITS = 24
"""A shared::cluster address is the CTA's rank above these bits, and its shared memory's byte below."""


def window(rank: int) -> int:
    """The shared::cluster address of byte 0 of the CTA of this rank."""
    return rank << WINDOW_BITS


OFFSET_MASK = (1 << WINDOW_BITS) - 1


def offset_of(address: int) -> int:
    """The byte of its CTA's shared memory that an address names."""
    return address & OFFSET_MASK
