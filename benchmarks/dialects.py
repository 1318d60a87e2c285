"""Whether our kernels, one a feature, become the same with Apache TVM 0.26 as with tirx_mini.

    python benchmarks/dialects.py [PYTHON_WITH_TVM] [--save]

PYTHON_WITH_TVM is the Python of an environment with `apache-tvm==0.26.0`; no GPU is needed. Without it, TVM's facts are
those that --save has stored. The kernels are those of
`dialect_kernels/`, in TVM 0.26's dialect: the same files go through both. Compared are the launch, shared memory,
tensor maps, arrivals and bytes of mbarriers, columns of tensor memory, matrix and instruction descriptors, and what
calls mean whose options are left out. A difference is unexplained unless `EXPLAINED` says why; the exit status is 1
where one is.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.table import Table

from tirx_mini.compat.tvm import imports
from tirx_mini.ending import command
from tirx_mini.ir import Binary, Call, PrimFunc, TensorMap, int_value, walk
from tirx_mini.passes import lower

HERE = Path(__file__).parent
STORED = HERE / "dialect_facts.json"
"""TVM's facts, as `--save` has stored them."""
KERNELS = sorted((HERE / "dialect_kernels").glob("*.py"))
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""The number of a swizzle mode in a tensor map (CUtensorMapSwizzle) by its width in bytes."""
DESCRIPTOR_SWIZZLES = {0: 0, 6: 1, 4: 2, 2: 3}
"""The same number by the field of a matrix descriptor (PTX ISA: tcgen05 shared memory descriptor)."""

Facts = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Explained:
    """Why a fact differs: of one kernel, with exactly these values."""

    kernel: str
    fact: str
    tvm: Sequence[Any]
    ours: Sequence[Any]
    why: str


_JOINED = (
    "A tile of three dimensions, two of them contiguous: TVM joins these, so that one instruction loads the tile; "
    "tirx_mini loads a box for each index of the outermost. Bytes and places in shared memory are the same."
)
_SLABS = (
    "A tile wider than the swizzle: TVM adds a dimension to the tensor map for the slabs of 128 bytes, so that one "
    "instruction loads all; tirx_mini loads a box for each slab. Bytes and places in shared memory are the same."
)
_LEADING = (
    "The leading dimension offset, which the hardware does not read for a swizzled K-major tile (PTX ISA: it is "
    "assumed to be 1): TVM writes 0 or the distance of slabs, tirx_mini 1."
)
_FENCE = (
    "A cooperative copy into shared memory ends with a fence here, which TVM does not issue; a kernel that is ok "
    "only because of it gets a note."
)
_ANSWER = (
    "The thread that has read an answer of cluster launch control executes a fence before it says so: the next answer "
    "is written through the async proxy (PTX ISA: proxies). TVM issues none."
)
_STATIC = "Shared memory from `T.alloc_shared`: static in TVM's CUDA, and part of the dynamic size here."

EXPLAINED = (
    Explained("chunks", "loads", [[3, 0, 1]], [[2, 0, 1]], _SLABS),
    Explained("chunks", "matrix descriptors", [[1024, 64, 3], [512, 64, 3]], [[1, 64, 3]], _LEADING),
    Explained(
        "chunks", "tensor maps",
        [["bfloat16", [64, 128, 2], [256, 128], [64, 128, 2], 3],
         ["bfloat16", [64, 64, 2], [256, 128], [64, 64, 2], 3]],
        [["bfloat16", [128, 128], [256], [64, 128], 3], ["bfloat16", [128, 64], [256], [64, 64], 3]], _SLABS,
    ),
    Explained("cp_async", "shared memory", [], [8192], _STATIC),
    Explained("defaults", "proxy fences", [""], ["", "shared::cta"], _FENCE),
    Explained("launch_control", "proxy fences", [], ["shared::cta"], _ANSWER),
    Explained("mma", "matrix descriptors", [[0, 64, 3]], [[1, 64, 3]], _LEADING),
    Explained("operands", "matrix descriptors", [[0, 64, 3]], [[1, 64, 3]], _LEADING),
    Explained("pair", "matrix descriptors", [[0, 64, 3]], [[1, 64, 3]], _LEADING),
    Explained("tma", "loads", [[2, 0, 1]], [[2, 0, 1], [3, 0, 1]], _JOINED),
    Explained(
        "tma", "tensor maps",
        [["bfloat16", [96, 256], [192], [32, 64], 2], ["float32", [24, 128], [96], [8, 64], 1],
         ["uint8", [256, 256], [256], [128, 128], 3]],
        [["bfloat16", [96, 256], [192], [32, 64], 2], ["float32", [24, 128], [96], [8, 64], 1],
         ["uint8", [256, 64, 4], [256, 16384], [128, 64, 1], 3]], _JOINED,
    ),
)  # fmt: skip
"""Every difference that is known."""


def number(expr: Any) -> Any:
    return int_value(expr) if expr is not None else None


def tensor_map_facts(made: TensorMap) -> list[Any]:
    """[dtype, extents, strides, box, swizzle mode], as `dialect_facts.tensor_map`."""
    return [str(made.buffer.dtype), list(made.dims), list(made.strides), list(made.box), SWIZZLES[made.swizzle]]


def descriptor_facts(value: int) -> list[int]:
    """[leading dimension offset, stride dimension offset, swizzle mode] of the constant bits of a matrix descriptor."""
    return [value >> 16 & 0x3FFF, value >> 32 & 0x3FFF, DESCRIPTOR_SWIZZLES[value >> 61 & 7]]


def facts_of(kernel: PrimFunc) -> dict[str, list[Any]]:
    """The numbers of a kernel, by what they are of; each list is sorted and has each entry once."""
    func = lower(kernel)
    found: dict[str, list[Any]] = {"tensor maps": [tensor_map_facts(made) for made in func.tensor_maps]}

    def note(fact: str, item: Any) -> None:
        found.setdefault(fact, []).append(item)

    launch = func.launch
    assert launch is not None
    grid = {f"blockIdx.{axis}": extent for axis, extent in zip("xyz", launch.grid, strict=True)}
    cluster = {f"clusterCtaIdx.{axis}": extent for axis, extent in zip("xyz", launch.cluster, strict=True)}
    for name, extent in {**grid, **cluster, "threadIdx.x": launch.threads}.items():
        if extent != 1:
            note("launch", [name, extent])
    if launch.smem_bytes:
        note("shared memory", launch.smem_bytes)
    for node in walk(func.body):
        if isinstance(node, Call):
            _instruction(node, note)
        elif isinstance(node, Binary) and node.op == "|":
            bits = number(node.b)
            if bits is not None and bits >> 46 & 7 == 1:
                note("matrix descriptors", descriptor_facts(bits))
    return {key: sorted({json.dumps(item): item for item in items}.values(), key=json.dumps)
            for key, items in found.items() if items}  # fmt: skip


def _instruction(call: Call, note: Any) -> None:
    """The numbers of one instruction."""
    given, attrs = [number(arg) for arg in call.args], dict(call.attrs)
    match call.op:
        case "mbarrier.init":
            note("arrivals", given[1])
        case "mbarrier.arrive.expect_tx":
            note("expected bytes", given[1])
        case "tcgen05.alloc":
            note("columns", [given[1], attrs["cta_group"]])
        case "tcgen05.mma":
            note("instruction descriptors", [given[3], attrs["cta_group"]])
        case "tcgen05.commit":
            note("commits", [attrs["cta_group"], number(attrs["cta_mask"]) or 0])
        case "tcgen05.ld":
            note("tensor memory loads", [attrs["shape"], attrs["num"]])
        case "cp.async.bulk.wait_group":
            note("bulk waits", [attrs["n"], attrs["read"]])
        case "fence.proxy.async":
            note("proxy fences", attrs["space"])
        case "cp.async.bulk.tensor.load":
            note("loads", [attrs["dim"], number(attrs["cta_mask"]) or 0, attrs["cta_group"]])


@dataclass(frozen=True)
class Compared:
    """A fact of a kernel in both; why is None where it differs without an explanation, "" where it is equal."""

    kernel: str
    fact: str
    tvm: Sequence[Any]
    ours: Sequence[Any]
    why: str | None


def compare(kernel: str, tvm: Facts, ours: Facts) -> Iterator[Compared]:
    """Each fact that either has."""
    for fact in sorted({*ours, *tvm}):
        mine, its = list(ours.get(fact, [])), list(tvm.get(fact, []))
        known = (e.why for e in EXPLAINED if (e.kernel, e.fact, e.tvm, e.ours) == (kernel, fact, its, mine))
        yield Compared(kernel, fact, its, mine, "" if mine == its else next(known, None))


def ours(path: Path) -> Facts:
    """The facts of the kernel of a file, which imports `tvm`."""
    with imports():
        return facts_of(runpy.run_path(str(path))["kernel"])


def theirs(python: str, paths: Sequence[Path]) -> dict[str, Facts]:
    """TVM's facts, by the name of the kernel. Raises `RuntimeError` with its words where it fails."""
    command = [python, str(HERE / "dialect_facts.py"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return {Path(path).stem: facts for path, facts in json.loads(done.stdout.splitlines()[-1]).items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="?", help="a Python with apache-tvm==0.26.0; without it, the stored facts")
    parser.add_argument("--save", action="store_true", help=f"store TVM's facts in {STORED.name}")
    options = parser.parse_args()
    if options.python is None:
        by_tvm: dict[str, Facts] = json.loads(STORED.read_text(encoding="utf-8"))
    else:
        by_tvm = theirs(options.python, KERNELS)
    if options.save:
        STORED.write_text(json.dumps(by_tvm, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    console, table = Console(width=120), Table("kernel", "fact", "TVM 0.26", "tirx_mini", "why")
    compared = [fact for path in KERNELS for fact in compare(path.stem, by_tvm[path.stem], ours(path))]
    different = [fact for fact in compared if fact.why != ""]
    for fact in different:
        table.add_row(
            fact.kernel, fact.fact, json.dumps(fact.tvm), json.dumps(fact.ours), fact.why or "UNEXPLAINED"
        )  # fmt: skip
    unexplained = sum(fact.why is None for fact in different)
    console.print(table)
    console.print(
        f"{len(KERNELS)} kernels: {len(compared) - len(different)} facts are equal, "
        f"{len(different) - unexplained} differences are explained, {unexplained} are not"
    )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(command(main))
