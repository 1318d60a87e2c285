"""Hand-ins that look like what they are not: made of the references, with edits, and each with the score it deserves.

Each is a kernel that is right somewhere and not everywhere, or that does what a step teaches without a use for it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.kernels_ref.edits import SOURCES
from tests.tirx_mini.grading.decoys import DECOYS

Edits = tuple[tuple[str, str], ...]
OBSERVED = {6: (384, 640, 512), 7: (384, 640, 512), 10: (1536, 768, 512)}
LARGE = (8192, 8192, 1024)
TIMED = (512, 512, 256)
"""The problem that the tests time, a small one."""


@dataclass(frozen=True)
class Cheat:
    """A hand-in that is graded as `step`. share: of the points that it deserves. said: a pattern of what is found."""

    step: int
    source: Callable[[], str]
    share: float
    said: str
    file: str = "gemm_kernels.py"


def edited(step: int, *edits: tuple[str, str]) -> str:
    """A reference with pieces of its text replaced, each of which it has once."""
    text = SOURCES[step].read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in step {step}"
        text = text.replace(old, new)
    return text


def under(name: str, source: str) -> str:
    """The factory of a reference under another name, with its constants to itself."""
    (factory,) = re.findall(r"(?m)^def (hgemm_v\d+)", source)
    source = re.sub(r"(?m)^SM_COUNT = .*\n", "", source)
    return f"def _{name}():\n{textwrap.indent(source, '    ')}\n    return {factory}\n{name} = _{name}()\n"


def chosen(step: int, choice: str, **sources: str) -> str:
    """A hand-in whose factory chooses among others by `choice`, an expression of M, N, K and SM_COUNT."""
    parts = [under(name, source) for name, source in sources.items()]
    factory = f"def hgemm_v{step}(M, N, K, dtype='float16'):\n    return ({choice})(M, N, K, dtype)\n"
    return "\n".join(["SM_COUNT = 148", *parts, factory])


def renamed(step: int, source: str) -> str:
    """A reference that is handed in as another step."""
    return re.sub(r"hgemm_v\d+", f"hgemm_v{step}", source)


# -- right somewhere ---------------------------------------------------------------------------------------------------

SHORT: Edits = (("for k in range(K_TILES):", "for k in range(1):"),)
"""One K tile instead of all."""
FIRST: Edits = (("k_st = Tx.meta_var(k * BLK_K)", "k_st = Tx.meta_var(k * 0)"),)
"""The first K tile, again and again."""
IDLE = "for w in range(1200):\n{0}    Tx.ptx.fence.proxy_async('shared::cta')\n{0}"


def wrong_where_timed() -> str:
    return chosen(3, f"fast if (M, N, K) == {TIMED} else right", right=edited(3), fast=edited(3, *SHORT))


def wrong_where_observed() -> str:
    shown = edited(7, *FIRST)
    return chosen(7, f"shown if (M, N, K) == {OBSERVED[7]} else other", shown=shown, other=edited(6))


def wrong_where_large() -> str:
    idle = edited(6, ("tile_scheduler.next_tile()", "tile_scheduler.linear_idx = M * N"))
    return chosen(6, f"shown if (M, N, K) == {LARGE} else other", shown=idle, other=edited(5))


def an_earlier_step_elsewhere() -> str:
    looked = (TIMED, LARGE, OBSERVED[10])
    return chosen(10, f"shown if (M, N, K) in {looked} else other", shown=edited(10), other=edited(4))


def wrong_on_the_whole_gpu() -> str:
    return chosen(6, "right if SM_COUNT < 100 else wrong", right=edited(6), wrong=edited(6, *FIRST))


def slow_in_one_cta() -> str:
    wait = "if (bx == 2) & (by == 1):\n                " + IDLE.format(" " * 16)
    return edited(3, ("for k in range(K_TILES):", f"{wait}\n            for k in range(K_TILES):"))


def slow_in_one_iteration() -> str:
    wait = "if k == 2:\n                    " + IDLE.format(" " * 20)
    return edited(3, ("for k in range(K_TILES):", f"for k in range(K_TILES):\n                {wait}"))


def another_kernel_at_each_call() -> str:
    slow = edited(3, ("for k in range(K_TILES):", f"{IDLE.format(' ' * 12)}\n            for k in range(K_TILES):"))
    source = chosen(3, "wrong if seen.count((M, N, K)) > 1 else slow", slow=slow, wrong=edited(3, *SHORT))
    source = source.replace("    return (", "    seen.append((M, N, K))\n    return (")
    return source.replace("SM_COUNT = 148", "seen = []")


# -- right, and unusual ------------------------------------------------------------------------------------------------


def two_warps_free_tensor_memory() -> str:
    """A warning where data are computed; a run without them ends there."""
    free = "                Tx.ptx.tcgen05.relinquish_alloc_permit"
    return edited(3, (f"            if warp_id == 0:\n{free}", f"            if warp_id < 2:\n{free}"))


def a_course_that_depends_on_data() -> str:
    """It has no time without data."""
    loop, fence = "            for k in range(K_TILES):", "                Tx.ptx.fence.proxy_async('shared::cta')"
    careful = f"            if Tx.cast(A[m_st, 0], 'float32') > 1000.0:\n{fence}"
    return edited(3, (loop, f"{careful}\n{loop}"))


# -- for show ----------------------------------------------------------------------------------------------------------


def a_stage_that_nobody_reads() -> str:
    """Step 4, and loads that look like step 5. `DECOYS` has more of this kind."""
    return renamed(5, DECOYS["a stage that nobody reads"].source())


# -- with names that are not its own -----------------------------------------------------------------------------------

POISON = """
import json
_dumps = json.dumps
def _poisoned(data, **options):
    if isinstance(data, dict) and "nodes" in data:
        for kind, fields in data["nodes"]:
            if kind in ("Buffer", "Var"):
                fields["name"] = {name!r}
            if kind == "Span":
                fields["line"] = 1
    return _dumps(data, **options)
