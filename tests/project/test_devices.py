"""Devices and precisions: what is named, what the processor has, and what a run is computed in."""

import pytest
import torch

from emu_core import devices
from emu_core.devices import (
    Device,
    Precision,
    RunPrecision,
    encoding_precision,
    has_bf16,
    on_every_machine,
    pick_device,
    pick_precision,
    split_device,
    with_precision,
)
from emu_core.errors import Fix, TrainingError
from emu_core.runs.config import RunConfig
from tests.support.raises import raises


@pytest.fixture
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the environment nor a launcher names a precision."""
    for name in ("EMU_PRECISION", "ACCELERATE_MIXED_PRECISION", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def native(nothing_named: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor, and GPUs, that multiply in bfloat16."""
    monkeypatch.setattr(devices, "has_bf16", lambda device: True)


@pytest.mark.parametrize("instruction", ["avx512_bf16", "amx_bf16", "avx2", "amx_int8"])
def test_the_processor_has_bf16_if_torch_knows_its_instructions(
    instruction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"avx512_bf16": False, "amx_bf16": False, "avx2": True, instruction: True}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found)
    assert has_bf16("cpu") == instruction.endswith("bf16")
    assert not has_bf16("mps")


def test_torch_names_the_instructions_that_are_asked_for() -> None:
    known = torch.cpu.get_capabilities()
    assert known["architecture"] != "x86_64" or {"avx512_bf16", "amx_bf16"} <= known.keys()


@pytest.mark.parametrize(
    ("device", "name", "precision"),
    [
        ("cpu", "cpu", ""),
        ("cpu:fp32", "cpu", "fp32"),
        ("auto:bf16", "auto", "bf16"),
        ("cuda:0", "cuda:0", ""),
        ("cuda:1:bf16", "cuda:1", "bf16"),
        ("cpu:auto", "cpu", "auto"),
        ("cpu:fp16", "cpu:fp16", ""),
        ("fp32", "fp32", ""),
    ],
)
def test_a_precision_is_named_after_a_device(device: str, name: str, precision: str) -> None:
    assert split_device(device) == (name, precision)
    assert with_precision(device, "bf16") == f"{name}:bf16"
    assert with_precision(device, "") == name


def test_the_picked_device_keeps_the_precision() -> None:
    assert pick_device("cpu:fp32") == "cpu:fp32" and pick_device("cpu") == "cpu"
    assert pick_device("auto:bf16") == f"{pick_device()}:bf16"
    with raises(TrainingError, fix=None, match="'cpu:fp16'"):
        pick_device("cpu:fp16")


def test_vectors_are_in_bf16_by_themselves_only_on_a_processor_that_has_it(native: None) -> None:
    assert encoding_precision("cpu") is encoding_precision("cpu:auto") is Precision.BF16
    assert encoding_precision("cpu:fp32") is Precision.FP32
    assert encoding_precision("cuda:0") is Precision.FP32  # as it was
    assert encoding_precision("cuda:0:bf16") is Precision.BF16
    assert encoding_precision("cpu", alone=False) is Precision.FP32
    assert Device("cpu", "CPU").precisions == "bf16 and fp32, vectors in bf16"


def test_they_are_in_fp32_on_any_other(nothing_named: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_bf16", lambda device: False)
    assert encoding_precision("cpu") is Precision.FP32
    assert encoding_precision("cpu:bf16") is Precision.BF16
    assert Device("cpu", "CPU").precisions == "fp32"


def test_several_processes_share_one_precision(native: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_every_machine("auto") == "auto:fp32" and on_every_machine("cpu:bf16") == "cpu:bf16"
    monkeypatch.setenv("EMU_PRECISION", "bf16")
    assert on_every_machine("auto") == "auto:bf16"
    monkeypatch.delenv("EMU_PRECISION")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert encoding_precision("cpu") is Precision.FP32


def test_the_environment_names_it_where_the_device_does_not(
    native: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value, expected in (("fp32", "fp32"), ("bf16", "bf16"), ("auto", "bf16"), ("", "bf16")):
        monkeypatch.setenv("EMU_PRECISION", value)
        assert encoding_precision("cpu") == expected
    monkeypatch.setenv("EMU_PRECISION", "fp32")
    assert encoding_precision("cpu:bf16") is Precision.BF16
    monkeypatch.setenv("EMU_PRECISION", "fp8")
    with raises(TrainingError, fix=None, match="EMU_PRECISION is 'fp8'"):
        encoding_precision("cpu")


@pytest.mark.parametrize(
    ("asked", "device", "launcher", "expected"),
    [
        (None, "cpu", "", "bf16-vectors"),
        ("auto", "cpu", "no", "bf16-vectors"),
        (None, "cpu:fp32", "", "fp32"),
        (None, "cuda:0", "", "fp32"),
        ("fp32", "cpu", "", "fp32"),
        ("fp32", "cpu:bf16", "bf16", "fp32"),
        ("bf16", "cuda:0", "", "bf16"),
        (None, "cuda:0", "bf16", "bf16"),
    ],
)
def test_a_run_trains_in_fp32_unless_bf16_is_named(
    asked: str | None,
    device: str,
    launcher: str,
    expected: str,
    native: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if launcher:
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launcher)
    assert pick_precision(asked, device) == expected


def test_training_in_bf16_is_refused_where_it_is_emulated(
    nothing_named: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "has_bf16", lambda device: False)
    assert pick_precision(None, "cpu") is RunPrecision.FP32
    with raises(TrainingError, fix=Fix("precision", "fp32"), match="'cpu' has no bf16"):
        pick_precision("bf16", "cpu:bf16")
    for unknown in ("fp16", "bf16-vectors"):
        with raises(TrainingError, fix=None, match=f"'{unknown}'"):
            pick_precision(unknown, "cpu")


@pytest.mark.parametrize(
    ("precision", "of_vectors", "of_steps"),
    [("fp32", "fp32", "fp32"), ("bf16-vectors", "bf16", "fp32"), ("bf16", "bf16", "bf16")],
)
def test_a_runs_precision_is_that_of_its_vectors_and_of_its_steps(
    precision: str, of_vectors: str, of_steps: str
) -> None:
    config = RunConfig("head", "demo", {}, device="cuda:0", precision=precision)
    assert config.encoder_device == f"cuda:0:{of_vectors}"
    assert config.step_precision == of_steps


@pytest.mark.parametrize(("cuda", "reason"), [(None, "built for CPUs"), ("12.4", "with a driver")])
def test_why_there_is_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch, cuda: str | None, reason: str) -> None:
    only_cpu = (devices.Device("cpu", "CPU, 2 threads"),)
    monkeypatch.setattr(devices, "available_devices", lambda: only_cpu)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", None, raising=False)
    assert reason in devices.why_no_gpu()
    monkeypatch.setattr(devices, "available_devices", lambda: (devices.Device("cuda:0", "GPU"), *only_cpu))
    assert devices.why_no_gpu() == ""
