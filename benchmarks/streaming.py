"""Measure the peak memory and the CPU time of `emu embed` and `emu predict`.

    python -m benchmarks.streaming [--rows 1000000] [--encoder use]
    python -m benchmarks.streaming --pool 100000 [--rows 1000000] [--encoder use]

With `--pool`, `emu predict` finds the rows' intents in a pool of that many labelled sentences. Prints one JSON object.
Linux and macOS only.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = "where is the pool when does breakfast open a towel in my room please"
INTENTS = 50


def write_rows(path: Path, rows: int, seed: int) -> None:
    """Write distinct sentences of ten words in `INTENTS` intents."""
    draw, words = random.Random(seed), WORDS.split()  # noqa: S311 - no secret
    with path.open("w") as file:
        file.write("text,intent,language\n")
        for number in range(rows):
            file.write(f"{' '.join(draw.choices(words, k=9))} {number},i{number % INTENTS},en\n")


def main() -> None:
    """Write the sentences, run the command in a process of its own, and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pool", type=int, metavar="ROWS", help="labelled sentences to predict from")
    parser.add_argument("--encoder", default="use")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
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
