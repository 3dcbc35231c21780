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


class Precision(StrEnum):
    """The floating-point type of the encoder's forward pass in training."""

    FP32 = "fp32"
    BF16 = "bf16"


@dataclass(frozen=True)
class Device:
    """A device: its name for torch and its label for people."""

    name: str
    label: str


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


def pick_device(name: str = "auto") -> str:
    """Return the name of a device; "auto" is the fastest, or the one that a launcher assigned to this process.

    Raises:
        TrainingError: this machine has no such device.
    """
    if launched() and name == "auto":
        return assigned_device()
    devices = [device.name for device in available_devices()]
    if name == "auto":
        return devices[0]
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in devices:
        raise TrainingError(f"no device '{name}' on this machine; there are: {', '.join(devices)}")
    return wanted


def pick_precision(name: str | None, device: str) -> Precision:
    """Return the named precision, or else that of the launcher (accelerate), or else float32.

    Raises:
        TrainingError: the name is unknown, or the device has no bf16.
    """
    asked = name or os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    try:
        precision = Precision.FP32 if asked == "no" else Precision(asked)
    except ValueError:
        raise TrainingError(f"no precision '{asked}'; there are: {', '.join(Precision)}") from None
    if precision is Precision.BF16 and not has_bf16(device):
        raise TrainingError(f"the device '{device}' has no bf16; use fp32: ", Fix("precision", "fp32"))
    return precision


def has_bf16(device: str) -> bool:
    """Return whether the device multiplies matrices in bfloat16 faster than in float32."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported(including_emulation=False)
    instructions = torch.cpu.get_capabilities() if device == "cpu" else {}
    return any(instructions.get(name, False) for name in ("avx512_bf16", "amx_tile"))


def reduced_precision(device: "torch.device") -> AbstractContextManager[object]:
    """Compute matrix products in bfloat16 (relative error about 1e-2) where the hardware supports it.

    For values that need little precision and no gradient, such as the vectors shown to a critic.
    """
    import torch

    fast = has_bf16(device.type)
    return torch.autocast(device.type, torch.bfloat16) if fast else nullcontext()
