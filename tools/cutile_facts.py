"""The names of NVIDIA's cuTile, and the types of its expressions, as JSON: facts for the tests of tile programs.

    path/to/python-with-cuda-tile tools/cutile_facts.py > tests/tirx_mini/frontends/tile_ir/cutile_1_7.json

It runs with the Python of an environment that has `cuda-tile`, and needs neither a GPU nor anything of this project.
``names`` are the public names of `cuda.tile` and its modules and the members of its classes, each with its signature.
``types`` are expressions of tiles x of a dtype, and y of another one: for each dtype the dtype and shape of the result
for each other dtype, "-" where cuTile refuses it, and "ok" where it accepts a statement.
"""

from __future__ import annotations

import enum
import importlib.util
import inspect
import io
import json
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

DTYPES = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 tfloat32 float8_e4m3fn"
).split()

UNARY = """
-x | ~x | +x | abs(x) | ct.exp(x) | ct.exp2(x) | ct.log(x) | ct.rsqrt(x) | ct.tanh(x) | ct.floor(x) | ct.isnan(x)
ct.sum(x) | ct.prod(x) | ct.max(x) | ct.argmax(x) | ct.cumsum(x) | ct.reduce(x, 0, lambda p, q: p + q, 0)
x + 1 | x * 2 | x / 2 | x // 2 | x % 2 | x ** 2.0 | 2.0 ** x | x + True | x * 1.5 | x // 1.5 | x < 1 | x == 1 | x > 1.5
x & 1 | x | 1 | x << 1 | x >> 1 | 1 << x | 1.5 - x | 1 / x | 7 % x | x + 300 | x + (-1) | x + 3000000000 | x * 1e10
ct.where(x > 0, x, 1) | ct.where(x > 0, x, 1.5) | ct.where(x > 0, 1.0, 0) | ct.where(x > 0, True, 0)
ct.maximum(x, 1) | ct.minimum(x, 1.5) | ct.cdiv(x, 2) | divmod(x, 3)[1] | min(x, x) | max(x, 1)
x + ct.int32(1) | x + ct.int64(1) | x + ct.float32(1) | x * ct.int8(2) | x + ct.bid(0) | x + a.shape[0]
ct.full((8,), 1.5, x.dtype) | ct.full((8,), -1, x.dtype) | ct.ones((8,), x.dtype) | ct.arange(8, dtype=x.dtype)
x.astype(ct.float8_e5m2) | x.astype(ct.uint8) | ct.bitcast(x, ct.int32) | ct.bitcast(x, ct.float16)
ct.add(x, x, flush_to_zero=True) | ct.add(x, x, rounding_mode=ct.RoundingMode.RZ) | ct.rsqrt(x, flush_to_zero=True)
ct.truediv(x, x, rounding_mode=ct.RoundingMode.FULL) | ct.exp(x, rounding_mode=ct.RoundingMode.APPROX)
ct.sqrt(x, rounding_mode=ct.RoundingMode.APPROX) | ct.maximum(x, x, propagate_nan=True) | ct.sum(x, flush_to_zero=True)
ct.gather(a, x) | ct.atomic_add(a, 0, 1) | ct.atomic_max(a, 0, 1) | ct.atomic_xchg(a, 0, 1) | ct.atomic_cas(a, 0, 0, 1)
ct.atomic_add(a, 0, 1.5) | ct.gather(a, 0, padding_value=1.5) | x.item() if ct.bid(0) > 0 else 0
1 if ct.bid(0) > 0 else 0.5
ct.mma(ct.ones((16, 16), x.dtype), ct.ones((16, 16), x.dtype), ct.zeros((16, 16), ct.int32))
ct.mma(ct.ones((16, 16), x.dtype), ct.ones((16, 16), x.dtype), ct.zeros((16, 16), ct.float32))
ct.ones((16, 16), x.dtype) @ ct.ones((16, 16), x.dtype)
"""
BINARY = """
x + y | x / y | x // y | x % y | x < y | x == y | x & y | x << y | x >> y | ct.where(x == x, x, y) | ct.maximum(x, y)
x.astype(y.dtype) | ct.bitcast(x, y.dtype) | ct.store(b, 0, x) | ct.scatter(b, 0, x.item()) | ct.cat((x, y), 0)
ct.atomic_add(b, 0, x.item()) | ct.gather(a, 0, padding_value=y.item()) | ct.gather(a, x, mask=y) | divmod(x, y)[0]
ct.insert(x, 0, ct.ones((1,), y.dtype))
ct.mma(ct.ones((4, 4), x.dtype), ct.ones((4, 4), y.dtype), ct.zeros((4, 4), ct.float32))
"""
KERNEL = """
def {name}({arrays}):
    x = ct.load(a, (0,), ({n},))
    y = ct.load({other}, (0,), ({n},))
    {statement}
    ct.static_assert(False, {message})

"""


