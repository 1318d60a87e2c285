"""wmma as loads, stores and mma: each statement becomes a block of PTX on its line (PTX ISA: "wmma").

Which lane holds which elements of a wmma fragment is not specified. Here it is that of mma.m16n8: lane 4g + t has rows
g and g + 8 of A and of C, and column g of B, with neighbours along K, or along the rows of C, in one register.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tirx_mini.records import dataclass

_STATEMENT = re.compile(r"(?<![\w.@])wmma\.[^;]*;")
_PARTS = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^\s,]+")
_SIZES: Mapping[str, int] = MappingProxyType({
    "f16": 2, "bf16": 2, "s8": 1, "u8": 1, "tf32": 4, "f32": 4, "s32": 4,
})  # fmt: skip
_SHAPES = ("m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8")
_SWAPPED = "m8n32k16"
"""The shape that is computed as the transposed product, of 32 rows and 8 columns."""
_FACTORS = ("f16", "bf16", "s8", "u8", "tf32")
_SUMS = ("f32", "s32", "f16")
_LOCALS = (
    ".reg .b32 wm_l, wm_g, wm_t, wm_s, wm_o, wm_p; .reg .b64 wm_d, wm_a; .reg .b16 wm_h<2>; .reg .b32 wm_w<4>; "
    "mov.u32 wm_l, %laneid; shr.u32 wm_g, wm_l, 2; and.b32 wm_t, wm_l, 3; "
)


def expanded(text: str) -> str:
    """Return a module with its wmma statements written out; those of other shapes and types are left."""
    return _STATEMENT.sub(lambda match: _written(match[0]) + "\n" * match[0].count("\n"), text)


def _written(statement: str) -> str:
    opcode, _, rest = " ".join(statement[:-1].split()).partition(" ")
    words, operands = opcode.split("."), _PARTS.findall(rest)
    shape = next((word for word in words if word in _SHAPES), "")
    made: list[str] | None = None
    if shape == _SWAPPED:
        shape, words, operands = "m32n8k16", _transposed(words), _swapped(words, operands)
    if shape and "satfinite" not in words:
        sizes = _Sizes(*map(int, re.findall(r"\d+", shape)))
        made = _product(words, sizes, operands) if words[1] == "mma" else _moved(words, sizes, operands)
    return statement if made is None else "{ " + _LOCALS + " ".join(made) + " }"


def _transposed(words: Sequence[str]) -> list[str]:
    """Return the opcode of the transposed matrices: what is in rows is in columns, and A is B."""
    other = {"row": "col", "col": "row", **({"a": "b", "b": "a"} if words[1] == "load" else {})}
    return [other.get(word, word) for word in words]


def _swapped(words: Sequence[str], operands: list[str]) -> list[str]:
    """Return the operands of a product of transposed matrices."""
    return [operands[0], operands[2], operands[1], operands[3]] if words[1] == "mma" else operands


@dataclass(frozen=True)
class _Sizes:
    m: int
    n: int
    k: int

    @property
    def rows(self) -> tuple[int, ...]:
        """The first rows of the registers' halves of 8 rows, as A and C have them."""
        return tuple(range(0, self.m, 8))

    @property
    def columns(self) -> tuple[int, ...]:
        """The first columns of the blocks of 8 that B and C have."""
        return tuple(range(0, self.n, 8))


@dataclass(frozen=True)
class _Piece:
    """The elements of one register: (row, column) of the first one without the lane's part. None: there are none."""

    row: int
    column: int


def _pieces(matrix: str, sizes: _Sizes, size: int) -> list[_Piece]:
    """Return the elements of each register of a fragment, in order."""
    each = 4 // size
    halves = range(0, sizes.k, 4 * each)
    if matrix == "a":
        blocks = [sizes.rows[at : at + 2] for at in range(0, len(sizes.rows), 2)]
        return [_Piece(row, k) for block in blocks for k in halves for row in block]
    if matrix == "b":
        return [_Piece(k, column) for column in sizes.columns for k in halves]
    blocks = [sizes.rows[at : at + 2] for at in range(0, len(sizes.rows), 2)]
    inner = (0, 1) if size == 4 else (0,)
    return [_Piece(row, column + j) for block in blocks for column in sizes.columns for row in block for j in inner]


def _moved(words: Sequence[str], sizes: _Sizes, operands: Sequence[str]) -> list[str] | None:
    """Return wmma.load or wmma.store as an access for each register."""
    kind, matrix = words[-1], words[2]
    if kind not in (_FACTORS if matrix in "ab" else _SUMS):
        return None
    size, load = _SIZES[kind], words[1] == "load"
    registers, address = (operands[0], operands[1]) if load else (operands[1], operands[0])
    names = [each.strip() for each in registers.strip("{}").split(",")]
    layout = next(word for word in words if word in ("row", "col"))
    space = next((word for word in words if word.split("::")[0] in ("global", "shared")), "")
    inner = (
        {"a": sizes.k, "b": sizes.n}.get(matrix, sizes.n)
        if layout == "row"
        else ({"a": sizes.m, "b": sizes.k}.get(matrix, sizes.m))
    )
    stride = operands[2] if len(operands) > 2 else str(inner)
    return [
        *_start(address, stride, matrix, layout, size, space),
        *_accesses(names, _pieces(matrix, sizes, size), load, matrix, layout, size, space, _wide(address, space)),
    ]


