"""Names for recorded objects: elements of shared memory, operands and pipeline stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from tirx_mini.isa import START_BITS, Instruction, Operand, OperandKind

from ..machine import WINDOW_BITS, Element, KernelImage, Locator, Number, offset_of
from .notes import Use, Written

_UNTOLD = (OperandKind.REGISTERS, OperandKind.INSTRUCTION_DESCRIPTOR, OperandKind.GLOBAL)
"""The kinds of operands that are omitted from the text of a call."""


class Names:
    """The names of one kernel."""

    def __init__(self, image: KernelImage) -> None:
        self._locator = Locator(image.shared)
        self._shapes = {buffer.name: buffer.shape for buffer in image.shared}
        self._elements: dict[int, tuple[str, int | None]] = {}
        self._told: dict[tuple[Any, ...], tuple[int | None, tuple[tuple[str, str], ...]]] = {}
        self._tellers: dict[str, list[tuple[str, _Teller | None]]] = {}

    def element(self, offset: int) -> tuple[str, int | None]:
        """Return the (name, stage) of the element at a byte offset of shared memory. A tile is named without its inner
        indices."""
        known = self._elements.get(offset)
        if known is None:
            known = self._elements[offset] = self._element(offset)
        return known

    def _element(self, offset: int) -> tuple[str, int | None]:
        element = self._locator.element(offset)
        shape = self._shapes.get(element.buffer, ())
        if len(shape) < 2 or not element.indices:
            return str(element), element.stage
        if len(shape) == 2:
            return element.buffer, None
        outer = element.indices[: max(len(shape) - 2, 1)]
        return str(Element(element.buffer, outer)), outer[0]

    def shared(self, address: int | np.ndarray, rank: int) -> str:
        """Return the name of a shared::cluster address, as a CTA of the given rank sees it."""
        if isinstance(address, np.ndarray):
            return "differs by lane"
        name, _ = self.element(offset_of(address))
        owner = address >> WINDOW_BITS
        return name if owner == rank else f"{name} of CTA rank {owner}"

    def call(
        self, use: Use, operands: tuple[object, ...], attrs: Mapping[str, object], rank: int
    ) -> tuple[int | None, tuple[tuple[str, str], ...]]:
        """Return the (stage, displayed operands) of an instruction. Most calls are cached from another warp."""
        entry = use.entry
        assert entry is not None
        try:
            key = use, operands, rank, *attrs.values()
            told = self._told.get(key)
        except TypeError:  # an array
            return self.stage(entry, operands), self.operands(entry, operands, attrs, rank)
        if told is None:
            told = self._told[key] = self.stage(entry, operands), self.operands(entry, operands, attrs, rank)
        return told

    def stage(self, entry: Instruction, operands: tuple[object, ...]) -> int | None:
        """Return the stage of an instruction: the stage of its barrier, or else of the first tile that it accesses."""
        tile = None
        values: tuple[Any, ...] = operands
        for operand, value in zip(entry.operands, values, strict=False):
            kind = operand.type.kind
            if isinstance(value, np.ndarray):
                continue
            if kind is OperandKind.MBARRIER:
                return self.element(offset_of(value))[1]
            if tile is None and kind is OperandKind.SHARED:
                tile = self.element(offset_of(value))[1]
            elif tile is None and kind.is_descriptor and kind is not OperandKind.INSTRUCTION_DESCRIPTOR:
                tile = self.element((value & START_BITS) << 4)[1]
        return tile

    def operands(
        self, entry: Instruction, values: tuple[object, ...], attrs: Mapping[str, object], rank: int
    ) -> tuple[tuple[str, str], ...]:
        """Return the displayed operands and modifiers of a call."""
        tellers = self._tellers.get(entry.name)
        if tellers is None:
            tellers = self._tellers[entry.name] = [(o.name, _teller(o)) for o in entry.operands]
        told: list[tuple[str, str]] = []
        for (name, tell), value in zip(tellers, values, strict=False):
            if name == "coords":
                break
            if tell is not None:
                told.append((name, tell(self, value, rank)))
        if tellers and tellers[-1][0] == "coords":
            coords: tuple[Any, ...] = values[len(tellers) - 1 :]
            listed = ", ".join(_number(self, coord, rank) for coord in coords)
            told.append(("coords", f"({listed}{',' * (len(coords) == 1)})"))
        return (*told, *self._modifiers(entry, attrs)) if attrs else tuple(told)

    @staticmethod
    def _modifiers(entry: Instruction, attrs: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield the modifiers that differ from their defaults."""
        for attribute in entry.attributes:
            value = attrs.get(attribute.name, attribute.default)
            if value != attribute.default and attribute.name != "dim":
                yield attribute.name, str(value)


_Teller: TypeAlias = Callable[[Names, Any, int], str]
"""A function that formats the value of an operand, as a CTA of the given rank sees it."""


def _teller(operand: Operand) -> _Teller | None:
    """Return the function that formats an operand; None for an omitted operand."""
    kind = operand.type.kind
    if kind in _UNTOLD:
        return None
    if kind.in_shared_memory:
        return Names.shared
    return _descriptor if kind.is_descriptor else _TELLERS.get(kind, _number)


def _descriptor(names: Names, value: Any, rank: int) -> str:
    return names.shared((value & START_BITS) << 4 | rank << WINDOW_BITS, rank)


def _number(names: Names, value: Number, rank: int) -> str:
    return "differs by lane" if isinstance(value, np.ndarray) and value.ndim else str(value)


def _tmem(names: Names, value: Any, rank: int) -> str:
    return "differs by lane" if isinstance(value, np.ndarray) else f"lane {value >> 16}, column {value & 0xFFFF}"


def _condition(names: Names, value: Any, rank: int) -> str:
    return "differs by lane" if isinstance(value, np.ndarray) else str(bool(value)).lower()


_TELLERS: Mapping[OperandKind, _Teller] = {
    OperandKind.TMEM: _tmem, OperandKind.PREDICATE: _condition
}  # fmt: skip


def plain_operands(values: tuple[object, ...]) -> tuple[tuple[str, str], ...]:
    """Return the displayed operands of a plain access: the destination of a store and the source of a load."""
    told = [value.buffer if isinstance(value, Written) else str(value) for value in values]
    return tuple(zip(("to", "from") if len(told) > 1 else ("buffer",), told, strict=False))
