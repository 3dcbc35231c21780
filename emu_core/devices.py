"""The devices of this machine, and the precision of their arithmetic."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from emu_core.errors import Fix, TrainingError
from emu_core.processes import assigned_device, launched

if TYPE_CHECKING:
    import torch


AUTO = "auto"
PRECISION_VARIABLE = "EMU_PRECISION"  # names the precision of vectors where a device names none


class Precision(StrEnum):
    """The floating-point type of an encoder's forward pass."""

    FP32 = "fp32"
    BF16 = "bf16"


class RunPrecision(StrEnum):
    """The precision of a run: in training, and of the vectors that it measures and fits on."""

    FP32 = "fp32"
    BF16_VECTORS = "bf16-vectors"
    """It trains in float32."""
    BF16 = "bf16"


@dataclass(frozen=True)
class Device:
    """A device: its name for torch and its label for people."""

    name: str
    label: str

    @property
    def precisions(self) -> str:
        """The precisions that are of use on the device, and that of vectors unless another is named."""
        known = "bf16 and fp32" if has_bf16(self.name) else "fp32"
        reduced = encoding_precision(self.name) is Precision.BF16
        return f"{known}, vectors in bf16" if reduced else known


def available_devices() -> tuple[Device, ...]:
    """Return all devices, the fastest first; the CPU is the last."""
    import torch

    gpus = [
        Device(f"cuda:{i}", f"{torch.cuda.get_device_name(i)} (GPU {i})")
        for i in range(torch.cuda.device_count())
    ]
    if torch.backends.mps.is_available():
        gpus.append(Device("mps", "Apple GPU"))
    threads = torch.get_num_threads()
    return (*gpus, Device("cpu", f"CPU, {threads} thread{'s' * (threads != 1)}"))


def why_no_gpu() -> str:
    """Return why only the CPU is available, and what would change that, in a sentence; "" if there is a GPU."""
    import torch

    if available_devices()[0].name != "cpu":
        return ""
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return "no GPU is used, since this PyTorch was built for CPUs; install the one for your GPU, and start again"
    return "no GPU is used, since PyTorch finds none with a driver on the machine where this runs"


def pick_device(name: str = AUTO) -> str:
    """Return the name of a device; "auto" is the fastest, or the one that a launcher assigned to this process.

    A precision after it stays: "auto:fp32" gives "cpu:fp32". See `encoding_precision`.

    Raises:
        TrainingError: this machine has no such device.
    """
    asked, precision = split_device(name)
    if launched() and asked == AUTO:
        return with_precision(assigned_device(), precision)
    devices = [device.name for device in available_devices()]
    wanted = {AUTO: devices[0], "cuda": "cuda:0"}.get(asked, asked)
    if wanted not in devices:
        raise TrainingError(f"no device '{asked}' on this machine; there are: {', '.join(devices)}")
    return with_precision(wanted, precision)


def free_memory(device: str) -> tuple[int, int] | None:
    """Return the free bytes of a GPU's memory, and all of them; None of another device, and where it can't be asked."""
    import torch

    if not device.startswith("cuda"):
        return None
    try:
        return torch.cuda.mem_get_info(device)
    except RuntimeError:  # it is full, or was lost
        return None


def run_precisions(device: str) -> tuple[RunPrecision, ...]:
    """Return the precisions in which a run can be trained on a device, the default first."""
    fast = (RunPrecision.BF16,) if has_bf16(split_device(device)[0]) else ()
    return tuple(dict.fromkeys((pick_precision(None, device), RunPrecision.FP32, *fast)))


def split_device(device: str) -> tuple[str, str]:
    """Return a device, and the precision that is named after it: "cuda:0:bf16" is ("cuda:0", "bf16").

    The precision is "" if none is named.
    """
    name, _, last = device.rpartition(":")
    return (name, last) if name and last in (AUTO, *Precision) else (device, "")


def with_precision(device: str, precision: str) -> str:
    """Return a device with a precision named after it, instead of any that is; without one if that is ""."""
    name, _ = split_device(device)
    return f"{name}:{precision}" if precision else name


def encoding_precision(device: str, *, alone: bool = True) -> Precision:
    """Return the precision in which an encoder computes vectors on a device, such as "cpu" or "cuda:0:bf16".

    It is the one that is named after the device, or else that of the environment variable EMU_PRECISION. Unless either
    names one, it is bfloat16 on a CPU that has the instructions, where a transformer then takes a third of the time,
    and float32 elsewhere: on a GPU, where that was not measured, and if several processes share the work, since some of
    them may be on machines without the instructions.

    Args:
        device: a name, with or without a precision.
        alone: whether vectors are compared only with others of this process.

    Raises:
        TrainingError: EMU_PRECISION is no precision.
    """
    name, asked = split_device(device)
    if asked in ("", AUTO):
        asked = os.environ.get(PRECISION_VARIABLE, "") or AUTO
    if asked == AUTO:
        native = alone and not launched() and name == "cpu" and has_bf16(name)
        return Precision.BF16 if native else Precision.FP32
    if asked not in list(Precision):
        raise TrainingError(
            f"{PRECISION_VARIABLE} is '{asked}'; set it to one of {', '.join((AUTO, *Precision))}"
        )
    return Precision(asked)


def on_every_machine(device: str) -> str:
    """Return a device with the precision named that processes on any machines share: float32 unless one is named."""
    return with_precision(device, encoding_precision(device, alone=False))


def pick_precision(asked: str | None, device: str) -> RunPrecision:
    """Return the precision of a run.

    Args:
        asked: of training and vectors, "fp32" or "bf16". None and "auto" take the launcher's (accelerate); without one,
            training is in float32, and the vectors are in the precision of `encoding_precision`.
        device: with or without a precision, which is that of the vectors.

    Raises:
        TrainingError: the name is unknown, or the device has no bf16.
    """
    asked = asked or AUTO
    if asked == AUTO and (of_launcher := os.environ.get("ACCELERATE_MIXED_PRECISION", "no")) != "no":
        asked = of_launcher
    if asked == AUTO:
        reduces = encoding_precision(device) is Precision.BF16
        return RunPrecision.BF16_VECTORS if reduces else RunPrecision.FP32
    if asked not in list(Precision):
        raise TrainingError(f"no precision '{asked}'; there are: {', '.join(Precision)}")
    name, _ = split_device(device)
    if asked == Precision.BF16 and not has_bf16(name):
        raise TrainingError(f"the device '{name}' has no bf16; use fp32: ", Fix("precision", "fp32"))
    return RunPrecision(asked)


def has_bf16(device: str) -> bool:
    """Return whether the device multiplies matrices in bfloat16 faster than in float32.

    torch's own list of a processor's instructions is read, which is public, is there on every system, and is of the
    library that would use them.
    """
    import torch

    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported(including_emulation=False)
    instructions = torch.cpu.get_capabilities() if device == "cpu" else {}
    return any(instructions.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def reduced_precision(device: "torch.device") -> AbstractContextManager[object]:
    """Compute matrix products in bfloat16 (relative error about 1e-2) where the hardware supports it.

    For values that need little precision and no gradient, such as the vectors shown to a critic.
    """
    import torch

    fast = has_bf16(device.type)
    return torch.autocast(device.type, torch.bfloat16) if fast else nullcontext()
