"""The instruction table, with one entry for each hardware instruction: its PTX and its meaning.

`TABLE` maps names to instructions; `NAMES` maps the paths below `Tx` under which kernels call them.
"""

from .alias import Alias, Spelling, Spellings
from .availability import for_target
from .calls import issue, value_of
from .core import Instruction
from .debug import CONVERSION
from .descriptors import (
    A_IN_TMEM,
    CP_SHAPES,
    PLAIN,
    PTX_TYPES,
    SCALED_KINDS,
    START_BITS,
    TCGEN05,
    WGMMA,
    BlockScales,
    Format,
    InstructionDescriptor,
    Kept,
    SmemDescriptor,
    TmemOperand,
    cp_lanes,
    describe,
    mma_depth,
    mma_format,
    operand_chunks,
    scaled_format,
    swizzle_bytes,
)  # fmt: skip
from .effects import (
    addressed_widths,
    atomic_operation,
    cooperative,
    grid_wide,
    named_params,
    orders_memory,
    prints,
    restrict_params,
    written_params,
)
from .facts import BarrierEffect, Completion, LaneResult, Memory, Scope
from .floats import flushed, greatest, least, where
from .fragments import register_pointers
from .launch_control import NONE_CANCELLED
from .machine import (
    Addresses,
    DivergentThread,
    FaultKind,
    Loaded,
    MachineVerbs,
    MbarrierVerbs,
    RegisterOperand,
    ThreadVerbs,
    WgmmaVerbs,
)
from .manual import architectures, call_text, facts_of, literal, manual, parameters, ptx_text
from .mma import MMA_SYNC
from .opaque import not_in_table
from .operands import (
    REGISTER_TYPES,
    Access,
    Attribute,
    Barriers,
    Operand,
    OperandKind,
    OperandType,
    barrier_type,
    shared_type,
)
from .pairs import instruction_on_pairs
from .requests import GENERIC_BITS, GENERIC_LOCAL, GENERIC_SHARED, MemoryAccess, QuadProduct, WarpProduct, WgmmaProduct
from .scalar import Scalar, bits_as, next_words, scalar
from .spelling import Reading, continuations, opcode_of, readings
from .table import NAMES, TABLE, Overloads, instruction_of, instructions, masked_at_run_time
from .tensormap import MapFields, decode_tensor_map
from .tma import POLICIES, multicasts
from .wgmma import FRAGMENT_REGISTERS

__all__ = [
    "flushed",
    "decode_tensor_map", "MapFields",
    "Addresses",
    "A_IN_TMEM", "Access", "Alias", "Attribute", "BarrierEffect", "Barriers", "BlockScales", "CONVERSION", "CP_SHAPES",
    "Completion", "DivergentThread", "FRAGMENT_REGISTERS", "FaultKind", "Format", "GENERIC_BITS", "GENERIC_LOCAL",
    "GENERIC_SHARED", "Instruction", "InstructionDescriptor", "Kept", "LaneResult", "MMA_SYNC",
    "Loaded", "MachineVerbs",
    "MbarrierVerbs", "Memory", "MemoryAccess", "NAMES", "NONE_CANCELLED", "Operand", "OperandKind", "OperandType",
    "Overloads", "PLAIN", "POLICIES", "PTX_TYPES", "QuadProduct", "REGISTER_TYPES", "Reading", "RegisterOperand",
    "SCALED_KINDS", "START_BITS", "Scalar", "Scope", "SmemDescriptor", "Spelling", "Spellings", "TABLE", "TCGEN05",
    "ThreadVerbs", "TmemOperand", "WGMMA", "WarpProduct", "WgmmaProduct", "WgmmaVerbs", "addressed_widths",
    "architectures", "atomic_operation", "barrier_type", "bits_as", "call_text", "continuations", "cooperative",
    "cp_lanes", "describe", "facts_of", "for_target", "greatest", "grid_wide", "instruction_of", "instruction_on_pairs",
    "instructions", "issue", "least", "literal", "manual", "masked_at_run_time", "mma_depth", "mma_format",
    "multicasts", "named_params", "next_words", "not_in_table", "opcode_of", "operand_chunks", "orders_memory",
    "parameters", "prints", "ptx_text", "readings", "register_pointers", "restrict_params", "scalar", "scaled_format",
    "shared_type", "swizzle_bytes", "value_of", "where", "written_params",
]  # fmt: skip
