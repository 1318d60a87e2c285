"""Wrong arguments of the objects of `lang`: one sentence, at the line, with what to write."""

from __future__ import annotations

import pytest

from tests.tirx_mini.script.reading import error_in, line_of
from tirx_mini import lang

NAMES = {name: getattr(lang, name) for name in lang.__all__}
SCHEDULER = "ClusterPersistentScheduler2D"

MISUSES = {
    'PipelineState(4, "tma")': ("its number of stages before its name", 'write PipelineState("tma", 4)'),
    'PipelineState("tma")': ("the number of stages of PipelineState", "None is given", '"tma", PIPE_DEPTH)'),
    'PipelineState("tma", "4")': ("the number of stages of PipelineState", "'4' is given"),
    'PipelineState("tma", lane_id)': ("the number of stages", "`lane_id` is only known when the kernel runs"),
    "PipelineState(True)": ("the number of stages", "True is given"),
    'PipelineState("tma", 4, 2)': ("phase of PipelineState must be 0 or 1, but 2 is given", "phase=1 for a producer"),
    'PipelineState(4, phase="producer")': ("must be 0 or 1, but 'producer' is given",),
    'PipelineState("tma", 4).init("producer")': ("is_producer", "'producer' is given", "write is_producer=True"),
    'TMABar("a", 2)': ("is the shared-memory pool that holds it, but 'a' is given", "write TMABar(pool, PIPE_DEPTH"),
    "MBarrier(2, shared)": ("the first argument of MBarrier", "2 is given", "pool = Tx.PoolAllocator()"),
    "TCGen05Bar(bar, 2)": ("the first argument of TCGen05Bar", "the buffer bar is given"),
    'TMABar(shared, "a", 2)': ("the depth of TMABar", "'a' is given", 'write TMABar(pool, PIPE_DEPTH, "name")'),
    "TMABar(shared, 2.0)": ("the depth of TMABar", "2.0 is given"),
    "TMABar(shared, 0)": ("the depth of TMABar", "0 is given"),
    "TMABar(shared)": ("`TMABar` is called without `depth`", "TMABar(pool, depth, name=None, *, phase_offset=0"),
    "MBarrier(shared, 2, [1])": ("the name of MBarrier must be a string",),
    "MBarrier(shared, 2, 5)": ("phase_offset of MBarrier must be 0 or 1, but 5 is given",),
    'MBarrier(shared, 2, leader="x")': ("the leader of MBarrier must be a condition", "leader=(thread_id == 0)"),
    "MBarrier(shared, 2).init()": ("called without `count`", "its signature is init(count)"),
    'Pipeline("x", 2, full="tma", empty="mbar")': ("the first argument of Pipeline", "'x' is given"),
    'Pipeline(shared, "x", full="tma", empty="mbar")': ("the number of stages of Pipeline", "'x' is given"),
    'Pipeline(shared, 2, full="tma", empty="tcgen")': ("empty of Pipeline must be a kind of barrier", "'tcgen05'"),
    "Pipeline(shared, 2, full=TMABar, empty='mbar')": ("full of Pipeline must be a kind of barrier",),
    f"{SCHEDULER}(4, 4, 8, 8)": ("the prefix of its names, must be a string, but 4", '("tile", M // '),
    f'{SCHEDULER}("tile", 4, 4)': (f"`{SCHEDULER}` is called without `num_clusters`", "num_clusters, l2_group_size=8"),
    f'{SCHEDULER}("tile", 2048 / 256, 4, 8)': ("num_m_tiles", "8.0 is given", "divide with //"),
    f'{SCHEDULER}("tile", 4, lane_id, 8)': ("num_n_tiles", "`lane_id` is only known when the kernel runs"),
    f'{SCHEDULER}("tile", 0, 4, 8)': ("num_m_tiles", "the matrix may be smaller than one tile"),
    f'{SCHEDULER}("tile", 4, 4, 8).init("x")': ("needs the index of the cluster", "write scheduler.init(bx)"),
    "TMEMPool(512)": ("the first argument of TMEMPool", "512 is given", "write TMEMPool(pool, 512)"),
    "TMEMPool(shared, 500)": ("must be 32, 64, 128, 256 or 512, but 500 is given",),
    "TMEMPool(shared, 512, cta_group=3)": ("cta_group of TMEMPool must be 1 or 2",),
    "TMEMPool(shared, 512).alloc(128)": ("(lanes, columns), two integers, but 128 is given", "alloc((128, columns))"),
    'TMEMPool(shared, 512).move_base_to("x")': ("needs a column", "'x' is given"),
    "WarpRole(3, 3)": ("the index of the executing warp, but 3 is given", "write WarpRole(warp_id, 0)"),
    'WarpgroupRole(wg_id, "x")': ("the number of a warpgroup, but 'x' is given",),
}


@pytest.mark.parametrize("call", MISUSES)
def test_a_wrong_argument_is_reported_where_it_is_written(call: str) -> None:
    error = error_in(f"shared = SMEMPool()\nx = {call}\nshared.commit()", **NAMES)
    assert call.startswith(line_of(error)) or line_of(error).startswith(call), str(error)
    page = str(error)
    for words in MISUSES[call]:
        assert words in page, page
    assert "Error:" not in page and len(page.splitlines()[0]) < 200  # Python's own exception is not shown
