"""Measure `emu predict`: what the pool chooses, against neighbours alone, on sentences that are not in the pool.

Prints a row for each set: accuracy (the mean of the query languages) by each rule and by the pool's choice; percent of
the right answers that the threshold rejects; percent of the sentences of left-out intents, and of those with none of
the intents, that it finds, with the AUROC of its score and of the nearest cosine; and CPU seconds that the choice and
the calibration take. Of sets without splits, 30 % are asked, translations and repeats together.

    python -m benchmarks.prediction --data DATA --encoder use --out benchmarks/results/prediction.csv

With --search ROWS, it measures instead how long 10,000 of all these sentences take to be encoded, and to be searched in
a pool of that many, filled up with variations of the others. Prints CPU milliseconds a sentence of the encoder, the
search, and the search with float32 products alone, measured in turns, and how many answers both searches share.

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
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from emu_core.data.demo import load_demo
from emu_core.data.reading import Reading
from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation import pool_search
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.vector_classifier import Answers, Rule, VectorClassifier
from emu_core.formats.labelled import read_labelled

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


def measured(pool: LabelledSet, queries: LabelledSet, encode: Encode) -> dict[str, object]:
    """Return a row of the table."""
    vectors, asked, none, strange = (
        np.asarray(encode(part["text"].tolist())) if len(part) else np.zeros((0, 1), dtype=np.float32)
        for part in (pool.frame, queries.frame, pool.none_of_these, queries.none_of_these)
    )
    truth, languages = queries.frame["intent"].to_numpy(), queries.frame["language"].tolist()
    groups = sentence_groups(pool.all_rows())
    started = time.process_time()
    fitted = VectorClassifier().fit(
        vectors,
        pool.frame["intent"].tolist(),
        groups[: len(pool)],
        languages=pool.frame["language"].tolist(),
        none=none,
        none_ids=groups[len(pool) :],
    )
    seconds = time.process_time() - started
    names = np.array(fitted.intents_, dtype=object)

    def accuracy(labels: NDArray[np.int64]) -> float:
        return 100 * float(pd.Series(names[labels] == truth).groupby(languages).mean().mean())

    answers = fitted.predict(asked, 1, languages)
    right = names[answers.labels] == truth
    row: dict[str, object] = {
        "pool": len(pool),
        "queries": len(queries),
        "intents": len(names),
        "rule": fitted.rule_.value,
        "accuracy": accuracy(answers.labels),
        "rejected": 100 * float((~answers.is_known[right]).mean()),
        "new_found": fitted.new_found_,
        "fit_cpu_s": seconds,
    }
    rule, votes = fitted.rule_, fitted.votes_
    for other, count in ((Rule.NEIGHBOURS, 1), (Rule.NEIGHBOURS, 10), (Rule.REGRESSION, 10), (Rule.BOTH, 10)):
        fitted.rule_, fitted.votes_ = other, count
        row[f"{other.value}_{count}"] = accuracy(fitted.predict(asked, 1).labels)
    fitted.rule_, fitted.votes_ = rule, votes
    if len(strange):
        row |= _of_none(fitted, asked, strange)
    return row


def _of_none(fitted: VectorClassifier, asked: FloatArray, strange: FloatArray) -> dict[str, object]:
    """Return how many sentences with none of the intents are found, and how well scores tell them apart."""
    is_known = np.repeat([True, False], [len(asked), len(strange)])
    both = np.concatenate([asked, strange])
    nearest = fitted.predict(both, 1).cosines[:, 0]
    return {
        "none_found": 100 * float((~fitted.predict(strange, 1).is_known).mean()),
        "auroc": float(roc_auc_score(is_known, fitted.scores(both))),
        "auroc_cosine": float(roc_auc_score(is_known, nearest)),
    }


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
    fitted = VectorClassifier().fit(np.asarray(encoder.encode(rows)), labels, [""] * len(rows))
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
    """Print a table, and write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--only", nargs="*", choices=list(SETS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--search", type=int, metavar="ROWS")
    options = parser.parse_args()
    encoder, rows = load_encoder(options.encoder), []
    if options.search:
        print(json.dumps(search(options.data, encoder, options.search)))
        return
    for name, pool, queries in sets(options.data):
        if options.only and name not in options.only:
            continue
        rows.append({"set": name, "encoder": options.encoder, **measured(pool, queries, encoder.encode)})
        print(pd.DataFrame(rows[-1:]).to_json(orient="records", lines=True).strip(), flush=True)
    if options.out:
        pd.DataFrame(rows).round(3).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
