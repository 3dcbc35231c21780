"""The evaluation in the model card."""

import json
from dataclasses import replace
from typing import Any

from emu_core.evaluation.leakage import Leakage, LeakageChange
from emu_core.evaluation.run_metrics import Metrics, NewIntentMetrics, StrengthMetrics
from emu_core.reports.card import model_card
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import LabelledFacts
from tests.support.verdicts import case

CONFIG = Plan("emu", "small", {"adversary": "none"}, encoder="use", train_languages=("en",))
DATA = LabelledFacts(name="small", labelled=9, intents=2)


def card(**metrics: Any) -> str:
    measured = replace(case("mixed").metrics, **metrics)
    return model_card("r", CONFIG, DATA, Metrics.from_json(json.loads(json.dumps(measured.to_json()))))


def test_the_verdict_comes_first_in_bold_and_its_tables_follow() -> None:
    text = card()
    verdict = text.partition("## Verdict")[2].partition("##")[0]
    assert verdict.strip().startswith("**Names the intents ") and "worse in German" in verdict
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[:4] == [
        "## Verdict", "## Right intents", "## Similar sentences", "## Similar sentences by language pair",
    ]  # fmt: skip
    section = text.partition("## Right intents")[2].partition("##")[0]
    assert (
        "| German | 120 | 30.0 % | 10.0 % | -20.0 |" in section and section.rstrip().count("| worse |") == 1
    )


def test_a_run_that_was_not_measured_says_so() -> None:
    text = model_card("r", CONFIG, DATA, Metrics(note="no rows", leakage=None))
    assert "**No sentence was held out" in text and "## Language in the vectors" not in text
    assert "Right intents: not measured, as no sentence was held out." in text


def test_what_intents_without_labels_lose_is_said_and_that_they_were_too_few() -> None:
    found = NewIntentMetrics(70.0, 62.0, -8.0, -15.0, -1.0, 400, 2)
    line = (
        "Intents without labels: similar sentences 70 → 62 of 100 (-8.0 points, 95 %: -15.0 to -1.0): worse."
    )
    assert f"**{line}**" in card(new_intents=found).split("## Intents without labels")[1]
    gained = replace(found, low=1.0, high=3.0)
    assert "**Intents without" not in card(new_intents=gained) and "3.0): better." in card(new_intents=gained)
    assert "stronger" not in card(new_intents=gained)
    used = StrengthMetrics(0.45, 0.4, is_stronger=True, gain=1.31, error=0.19)
    with_used = replace(gained, strength=used)
    assert "was chosen (0.45, with a share of 0.4)" in card(new_intents=with_used)
    assert "rose by 1.3 points (standard error 0.2)" in card(new_intents=with_used)
    weaker = replace(gained, strength=replace(used, is_stronger=False))
    assert "stronger" not in card(new_intents=weaker)
    assert "takes four labelled intents" in card(new_intents=None)
    assert "Intents without" not in card()  # of a method that does not measure it


def test_leakage_stands_beside_chance() -> None:
    base, new = Leakage(90.0, 25.0, 60.0, 24.9, 400, 4), Leakage(40.0, 25.0, 30.0, 24.9, 400, 4)
    text = card(leakage=LeakageChange(base, new))
    assert "400 held-out sentences predict which of 4 languages" in text
    assert "| a linear probe (balanced accuracy) | 90.0 | 40.0 | 25.0 |" in text
    assert "| the nearest neighbours (share in the own language) | 60.0 | 30.0 | 24.9 |" in text


def test_warnings_are_said_of_a_run_without_measures_too() -> None:
    text = model_card("r", CONFIG, DATA, Metrics(note="no rows", warnings=("the vectors have collapsed",)))
    assert "No sentence was held out" in text and "**the vectors have collapsed**" in text
