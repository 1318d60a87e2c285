"""`tilelang.jit` and `tilelang.autotune`: decorators for kernels and kernel factories."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tirx_mini.arguments import ArgumentError, is_tensor
from tirx_mini.ir import PrimFunc, TirxError, Var
from tirx_mini.records import dataclass

from .kernel import JITKernel, compile
from .language.eager import Signature, kernel_of, signature_of


class JITImpl:
    """A function decorated with `tilelang.jit`.

    One that returns a function of `T.prim_func` makes a kernel for its arguments: ``kernel = matmul(1024, 1024)``. One
    that opens `T.Kernel` itself is a kernel: ``C = matmul(A, B)`` executes it.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.options = function, dict(options)
        self.signature = inspect.signature(function)
        self.kernels: dict[Any, JITKernel] = {}

    @functools.cached_property
    def mode(self) -> str:
        """"lazy" for a kernel factory, "eager" for a function that is itself a kernel."""
        if self.options.get("mode", "auto") in ("lazy", "eager"):
            return self.options["mode"]
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        except OSError:  # a function without a file
            return "lazy"
        function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        inner = any(isinstance(node, ast.FunctionDef) for statement in function.body for node in ast.walk(statement))
        opens = any(isinstance(node, ast.With) for statement in function.body for node in ast.walk(statement))
        return "eager" if opens and not inner else "lazy"

    def get_tir(self, *args: object, **kwargs: object) -> PrimFunc:
        """Return the program for the given arguments."""
        if self.mode == "eager":
            return self._eager(args, kwargs)[0].prim_func
        made = self.function(*args, **kwargs)
        if not isinstance(made, PrimFunc):
            raise TirxError(
                f"{self.function.__name__} must return a function of T.prim_func, not {type(made).__name__}"
            )
        return made

    def compile(self, *args: object, **kwargs: Any) -> JITKernel:
        """Compile the kernel for the given arguments."""
        if self.mode == "eager":
            return self._eager(args, kwargs)[0]
        kwargs.pop("__return_compile_arguments", None)
        tune = kwargs.pop("__tune_params", None)
        kwargs = {**kwargs, **(tune or {})}
        key = _key(args, kwargs)
        if key is None or key not in self.kernels:
            made = self._compiled(self.get_tir(*args, **kwargs), self.options.get("out_idx"))
            if key is None:
                return made
            self.kernels[key] = made
        return self.kernels[key]

    def _compiled(self, func: PrimFunc, out_idx: Any) -> JITKernel:
        return compile(func, out_idx, target=self.options.get("target"), pass_configs=self.options.get("pass_configs"))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.mode == "lazy":
            return self.compile(*args, **kwargs)
        kernel, tensors = self._eager(args, kwargs)
        return kernel(*tensors)

    def get_kernel_source(self, *args: object, **kwargs: object) -> str:
        """Return the CUDA C++ of the kernel for the given arguments."""
        return self.compile(*args, **kwargs).get_kernel_source()

    def _eager(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[JITKernel, list[Any]]:
        """Return the kernel of a call and its tensors. Constants may be passed by name if tensors are omitted."""
        constants = {k: v for k, v in kwargs.items() if k not in self.signature.parameters}
        bound = self.signature.bind_partial(*args, **{k: v for k, v in kwargs.items() if k not in constants})
        bound.apply_defaults()
        tensors = {name: value for name, value in bound.arguments.items() if is_tensor(value) or _is_array(value)}
        plain = {name: value for name, value in bound.arguments.items() if name not in tensors}
        signature = signature_of(self.function, plain)
        values = _constants(signature, tensors, constants)
        key = _key((tuple(values.items()),), plain)
        if key is None or key not in self.kernels:
            func, returned = kernel_of(self.function, plain, values)
            made = self._compiled(func, returned or None)
            if key is None:
                return made, self._in_order(signature, tensors)
            self.kernels[key] = made
        return self.kernels[key], self._in_order(signature, tensors)

    def _in_order(self, signature: Signature, tensors: Mapping[str, object]) -> list[Any]:
        return [tensors[param.name] for param in signature.tensors if param.name in tensors]


def _is_array(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _constants(signature: Signature, tensors: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, int]:
    """Return the values of a function's constants, deduced from its tensors' shapes."""
    values: dict[str, int] = {name: int(value) for name, value in given.items()}
    names = {var: name for name, var in signature.constants.items()}
    for param in signature.tensors:
        value = tensors.get(param.name)
        if value is None:
            continue
        if len(value.shape) != param.ndim:
            raise ArgumentError(f"{param.name} has {param.ndim} dimensions, but {len(value.shape)} are given")
        for extent, size in zip(param.shape, value.shape, strict=True):
            name = names.get(extent) if isinstance(extent, Var) else None
            if name is not None and values.setdefault(name, int(size)) != size:
                raise ArgumentError(f"`{name}` is {values[name]}, but {param.name} says that it is {int(size)}")
    missing = [name for name in signature.constants if name not in values]
    if missing:
        raise ArgumentError(f"no argument determines the constant `{missing[0]}`")
    return {name: values[name] for name in signature.constants}


def _key(args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    """Return a cache key for arguments, or None if an argument cannot be hashed."""
    key = (tuple(args), tuple(sorted(kwargs.items())))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def jit(
    func: Any = None,
    *,
    out_idx: Any = None,
    target: Any = None,
    target_host: object = None,
    execution_backend: object = None,
    verbose: object = None,
    pass_configs: object = None,
    debug_root_path: object = None,
    compile_flags: object = None,
    mode: str = "auto",
    **more: object,
) -> Any:
    """Decorate a kernel, or a function that returns one. The options are those of `compile`."""
    options = {"out_idx": out_idx, "target": target, "mode": mode, "pass_configs": pass_configs}
    if func is None:
        return lambda function: JITImpl(function, options)
    return compile(func, out_idx, target=target) if isinstance(func, PrimFunc) else JITImpl(func, options)


lazy_jit = functools.partial(jit, mode="lazy")


@dataclass(frozen=True)
class AutotuneResult:
    """The best configuration, with its time in milliseconds and its kernel."""

    latency: float
    config: dict[str, Any]
    kernel: JITKernel
    libcode: str = ""
    ref_latency: float | None = None


def _configurations(configs: object, args: Sequence[object], kwargs: Mapping[str, object]) -> list[dict[str, Any]]:
    made: Any = configs(*args, **_accepted(configs, kwargs)) if callable(configs) else configs
    if isinstance(made, Mapping):  # lists of values by name
        names = list(made)
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*made.values())]
    return [dict(config) for config in made]


def autotune(func: Any = None, *, configs: object = None, **options: object) -> Any:
    """Tune a `jit` function: compile and time several configurations, and use the fastest (decorator).

    configs: dictionaries of arguments, or a function of the other arguments that returns them. In the simulator, times
        are predicted. A configuration that does not compile is left out.
    """
    if func is None:
        return lambda function: autotune(function, configs=configs, **options)
    inner = func if isinstance(func, JITImpl) else JITImpl(func, {})

    @functools.wraps(inner.function)
    def tuned(*args: object, **kwargs: object) -> Any:
        names = set(kwargs) | set(list(inner.signature.parameters)[: len(args)])
        every = _configurations(configs, args, kwargs)
        if every and all(name in names for name in every[0]):
            return inner(*args, **kwargs)
        best: JITKernel | None = None
        failures: list[Exception] = []
        for config in every:
            try:
                kernel = inner.compile(*args, **{**kwargs, **config})
                kernel.latency, kernel.config = kernel.get_profiler().do_bench(), config
            except (TirxError, ValueError) as error:
                failures.append(error)
                continue
            if best is None or kernel.latency < (best.latency or 0.0):
                best = kernel
        if best is None:
            raise failures[0] if failures else ValueError("autotune has no configurations")
        return best if inner.mode == "lazy" else inner(*args, **{**kwargs, **(best.config or {})})

    vars(tuned)["configurations"] = functools.partial(_declared, configs)  # `python -m tirx_mini tune` asks for them
    return tuned


def _accepted(function: Callable[..., object], kwargs: Mapping[str, object]) -> Mapping[str, object]:
    """Return the keywords that a function takes; the others are those of a configuration."""
    parameters = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return kwargs
    return {name: value for name, value in kwargs.items() if name in parameters}


def _declared(configs: object, *args: object) -> Sequence[Mapping[str, object]]:
    return _configurations(configs, args, {})


class AutoTuner:
    """A tuner that selects the fastest configuration of a kernel factory.

    result = AutoTuner.from_kernel(kernel, configs).set_compile_args(out_idx=[-1]).run()
    """

    def __init__(self, fn: Callable[..., Any], configs: Any) -> None:
        self.function, self.configs = fn, configs
        self.compiling: dict[str, Any] = {}
        self.profiling: dict[str, Any] = {}

    @classmethod
    def from_kernel(cls, kernel: Callable[..., object], configs: object) -> AutoTuner:
        """Return a tuner for a kernel factory; each configuration names its parameters."""
        return cls(kernel, configs)

    def set_compile_args(self, **options: object) -> AutoTuner:
        """Set options of `compile`."""
        self.compiling = {name: value for name, value in options.items() if name in ("out_idx", "target")}
        return self

    def set_profile_args(self, **options: object) -> AutoTuner:
        """Set the input and reference options of measurements.

        supply_type: the contents of the tensors. ref_prog, rtol, atol, max_mismatched_ratio: a reference and its
        tolerances, checked unless `skip_check`.
        """
        self.profiling = options
        return self

    def run(self, warmup: int = 25, rep: int = 100, **options: object) -> AutotuneResult:
        """Compile, check and time each configuration, skipping those that do not compile."""
        made = JITImpl(self.function, self.compiling)
        best: AutotuneResult | None = None
        failures: list[Exception] = []
        for config in _configurations(self.configs, (), {}):
            try:
                kernel = made.compile(**config)
                self._check(kernel)
                latency = kernel.get_profiler().do_bench()
            except (TirxError, ValueError) as error:
                failures.append(error)
                continue
            if best is None or latency < best.latency:
                kernel.latency, kernel.config = latency, config
                best = AutotuneResult(latency, config, kernel)
        if best is None:
            raise failures[0] if failures else ValueError("autotune has no configurations")
        return best

    def _check(self, kernel: JITKernel) -> None:
        reference = self.profiling.get("ref_prog")
        if reference is None or self.profiling.get("skip_check"):
            return
        bounds = ("rtol", "atol", "max_mismatched_ratio")
        given = {name: self.profiling[name] for name in bounds if name in self.profiling}
        kernel.get_profiler(self.profiling.get("supply_type")).assert_allclose(reference, **given)
