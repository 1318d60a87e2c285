"""What Apache TVM makes of a kernel, as JSON: for `dialects.py`, run with a Python that has `apache-tvm`.

    PYTHON benchmarks/dialect_facts.py FILE…

It lowers the kernel of each file as far as tile primitives are instructions, for sm_100a, without a GPU, and reads the
numbers off the script of that module. The keys are those of `dialects.facts_of`.
"""

# TVM is not installed here.
# pyright: reportMissingImports=false

from __future__ import annotations

import ast
import json
import runpy
import sys
from collections.abc import Iterator
from typing import Any

import tvm
import tvm.backend.cuda.tile_primitive

STAGE = "tirx.TilePrimitiveDispatch"
"""The pass after which tile primitives are instructions, with tensor maps and the launch beside them."""


def dispatched(kernel: Any) -> str:
    """The script of the module after `STAGE`."""
    seen: list[str] = []

    @tvm.instrument.pass_instrument
    class Recorder:
        def run_after_pass(self, mod: Any, info: Any) -> None:
            if info.name == STAGE:
                seen.append(mod.script())

    target = tvm.target.Target({"kind": "cuda", "arch": "sm_100a"})
    tvm.register_global_func("tvm_callback_cuda_compile", lambda *_: b"\x7fELF", override=True)
    with tvm.transform.PassContext(instruments=[Recorder()]):
        tvm.compile(tvm.IRModule({"main": kernel}), target=target, tir_pipeline="tirx")
    return seen[0]


def value(node: ast.expr) -> Any:
    """The value of a constant, also within a conversion such as ``T.uint32(5)``; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        return node.args[0].value
    return None


def calls(script: str) -> Iterator[tuple[str, list[ast.expr]]]:
    """Each call of the script: its path below ``T``, and its arguments."""
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            yield name.removeprefix("T."), node.args


def tensor_map(args: list[ast.expr]) -> list[Any]:
    """[dtype, extents, strides, box, swizzle mode], innermost dimension first."""
    rank = value(args[3])
    numbers = [value(arg) for arg in args[5:]]
    extents, strides, box = numbers[:rank], numbers[rank : 2 * rank - 1], numbers[2 * rank - 1 : 3 * rank - 1]
    return [value(args[2]), extents, strides, box, numbers[-3]]


def facts(script: str) -> dict[str, list[Any]]:
    """The numbers of a kernel, by what they are of; each list is sorted and has each entry once."""
    found: dict[str, list[Any]] = {}
    for path, args in calls(script):
        if path == "launch_thread" and value(args[1]) != 1:
            entry = ("launch", [value(args[0]), value(args[1])])
        elif path == "attr" and isinstance(args[0], ast.Dict) and "dyn_smem_bytes" in ast.unparse(args[0]):
            entry = ("shared memory", value(args[0].values[0]))
        elif path == "call_packed" and value(args[0]) == "runtime.cuTensorMapEncodeTiled":
            entry = ("tensor maps", tensor_map(args))
        elif path == "ptx.mbarrier.init":
            entry = ("arrivals", value(args[1]))
        elif path == "ptx.mbarrier.arrive.expect_tx":
            entry = ("expected bytes", value(args[1]))
        elif path == "ptx.tcgen05.alloc":
            entry = ("columns", [value(args[1]), value(args[2])])
        elif path == "ptx.tcgen05.encode_matrix_descriptor":
            entry = ("matrix descriptors", [value(args[2]), value(args[3]), value(args[4])])
        elif path == "ptx.tcgen05.mma":
            entry = ("instruction descriptors", [value(args[6]), value(args[8])])
        elif path == "ptx.tcgen05.commit":
            entry = ("commits", [value(args[1]), value(args[2])])
        elif path == "ptx.tcgen05.ld":
            entry = ("tensor memory loads", [value(args[3]), value(args[4])])
        elif path == "ptx.cp_async.bulk.wait_group":
            entry = ("bulk waits", [value(args[0]), value(args[1])])
        elif path == "ptx.fence.proxy_async":
            entry = ("proxy fences", value(args[0]))
        elif path == "ptx.cp_async.bulk.tensor.g2s_cta":
            entry = ("loads", [value(args[0]), 0, value(args[4])])
        elif path.startswith("ptx.cp_async.bulk.tensor.g2s"):
            entry = ("loads", [value(args[0]), value(args[4]), value(args[5])])
        else:
            continue
        found.setdefault(entry[0], []).append(entry[1])
    return {key: sorted({json.dumps(item): item for item in items}.values(), key=json.dumps)
            for key, items in found.items()}  # fmt: skip


def main() -> None:
    made = {}
    for path in sys.argv[1:]:
        made[path] = facts(dispatched(runpy.run_path(path)["kernel"]))
    print(json.dumps(made))


if __name__ == "__main__":
    main()