def _wide(address: str, space: str) -> bool:
    """Return whether an address has 64 bits."""
    base = address.strip("[] ").partition("+")[0].strip()
    return base.startswith("%rd") or (not base.startswith("%") and not space.startswith("shared"))


def _start(address: str, stride: str, matrix: str, layout: str, size: int, space: str) -> Iterator[str]:
    """Yield the address of the matrix and the lane's own part of the offset, in elements."""
    base, _, offset = address.strip("[] ").partition("+")
    wide = _wide(address, space)
    yield f"mov.b{64 if wide else 32} {'wm_a' if wide else 'wm_p'}, {base.strip()};"
    if offset.strip():
        yield f"add.s64 wm_a, wm_a, {offset.strip()};" if wide else f"add.s32 wm_p, wm_p, {offset.strip()};"
    each = 1 if size == 4 and matrix in "ab" else 2 if matrix not in "ab" else 4 // size
    yield f"mov.u32 wm_s, {stride}; mul.lo.u32 wm_t, wm_t, {each};"
    row, column = ("wm_t", "wm_g") if matrix == "b" else ("wm_g", "wm_t")
    major, minor = (row, column) if layout == "row" else (column, row)
    yield f"mad.lo.u32 wm_l, {major}, wm_s, {minor};"


def _accesses(
    names: Sequence[str], pieces: Sequence[_Piece], load: bool, matrix: str, layout: str, size: int, space: str,
    wide: bool,
) -> Iterator[str]:  # fmt: skip
    """Yield the loads or stores of the registers of a fragment."""
    dot = f".{space}" if space else ""
    together = (layout == "col") if matrix == "b" else (layout == "row")
    count = 4 // size if matrix in "ab" or size == 2 else 1
    for name, piece in zip(names, pieces, strict=False):
        if count == 1 or together:
            yield from _place(piece.row, piece.column, layout, size, wide)
            yield f"ld{dot}.b32 {name}, [{_at(wide)}];" if load else f"st{dot}.b32 [{_at(wide)}], {name};"
            continue
        if not load:
            yield f"mov.b32 {{wm_h0, wm_h1}}, {name};"
        for place in range(count):
            row, column = (piece.row + place, piece.column) if matrix == "b" else (piece.row, piece.column + place)
            yield from _place(row, column, layout, size, wide)
            if size == 1:
                yield f"ld{dot}.u8 wm_w{place}, [{_at(wide)}];"
            else:
                yield f"ld{dot}.b16 wm_h{place}, [{_at(wide)}];" if load else f"st{dot}.b16 [{_at(wide)}], wm_h{place};"
        if size == 1:
            yield f"mov.b32 {name}, wm_w0;"
            yield from (f"bfi.b32 {name}, wm_w{place}, {name}, {8 * place}, 8;" for place in range(1, count))
        elif load:
            yield f"mov.b32 {name}, {{wm_h0, wm_h1}};"
    if load:
        yield from (f"mov.b32 {name}, 0;" for name in names[len(pieces) :])


def _place(row: int, column: int, layout: str, size: int, wide: bool) -> Iterator[str]:
    """Yield the address of an element in `_at`."""
    major, minor = (row, column) if layout == "row" else (column, row)
    yield f"mad.lo.u32 wm_o, wm_s, {major}, wm_l; add.u32 wm_o, wm_o, {minor};"
    if wide:
        yield f"mul.wide.u32 wm_d, wm_o, {size}; add.s64 wm_d, wm_a, wm_d;"
    else:
        yield f"mad.lo.u32 wm_o, wm_o, {size}, wm_p;"


def _at(wide: bool) -> str:
    return "wm_d" if wide else "wm_o"


def _product(words: Sequence[str], sizes: _Sizes, operands: Sequence[str]) -> list[str] | None:
    """Return wmma.mma as an mma.m16n8 for each block of 16 rows and 8 columns of D."""
    types = [word for word in words if word in _SIZES]
    if len(types) == 2:
        types = [types[0], "f16", "f16", types[1]]
    if len(types) != 4 or types[0] != types[3] or types[0] not in _SUMS:
        return None
    d, a, b, c = ([each.strip() for each in part.strip("{}").split(",")] for part in operands)
    size = _SIZES[types[1]]
    depth = sizes.k // (16 // size)
    sums = 4 if _SIZES[types[0]] == 4 else 2
    form = f"mma.sync.aligned.m16n8k{sizes.k}.row.col.{types[0]}.{types[1]}.{types[2]}.{types[3]}"
    made: list[str] = []
    for i in range(sizes.m // 16):
        for n in range(len(sizes.columns)):
            block = (i * len(sizes.columns) + n) * sums
            parts = (d[block : block + sums], a[2 * depth * i :][: 2 * depth], b[depth * n :][:depth], c[block:][:sums])
            made.append(f"{form} {', '.join('{' + ', '.join(part) + '}' for part in parts)};")
    return made
