"""Measure the peak memory and the CPU time of `emu embed` and `emu predict`.

    python -m benchmarks.streaming [--rows 1000000] [--encoder use]
    python -m benchmarks.streaming --pool 100000 [--rows 1000000] [--encoder use]
    python -m benchmarks.streaming --cores 1 2 1 2 [--rows 1000000] [--encoder use]

With `--pool`, `emu predict` finds the rows' intents in a pool of that many labelled sentences. Prints one JSON object.
With `--cores`, a Ray cluster on so many cores of this machine embeds the rows, with a worker of one thread on each, and
an object is printed for each number: the rate is that from the first finished part to the last, `load` that of the
machine at the end. Linux only, and without `--cores` macOS.
"""

import argparse
import json
import multiprocessing as mp
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import pandas as pd

WORDS = "where is the pool when does breakfast open a towel in my room please"
INTENTS = 50
FILE_ROWS = 100_000


def write_rows(path: Path, rows: int, seed: int) -> None:
    """Write distinct sentences of ten words in `INTENTS` intents."""
    draw, words = random.Random(seed), WORDS.split()  # noqa: S311 - no secret
    with path.open("w") as file:
        file.write("text,intent,language\n")
        for number in range(rows):
            file.write(f"{' '.join(draw.choices(words, k=9))} {number},i{number % INTENTS},en\n")


def on_cores(data: Path, out: Path, encoder: str, cores: int) -> None:
    """Embed a folder with a Ray cluster on some cores, and print the sentences a second."""
    os.sched_setaffinity(0, range(cores))  # those of the workers, which this process starts, too
    import ray

    from emu_core.cluster import embed_on_cluster

    moments: list[tuple[float, int]] = []
    ray.init("local", num_cpus=cores + 1, include_dashboard=False)  # one reads: it takes no time to speak of
    began = time.monotonic()
    rows = embed_on_cluster(
        [data],
        out=out,
        encoder=encoder,
        on_progress=lambda done, _: moments.append((time.monotonic(), done)),
    )
    seconds = time.monotonic() - began
    changes = [now for before, now in pairwise(moments) if now[1] > before[1]]
    (first, least), (last, most) = changes[0], changes[-1]
    facts = {
        "cores": cores,
        "rows": rows,
        "encoder": encoder,
        "per_second": round((most - least) / (last - first)),
        "seconds": round(seconds),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(facts), flush=True)


def main() -> None:
    """Write the sentences, run the command in a process of its own, and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pool", type=int, metavar="ROWS", help="labelled sentences to predict from")
    parser.add_argument("--encoder", default="use")
    parser.add_argument(
        "--cores", type=int, nargs="*", metavar="N", help="cores for the workers of a cluster"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.cores:
            table, mails = Path(folder) / "rows.csv", Path(folder) / "mails"
            write_rows(table, asked.rows, seed=0)
            mails.mkdir()
            for number, part in enumerate(pd.read_csv(table, chunksize=FILE_ROWS)):
                part.to_parquet(mails / f"{number:04}.parquet")
            for run, cores in enumerate(asked.cores):
                work = mp.get_context("spawn").Process(
                    target=on_cores, args=(mails, Path(folder) / f"out{run}", asked.encoder, cores)
                )
                work.start()
                work.join()
            return
        data, pool, out = (Path(folder) / name for name in ("rows.csv", "pool.csv", "out.parquet"))
        write_rows(data, asked.rows, seed=0)
        verb = ["embed"]
        if asked.pool is not None:
            write_rows(pool, asked.pool, seed=1)
            verb = ["predict", "--pool", str(pool)]
        command = [sys.executable, "-m", "emu_core", *verb, "--encoder", asked.encoder, "--out", str(out)]
        subprocess.run([*command, "--", str(data)], check=True, stdout=subprocess.DEVNULL)
        took = resource.getrusage(resource.RUSAGE_CHILDREN)
        facts = {
            "verb": verb[0],
            "rows": asked.rows,
            "pool": asked.pool,
            "encoder": asked.encoder,
            "cpu_seconds": round(took.ru_utime + took.ru_stime),
            "peak_mb": took.ru_maxrss * (1 if sys.platform == "darwin" else 1024) // 2**20,
            "file_mb": out.stat().st_size // 2**20,
        }
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
