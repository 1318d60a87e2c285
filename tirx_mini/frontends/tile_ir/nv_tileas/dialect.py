"""The dialect nv_tileas: programs for one architecture, with layouts, asynchronous copies, pipelines and agents."""

from __future__ import annotations

from ..nv_tileaa import LAYOUTS, parse_tensor
from ..ssa import Dialect

NV_TILEAS = Dialect("nv_tileas", types={"tensor": parse_tensor}, attributes=dict(LAYOUTS))
