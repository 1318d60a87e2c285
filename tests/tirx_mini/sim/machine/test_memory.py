"""Shared memory: the segments into which its buffers divide it."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from tirx_mini.sim.machine import partition


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20), st.sampled_from([1, 2, 4, 8, 16])), max_size=6))
def test_each_byte_and_each_buffer_is_in_one_segment(ranges: list[tuple[int, int, int]]) -> None:
    """Every byte belongs to one segment, each buffer to one as well, no coarser than its accesses."""
    from tirx_mini.ir import DataType
    from tirx_mini.sim.machine import SharedBuffer

    size = 512
    buffers = [
        SharedBuffer(str(i), DataType("uint8"), start * 4, length * 4, access_bytes=access)
        for i, (start, length, access) in enumerate(ranges)
    ]
    parts = partition(buffers, size)
    assert [start for start, _, _ in parts] == [0, *(stop for _, stop, _ in parts[:-1])] and parts[-1][1] == size
    for b in buffers:
        (holder,) = [p for p in parts if p[0] <= b.byte_offset < p[1]]
        assert b.end <= holder[1] and holder[2] <= b.access_bytes
        assert (b.byte_offset - holder[0]) % holder[2] == 0 or holder[2] == 1
