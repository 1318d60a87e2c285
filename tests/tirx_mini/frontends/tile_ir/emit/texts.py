"""Programs of nv_tileaa as text, down to kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import tirx_mini as tvm
from tirx_mini.frontends.tile_ir.context import Options, context_for
from tirx_mini.frontends.tile_ir.emit import emit_kernel
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER, NV_TILEAS
from tirx_mini.frontends.tile_ir.ssa import Module, parse_module, print_module, verify
from tirx_mini.ir import Buffer, DataType, PrimFunc

TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "int8": "i8", "int64": "i64"}


class Program:
    """A program over arrays: its lines, its parameters, and what they are called with."""

    def __init__(self, grid: Sequence[int] = (1,), options: Options | None = None) -> None:
        self.grid = tuple(grid)
        self.options = options or Options()
        self.context = context_for("h100", self.options)
        self.params: list[str] = []
        self.arrays: list[np.ndarray] = []
        self.lines = [
            "%x, %y, %z = get_program_id : i32",
            *(f"%c{n} = arith.constant {n} : i32" for n in range(8)),
        ]

    def array(
        self,
        name: str,
        values: np.ndarray,
        *tile: int,
        padding: str = "",
        order: Sequence[int] = (),
        aligned: bool = False,
    ) -> str:
        """A parameter; with `tile`, cut into tiles: the type of %NAME_tiles.

        order: the dimension of the array that each dimension of a tile runs along.
        aligned: whether the program may assume that 16 divides its address.
        """
        element = TYPES[str(values.dtype)]
        self.params.append(f"%{name}: ptr<{element}>")
        self.arrays.append(values)
        dims = "".join(f"{n}x" for n in values.shape)
        strides = ",".join(str(s // values.itemsize) for s in values.strides)
        memref = f"memref<{dims}{element}, strides=[{strides}]>"
        base = f"%{name}_aligned" if aligned else f"%{name}"
        if aligned:
            self.lines.append(f"{base} = assume div_by<16>, %{name} : ptr<{element}>")
        self.lines.append(f"%{name}_ref = make_memref {base} : ptr<{element}> -> {memref}")
        padded = f", order=[{','.join(map(str, order))}]" if order else ""
        padded += f", padding={padding}" if padding else ""
        blocks = f"btile<tile=({'x'.join(map(str, tile))}){padded}, {memref}>"
        if tile:
            self.lines.append(f"%{name}_tiles = block_tile %{name}_ref : {memref} -> {blocks}")
        return blocks

    def load(self, result: str, name: str, blocks: str, *index: str) -> None:
        tile, element = _tile_of(blocks)
        types = ", ".join(["i32"] * len(index))
        self.lines.append(
            f"%{result}, %{result}_token = tiled_load %{name}_tiles [{', '.join(index)}] : {blocks}, {types} -> "
            f"tensor<{tile}x{element}>, mem_token"
        )

    def store(self, value: str, name: str, blocks: str, *index: str) -> None:
        tile, element = _tile_of(blocks)
        types = ", ".join(["i32"] * len(index))
        self.lines.append(
            f"%{name}_done = tiled_store %{value}, %{name}_tiles [{', '.join(index)}] : tensor<{tile}x{element}>, "
            f"{blocks}, {types} -> mem_token"
        )

    def add(self, text: str) -> None:
        """More lines. ``@4x8xf32`` stands for ``tensor<4x8xf32>``."""
        self.lines.append(text)

    def gather(self, result: str, name: str, rows: str, start: str, shape: tuple[int, int], array: np.ndarray) -> None:
        """The tile of `shape` whose rows are those of an array that the tile %`rows` numbers, 0 for rows outside.

        start: its first column. Columns are masked if the array's width is not a multiple of the tile's.
        """
        (count, width), kind = shape, TYPES[str(array.dtype)]
        tile, flags = f"tensor<{count}x{width}xi32>", f"tensor<{count}x{width}xi1>"
        n = result
        self.lines.append(f"""
        %{n}_own = make_range {{start = 0, end = {width}}} : tensor<{width}xi32>
        %{n}_start = splat {start} : i32 -> tensor<{width}xi32>
        %{n}_line = arith.addi %{n}_start, %{n}_own : tensor<{width}xi32>
        %{n}_cols = expand_dims %{n}_line {{axis = 0}} : tensor<{width}xi32> -> tensor<1x{width}xi32>
        %{n}_col = broadcast %{n}_cols : tensor<1x{width}xi32> -> {tile}
        %{n}_rows = expand_dims %{rows} {{axis = 1}} : tensor<{count}xi32> -> tensor<{count}x1xi32>
        %{n}_row = broadcast %{n}_rows : tensor<{count}x1xi32> -> {tile}
        %{n}_height = arith.constant dense<{array.shape[0]}> : {tile}
        %{n}_width = arith.constant dense<{array.shape[1]}> : {tile}
        %{n}_above = arith.cmpi ult, %{n}_row, %{n}_height : {tile}
        %{n}_left = arith.cmpi slt, %{n}_col, %{n}_width : {tile}
        %{n}_there = arith.andi %{n}_above, %{n}_left : {flags}
        %{n}_first = arith.muli %{n}_row, %{n}_width : {tile}
        %{n}_place = arith.addi %{n}_first, %{n}_col : {tile}
        %{n}_base = splat %{name}_16 : ptr<{kind}> -> tensor<{count}x{width}xptr<{kind}>>
        %{n}_at = addptr %{n}_base, %{n}_place : tensor<{count}x{width}xptr<{kind}>>, {tile}
        %{n}_zero = arith.constant dense<0.0> : tensor<{count}x{width}x{kind}>
        %{n}, %{n}_token = load %{n}_at, %{n}_there, %{n}_zero : tensor<{count}x{width}xptr<{kind}>>, {flags}, \
tensor<{count}x{width}x{kind}> -> tensor<{count}x{width}x{kind}>, mem_token""")

    def text(self) -> str:
        body = "\n".join(self.lines)
        return f"nv_tileaa.module @m {{ func @program({', '.join(self.params)}) {{ {body} return }} }}"

    def module(self, gpu: str) -> Module:
        """After all passes, each of whose results is read back from its text."""
        module = parse_module(self.text(), [NV_TILEAA, *STANDARD])
        self.context = context = context_for(gpu, self.options)
        for step in IN_ORDER:
            module = verify(step.run(verify(module), context), step.name)
            text = print_module(module, "nv_tileas")
            assert print_module(parse_module(text, [NV_TILEAS, NV_TILEAA, *STANDARD]), "nv_tileas") == text
        return module

    def kernel(self, gpu: str = "h100") -> PrimFunc:
        names = [param.split(":")[0][1:] for param in self.params]
        params = [Buffer(name, a.shape, DataType(a.dtype)) for name, a in zip(names, self.arrays, strict=True)]
        return emit_kernel(self.module(gpu), self.grid, params)

    def run(self, gpu: str = "h100", schedules: int = 3) -> None:
        report = tvm.simulate(self.kernel(gpu), *self.arrays, gpu=gpu, schedules=schedules)
        assert not report.findings, report


def _tile_of(blocks: str) -> tuple[str, str]:
    """(extents, element) of the tensors of a btile, from its text."""
    tile = blocks.split("tile=(")[1].split(")")[0]
    return tile, blocks.split("memref<")[1].split(",")[0].split("x")[-1]


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Reproducible numbers."""
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return (values * 20 if dtype.startswith("int") else values).astype(dtype)
