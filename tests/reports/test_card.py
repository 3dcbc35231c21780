"""The evaluation in the model card."""

import json
from dataclasses import asdict
from typing import Any

from emu_core.evaluation.guard import LanguageChange
from emu_core.evaluation.leakage import Leakage
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports.card import model_card
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import LabelledFacts

CONFIG = Plan("emu", "small", {"adversary": "none"}, encoder="use", train_languages=("en",))
DATA = LabelledFacts(name="small", labelled=9, intents=2)


def card(**metrics: Any) -> str:
    measured = {
        "warnings": [], "split": "test", "base": {"en-en": 50.0}, "specialised": {"en-en": 60.0},
        "counts": {"en-en": 10}, "mean_base": 50.0, "mean_specialised": 60.0, "mean_over": "all directions",
    }  # fmt: skip
    return model_card("r", CONFIG, DATA, Metrics.from_json(json.loads(json.dumps(measured | metrics))))


def guard(**differences: tuple[float, float, float]) -> dict[str, Any]:
    return {code: asdict(LanguageChange(*numbers, 20)) for code, numbers in differences.items()}


def test_each_language_that_loses_or_may_lose_is_named_in_bold() -> None:
    text = card(
        guard=guard(en=(9.0, 1.0, 17.0), de=(-8.0, -15.0, -1.0), ko=(-2.0, -9.0, 5.0), fr=(0.0, -9.0, 9.0))
    )
    bold = [line for line in text.splitlines() if line.startswith("**") and line.endswith("**")]
    loses, may = (
        next(line for line in bold if line.startswith(start)) for start in ("**Loses", "**May lose")
    )
    assert "German (de, -8.0 points)" in loses and "Korean (ko, -2.0 points)" in may
    assert "English" not in loses + may and "French" not in loses + may
    section = text.split("## Language guard")[1].split("##")[0]
    assert "| de | -8.0 | -15.0 to -1.0 | 20 | loses |" in section
    assert "| fr | +0.0 | -9.0 to +9.0 | 20 | no clear change |" in section
    assert "No language is seen to lose" not in text


def test_no_loss_is_said_too() -> None:
    assert "No language is seen to lose." in card(guard=guard(en=(9.0, 1.0, 17.0), fr=(0.0, -9.0, 9.0)))


def test_a_run_that_was_not_guarded_says_why() -> None:
    text = model_card("r", CONFIG, DATA, Metrics(note="no rows", guard=None, leakage=None))
    assert "**Not guarded: no sentences were held out" in text
    assert "No language is seen to lose" not in text and "## Language leakage" not in text


def test_what_intents_without_labels_lose_is_said_and_that_they_were_too_few() -> None:
    found = {
        "base": 70.0,
        "specialised": 62.0,
        **guard(en=(-8.0, -15.0, -1.0))["en"],
        "divisions": 2,
        "strength": None,
    }
    line = (
        "Sentences of intents without labels: Acc@1 70.0 → 62.0 %, -8.0 points (95 %: -15.0 to -1.0): loses."
    )
    assert f"**{line}**" in card(new_intents=found).split("## New-intent guard")[1]
    gained = found | {"verdict": "gains"}
    assert "**Sentences of intents" not in card(new_intents=gained) and "1.0): gains." in card(
        new_intents=gained
    )
    assert "stronger" not in card(new_intents=gained)
    used = {"whitening": 0.45, "share": 0.4, "is_stronger": True, "gain": 1.31, "error": 0.19}
    assert "was chosen (0.45, with a share of 0.4)" in card(new_intents=gained | {"strength": used})
    assert "rose by 1.3 points (standard error 0.2)" in card(new_intents=gained | {"strength": used})
    assert "stronger" not in card(new_intents=gained | {"strength": used | {"is_stronger": False}})
    assert "takes four labelled intents" in card(new_intents=None)
    assert "New-intent" not in card()  # of a method that does not measure it


def test_leakage_stands_beside_chance() -> None:
    base, new = Leakage(90.0, 25.0, 60.0, 24.9, 400, 4), Leakage(40.0, 25.0, 30.0, 24.9, 400, 4)
    text = card(guard=guard(en=(1.0, 0.5, 2.0)), leakage={"base": asdict(base), "specialised": asdict(new)})
    assert "400 held-out sentences predict which of 4 languages" in text
    assert "| a linear probe (balanced accuracy) | 90.0 | 40.0 | 25.0 |" in text
    assert "| the nearest neighbours (share in the own language) | 60.0 | 30.0 | 24.9 |" in text


def test_warnings_are_said_of_a_run_without_measures_too() -> None:
    text = model_card("r", CONFIG, DATA, Metrics(note="no rows", warnings=("the vectors have collapsed",)))
    assert "Not measured: no rows." in text and "- the vectors have collapsed" in text
