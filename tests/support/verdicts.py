"""Five runs, of which the verdict is better, worse, mixed, of few sentences, and of none, with what they measured."""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.evaluation.comparison import Comparison, Trained
from emu_core.evaluation.prediction import Predicted, RightIntents, Share, right_intents
from emu_core.evaluation.run_metrics import Metrics
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.run import Run, RunState, Status
from tests.support.fake_runs import past
from tests.support.sentences import random_sentences

LANGUAGES = ("en", "de", "ja")
CONFIG = Plan("emu", "tiny", {}, encoder="use", train_languages=("en",))
FACTS = LabelledFacts(name="tiny", labelled=72, intents=6)
KINDS = ("better", "worse", "mixed", "tiny", "nothing")
SECONDS, MEMORY_MB = 12.0, 640.4


@dataclass(frozen=True)
class Case:
    """What was measured of a run, and the comparison with its base that has the same figures."""

    metrics: Metrics
    comparison: Comparison | None  # None if nothing was held out

    def stored(self, root: Path, name: str) -> Run:
        """Return a finished run with these metrics."""
        status = Status(state=RunState.FINISHED, started_at=1.0)
        return past(root, name, status, json.loads(json.dumps(self.metrics.to_json())))


def answers(right: NDArray[np.bool_], frame: pd.DataFrame, *, found: int) -> Predicted:
    """The answers of an intent model of which some are right, and one in ten rejected."""
    known = np.arange(len(right)) % 10 > 0
    groups = np.unique(frame["id"], return_inverse=True)[1]
    return Predicted(
        72, "both", tuple(frame["language"]), groups, right, known, Share(0, 0), Share(found, 200)
    )


def intents_of(
    frame: pd.DataFrame, before: dict[str, float], after: dict[str, float], found: int
) -> RightIntents:
    """How many intents are right, given the share in each language before and after.

    Of 200 sentences of unknown intents, 120 are found before, and so many after.
    """
    spoken = frame["language"].to_numpy()
    sides = []
    for shares in (before, after):
        right = np.zeros(len(frame), dtype=bool)
        for code in set(spoken):
            rows = np.flatnonzero(spoken == code)
            right[rows[: round(shares[code] * len(rows))]] = True
        sides.append(right)
    measured = right_intents(answers(sides[0], frame, found=120), answers(sides[1], frame, found=found))
    assert measured is not None
    return measured


@cache
def case(kind: str) -> Case:
    """Return the run of a kind."""
    if kind == "nothing":
        return Case(
            Metrics(note="no rows of split test or dev", seconds=SECONDS, peak_memory_mb=MEMORY_MB), None
        )
    count = 22 if kind == "tiny" else 360
    data = random_sentences(count, LANGUAGES, seed=6)
    noise = 1.2 * np.random.default_rng(1).normal(size=data.vectors.shape)
    frame = pd.DataFrame(
        {
            "text": [f"sentence {row}" for row in range(count)],
            "intent": data.intents,
            "language": data.languages,
            "id": data.ids,
        }
    )
    low, high = dict.fromkeys(LANGUAGES, 0.3), dict.fromkeys(LANGUAGES, 0.6)
    shares = {
        "better": (low, high),
        "worse": (high, low),
        "mixed": (low, {"en": 0.6, "de": 0.1, "ja": 0.3}),
        "tiny": (low, high),
    }
    sides = [(data.vectors + noise).astype(np.float32), data.vectors]
    before, after = sides if kind != "worse" else sides[::-1]
    trained = Trained(SECONDS, peak_memory_mb=MEMORY_MB)
    comparison = Comparison(
        frame,
        before,
        after,
        ("use", kind),
        intents=intents_of(frame, *shares[kind], 90 if kind == "worse" else 118),
        trained=trained,
    )
    accuracies: Any = [measured.accuracy for measured in comparison.measured]
    metrics = Metrics(
        seconds=SECONDS,
        peak_memory_mb=MEMORY_MB,
        split="test",
        languages=LANGUAGES,
        counts=accuracies[0].counts,
        base=accuracies[0].accuracy,
        specialised=accuracies[1].accuracy,
        mean_over=accuracies[0].mean_over,
        mean_base=accuracies[0].paper_mean,
        mean_specialised=accuracies[1].paper_mean,
        right_intents=comparison.intents,
        similar_sentences=comparison.similar,
    )
    return Case(metrics, comparison)


def of_many_languages(count: int) -> Metrics:
    """What was measured of a run in many languages."""
    metrics = case("better").metrics
    assert metrics.right_intents is not None
    change = metrics.right_intents.by_language["de"]
    by_language = {f"x{number:02}": change for number in range(count)}
    return replace(metrics, right_intents=replace(metrics.right_intents, by_language=by_language))
