"""Rules for tensor maps that a kernel changes in memory."""

from __future__ import annotations

from tirx_mini.sim import UnfencedMap

from .hazards import MISSING_PROXY_FENCE
from .kind import Explanation, explains

_ACQUIRE = (
    "before the copy, and after the synchronisation with what changes the map, call "
    "fence.proxy.tensormap::generic.acquire.gpu [map], 128"
)
_BOTH = (
    "behind the change of the map call fence.proxy.tensormap::generic.release.gpu, or copy it by "
    f"tensormap.cp_fenceproxy; {_ACQUIRE}"
)


@explains(UnfencedMap, MISSING_PROXY_FENCE)
def unfenced_map(fact: UnfencedMap) -> Explanation:
    written, missing = fact.written, "acquires" if fact.released else "releases"
    return Explanation(
        f"the copy of {fact.origin.place} uses the tensor map in {fact.buffer}, which {written.role} changes in this "
        f"kernel, and no fence.proxy.tensormap {missing} the change for it",
        _ACQUIRE if fact.released else _BOTH,
        ((f"{written.role} changes the map here", written.span),),
        {"buffer": fact.buffer, "role": fact.origin.role},
        "PTX ISA: membar/fence, .proxy.tensormap",
        order="if the unit that copies holds the map from before the change",
    )
