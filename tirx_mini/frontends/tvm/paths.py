"""Mapping of TVM's import paths (the course's and Apache TVM 0.26's) to tirx_mini's modules."""

from __future__ import annotations

from collections.abc import Mapping

_TVM = "tirx_mini.frontends.tvm"
_IR, _LANG, _LAYOUT = ("tirx_mini." + room for room in ("ir", "lang", "layout"))
_TIRX = "tirx_mini.script.tirx"
_NODES = f"{_TVM}.nodes"
_LANG_MODULES = ("alloc_pool", "pipeline", "smem_desc", "tile_scheduler", "warp_role")
_BACKENDS = ("tvm.backend.cuda", "tvm.tirx.cuda")
"""`tvm.tirx.cuda` is another name of `tvm.backend.cuda`."""

PATHS: Mapping[str, tuple[str, ...]] = {
    "tvm": (f"{_TVM}.host", f"{_TVM}.registry", "tirx_mini"),
    "tvm.ir": (_IR, f"{_TVM}.types", f"{_TVM}.host"),
    "tvm.arith": (f"{_TVM}.arith",),
    "tvm.error": (f"{_TVM}.error",),
    "tvm.ir.type": (f"{_TVM}.types",),
    "tvm.ir.module": (_IR,),
    "tvm.ir.base": (_IR, f"{_TVM}.host"),
    "tvm.runtime": (f"{_TVM}.host", _IR),
    "tvm.nd": (f"{_TVM}.host",),
    "tvm.te": (f"{_TVM}.te",),
    "tvm.topi": (f"{_TVM}.topi",),
    "tvm.topi.nn": (f"{_TVM}.topi_nn",),
    "tvm.target": (f"{_TVM}.target",),
    "tvm.target.target": (f"{_TVM}.target",),
    "tvm.transform": (f"{_TVM}.transform",),
    "tvm.ir.transform": (f"{_TVM}.transform",),
    "tvm.testing": (f"{_TVM}.testing",),
    "tvm.testing.env": (f"{_TVM}.testing_env",),
    "tvm.testing.utils": (f"{_TVM}.testing",),
    "tvm.script": ("tirx_mini.script",),
    "tvm.script.ir": ("tirx_mini.script.ir", "tirx_mini.script"),
    "tvm.script.tir": ("tirx_mini.script.tir",),
    "tvm.script.tirx": (_TIRX,),
    "tvm.tir": (_NODES, _IR, _TIRX),
    "tvm.tir.schedule": (f"{_TVM}.s_tir",),
    "tvm.s_tir": (f"{_TVM}.s_tir",),
    "tvm.s_tir.schedule": (f"{_TVM}.s_tir",),
    "tvm.tir.layout": (_LAYOUT,),
    "tvm.tirx": (_NODES, _IR, _LAYOUT, _TIRX, f"{_TVM}.host"),
    "tvm.tirx.bench": (f"{_TVM}.bench",),
    "tvm.tirx.build": (f"{_TVM}.host",),
    "tvm.tirx.buffer": (_IR, _TIRX),
    "tvm.tirx.expr": (_NODES, _IR, _TIRX),
    "tvm.tirx.function": (_IR,),
    "tvm.tirx.op": (f"{_TVM}.op", _IR),
    "tvm.tirx.stmt": (_IR,),
    "tvm.tirx.layout": (_LAYOUT,),
    "tvm.tirx.op_schedule": (_LAYOUT,),
    "tvm.tirx.op_schedule.cuda": (_LAYOUT,),
    "tvm.tirx.op_schedule.cuda.common": (_LAYOUT,),
    "tvm.tirx.tile_scheduler": (_LANG,),
    "tvm.tirx.pipeline": (_LANG,),
    "tvm.tirx.script": (_TIRX,),
    "tvm.tirx.script.builder": (_TIRX,),
    "tvm.tirx.script.tile": (_TIRX,),
    "tvm.tirx.lang": (_LANG,),
    **{f"tvm.tirx.lang.{name}": (_LANG,) for name in _LANG_MODULES},
    "tvm.backend": (),
    **dict.fromkeys(_BACKENDS, (_LANG, _LAYOUT)),
    **{f"{backend}.op": (f"{_TVM}.op",) for backend in _BACKENDS},
    **{f"{backend}.script": (_TIRX,) for backend in _BACKENDS},
    **{f"{backend}.lang": (_LANG,) for backend in _BACKENDS},
    **{f"{backend}.lang.{name}": (_LANG,) for backend in _BACKENDS for name in _LANG_MODULES},
    **{f"{backend}.tile_primitive": (_LAYOUT,) for backend in _BACKENDS},
    **{f"{backend}.tile_primitive.common": (_LAYOUT,) for backend in _BACKENDS},
    **{f"{backend}.tile_primitive.tma_utils": (_LAYOUT,) for backend in _BACKENDS},
    **{f"{backend}.tile_primitive.gemm_async": (_LAYOUT,) for backend in _BACKENDS},
    **{f"{backend}.tile_primitive.gemm_async.tcgen05": (_LAYOUT,) for backend in _BACKENDS},
}
"""For each TVM module from which kernels import, the modules of tirx_mini that have its names, in order."""

