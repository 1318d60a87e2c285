"""Shared memory: the segments into which its buffers divide it, and boxes that are not put there yet."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tirx_mini.sim.machine import SharedMemory, partition
from tirx_mini.sim.ordering import AccessLog


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


class Filled:
    """A box of bytes of one value. put_at: where it was put."""

    def __init__(self, value: int, nbytes: int) -> None:
        self.value, self.nbytes = value, nbytes
        self.put_at: list[int] = []

    def put(self, smem: SharedMemory, offset: int) -> None:
        self.put_at.append(offset)
        smem.bytes[offset : offset + self.nbytes] = self.value


@given(
    st.lists(
        st.tuples(st.sampled_from(["bring", "write", "read", "all"]), st.integers(0, 15), st.integers(1, 6)),
        max_size=12,
    )
)
def test_boxes_are_the_bytes_that_they_hold(steps: list[tuple[str, int, int]]) -> None:
    """Whatever overlaps what: an access finds what was brought or written last."""
    smem = SharedMemory(256, (), AccessLog(), None)
    expected = smem.bytes.copy()
    for number, (what, first, count) in enumerate(steps):
        start, end = 16 * first, min(256, 16 * (first + count))
        if what == "bring":
            smem.bring(start, Filled(number, end - start))
            expected[start:end] = number
        elif what == "write":
            smem.near(4, start, end)[start // 4 : end // 4] = number
            expected[start:end] = np.tile(np.array([number], np.uint32).view(np.uint8), (end - start) // 4)
        elif what == "read":
            assert np.array_equal(smem.near(1, start, end)[start:end], expected[start:end])
        else:
            assert np.array_equal(smem.view(1), expected)
    assert np.array_equal(smem.view(1), expected) and not smem.boxes


def test_a_box_in_place_of_another_one_and_accesses_elsewhere_move_no_bytes() -> None:
    smem = SharedMemory(256, (), AccessLog(), None)
    boxes = [Filled(number, 64) for number in range(3)]
    for box in boxes:
        smem.bring(64, box)
        smem.near(4, 0, 64)[:] = 0
        smem.near(4, 128, 256)
    assert [box.put_at for box in boxes] == [[], [], []]
    assert smem.near(1, 100, 101)[100] == 2 and boxes[2].put_at == [64]
