"""Measure everything that needs a GPU, unattended and in under eight minutes: python -m benchmarks.gpu --out gpu.json.

Prints one JSON object with the card's name: CPU and GPU compared for every encoder and method that works offline,
sentences a second in float32 and bfloat16 as a share of the card's measured matrix products, training, memory, two GPUs
if there are two, and the error when memory runs out. Without a GPU everything runs on the CPU with small sizes, as the
result says, and the CPU is compared with itself.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from emu_core import configure, load_encoder, pretrain, train  # first: emu_core sets how OpenMP threads wait

# isort: split
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from emu_core.api.generate import generate
from emu_core.data.demo import load_demo
from emu_core.devices import has_bf16, pick_device
from emu_core.errors import EmuError
from emu_core.runs.log import Record
from emu_core.runs.run import Run
from tests.support.tiny_transformer import tiny_transformer

BUDGET_S = 450.0  # a part that would begin later is left out and reported
ENCODER_TOLERANCE = 1e-3  # of the largest difference of unit vectors
MEAN_TOLERANCE = 3.0  # points of mean accuracy: sums in another order, over one or two epochs
LOSS_TOLERANCE = 1e-3  # of the first step's loss, relative
EMU = ("emu", "emu-without-ld", "emu-without-ld-cl", "emu-parallel", "softmax", "contrastive", "n-pair")
Facts = dict[str, Any]


@dataclass
class Bench:
    """What the parts share."""

    device: str  # the device to measure, such as cuda:0
    folder: Path  # a temporary folder for runs
    texts: list[str]  # the demo set's sentences
    encoders: dict[str, str]  # the encoders to compare, by name; trained ones are added

    @property
    def is_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device != "cpu"

    def wait(self) -> None:
        """Wait until the device is idle."""
        if self.device.startswith("cuda"):
            torch.cuda.synchronize(self.device)

    def seconds(self, run: Callable[[], object], repetitions: int = 3) -> float:
        """Return the shortest of several times, after a warm-up."""
        run()
        times = []
        for _ in range(repetitions):
            self.wait()
            began = time.perf_counter()
            run()
            self.wait()
            times.append(time.perf_counter() - began)
        return min(times)


def reduced(device: str) -> AbstractContextManager[Any]:
    """Compute in bfloat16."""
    return torch.autocast(device.partition(":")[0], torch.bfloat16)


def card(bench: Bench) -> Facts:
    """Return the device, its libraries, and the rate of its matrix products in TFLOP/s."""
    facts: Facts = {"device": bench.device, "torch": torch.__version__, "cuda": torch.version.cuda}
    if bench.device.startswith("cuda"):
        properties = torch.cuda.get_device_properties(bench.device)
        facts |= {"name": properties.name, "memory_gb": round(properties.total_memory / 1e9, 1)}
    else:
        facts |= {"name": "no GPU: CPU, small sizes", "threads": torch.get_num_threads()}
    for precision in precisions(bench):
        facts[f"matmul_tflops_{precision}"] = round(matmul_rate(bench, precision) / 1e12, 3)
    return facts | {"matmul_size": _matmul_size(bench)}


def precisions(bench: Bench) -> list[str]:
    """Return the precisions of the device."""
    return ["fp32", "bf16"] if has_bf16(bench.device) else ["fp32"]


def _matmul_size(bench: Bench) -> int:
    return 8192 if bench.is_gpu else 1024


def matmul_rate(bench: Bench, precision: str) -> float:
    """Return floating-point operations a second in the product of two large square matrices."""
    size, kind = _matmul_size(bench), torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = (torch.randn(size, size, device=bench.device, dtype=kind) for _ in range(2))
    return 2.0 * size**3 / bench.seconds(lambda: a @ b, 10)


def trained_encoders(bench: Bench) -> Facts:
    """Train an encoder from scratch by both methods on both devices, and add it to the encoders to compare."""
    german, english = _translations(600 if bench.is_gpu else 200)
    files = [bench.folder / "text.de", bench.folder / "text.en"]
    for file, lines in zip(files, (german, english), strict=True):
        file.write_text("\n".join(lines) + "\n", "utf-8")
    settings = {
        "dual-encoder": {"epochs": 1, "layers": 2, "dim": 128, "heads": 4, "filter_dim": 256, "dropout": 0.0},
        "bicvm": {"epochs": 2, "dim": 64},
    }
    facts: Facts = {}
    for method, changes in settings.items():
        config = configure(method, **changes)
        runs, costs = _on_both(bench, method, partial(pretrain, files, method=method, config=config))
        facts[method] = _losses(*(run.history() for run in runs)) | costs
        bench.encoders[method] = f"run:{runs[0].folder}"
    return facts


def _on_both(bench: Bench, name: str, start: Callable[..., Run]) -> tuple[list[Run], Facts]:
    """Train on the CPU and on the device; return both runs, their seconds, and the peak memory of the second."""
    runs: list[Run] = []
    costs: Facts = {}
    for key, device in (("cpu_s", "cpu"), ("device_s", bench.device)):
        with _costs(bench) as found:
            runs.append(start(out=bench.folder / f"{name}-{len(runs)}", device=device))
        costs |= {key: found["seconds"], "peak_memory_mb": found["peak_memory_mb"]}
    return runs, costs


def _translations(rows: int) -> tuple[list[str], list[str]]:
    """Return German sentences of the demo set and their English translations."""
    frame = load_demo().frame
    wide = frame.pivot_table(index="id", columns="language", values="text", aggfunc="first")[
        ["de", "en"]
    ].dropna()
    return wide["de"].tolist()[:rows], wide["en"].tolist()[:rows]


def _losses(cpu: list[Record], other: list[Record]) -> Facts:
    """Compare the losses of the first step, since later ones drift apart."""
    on_cpu, on_device = (
        {"loss": log[0].loss} | {name: value for name, value in log[0].figures.items() if "loss" in name}
        for log in (cpu, other)
    )
    worst = max(abs(loss - on_device[name]) / max(abs(loss), 1e-6) for name, loss in on_cpu.items())
    return {
        "loss_difference": float(f"{worst:.1e}"),
        "equal": worst <= LOSS_TOLERANCE,
        "losses": list(on_cpu),
    }


def encoders(bench: Bench) -> Facts:
    """Compare each encoder's vectors on both devices, and measure sentences a second."""
    return {name: _encoder(bench, spec) for name, spec in bench.encoders.items()}


