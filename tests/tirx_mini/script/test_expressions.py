"""Expressions: Python's operators over IR values, including those that Python cannot overload."""

from __future__ import annotations

import linecache

import pytest

from tests.tirx_mini.script.reading import printed, read
from tirx_mini.ir import Bind, Expr, walk

VALUES = {
    "warp_id == 0 and lane_id == 0": "warp_id == 0 and lane_id == 0",
    "warp_id == 0 or not lane_id == 3": "warp_id == 0 or not lane_id == 3",
    "warp_id and lane_id": "warp_id != 0 and lane_id != 0",
    "0 <= warp_id < 2": "0 <= warp_id and warp_id < 2",
    "0 < warp_id <= lane_id < n": "0 < warp_id and warp_id <= lane_id and lane_id < n",
    "not warp_id": "not warp_id != 0",
    "lane_id if warp_id == 0 else 7": "Tx.if_then_else(warp_id == 0, lane_id, 7)",
    "M == 128 and warp_id == 1": "warp_id == 1",
    "warp_id == 1 or M == 127": "warp_id == 1",
    "-lane_id + ~warp_id": "-lane_id + ~warp_id",
    "(warp_id * 32 + lane_id) % 128 // 4": "(warp_id * 32 + lane_id) % 128 // 4",
    "warp_id - (lane_id - 1)": "warp_id - (lane_id - 1)",
    "1 << warp_id | lane_id & 3 ^ 1": "1 << warp_id | lane_id & 3 ^ 1",
    "Tx.min(warp_id, 3) + max(lane_id, 1)": "Tx.min(warp_id, 3) + Tx.max(lane_id, 1)",
    "abs(warp_id - 2)": "Tx.max(warp_id - 2, -(warp_id - 2))",
    "Tx.ceildiv(n, 4)": "(n + 4 - 1) // 4",
    "Tx.float32(warp_id) * 0.5": "Tx.float32(warp_id) * 0.5",
    "Tx.cast(warp_id, 'float16')": "Tx.float16(warp_id)",
    "lane_id.astype('uint32') + 1": "Tx.uint32(lane_id) + 1",
    "Tx.if_then_else(warp_id < 2, 1.0, reg[0])": "Tx.if_then_else(warp_id < 2, 1.0, reg[0])",
    "reg[lane_id % 8] + 1": "reg[lane_id % 8] + 1.0",
    "D[bx, lane_id]": "D[bx, lane_id]",
    "Tx.threadIdx.x + Tx.warp_id_in_cta": "Tx.threadIdx.x + Tx.warp_id_in_cta",
    "Tx.int64(lane_id) * 4": "Tx.int64(lane_id) * 4",
    "[warp_id, lane_id][1] + {'a': 2}['a']": "lane_id + 2",
    "sum([lane_id * i for i in range(3) if i])": "lane_id + lane_id * 2",
    "(lambda x, y=2: x * y)(lane_id)": "lane_id * 2",
    "len(f'{M:>5}') + lane_id": "5 + lane_id",
    "dict(a=lane_id, **{'b': 1})['a'] - 0": "Tx.let(lane_id)",
    "Tx.filter(warp_id, 1, 3)": "1 <= warp_id and warp_id < 3",
    "Tx.ptx.elect_sync()": "Tx.ptx.elect.sync()",
}


@pytest.mark.parametrize("text", VALUES)
def test_an_expression_becomes_this_ir(text: str) -> None:
    assert printed(f"x = Tx.let({text})") == f"x = {VALUES[text]}"


def test_every_node_has_the_span_of_its_syntax() -> None:
    func = read("x = (warp_id + 1) * lane_id if phase == 0 else n\nreg[0] = x")
    (bind,) = [node for node in walk(func.body) if isinstance(node, Bind)]
    for node in walk(func.body):
        assert node.span is not None, node
    product = bind.value.a  # type: ignore[attr-defined]
    text = linecache.getline(product.span.file, product.span.line)
    assert text[product.span.column : product.span.end_column] == "(warp_id + 1) * lane_id"


def test_python_values_stay_python_values() -> None:
    body = """
    sizes = [i * 2 for i in range(3)]
    table = {name: size for name, size in zip("abc", sizes)}
    rest = sizes[1:]
    assert table["c"] == 4 and rest == [2, 4], f"{table}"
    reg[rest[0]] = float(sizes[1] / 4)
    """
    assert printed(body) == "reg[2] = 0.5"


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("lane_id + 2**40", "int64"), ("lane_id // 2**40", "int64"), ("lane_id % 2**31", "int32"),
        ("lane_id + 7", "int32"),
        ("Tx.uint8(lane_id) + 300", "int32"), ("Tx.uint8(lane_id) & 255", "uint8"),
        ("Tx.uint32(lane_id) * 0x9E3779B9", "uint32"),
    ],
)  # fmt: skip
def test_a_number_keeps_its_digits_beside_a_value(text: str, dtype: str) -> None:
    values: list[Expr] = []
    read(f"Tx.meta_var(note({text}))", note=values.append)
    assert [value.dtype for value in values] == [dtype]