def expressions(text: str) -> list[str]:
    """The expressions of a table: those between " | ", except where that is the operator of one."""
    found = [e.strip() for line in text.strip().splitlines() for e in line.replace("x | 1 |", "x ¦ 1 |").split(" | ")]
    return [e.replace("¦", "|") for e in found]


def kernel_text(name: str, expression: str, two: bool) -> str:
    """A function that fails when it is compiled, with the type of the expression as the message."""
    statement = expression.startswith(("ct.store", "ct.scatter"))
    return KERNEL.format(
        name=name, arrays="a, b" if two else "a", other="b" if two else "a", n=1 if ".item()" in expression else 8,
        statement=expression if statement else f"r = {expression}",
        message="'TYPE ok'" if statement else "f'TYPE {r.dtype}{r.shape}'",
    )  # fmt: skip


def result(ct: Any, function: Any, dtypes: tuple[str, ...]) -> str:
    """The type of an expression for arrays of the dtypes."""
    compilation = ct.compilation
    arrays = [
        compilation.ArrayConstraint(
            getattr(ct, d), 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
            may_alias_internally=False, stride_constant=[1],
        )
        for d in dtypes
    ]  # fmt: skip
    signature = compilation.KernelSignature(arrays, compilation.CallingConvention.cutile_python_v2())
    try:
        compilation.export_kernel(
            ct.kernel(function), [signature], io.BytesIO(), gpu_code="sm_100", output_format="tileir_bytecode"
        )
    except ct.TileError as error:
        found = re.search(r"Static assertion failed: TYPE ([^\n]*)", str(error))
        return re.sub(r"<DType '(\w+)'>", r"\1", found.group(1)).replace(" ", "") if found else "-"
    raise AssertionError("the assertion of each kernel fails")


def types(ct: Any) -> dict[str, dict[str, str]]:
    """The table ``types``."""
    rows: dict[str, dict[str, str]] = {}
    listed = [(e, False) for e in expressions(UNARY)] + [(e, True) for e in expressions(BINARY)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cutile_expressions.py"
        texts = [kernel_text(f"kernel_{i}", e, two) for i, (e, two) in enumerate(listed)]
        path.write_text("import cuda.tile as ct\n" + "".join(texts), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("cutile_expressions", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for i, (expression, two) in enumerate(listed):
            function = getattr(module, f"kernel_{i}")
            row = {}
            for x in DTYPES:
                others = [(x, y) for y in DTYPES] if two else [(x,)]
                row[x] = " ".join(result(ct, function, pair) for pair in others)
            rows[expression] = row
    return rows


def described(value: Any) -> str:
    """The signature of a callable without annotations, or the name of a type."""
    if inspect.isclass(value):
        return "class"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return type(value).__name__
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def names(ct: Any) -> dict[str, str]:
    """The table ``names``."""
    found: dict[str, str] = {}

    def add(prefix: str, owner: Any) -> None:
        for name, value in sorted(vars(owner).items() if inspect.isclass(owner) else inspect.getmembers(owner)):
            if name.startswith("_") or (isinstance(value, ModuleType) and "cuda.tile" not in value.__name__):
                continue
            inner = value.__func__ if isinstance(value, staticmethod) else value
            found[prefix + name] = described(inner)
            if isinstance(value, ModuleType):
                add(f"{prefix}{name}.", value)
            elif isinstance(value, type) and str(value.__module__).startswith("cuda.tile"):
                if not issubclass(value, Exception):
                    add(f"{prefix}{name}.", value)
                if issubclass(value, enum.Enum):
                    found.update((f"{prefix}{name}.{member}", "member") for member in value.__members__)

    add("", ct)
    raw = importlib.import_module("cuda.tile._stub").RawArrayMemory
    found.update((f"RawArrayMemory.{n}", described(v)) for n, v in sorted(vars(raw).items()) if not n.startswith("_"))
    return found


def main() -> None:
    import cuda.tile as ct  # type: ignore[import-not-found]

    tables = {"names": names(ct), "types": types(ct)}
    rows = {name: ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in t.items()) for name, t in tables.items()}
    sys.stdout.write("{\n" + ",\n".join(f"{json.dumps(name)}: {{\n{text}\n}}" for name, text in rows.items()) + "\n}\n")


if __name__ == "__main__":
    main()
