"""Measure how long the search for the nearest of many labelled sentences takes.

10,000 of the sentences of all sets are encoded, and searched in a pool of the others, filled up with variations.
Prints CPU milliseconds a sentence of the encoder, the search, and the search with float32 products alone, measured in
turns, and how many answers both searches share.

    python -m benchmarks.prediction --data DATA --search 100000

DATA is a folder with sib200, home_assistant and native (banking77, clinc150, dialogflow_es, xsid).
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np

from emu_core.data.demo import load_demo
from emu_core.data.reading import Reading
from emu_core.data.sets import LabelledSet
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation import pool_search
from emu_core.formats.labelled import read_labelled
from emu_core.intents.answers import Answers
from emu_core.intents.model import IntentModel

SETS = {
    "BANKING77": "native/banking77",
    "CLINC150 (small)": "native/clinc150",
    "xSID": "native/xsid",
    "Dialogflow FAQ": "native/dialogflow_es",
    "Home Assistant": "home_assistant",
    "SIB-200": "sib200",
    "demo set": "",
}
HELD_OUT = 0.3  # of a set without splits
SEARCHED, TURNS = 10_000, 10


def sets(data: Path) -> Iterator[tuple[str, LabelledSet, LabelledSet]]:
    """Yield the name of each set, its pool and its queries."""
    for name, folder in SETS.items():
        whole = read_labelled(data / folder, reading=Reading(language="en"))[0] if folder else load_demo()
        whole = whole if whole.splits else whole.hold_out(HELD_OUT)
        held_out = whole.held_out_part()
        if held_out is None:
            raise SystemExit(f"{name} has no sentences to ask")
        # xSID has no split train; its dev sentences are the pool.
        yield name, whole.select(splits=["train"] if "train" in whole.splits else ["dev"]), held_out


def search(data: Path, encoder: Encoder, size: int) -> dict[str, object]:
    """Return the cost of a search among `size` sentences, and what rounding changes."""
    intents: dict[str, str] = {}
    for name, *parts in sets(data):
        for part in parts:
            intents |= {
                text: f"{name}: {intent}"
                for text, intent in zip(part.frame["text"], part.frame["intent"], strict=True)
            }
    texts = np.random.default_rng(0).permutation(np.array(list(intents), dtype=object)).tolist()
    queries, rest = texts[:SEARCHED], texts[SEARCHED:]
    words = (text.split()[0] for text in queries)
    pool = {text: intents[text] for text in rest}
    while len(pool) < size:
        word = next(words)
        pool |= {f"{word} {text}": intents[text] for text in rest}
    rows = list(pool)[:size]
    labels = [pool[text] for text in rows]
    fitted = IntentModel().fit(np.asarray(encoder.encode(rows)), labels, [""] * len(rows))
    vectors, times, least = (
        np.asarray(encoder.encode(queries)),
        np.empty((TURNS, 3)),
        pool_search.ROUNDED_FROM,
    )
    steps = len(queries) // TURNS
    answers: dict[int, list[Answers]] = {least: [], size + 1: []}
    for turn in range(TURNS):
        part = slice(turn * steps, (turn + 1) * steps)
        began = time.process_time()
        encoder.encode(queries[part])
        times[turn, 0] = time.process_time() - began
        for column, pool_search.ROUNDED_FROM in enumerate(answers, start=1):
            began = time.process_time()
            answers[pool_search.ROUNDED_FROM].append(fitted.predict(vectors[part], 3))
            times[turn, column] = time.process_time() - began
    pool_search.ROUNDED_FROM = least
    pairs = list(zip(*answers.values(), strict=True))
    encoding, searching, exact = (1e3 * np.median(times, axis=0) / steps).round(3).tolist()
    return {
        "pool": size,
        "intents": len(fitted.intents_),
        "rule": fitted.rule_.value,
        "is_rounded": pool_search.multiplies_bfloat16(),
        "encoding_ms": encoding,
        "search_ms": searching,
        "search_float32_ms": exact,
        "search_by_encoding": round(float(np.median(times[:, 1] / times[:, 0])), 2),
        "same_intent": float(np.mean([a.labels == b.labels for a, b in pairs])),
        "same_nearest": float(np.mean([(a.rows == b.rows).all(axis=1) for a, b in pairs])),
        "margin_difference": float(np.nanmax([np.abs(a.margins - b.margins) for a, b in pairs])),
    }


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--search", type=int, metavar="ROWS", default=SEARCHED)
    options = parser.parse_args()
    print(json.dumps(search(options.data, load_encoder(options.encoder), options.search)))


if __name__ == "__main__":
    main()
