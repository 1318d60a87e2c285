"""Defaults of Apache TVM 0.26 that differ from the course's, selected by a kernel's dialect.

A kernel has TVM's defaults if it is read from a file that imports `tvm`, and its decorator is TVM 0.26's: the course's
``@Tx.prim_func(tirx=True)`` is none of 0.26, and keeps the course's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.records import dataclass


@dataclass(frozen=True)
class Default:
    """The default value of a parameter in TVM 0.26.

    position: the index of the parameter; a call that gives more arguments gives this one.
    """

    name: str
    position: int
    value: Any


TVM_DEFAULTS: Mapping[str, Default] = {
    "ptx.cp_async.bulk.wait_group": Default("read", 1, True),
    "ptx.fence.proxy_async": Default("space", 0, ""),
}
"""By the path of the instruction below ``Tx``."""
