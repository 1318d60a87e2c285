"""The language of tile programs: cuTile's names, and the tracer that turns a kernel into cuda_tile."""

from .compile import (
    ArraySpec,
    ConstantSpec,
    ListSpec,
    RecordSpec,
    ScalarSpec,
    Spec,
    Traced,
    array_annotation,
    is_constant_parameter,
    metadata,
    metadata_of,
    parameters,
    scalar_annotation,
    trace,
)
from .dtypes import DTYPES, DType, bool_, check_range, float32, from_numpy, int32, int64, numpy_dtype, promote
from .enums import MemoryOrder, MemoryScope, PaddingMode, RoundingMode
from .errors import (
    StaticException,
    TileCompilerExecutionError,
    TileCompilerTimeoutError,
    TileError,
    TileInternalError,
    TileRecursionError,
    TileStaticAssertionError,
    TileStaticEvalError,
    TileSyntaxError,
    TileTypeError,
    TileUnsupportedFeatureError,
    TileValueError,
)
from .surface import (
    METHODS,
    OPERATIONS,
    Array,
    ArrayAnnotation,
    ByTarget,
    Constant,
    ConstantAnnotation,
    Hints,
    IndexedWithInt64,
    ListAnnotation,
    Operation,
    RawArrayMemory,
    Scalar,
    ScalarInt64,
    Slice,
    Tile,
    TiledView,
    TileFunction,
    TileKernel,
    function,
    kernel,
)
from .values import field_names

__all__ = [
    "DTYPES", "METHODS", "OPERATIONS",
    "Array", "ArrayAnnotation", "ArraySpec", "ByTarget", "Constant", "ConstantAnnotation", "ConstantSpec", "DType",
    "Hints", "IndexedWithInt64", "ListAnnotation", "ListSpec", "MemoryOrder", "MemoryScope", "Operation", "PaddingMode",
    "RawArrayMemory", "RecordSpec", "RoundingMode", "Scalar", "ScalarInt64", "ScalarSpec", "Slice", "Spec",
    "StaticException", "Tile", "TileCompilerExecutionError", "TileCompilerTimeoutError", "TileError", "TileFunction",
    "TileInternalError", "TileKernel", "TileRecursionError", "TileStaticAssertionError", "TileStaticEvalError",
    "TileSyntaxError", "TileTypeError", "TileUnsupportedFeatureError", "TileValueError", "TiledView", "Traced",
    "array_annotation", "bool_", "check_range", "field_names", "float32", "from_numpy", "function", "int32", "int64",
    "is_constant_parameter", "kernel", "metadata", "metadata_of", "numpy_dtype", "parameters", "promote",
    "scalar_annotation", "trace",
]  # fmt: skip
