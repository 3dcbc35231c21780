"""The most memory that `emu embed` takes, and how many sentences it embeds a second.

    python -m benchmarks.embed_memory [--rows 1000000] [--encoder use]

Prints one JSON object. Linux and macOS.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    "where",
    "is",
    "the",
    "pool",
    "when",
    "does",
    "breakfast",
    "open",
    "a",
    "towel",
    "in",
    "my",
    "room",
    "please",
]


def main() -> None:
    """Write the sentences, embed them in a process of its own, and look at what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--encoder", default="use")
    asked = parser.parse_args()
    draw = random.Random(0)  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "rows.csv", Path(folder) / "vectors.parquet"
        with data.open("w") as file:
            file.write("text,intent,language\n")
            for number in range(asked.rows):
                file.write(f"{' '.join(draw.choices(WORDS, k=9))} {number},i{number % 50},en\n")
        command = [sys.executable, "-m", "emu_core", "embed", str(data), "--encoder", asked.encoder]
        start = time.perf_counter()
        subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (
            1 if sys.platform == "darwin" else 1024
        )
        facts = {
            "rows": asked.rows,
            "encoder": asked.encoder,
            "seconds": round(seconds),
            "peak_mb": peak // 2**20,
        }
        print(json.dumps(facts | {"file_mb": out.stat().st_size // 2**20}))


if __name__ == "__main__":
    main()
