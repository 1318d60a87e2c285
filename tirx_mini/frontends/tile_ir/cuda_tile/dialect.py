"""The dialect cuda_tile and its shared verifier rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..ssa import Dialect, Op, Scalar, Type, Value, Verify, flat
from .types import BASE_FLOATS, FLOATS, INTEGERS, TOKEN, Ptr, Tile, parse_ptr, parse_tensor_view, parse_tile, parse_view

CUDA_TILE = Dialect("cuda_tile", types={
    "tile": parse_tile,
    "ptr": parse_ptr,
    "tensor_view": parse_tensor_view,
    "partition_view": parse_view,
    "strided_view": parse_view,
    "gather_scatter_view": parse_view,
    "token": lambda _: TOKEN,
})  # fmt: skip
"""The operations of the published Tile IR 13.4; `ops/` defines them."""


def rules(*all_of: Verify) -> Verify:
    """Combine several verifiers into one."""

    def verify(op: Op) -> Iterator[str]:
        for rule in all_of:
            yield from rule(op)

    return verify


def values_of(op: Op, name: str) -> tuple[Value, ...]:
    """Return the values of an operand or result, which may be variadic or optional."""
    return tuple(flat((getattr(op, name),)))


def _is(names: str, what: str, test: Callable[[Any], bool]) -> Verify:
    def verify(op: Op) -> Iterator[str]:
        for name in names.split():
            for value in values_of(op, name):
                if not (isinstance(value.type, Tile) and test(value.type)):
                    yield f"`{name}` must be {what}, not {value.type}"

    return verify


def _element(t: Tile, names: tuple[str, ...]) -> bool:
    return isinstance(t.element, Scalar) and t.element.name in names


def base_floats(names: str) -> Verify:
    return _is(names, "a tile of f16, bf16, f32 or f64", lambda t: _element(t, BASE_FLOATS))


def floats(names: str) -> Verify:
    return _is(names, "a tile of floats", lambda t: _element(t, FLOATS))


def integers(names: str) -> Verify:
    return _is(names, "a tile of integers", lambda t: _element(t, INTEGERS))


def conditions(names: str) -> Verify:
    return _is(names, "a tile of i1", lambda t: _element(t, ("i1",)))


def pointers(names: str) -> Verify:
    return _is(names, "a tile of pointers", lambda t: isinstance(t.element, Ptr))


def tiles(names: str) -> Verify:
    return _is(names, "a tile", lambda t: True)


def scalar_integers(names: str) -> Verify:
    return _is(names, "a scalar integer (a tile of rank 0)", lambda t: t.rank == 0 and _element(t, INTEGERS))


def same_type(names: str) -> Verify:
    """Verify that all values have the same type."""

    def verify(op: Op) -> Iterator[str]:
        first, *others = (v for name in names.split() for v in values_of(op, name))
        for value in others:
            if value.type != first.type:
                yield f"the types of {' and '.join(names.split())} differ: {first.type} and {value.type}"
                return

    return verify


def same_shape(names: str) -> Verify:
    """Verify that all tiles have the same shape."""

    def verify(op: Op) -> Iterator[str]:
        shapes = {v.type.shape for name in names.split() for v in values_of(op, name) if isinstance(v.type, Tile)}
        if len(shapes) > 1:
            yield f"the shapes of {' and '.join(names.split())} differ"

    return verify


def same_elements(names: str) -> Verify:
    """Verify that all tiles have the same element type."""

    def verify(op: Op) -> Iterator[str]:
        elements = {
            str(v.type.element) for name in names.split() for v in values_of(op, name) if isinstance(v.type, Tile)
        }
        if len(elements) > 1:
            yield f"the elements of {' and '.join(names.split())} differ: {' and '.join(sorted(elements))}"

    return verify


def only(attribute: str, value: object, elements: tuple[str, ...]) -> Verify:
    """Verify that an attribute has `value` only for the given result element types."""

    def verify(op: Op) -> Iterator[str]:
        type_ = op.results[0].type
        if getattr(op, attribute) == value and str(type_.element) not in elements:
            yield (
                f"{attribute} {value if value is not True else ''}".rstrip()
                + f" needs elements of {' or '.join(elements)}, not {type_.element}"
            )

    return verify


def token(op: Op) -> Type:
    """Infer a token result."""
    return TOKEN
