"""Launches of a compiled kernel on the GPU: loading, argument binding and the driver call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tirx_mini.arguments import TensorMap as TensorMapArgument
from tirx_mini.arguments import check_scalar, is_tensor_map, tensor_map_of
from tirx_mini.codegen import CudaSource
from tirx_mini.ir import Buffer, PrimFunc, TensorMap, Var
from tirx_mini.isa import cooperative
from tirx_mini.records import dataclass

from .arguments import check_call
from .compiler import Compiled
from .cuda_driver import check, failed
from .tensor_map import BYTES, encode
from .toolchain import device_arch, driver_library, load

_C_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip
_BOUND_CALLS = 64
"""The number of cached argument bindings, enough for the layers of a model that call one kernel."""
_NO_CONTEXT = 201
"""The status CUDA_ERROR_INVALID_CONTEXT."""
_STREAMS = 64
"""The number of streams with a cached launch configuration; PyTorch's pools have 32 streams of each priority."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled kernel with all data needed to launch it, in this process or another.

    written: positions of the parameters that the kernel writes.
    """

    func: PrimFunc
    source: CudaSource
    compiled: Compiled
    written: frozenset[int]


@dataclass(frozen=True)
class Bound:
    """One set of arguments in the driver's form; `keep` owns the memory behind `pointers`."""

    device: int
    function: ctypes.c_void_p
    pointers: ctypes.c_void_p
    keep: tuple[Any, ...]


class Launcher:
    """Launches one kernel. Each set of tensors is bound once (checks, tensor maps), and its binding is cached.

    A launch calls the driver through ctypes, with operands that already have its types: a call of the bindings takes
    longer to convert its operands than the driver takes to queue the kernel.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, launch = kernel, kernel.func.launch
        assert launch is not None
        self._shape = (*launch.grid, launch.threads, 1, 1, launch.smem_bytes)
        self._position = {param: index for index, param in enumerate(kernel.func.params)}
        self._tensors_only = all(isinstance(param, Buffer) for param in kernel.func.params)
        self._driver = load("cuda.bindings.driver")
        library: object = driver_library()
        self._queue: Callable[..., int] = getattr(library, "cuLaunchKernelEx", None)  # type: ignore[assignment]
        self._loaded: Any = None
        self._functions: dict[int, ctypes.c_void_p] = {}
        self._bound: dict[tuple[Any, ...], Bound] = {}
        self._last: tuple[tuple[Any, ...], Bound] | None = None
        self._programmatic = launch.programmatic
        self._cooperative = cooperative(kernel.func)
        self._streams: dict[int, tuple[ctypes.c_void_p, Any]] = {}

    def again(self, args: Sequence[Any]) -> bool:
        """Launch if these arguments are already bound, and return whether they are: the fast path of most calls.

        The result is always False for a kernel with a scalar parameter.
        """
        if not self._tensors_only:
            return False
        try:
            key = tuple([(t.data_ptr(), t.dtype, t.shape, t.stride(), t.is_cuda) for t in args])
        except AttributeError:  # an array, or what is no tensor
            return False
        last = self._last
        if last is not None and last[0] == key:  # equality is found sooner than a hash
            self._launch(last[1])
            return True
        bound = self._bound.get(key)
        if bound is None:
            return False
        self._last = key, bound
        self._launch(bound)
        return True

    def __call__(self, args: Sequence[object]) -> None:
        """Launch on PyTorch's current stream, and return before the kernel has finished."""
        key = tuple([_identity(arg) for arg in args])
        self._launch(self._bound.get(key) or self._remember(key, args))

    def _launch(self, bound: Bound) -> None:
        current, stream_of = _current()
        if current() != bound.device:
            import torch

            with torch.cuda.device(bound.device):
                return self._launch(bound)
        stream = stream_of(bound.device)
        config, _ = self._streams.get(stream) or self._stream(stream)
        status = self._queue(config, bound.function, bound.pointers, None)
        if status == _NO_CONTEXT:  # a thread that has not used the GPU yet
            load("cuda.core").Device(bound.device).set_current()
            status = self._queue(config, bound.function, bound.pointers, None)
        if status:
            raise failed(status)

    def _stream(self, stream: int) -> tuple[ctypes.c_void_p, Any]:
        """Return the address of the launch configuration for a stream, and its owner.

        (Threads must not share a configuration, because they would overwrite each other's stream.)
        """
        while len(self._streams) >= _STREAMS:
            del self._streams[next(iter(self._streams))]
        config = launch_config(self._shape, stream, programmatic=self._programmatic, cooperative=self._cooperative)
        self._streams[stream] = ctypes.c_void_p(int(config.getPtr())), config
        return self._streams[stream]

    def _remember(self, key: tuple[object, ...], args: Sequence[object]) -> Bound:
        bound = self.bind(args)
        while len(self._bound) >= _BOUND_CALLS:
            del self._bound[next(iter(self._bound))]
        self._bound[key] = bound
        return bound

    def bind(self, args: Sequence[object]) -> Bound:
        """Check arguments and return them in the driver's form."""
        device = check_call(self.kernel.func, args, self.kernel.written)
        function = self._function(device)
        storage = tuple(self._argument(param, args) for param in self.kernel.source.params)
        pointers = (ctypes.c_void_p * max(1, len(storage)))(*map(ctypes.addressof, storage))
        return Bound(device, function, ctypes.c_void_p(ctypes.addressof(pointers)), (pointers, *storage))

    def _argument(self, param: Buffer | Var | TensorMap, args: Sequence[Any]) -> Any:
        """Return the storage of one kernel parameter."""
        if isinstance(param, TensorMap):
            return _map_storage(encode(param, args[self._position[param.buffer]].data_ptr()))
        index = self._position[param]
        if is_tensor_map(param):
            given, encoded = tensor_map_of(self.kernel.func, index, args[index])
            return _map_storage(encode(encoded, given.tensor.data_ptr()))
        if isinstance(param, Buffer):
            return ctypes.c_uint64(args[index].data_ptr())
        return _C_SCALARS[param.dtype](check_scalar(self.kernel.func, index, args[index]))

    def _function(self, device: int) -> ctypes.c_void_p:
        """Return the kernel on a device, loaded at the first call with its dynamic shared memory limit."""
        if device not in self._functions:
            import torch

            with torch.cuda.device(device):
                self._functions[device] = self._load(device)
        return self._functions[device]

    def _load(self, device: int) -> ctypes.c_void_p:
        core, driver = load("cuda.core"), self._driver
        core.Device(device).set_current()
        if self._loaded is None:
            compiled, name = self.kernel.compiled, self.kernel.source.kernel
            try:
                self._loaded = core.ObjectCode.from_cubin(compiled.cubin).get_kernel(name)
            except Exception as error:
                raise _not_loaded(self.kernel.func, compiled.arch) from error
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuKernelSetAttribute(attribute, self._shape[-1], self._loaded.handle, device))
        return ctypes.c_void_p(int(self._loaded.handle))


