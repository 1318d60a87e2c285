"""cuTile 1.7's names and the types of its expressions: ours are the same, or refused with a sentence."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
from enum import EnumMeta
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tirx_mini.compat import cuda_tile
from tirx_mini.frontends.tile_ir.language import METHODS, ArraySpec, Operation, trace
from tirx_mini.ir import TirxError
from tirx_mini.tile_ir import ct
from tools import cutile_facts

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "cutile_1_7.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = FACTS["names"]
"""Each public name of `cuda.tile`, with its signature. `tools/cutile_facts.py` writes the file."""
OWNERS = {"Tile": "TileValue", "Array": "ArrayValue", "TiledView": "TiledViewValue", "RawArrayMemory": "RawMemoryValue"}
"""Classes of cuTile whose objects exist in kernels only, and ours."""
REFUSED = ("compilation", "foreign_pointer_dtype")
"""Names that raise a sentence: modules where they are imported, functions where a kernel calls them."""


def described(value: Any) -> str:
    """As in the facts; the first parameter of a method has no name there that matters."""
    return re.sub(r"^\(\w+(, )?(/, (?!\*))?", "(", cutile_facts.described(value))


@pytest.mark.parametrize("name", [n for n in NAMES if n.partition(".")[0] not in REFUSED])
def test_each_name_is_there_with_its_signature(name: str) -> None:
    owner, _, member = name.rpartition(".")
    if owner in OWNERS:
        operation = next((o for (kind, m), o in METHODS.items() if (kind.__name__, m) == (OWNERS[owner], member)), None)
        if operation is None:
            static = METHODS.get((getattr(ct, owner, None), member))  # type: ignore[arg-type]
            assert static is not None or NAMES[name] in ("property",), f"`{name}` is no method"
            return
        expected = re.sub(r"^\(self(, )?(/, (?!\*))?", "(", NAMES[name])
        assert described(operation).replace("(/, ", "(") == expected
        return
    if NAMES[name] == "getset_descriptor":
        assert hasattr(ct.int32, member)
        return
    found: Any = ct
    for part in name.split("."):
        found = getattr(found, part, None) if not isinstance(found, EnumMeta) else found[part]
    assert found is not None
    if isinstance(found, (Operation, FunctionType)) and NAMES[name].startswith("(") and name != "Scalar":
        assert _names_of(cutile_facts.described(found)) == _names_of(NAMES[name])


def _names_of(signature: str) -> str:
    """A signature in which no default shows what it is."""
    return re.sub(r"=(<[^>]*>|'[^']*'|[^,)]+)", "=", signature)


@pytest.mark.parametrize("module", ["compilation", "jax"])
def test_a_module_that_is_left_out_says_what_to_use(module: str) -> None:
    with cuda_tile.imports(), pytest.raises(ImportError, match="does not provide") as caught:
        importlib.import_module(f"cuda.tile.{module}")
    assert "help: " in str(caught.value)


# -- Types -------------------------------------------------------------------------------------------------------------

TYPES: dict[str, dict[str, str]] = FACTS["types"]
MORE = {
    "x ** 2.0": "integers are raised as float64; cuTile fails",
}
"""Expressions that are accepted here for more types than in cuTile."""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module with a kernel for each expression."""
    path = tmp_path_factory.mktemp("types") / "expressions.py"
    binary = set(cutile_facts.expressions(cutile_facts.BINARY))
    texts = [cutile_facts.kernel_text(f"kernel_{i}", e, e in binary) for i, e in enumerate(TYPES)]
    path.write_text("from tirx_mini.tile_ir import ct\n" + "".join(texts), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("expressions", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _array(dtype: str) -> ArraySpec:
    return ArraySpec(getattr(ct, dtype), (64,), (1,))


def _type_of(kernel: Any, *dtypes: str) -> str:
    try:
        trace(kernel, tuple(_array(d) for d in dtypes))
    except TirxError as error:
        found = re.search(r"static assertion does not hold: TYPE ([^\n]*)", str(error))
        return found.group(1).replace(" ", "") if found else "-"
    raise AssertionError("the assertion of each kernel fails")


@pytest.mark.parametrize("expression", TYPES)
def test_an_expression_has_the_type_that_cutile_gives_it(kernels: Any, expression: str) -> None:
    kernel = ct.kernel(getattr(kernels, f"kernel_{list(TYPES).index(expression)}"))
    two = "b" in inspect.signature(kernel.function).parameters
    for x, expected in TYPES[expression].items():
        pairs = [(x, y) for y in cutile_facts.DTYPES] if two else [(x,)]
        made = [_type_of(kernel, *pair) for pair in pairs]
        if expression in MORE:
            made = [m if e != "-" else e for m, e in zip(made, expected.split(), strict=True)]
        assert " ".join(made) == expected, (expression, x)
