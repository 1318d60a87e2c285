"""Each default of TVM 0.26 is ours, or the table here says how they differ and why."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tirx_mini.compat.tvm import imports
from tirx_mini.ir import TirxError
from tirx_mini.isa import NAMES
from tirx_mini.script.defaults import TVM_DEFAULTS

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "tvm_0_26.json").read_text(encoding="utf-8"))
ONCE = ("cta", "warp", "wg", "warpgroup", "thread", "cluster")
"""Scopes, below which the tile primitives are again."""
INTERNAL = frozenset({"span", "workspace", "scope", "dispatch"})
"""Parameters of TVM's IR, and those whose default is None in both."""
NEEDED = "needed here"

_LAYOUT = 'None is TVM\'s "default": row-major'
_ALIGN = "each means the alignment of the dtype"
_AXES = "None: the axes that the destination lacks, which are the last ones"
_IN_PLACE = "TVM reads the destination where the source is left out"
DIFFERENT: Mapping[tuple[str, str], tuple[Any, Any, str]] = {
    **{(name, "layout"): ("default", None, _LAYOUT)
       for name in ("Buffer", "alloc_buffer", "alloc_local", "alloc_shared", "decl_buffer", "match_buffer",
                    "SMEMPool.alloc", "buffer", "smem")},
    **{(name, "align"): (-1, 0, _ALIGN) for name in ("alloc_buffer", "alloc_shared", "match_buffer", "smem")},
    ("SMEMPool.alloc", "align"): (0, None, _ALIGN + ", or of the layout"),
    ("SMEMPool.alloc_tcgen05_mma_AB", "align"): (1024, None, "None: what the layout needs"),
    ("ComposeLayout.broadcast", "axis"): ("m", "m", "an axis here, its name there"),
    ("TileLayout.broadcast", "axis"): ("m", "m", "an axis here, its name there"),
    ("hint", "message"): ("", NEEDED, "a hint without a message is `attr`"),
    ("match_buffer", "shape"): (None, NEEDED, "shapes are numbers"),
    ("static_assert", "message"): ("", "the assertion fails", "the words of the error"),
    ("ptx.tcgen05.commit", "cta_mask"): (0, None, "no multicast"),
    ("ptx.ld_mmio", "sem"): ("acquire", "relaxed", "PTX has only ld.mmio.relaxed"),
    ("ptx.st_mmio", "sem"): ("release", "relaxed", "PTX has only st.mmio.relaxed"),
    ("PrimFunc.__init__", "attrs"): (None, (), "no attributes"),
    **{(f"tile.{name}", "axes"): (-1, None, _AXES) for name in ("sum", "max", "min")},
    **{(f"tile.{name}", "src"): (None, NEEDED, _IN_PLACE) for name in ("cast", "max", "min")},
    **{(f"ptx.{name}", "dst"): (None, NEEDED, "another form of the instruction, without it, exists")
       for name in ("ld", "ld_acquire", "ld_relaxed", "ld_volatile", "ld_global_nc")},
}  # fmt: skip
"""(name, parameter): TVM's default, ours, and why."""


def defaults(signature: str) -> dict[str, Any]:
    """The defaults of a signature in the stored facts."""
    given = ast.parse(f"def f{signature}: pass").body[0].args  # type: ignore[attr-defined]
    plain = [*given.posonlyargs, *given.args]
    pairs = [*zip(plain[len(plain) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += [(arg, value) for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value is not None]
    return {arg.arg: ast.literal_eval(value) for arg, value in pairs if arg.arg not in INTERNAL}


def both() -> Iterator[tuple[str, str, Any]]:
    """(name, TVM's signature, our function) of all that both have."""
    tirx = importlib.import_module("tvm.script.tirx")
    for name, signature in FACTS["script"].items():
        if signature.startswith("(") and not ("." in name and name.partition(".")[0] in ONCE):
            value: Any = tirx
            try:
                for part in name.split("."):
                    value = getattr(value, part)
            except TirxError:
                continue
            yield name, signature, value
    for place, members in FACTS["classes"].items():
        module, _, cls = place.partition(":")
        ours = getattr(importlib.import_module(module), cls, None)
        for name, signature in members.items():
            if signature.startswith("(") and hasattr(ours, name):
                yield f"{cls}.{name}", signature, getattr(ours, name)


def our_default(name: str, parameter: str, function: Any) -> Any:
    """Our default in a kernel of TVM's dialect; `inspect.Parameter.empty` where there is no such parameter."""
    if name in TVM_DEFAULTS and TVM_DEFAULTS[name].name == parameter:
        return TVM_DEFAULTS[name].value
    for _, alias in NAMES[name].entries if name in NAMES else ():
        if parameter in alias.defaults:
            return alias.defaults[parameter]
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return inspect.Parameter.empty
    if parameter not in known:
        return inspect.Parameter.empty
    return NEEDED if known[parameter].default is inspect.Parameter.empty else known[parameter].default


def compared() -> dict[tuple[str, str], tuple[Any, Any]]:
    """(TVM's default, ours) of each parameter that both have, under one name."""
    found = {}
    with imports():
        for name, signature, function in both():
            for parameter, value in defaults(signature).items():
                ours = our_default(name, parameter, function)
                if ours is not inspect.Parameter.empty:
                    found[name, parameter] = (value, ours)
    return found


def test_each_default_is_that_of_tvm_or_explained() -> None:
    found = compared()
    assert len(found) > 100
    different = {key: pair for key, pair in found.items() if not same(*pair)}
    known = {key: (theirs, ours) for key, (theirs, ours, _) in DIFFERENT.items()}
    assert {key: (theirs, shown(ours)) for key, (theirs, ours) in different.items()} == {
        key: (theirs, shown(ours)) for key, (theirs, ours) in known.items()
    }


def same(theirs: Any, ours: Any) -> bool:
    return type(theirs) is type(ours) and theirs == ours


def shown(value: Any) -> Any:
    """A value that compares by what it is: an axis by its name."""
    return value if isinstance(value, (str, int, float, tuple, type(None))) else str(value)


def test_the_defaults_of_the_dialect_are_tvms() -> None:
    for name, default in TVM_DEFAULTS.items():
        assert defaults(FACTS["script"][name])[default.name] == default.value