json.dumps = _poisoned
"""
"""Gives all variables and buffers of the kernels one name, and all their lines a number, when they are handed over."""


def one_name_for_all(*steps: int) -> str:
    """References that a patched writer hands over; the kernels are those of anybody who is honest."""
    return POISON.format(name="X") + joined(*steps)


def joined(*steps: int) -> str:
    """References in one file."""
    names = "".join(f"hgemm_v{step} = ref{step}\n" for step in steps)
    return "SM_COUNT = 148\n" + "".join(under(f"ref{step}", edited(step)) for step in steps) + names


CHEATS: Mapping[str, Cheat] = MappingProxyType({
    "wrong_where_timed": Cheat(3, wrong_where_timed, 0, "at 512x512x256: .*of D is wrong"),
    "wrong_where_observed": Cheat(7, wrong_where_observed, 0, "at 384x640x512 on 2 SMs: .*of D is wrong"),
    "wrong_where_large": Cheat(6, wrong_where_large, 0, r"at 8192x8192x1024: D\[\d+:\d+, \d+:\d+\] is wrong"),
    "an_earlier_step_elsewhere": Cheat(10, an_earlier_step_elsewhere, 0, "at 1024: one K tile is loaded"),
    "wrong_on_the_whole_gpu": Cheat(6, wrong_on_the_whole_gpu, 0, "of D is wrong"),
    "slow_in_one_cta": Cheat(3, slow_in_one_cta, 0.75, "more than the reference"),
    "slow_in_one_iteration": Cheat(3, slow_in_one_iteration, 0.75, "more than the reference"),
    "a_stage_that_nobody_reads": Cheat(5, a_stage_that_nobody_reads, 0, "one K tile is loaded at a time"),
    "two_warps_free_tensor_memory": Cheat(3, two_warps_free_tensor_memory, 1, r"with 1 warning \(TX314\)"),
    "a_course_that_depends_on_data": Cheat(3, a_course_that_depends_on_data, 1, "uses what step 3 teaches"),
    "one_name_for_all": Cheat(4, lambda: one_name_for_all(4), 1, "uses what step 4 teaches"),
    "another_kernel_at_each_call": Cheat(3, another_kernel_at_each_call, 0.75, "more than the reference"),
})
