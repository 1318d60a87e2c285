"""Hardware facts: the entries agree with the kit's files, and a new GPU or architecture is one entry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini import hardware
from tirx_mini.codegen import cuda_source
from tirx_mini.course import STEPS, Task, arch_folder, default_kernels, load_kernels, measured_times, run_task
from tirx_mini.hardware import (
    ARCHITECTURES,
    B200,
    B300,
    BLACKWELL,
    DEFAULT_ARCH,
    DEFAULT_GPU,
    GPUS,
    H100,
    HOPPER,
    Architecture,
    GpuSpec,
    arch_name,
    architecture_of,
    compute_capability,
    gpu_spec,
    nearest_gpu,
)
from tirx_mini.ir import TirxError
from tirx_mini.passes import lower
from tirx_mini.runtime import Executable, build

ROOT = Path(__file__).parents[2]
SMALL = replace(B200, name="B20", cuda_name="NVIDIA B20", sms=4)


@pytest.fixture
def small_gpu(monkeypatch: pytest.MonkeyPatch) -> GpuSpec:
    """`SMALL`, entered as a GPU would be."""
    monkeypatch.setattr(hardware, "GPUS", MappingProxyType({**GPUS, "b20": SMALL}))
    return SMALL


@pytest.fixture
def small_architecture(monkeypatch: pytest.MonkeyPatch) -> Architecture:
    """An architecture of a new generation with less shared memory, entered as one would be."""
    entry = replace(
        BLACKWELL, name="sm_110a", kernels="sm110", student_file="mine.py", smem_per_cta=101_376, smem_per_sm=102_400
    )
    monkeypatch.setattr(hardware, "ARCHITECTURES", MappingProxyType({**ARCHITECTURES, entry.name: entry}))
    return entry


# -- the entries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=lambda arch: arch.name)
def test_an_architecture_has_its_files_in_the_kit(arch: Architecture) -> None:
    assert (ROOT / arch.student_file).is_file()
    assert len(load_kernels(default_kernels(), arch.kernels)) == 10
    assert arch_name(compute_capability(arch.name)) == arch.name


def test_no_two_gpus_are_one_part() -> None:
    assert all(GPUS[name] is spec and spec.name.lower() == name for name, spec in GPUS.items())
    assert len({spec.cuda_name for spec in GPUS.values()}) == len(GPUS)
    assert all(ARCHITECTURES[spec.arch] is spec.architecture for spec in GPUS.values())


def test_gpus_are_found_by_name() -> None:
    assert gpu_spec("H100") is H100 and gpu_spec(B200) is B200 and gpu_spec(DEFAULT_GPU).arch == DEFAULT_ARCH
    with pytest.raises(ValueError, match="unknown GPU 'a100'; the simulator models b200, b300, h100, h200"):
        gpu_spec("a100")


def test_peaks_are_those_of_the_data_sheets() -> None:
    assert B200.peak_tflops == pytest.approx(2250, rel=0.01)
    assert B300.peak_tflops == pytest.approx(2250, rel=0.01)
    assert H100.peak_tflops == pytest.approx(989, rel=0.01)


@pytest.mark.parametrize(
    ("arch", "entry"),
    [("sm_90a", HOPPER), ("sm_90", HOPPER), ("sm_101a", BLACKWELL), ("sm_80", ARCHITECTURES[DEFAULT_ARCH])],
)
def test_an_architecture_without_an_entry_takes_that_of_its_generation(arch: str, entry: Architecture) -> None:
    assert architecture_of(arch) is entry


@pytest.mark.parametrize(
    ("arch", "cuda_name", "name"),
    [
        ("sm_90a", "NVIDIA H200", "H200"),
        ("sm_90a", "", "H100"),
        ("sm_100a", "NVIDIA GB200", "B200"),
        ("sm_103a", "NVIDIA B300 SXM6 AC", "B300"),
        ("sm_103a", "NVIDIA GB300", "B300"),
        ("sm_80", "", "B200"),
    ],
)
def test_a_real_gpu_is_modelled_by_its_nearest_relative(arch: str, cuda_name: str, name: str) -> None:
    assert nearest_gpu(arch, cuda_name).name == name


@pytest.mark.compiler
@pytest.mark.parametrize("step", STEPS)
def test_the_references_for_blackwell_compile_for_a_b300(step: int) -> None:
    kernel = load_kernels(default_kernels(), arch_folder(B300.arch))[step](*STEPS[step].in_tiles(1, 1, 2))
    exe = tvm.compile(kernel, target=f"cuda:{B300.arch}")
    assert isinstance(exe, Executable) and ".target sm_103a" in exe.source("ptx")


def test_a_b300_is_simulated_by_its_name() -> None:
    row = run_task(Task(default_kernels(), 10, STEPS[10].in_tiles(1, 1, 2), "b300"))
    assert row.ok and row.time_us is not None


# -- a new entry -------------------------------------------------------------------------------------------------------


def test_a_new_gpu_is_simulated_by_its_name(small_gpu: GpuSpec) -> None:
    kernel = load_kernels(default_kernels(), arch_folder(small_gpu.arch))[3](512, 512, 64)
    a, b, d = (np.zeros(shape, np.float16) for shape in ((512, 64), (512, 64), (512, 512)))
    small, large = (tvm.simulate(kernel, a, b, d, gpu=gpu) for gpu in ("b20", "b200"))
    assert small.ok and small.gpu == "B20"
    assert small.time_us is not None and large.time_us is not None and small.time_us > large.time_us
    exe = tvm.compile(kernel, target="sim:b20")
    assert isinstance(exe, tvm.SimulatedExecutable) and exe.gpu is small_gpu


def test_a_new_gpu_has_the_ladder_and_a_table_of_measured_times(small_gpu: GpuSpec, tmp_path: Path) -> None:
    row = run_task(Task(default_kernels(), 1, (128, 128, 64), "b20"))
    assert row.ok and row.tflops is not None and row.peak_share == pytest.approx(row.tflops / small_gpu.peak_tflops)
    assert measured_times("NVIDIA B20", tmp_path) is None
    (tmp_path / "b20.csv").write_text("M,N,K,dtype,kernel,ms\n128,128,64,float16,step 1,0.5\n")
    times = measured_times("NVIDIA B20", tmp_path)
    assert times is not None and times.ms(1, (128, 128, 64), "float16") == 0.5


@pytest.mark.compiler
def test_a_new_architecture_brings_its_kernels_and_its_limits(small_architecture: Architecture) -> None:
    assert arch_folder("sm_110a") == "sm110"
    kernel = load_kernels(default_kernels())[8](256, 256, 128)
    lowered = lower(kernel)
    assert lowered.launch is not None and lowered.launch.smem_bytes > small_architecture.smem_per_cta
    with pytest.raises(TirxError, match="a CTA can have 101,376"):
        build(lowered, "sm_110a")
    a, b, d = (np.zeros(shape, np.float16) for shape in ((256, 128), (256, 128), (256, 256)))
    report = tvm.simulate(kernel, a, b, d, gpu=replace(B200, architecture=small_architecture))
    assert [finding.kind for finding in report.findings] == ["shared-memory-limit"]


def test_one_cta_has_an_sm_to_itself_where_two_do_not_fit(small_architecture: Architecture) -> None:
    lowered = lower(load_kernels(default_kernels())[5](128, 128, 128))
    assert lowered.launch is not None and 102_400 < 2 * lowered.launch.smem_bytes < BLACKWELL.smem_per_sm
    assert "__launch_bounds__(128)" in cuda_source(lowered).text
    assert "__launch_bounds__(128, 1)" in cuda_source(lowered, small_architecture.name).text
