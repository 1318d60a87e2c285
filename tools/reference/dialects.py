"""The page of names in the three dialects: what of TVM 0.26 is there, what is not and why, and how PTX spells it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tirx_mini.compat.tvm import imports
from tirx_mini.ir import TirxError
from tirx_mini.isa import NAMES, TABLE, Instruction, ptx_text
from tirx_mini.script import CUDA_NAMES, REFUSALS, refusal

from ._markdown import document, table, wrapped

_FACTS = Path(__file__).parents[2] / "tests" / "tirx_mini" / "frontends" / "tvm" / "tvm_0_26.json"
_SCOPES = ("thread", "warp", "warpgroup", "wg", "cta", "cluster")

_HEAD = """# Names in the three dialects

This page lists the names of Apache TVM 0.26's script namespace, `tvm.script.tirx`, that tirx_mini has, those that it
refuses, with what to write instead, the names of CUDA C++ with their spelling in a kernel, and the instructions in the
three spellings. [Dialects](../dialects.md) says how the dialects differ otherwise. A tile primitive exists below
`T.tile` and below each scope (`T.cta.copy`); it is counted once."""

_FAMILIES: Mapping[str, str] = {
    "T": "statements, expressions, buffers",
    "dtypes": "dtypes, and vectors of them",
    "tile": "tile primitives",
    "ptx": "instructions",
    "cuda": "functions of CUDA C++",
    "other": "`nvshmem`, `metal`, `nki`, `webgpu`",
}


def tvm_names() -> tuple[str, ...]:
    """The names of TVM's script namespace, as dotted paths; tile primitives only below `tile`."""
    script = json.loads(_FACTS.read_text(encoding="utf-8"))["script"]
    return tuple(name for name in script if name.partition(".")[0] not in _SCOPES or "." not in name)


@cache
def is_supported(path: str) -> bool:
    """Return whether a file that imports `tvm` finds the name."""
    with imports():
        import tvm.script.tirx as tirx  # type: ignore[import-not-found]

        value: Any = tirx
        try:
            for part in path.split("."):
                value = getattr(value, part)
        except TirxError:
            return False
    return True


def family_of(path: str) -> str:
    """The key of `_FAMILIES`."""
    group, _, rest = path.partition(".")
    if rest:
        return group if group in _FAMILIES else "other"
    described = json.loads(_FACTS.read_text(encoding="utf-8"))["script"][path]
    return "dtypes" if described == "(expr=None)" else "T"


def page() -> str:
    """The page."""
    return document(
        _HEAD, "## How many", _counts(), "## What is refused", _refused(), "## Names of CUDA C++", *_of_cuda(),
        "## Instructions", *_spellings(),
    )  # fmt: skip


def _counts() -> str:
    rows = []
    names = tvm_names()
    for family, what in _FAMILIES.items():
        members = [name for name in names if family_of(name) == family]
        have = sum(is_supported(name) for name in members)
        label = f"`T.{family}`: {what}" if family in ("tile", "ptx", "cuda") else what
        rows.append((label, str(len(members)), str(have), str(len(members) - have)))
    total = [sum(int(row[column]) for row in rows) for column in (1, 2, 3)]
    rows.append(("**all**", *(f"**{number}**" for number in total)))
    return table(("names", "of TVM 0.26", "supported", "refused"), rows)


def _refused() -> str:
    rows = []
    for row in REFUSALS:
        members = [name for name in tvm_names() if refusal(name) is row and not is_supported(name)]
        if members:
            rows.append((row.family, ", ".join(f"`{name}`" for name in members), row.why, row.instead))
    head = wrapped("An error page says this at the line that uses the name; so does an import from other modules.")
    return f"{head}\n\n{table(('family', 'names', 'why', 'what to write instead'), rows)}"


def _of_cuda() -> Iterator[str]:
    yield wrapped(
        "An error page says this at the line that uses the name. `x`, `y` and `z` are float32, `n` is an int32, `bits` "
        "a uint32, `i` an index, and `A`, `smem`, `counters` are arrays."
    )
    for family in dict.fromkeys(row.family for row in CUDA_NAMES):
        members = (row for row in CUDA_NAMES if row.family == family)
        rows = [(", ".join(f"`{name}`" for name in row.names), row.hint().removeprefix("write ")) for row in members]
        yield f"### {family[0].upper()}{family[1:]}"
        yield table(("CUDA C++", "what to write in a kernel"), rows)


def _spellings() -> Iterator[str]:
    yield wrapped(
        "The first column has the names that TVM 0.26 and tirx_mini share, the second further names of tirx_mini, "
        "among them the course's. The last has the opcode in PTX, which newer kernels use as a name: "
        '`T.ptx["mbarrier.init.shared::cta.b64"](bar, 1)`, or `T.ptx.mbarrier.init.shared__cta.b64(bar, 1)`. Modifiers '
        "are shown at their defaults."
    )
    known = set(tvm_names())
    rows = []
    for entry in TABLE.values():
        if entry.ptx:
            paths = [path for path, overloads in NAMES.items() if any(e is entry for e, _ in overloads.entries)]
            shared = [path for path in paths if path in known]
            own = [path for path in paths if path not in known]
            rows.append((_listed(shared), _listed(own), f"`{_opcode(entry)}`"))
    yield table(("TVM 0.26 and tirx_mini", "tirx_mini", "PTX"), rows)


def _listed(paths: list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths) or "–"


def _opcode(entry: Instruction) -> str:
    """The opcode of an instruction, without its operands: of a sequence, the first."""
    found = re.search(r"(?<![.\w])[a-z]\w*(?:\.[\w:]+)+", ptx_text(entry))
    return found[0] if found else ptx_text(entry).split()[0].rstrip(";")
