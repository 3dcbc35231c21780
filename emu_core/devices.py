"""Which devices this machine can train on."""

from dataclasses import dataclass

from emu_core.errors import TrainingError


@dataclass(frozen=True)
class Device:
    """A device by the name torch takes and the label people read."""

    name: str
    label: str


def available_devices() -> tuple[Device, ...]:
    """Every device, the fastest first; the CPU is always among them."""
    import torch

    gpus = [
        Device(f"cuda:{i}", f"{torch.cuda.get_device_name(i)} (GPU {i})") for i in range(torch.cuda.device_count())
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