def launch_config(shape: Sequence[int], stream: int, *, programmatic: bool, cooperative: bool = False) -> Any:
    """Return a `CUlaunchConfig`.

    shape: the grid's three extents, the CTA's, and bytes of dynamic shared memory.
    programmatic: whether the kernel may begin before the previous kernel in the stream has ended.
    cooperative: whether all CTAs must be resident at the same time, so that the grid can synchronise.
    """
    driver = load("cuda.bindings.driver")
    config = driver.CUlaunchConfig()
    grid, block = shape[:3], shape[3:6]
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes = shape[6]
    config.hStream = driver.CUstream(stream)
    attributes = []
    if programmatic:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attribute.value.programmaticStreamSerializationAllowed = 1
        attributes.append(attribute)
    if cooperative:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        attributes.append(attribute)
    if attributes:
        config.attrs, config.numAttrs = attributes, len(attributes)
    return config


@cache
def _current() -> tuple[Callable[[], int], Callable[[int], int]]:
    """Return allocation-free functions for PyTorch's current device and the handle of its current stream."""
    import torch

    torch.cuda.init()
    return torch._C._cuda_getDevice, torch._C._cuda_getCurrentRawStream  # pyright: ignore[reportPrivateUsage]


def _identity(arg: Any) -> object:
    """Return the properties of an argument that determine its binding: of a number, also in a 0-d tensor, its value."""
    try:
        place = arg.data_ptr(), arg.dtype, arg.shape, arg.stride(), arg.is_cuda
    except AttributeError:
        if isinstance(arg, TensorMapArgument):
            return arg  # itself, so that no other gets its identity while the binding is kept
        kind = type(arg)
        if kind in (int, float, bool):
            return kind, arg
        return kind, arg.item() if hasattr(arg, "item") else id(arg)
    return place if place[2] else (place, arg.item())


def _map_storage(tensor_map: Any) -> object:
    """Return a copy of a `CUtensorMap` in memory that the binding owns."""
    storage = (ctypes.c_uint8 * BYTES)()
    ctypes.memmove(storage, int(tensor_map.getPtr()), BYTES)
    return storage


def _not_loaded(func: PrimFunc, arch: str) -> RuntimeError:
    here = device_arch()
    if here != arch:
        fix = f"compile it for target 'cuda:{here}'"
        return RuntimeError(f"{func.name} was compiled for {arch}, but this GPU is {here}: {fix}")
    return RuntimeError(f"the driver cannot load {func.name}: it may be older than the compiler, so update it")
