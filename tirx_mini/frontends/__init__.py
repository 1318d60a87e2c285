"""Other projects' languages, guests of the core: a folder each, and the table by which the core finds them.

A front end imports the core, and no other front end.
"""

from tirx_mini.foreign import Frontend

_STAND_INS = ("arith", "bench", "dialect", "error", "host", "nodes", "op", "registry", "testing", "transform", "types")
"""The modules that stand for TVM's in kernel files."""

FRONTENDS = (
    Frontend(
        "tile_ir",
        "cuTile",
        modules={
            "tirx_mini.tile_ir": "tirx_mini.frontends.tile_ir",
            "tirx_mini.compat.cuda_tile": "tirx_mini.frontends.tile_ir.script",
        },
        mentions=r"\bcuda\.tile\b|\btile_ir\b",
        imports={"cuda.tile": "tile_ir.script:instead_of_cutile"},
        commands={"tileir": ("print a tile program at each level, down to machine code", "tile_ir.command")},
        lessons={"11": "tile_ir.command:lesson"},
        programs="tile_ir.programs:TilePrograms",
    ),
    Frontend(
        "ptx",
        "PTX",
        functions={"read_cuda": "ptx.cuda:read_cuda", "read_ptx": "ptx.programs:read_ptx"},
        suffixes=(".ptx", ".cu"),
        launches=r"@(?:triton|gluon)\.jit\b",
        hosts={"triton": "ptx.triton:launched_here"},
        programs="ptx.files:PtxFiles",
    ),
    Frontend(
        "tilelang",
        "TileLang",
        modules={
            "tirx_mini.tilelang": "tirx_mini.frontends.tilelang",
            "tirx_mini.compat.tilelang": "tirx_mini.frontends.tilelang.script",
        },
        dialect="tilelang",
        lower="tilelang.pipeline:lower",
        imports={"tilelang": "tilelang.script:instead_of_tilelang"},
    ),
    Frontend(
        "tvm",
        "TVM",
        modules={
            "tirx_mini.te": "tirx_mini.frontends.tvm.te",
            "tirx_mini.cpu": "tirx_mini.frontends.tvm.cpu",
            "tirx_mini.compat.tvm": "tirx_mini.frontends.tvm.script",
        },
        mentions=r"\bimport\b[^\n#]*\b(te|tir)\b",
        targets={"llvm": "tvm.cpu:build"},
        imports={"tvm": "tvm.import_paths:imports"},
        kernel_package="tvm",
        kernel_imports="tvm:tvm_imports",
        kernel_modules=tuple(f"tirx_mini.frontends.tvm.{name}" for name in _STAND_INS),
        examine="tvm.scheduled:examined",
        instructions="tvm.instructions:SPELLINGS",
    ),
)
"""The front ends, each as it registers itself."""
