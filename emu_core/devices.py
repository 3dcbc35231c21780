"""Which devices this machine can train on."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emu_core.errors import TrainingError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Device:
    """A device by the name torch takes and the label people read."""

    name: str
    label: str


def available_devices() -> tuple[Device, ...]:
    """Every device, the fastest first; the CPU is always among them."""
    import torch

    gpus = [
        Device(f"cuda:{i}", f"{torch.cuda.get_device_name(i)} (GPU {i})")
        for i in range(torch.cuda.device_count())
    ]
    if torch.backends.mps.is_available():
        gpus.append(Device("mps", "Apple GPU"))
    return (*gpus, Device("cpu", f"CPU, {torch.get_num_threads()} threads"))


def pick_device(name: str = "auto") -> str:
    """The device's name; "auto" takes the fastest. Raises TrainingError for one that is not here."""
    devices = [device.name for device in available_devices()]
    if name == "auto":
        return devices[0]
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in devices:
        raise TrainingError(f"no device '{name}' on this machine; there are: {', '.join(devices)}")
    return wanted


def reduced_precision(device: "torch.device") -> AbstractContextManager[object]:
    """Matrix products in bfloat16 where the hardware has it (about 1e-2 relative), float32 elsewhere.

    For what is measured roughly anyway and never differentiated, such as the sentences a critic is shown.
    """
    import torch

    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = device.type == "cpu" and (
            torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        )
    return torch.autocast(device.type, torch.bfloat16) if fast else nullcontext()