def _encoder(bench: Bench, spec: str) -> Facts:
    few = bench.texts[:: 12 if bench.is_gpu else 60]
    expected = _unit(load_encoder(spec, device="cpu").encode(few))
    encoder = load_encoder(spec, device=bench.device)
    largest = float(np.abs(_unit(encoder.encode(few)) - expected).max())
    many = bench.texts * 8 if bench.is_gpu else bench.texts[::12]
    facts: Facts = {
        "sentences": len(few),
        "largest_difference": float(f"{largest:.1e}"),
        "equal": largest <= ENCODER_TOLERANCE,
    }
    ids = encoder.token_ids(many)
    with FlopCounterMode(display=False) as counter:
        encoder.encode_ids(ids)
    flops = counter.get_total_flops() / len(ids)  # a sentence, including padding
    facts["gflop_a_sentence"] = round(flops / 1e9, 4)
    for precision in precisions(bench):
        card_rate = matmul_rate(bench, precision)  # measured now, so that a busy machine slows both
        with reduced(bench.device) if precision == "bf16" else nullcontext(), _costs(bench) as costs:
            rate = len(ids) / bench.seconds(lambda: encoder.encode_ids(ids), 2)
            vectors = _unit(encoder.encode(few))
        facts[precision] = {
            "sentences_a_second": round(rate),
            "tflops": round(rate * flops / 1e12, 4),
            "percent_of_matmul": round(100 * rate * flops / card_rate, 1),
            "worst_cosine_with_cpu": round(float((vectors * expected).sum(axis=1).min()), 5),
            "peak_memory_mb": costs["peak_memory_mb"],
        }
    return facts


def _unit(vectors: Any) -> Any:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