_SCRIPT = {
    "TMEMPool": "tirx_mini.lang:TMEMPool",
    "prim_func": f"{_TVM}.dialect:prim_func",
    "jit": f"{_TVM}.dialect:jit",
}
_TMA_UTILS = {
    "mma_shared_layout": "tirx_mini.layout:tma_shared_layout",
    **{name: f"tirx_mini.layout.swizzle:{name}" for name in ("mma_atom_layout", "mma_atom_shape")},
}

_MATHEMATICS = (
    "abs exp exp2 if_then_else log log2 rsqrt sigmoid sqrt tanh all any const div indexdiv indexmod truncdiv truncmod "
    "power isnan min_value max_value"
)

NAMES: Mapping[str, Mapping[str, str]] = {
    "tvm": {"lower": f"{_TVM}.te:lower", "TVMError": f"{_TVM}.error:TVMError"},
    "tvm.ir": {"Range": f"{_NODES}:Range"},
    "tvm.tir": {
        **{name: f"{_TVM}.s_tir:{name}" for name in ("Schedule", "ScheduleError", "TensorIntrin", "IndexMap")},
        "Allocate": "tirx_mini.ir:AllocBuffer", "IfThenElse": "tirx_mini.ir:If",
        "SeqStmt": "tirx_mini.ir:Seq", **{name: f"{_TVM}.te:{name}" for name in _MATHEMATICS.split()}
    },
    "tvm.script": {"tir": "tvm.script.tir:", "tirx": "tvm.script.tirx:", "ir": "tvm.script.ir:"},
    "tvm.script.tirx": _SCRIPT,
    "tvm.tirx.script": _SCRIPT,
    "tvm.tirx.script.builder": _SCRIPT,
    "tvm.tirx": {"PrimExpr": "tirx_mini.ir:Expr"},
    "tvm.tirx.layout": {"wg_local_layout": "tirx_mini.layout:tcgen05_ld_layout"},
    "tvm.nd": {"array": f"{_TVM}.host:tensor", "NDArray": f"{_TVM}.host:Tensor"},
    **{f"{backend}.tile_primitive.tma_utils": _TMA_UTILS for backend in _BACKENDS},
}
"""Names that differ, or that are in another module than the rest of theirs."""

_INTRINSICS = "te.mma() and te.mma_store() are the tensor core's; tir.TensorIntrin.register describes others"

REFUSED_MODULES: Mapping[str, str] = {
    "tvm.relax": "tirx_mini compiles kernels, not models: call the compiled kernel from PyTorch or NumPy",
    "tvm.tir.tensor_intrin": _INTRINSICS,
    "tvm.s_tir.tensor_intrin": _INTRINSICS,
    "tvm.tir.ir_builder": "write the statements as a function of tvm.script, and register it as a tir.TensorIntrin",
    "tvm.topi.cuda": "schedule the operator's tensors with te.create_schedule",
    "tvm.topi.x86": "schedule the operator's tensors with te.create_schedule",
    "tvm.topi.generic": "schedule the operator's tensors with te.create_schedule",
    "tvm.s_tir.meta_schedule": "choose factors with Schedule.sample_perfect_tile, and time what they make",
    "tvm.s_tir.dlight": "schedule the function with tvm.s_tir.Schedule",
    "tvm.meta_schedule": "choose factors with Schedule.sample_perfect_tile, and time what they make",
    "tvm.rpc": "kernels run in this process, or in the cloud: `modal run run_modal.py`",
    "tvm.contrib": "for a reference result, use PyTorch or NumPy",
    "tvm.topi.testing": "for a reference result, use PyTorch or NumPy",
    "tvm.transform": "the passes are fixed: `python -m tirx_mini inspect --stage passes` shows them",
    "tvm.ir.transform": "the passes are fixed: `python -m tirx_mini inspect --stage passes` shows them",
    "tvm.tirx.transform": "the passes are fixed: `python -m tirx_mini inspect --stage passes` shows them",
    "tvm.tirx.exec_scope": "scopes are written `with Tx.warpgroup():`, or `Tx.wg.copy(…)`",
    "tvm.tirx.stmt_functor": "it is a part of TVM's compiler; `report` and `exe.source(stage)` say what a kernel does",
    "tvm.tirx.expr_functor": "it is a part of TVM's compiler; `report` and `exe.source(stage)` say what a kernel does",
    "tvm.tirx.analysis": "it is a part of TVM's compiler; `python -m tirx_mini check` analyses a kernel",
    "tvm.tirx.compilation_pipeline": "the passes are fixed: `python -m tirx_mini inspect --stage passes` shows them",
    "tvm.tirx.operator": "dispatch rules are in tirx_mini/tile; CONTRIBUTING.md says how to add one",
    "tvm.backend.cuda.iket": "the simulator records a timeline of every run: `python -m tirx_mini trace FILE:KERNEL`",
    "tvm.support": "tirx_mini compiles with NVRTC from pip packages: `exe.source(\"ptx\")`, `exe.source(\"sass\")`",
    "tvm.runtime.disco": "the simulator models one GPU",
}
"""What to do instead, for modules (with all in them) and names that are not provided."""
