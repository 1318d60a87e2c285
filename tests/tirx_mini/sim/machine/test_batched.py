"""The memory of wide clusters: what each cluster has of its own, and what all have in common."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.engines import BatchedBox, LoadedBox
from tirx_mini.sim.machine import BatchedSharedMemory
from tirx_mini.sim.ordering import Unequal

SIZE, CLUSTERS = 256, 3
CHUNK = 16


def chunks(first: int, count: int) -> np.ndarray:
    """Different 16-byte items for each cluster, [clusters, count]."""
    words = np.arange(CLUSTERS * count * 4, dtype=np.uint32) + 1000 * first
    return words.reshape(CLUSTERS, count * 4).view(np.complex128)


actions = st.tuples(st.booleans(), st.integers(0, 12), st.integers(1, 4))


@given(st.lists(actions, max_size=8), st.integers(0, 12), st.integers(1, 4))
def test_each_cluster_reads_what_it_has_stored(
    program: list[tuple[bool, int, int]], start: int, count: int
) -> None:
    smem = BatchedSharedMemory(SIZE, CLUSTERS, ())
    model: list[bytes | list[bytes]] = [b"\xff" * CHUNK] * (SIZE // CHUNK)
    for own, first, length in program:
        if own:
            values = chunks(first, length)
            smem.put(CHUNK, np.arange(length), first, values)
            model[first : first + length] = [[row[i].tobytes() for row in values] for i in range(length)]
        elif any(isinstance(each, list) for each in model[first : first + length]):
            with pytest.raises(Unequal):
                smem.near(CHUNK, first * CHUNK, (first + length) * CHUNK)
        else:
            smem.near(CHUNK, first * CHUNK, (first + length) * CHUNK)[first : first + length] = first
            model[first : first + length] = [np.complex128(first).tobytes()] * length
    wanted = model[start : start + count]
    kinds = {isinstance(each, list) for each in wanted}
    if len(kinds) == 2:
        with pytest.raises(Unequal):  # some of it is common
            smem.read(np.arange(count) + start, CHUNK)
        return
    found = smem.read(np.arange(count) + start, CHUNK)
    for number, row in enumerate(found):
        assert [item.tobytes() for item in row] == [each[number] if isinstance(each, list) else each for each in wanted]


class OneBox(LoadedBox):
    """A box of 32 bytes without a tensor."""

    def __init__(self) -> None:
        self.nbytes = 32


def test_boxes_take_the_place_of_what_was_stored_and_are_not_bytes() -> None:
    smem = BatchedSharedMemory(SIZE, CLUSTERS, ())
    smem.put(CHUNK, np.arange(4), 0, chunks(0, 4))
    smem.bring(32, BatchedBox([OneBox() for _ in range(CLUSTERS)]))
    assert (smem.read(np.arange(2), CHUNK) == chunks(0, 4)[:, :2]).all()
    for look in (lambda: smem.read(np.arange(2) + 2, CHUNK), lambda: smem.near(4, 32, 36), lambda: smem.view(4)):
        with pytest.raises(Unequal):
            look()
    with pytest.raises(Unequal):
        smem.put(CHUNK, np.arange(3), 1, chunks(0, 3))


def test_items_narrower_than_a_word_are_refused() -> None:
    with pytest.raises(Unequal):
        BatchedSharedMemory(SIZE, CLUSTERS, ()).put(2, np.arange(2), 0, np.zeros((CLUSTERS, 2), np.uint16))