@contextmanager
def _costs(bench: Bench) -> Iterator[Facts]:
    """Measure the seconds and the peak of the GPU memory of the block; without a GPU, the peak of the whole process."""
    facts: Facts = {}
    is_cuda = bench.device.startswith("cuda")
    if is_cuda:
        torch.cuda.reset_peak_memory_stats(bench.device)
    began = time.perf_counter()
    yield facts
    facts["seconds"] = round(time.perf_counter() - began, 2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    facts["peak_memory_mb"] = round(
        (torch.cuda.max_memory_allocated(bench.device) if is_cuda else peak) / 1e6
    )


def methods(bench: Bench) -> Facts:
    """Compare each method on both devices: the first loss, the mean accuracy, and the time."""
    facts: Facts = {"head": _method(bench, "demo", "head", {})}
    for name in EMU if bench.is_gpu else EMU[:1]:
        facts[name] = _method(bench, "demo", name, {"epochs": 1})
    commands = bench.folder / "commands"
    generate(["en", "de"], 400 if bench.is_gpu else 60, 0, commands)
    for name in ("fmda", "meaning-language"):
        changes = {"epochs": 1} if bench.is_gpu else {"epochs": 1, "batch_size": 16}
        spec = "e5-small" if bench.is_gpu else bench.encoders["tiny hf"]
        facts[name] = _method(bench, str(commands), name, changes, spec, pairs=[("en", "de")])
    return facts


def _method(bench: Bench, data: str, name: str, changes: Facts, spec: str = "use", **more: Any) -> Facts:
    config = configure(name, spec, **changes)
    start = partial(train, data, method=name, encoder=spec, config=config, **more)
    runs, facts = _on_both(bench, f"run-{name}", start)
    logs = [run.history() for run in runs]
    if steps := [record for record in logs[1] if record.is_step]:
        facts |= _losses(*logs) | {"steps": len(steps)}
    means = [run.metrics().mean_specialised for run in runs]
    if all(run.metrics().is_measured for run in runs):
        difference = abs(means[0] - means[1])
        facts |= {"mean_accuracy": means, "equal_accuracy": difference <= MEAN_TOLERANCE}
    return facts


def training(bench: Bench) -> Facts:
    """Train with Emu in bfloat16 and in float32."""
    facts: Facts = {}
    spec = "e5-small" if bench.is_gpu else "use"
    config = configure("emu", spec, epochs=1)
    start = partial(train, "demo", method="emu", encoder=spec, config=config, device=bench.device)
    for kind in precisions(bench):
        with _costs(bench) as costs:
            run = start(out=bench.folder / f"precision-{kind}", precision=kind)
        facts[kind] = costs | {"mean_accuracy": run.metrics().mean_specialised}
    return facts


def two_gpus(bench: Bench) -> Facts:
    """Share a run between two GPUs, started by accelerate as in the documentation."""
    if torch.cuda.device_count() < 2:
        return {"left_out": f"there are {torch.cuda.device_count()} GPUs"}
    out = bench.folder / "two"
    command = "-m accelerate.commands.launch --multi_gpu --num_processes 2"
    command += f" -m emu_core train demo --method emu --epochs 1 --out {out}"
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command.split()], capture_output=True, text=True, check=False, timeout=180
    )
    facts: Facts = {"exit": done.returncode, "seconds": round(time.perf_counter() - began, 2)}
    if done.returncode:
        return facts | {"error": done.stderr[-1000:]}
    one, two = (Run(folder).metrics().mean_specialised for folder in (bench.folder / "run-emu-1", out))
    return facts | {"mean_accuracy": [one, two], "equal_accuracy": abs(one - two) <= MEAN_TOLERANCE}


def out_of_memory(bench: Bench) -> Facts:
    """Train with a batch that does not fit: the error must suggest one that does, as documented."""
    if not bench.device.startswith("cuda"):
        return {"left_out": "needs a GPU, whose memory can be limited for a process"}
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(bench.device).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, 3e9 / total), torch.device(bench.device))
    try:
        config = configure("emu", "e5-small", epochs=1, batch_size=1024)
        out = bench.folder / "oom"
        train("demo", out=out, method="emu", encoder="e5-small", config=config, device=bench.device)
    except EmuError as error:
        return {"error": str(error), "as_documented": "--batch-size" in str(error)}
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, torch.device(bench.device))
    return {"error": None, "as_documented": None}


PARTS = (card, trained_encoders, encoders, methods, training, two_gpus, out_of_memory)


def measure(bench: Bench) -> Facts:
    """Run every part; the error of a part that fails is reported, and the others run all the same."""
    began = time.perf_counter()
    result: Facts = {"benchmark": "gpu", "gpu": bench.is_gpu}
    for part in PARTS:
        since = time.perf_counter()
        name = part.__name__
        print(f"{since - began:6.1f} s  {name}", file=sys.stderr, flush=True)
        if since - began > BUDGET_S:
            result[name] = {"left_out": "no time left"}
            continue
        try:
            result[name] = part(bench)
        except Exception as error:  # unattended: the other parts must still run
            traceback.print_exc()
            result[name] = {"failed": f"{type(error).__name__}: {error}"}
        result[name]["seconds"] = round(time.perf_counter() - since, 1)
    return result | {"seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto", help="auto (default), cuda:0, cpu")
    parser.add_argument("--out", type=Path, help="a file to write the JSON to as well")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("EMU_PRECISION", "fp32")  # the CPU's vectors, with which a GPU's are compared
    try:
        tiny = tiny_transformer(folder / "tiny")
        specs = {"use": "use", "e5-small": "e5-small", "tiny hf": f"hf:{tiny}"}
        texts = load_demo().frame["text"].tolist()
        result = measure(Bench(pick_device(options.device), folder, texts, specs))
    finally:
        shutil.rmtree(folder)
    line = json.dumps(result, indent=1)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(line + "\n", "utf-8")
    print(line)


if __name__ == "__main__":
    main()
