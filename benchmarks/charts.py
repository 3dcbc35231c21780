"""Measure how long each chart takes to build with twelve panels, or as many series as it may get.

    python -m benchmarks.charts [--times 5]

Prints one JSON object per line: the chart, its processor time in seconds, and its ratio to Plotly's own empty grid of
twelve panels, both medians of turns that alternate. The target is 0.3 s.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from emu_core import charts
from emu_core.charts.attention import Bar, TokenKind
from emu_core.evaluation.changes import Verdict
from emu_core.evaluation.film import Film
from emu_core.runs.log import Record, RecordKind

PANELS, EPOCHS, STEPS, POINTS = 12, 20, 1_000, 5_000
SNAPSHOT = 2_000  # sentences of an animation, as runs store them
LIMIT_S = 0.3


def log() -> list[Record]:
    """Return a log in two stages whose curves fill all panels."""
    parts = {f"part {number}": 1.0 + number for number in range(PANELS - 2)}  # beside the loss and the score
    records = []
    for step in range(1, STEPS + 1):
        epoch = -(-step * EPOCHS // STEPS)
        stage = "first" if epoch <= EPOCHS / 2 else "second"
        records.append(
            Record(kind=RecordKind.STEP, step=step, epoch=epoch, loss=1.0, stage=stage, figures=parts)
        )
        if step * EPOCHS % STEPS == 0:
            score = {"dev_accuracy": 50.0 + epoch, "stage": stage}
            records.append(Record(kind=RecordKind.EPOCH, step=step, epoch=epoch, loss=1.0, **score))
    return records


def points(intents: int) -> pd.DataFrame:
    """Return sentences of so many intents in twelve languages."""
    numbers = np.arange(POINTS)
    words = {"text": "sentence", "intent": "intent", "language": "language"}
    counts = {"text": POINTS, "intent": intents, "language": PANELS}
    columns = {name: [f"{words[name]} {number % counts[name]}" for number in numbers] for name in words}
    return pd.DataFrame(columns | {"row": numbers.astype(np.int32)})


def builders() -> dict[str, Callable[[], go.Figure]]:
    """Return a call of each chart by its name."""
    rng, history, many = np.random.default_rng(0), log(), range(PANELS)
    tokens = [Bar(f"token {number}", [*TokenKind][number % 4]) for number in range(40)]
    names = [f"name {number}" for number in range(52)]
    guard = pd.DataFrame({"language": names, "difference": 1.0, "low": 0.0, "high": 2.0, "queries": 100})
    square = pd.DataFrame(rng.random((20, 20)), index=names[:20], columns=names[:20])
    sentences, two_maps = points(60), rng.random((2, POINTS, 2), dtype=np.float32)
    words = points(60).rename(columns={"text": "word"})
    epochs = rng.random((5, SNAPSHOT, 2), dtype=np.float32)
    accuracies = pd.DataFrame(rng.random((5, PANELS)), columns=names[:PANELS])
    film = Film(sentences.head(SNAPSHOT), tuple(names[:5]), epochs, accuracies, "Acc@1")
    rounds = pd.DataFrame({"labels": range(50), "base": 50.0, "fitted": 60.0})
    return {
        "loss_curves": lambda: charts.loss_curves(history),
        "loss_curves, twelve runs": lambda: charts.loss_curves({names[run]: history for run in many}),
        "held_out_curves": lambda: charts.held_out_curves({names[run]: history for run in many}),
        "labelling_curve": lambda: charts.labelling_curve(rounds),
        "spectrum_lines": lambda: charts.spectrum_lines(
            {names[panel]: {"en": np.arange(11.0), "de": np.arange(11.0)} for panel in many}
        ),
        "psi_distributions": lambda: charts.psi_distributions(
            {names[run]: rng.random(1_000) for run in range(8)}
        ),
        "attention_bars": lambda: charts.attention_bars(
            tokens, {names[panel]: [0.025] * 40 for panel in many}
        ),
        "triple_picture": lambda: charts.triple_picture(
            {names[panel]: (0.1, 0.2, 0.3) for panel in many}, ("a", "b", "c")
        ),
        "change_intervals": lambda: charts.change_intervals(guard.assign(verdict=Verdict.BETTER.value)),
        "class_balance": lambda: charts.class_balance(pd.DataFrame(7, index=names, columns=names[:PANELS])),
        "confusion_matrix": lambda: charts.confusion_matrix(square, "confusions"),
        "accuracy_matrix": lambda: charts.accuracy_matrix(square, "accuracy"),
        "similarity_matrix": lambda: charts.similarity_matrix(
            square.to_numpy(), names[:20], "cosines", (0.0, 1.0)
        ),
        "word_map": lambda: charts.word_map(two_maps[0], words),
        "sentence_maps, two of 60 intents": lambda: charts.sentence_maps(
            dict(zip("AB", two_maps, strict=True)), sentences, "intent"
        ),
        "animation": lambda: charts.animation(film),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long each chart takes to build.")
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times

    def taken(build: Callable[[], go.Figure]) -> float:
        start = time.process_time()
        build()
        return time.process_time() - start

    for name, build in builders().items():
        build()  # the first call imports Plotly's modules
        turns = [(taken(build), taken(lambda: make_subplots(rows=PANELS // 2, cols=2))) for _ in range(times)]
        seconds, grid = (statistics.median(side) for side in zip(*turns, strict=True))
        facts = {"seconds": round(seconds, 3), "ratio": round(seconds / grid, 1), "limit_s": LIMIT_S}
        print(json.dumps({"chart": name} | facts))


if __name__ == "__main__":
    main()
