"""How predictions were made and how far they hold, in sentences beside every table of them."""

from collections.abc import Mapping
from typing import Any

from emu_core.data.languages import language_name, ordered
from emu_core.data.wording import counted, listed
from emu_core.intents.factors import Rule
from emu_core.intents.model import PROMISED


def prediction_notes(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences on a classifier's accuracy, threshold and calibration, and its notes.

    Args:
        facts: `PredictionFacts`.
    """
    lines = []
    if facts["accuracy"] is not None:
        lines.append(
            f"{facts['accuracy']:.1f} % of held-out labelled sentences are predicted correctly, by {_rule(facts)}."
        )
    if facts["threshold"] is not None:
        lines.append(_threshold(facts))
    if facts["adapted"]:
        lines.append(
            f"Confidence and threshold are calibrated by the unlabelled sentences in "
            f"{listed(map(language_name, ordered(facts['adapted'])), 6)}."
        )
    if facts["unlabelled"]:
        lines.append(
            f"Unlabelled sentences in {listed(map(language_name, ordered(facts['unlabelled'])), 6)} also decide: those "
            "that seem to be about an intent show where others of it are."
        )
    return [*lines, *facts["notes"]]


def _rule(facts: Mapping[str, Any]) -> str:
    """Return what decides in words."""
    rule = "a logistic regression"
    if facts["rule"] == Rule.BOTH:
        rule += " and the nearest ones together"
    return f"{rule}, with the names of {counted(facts['names'], 'intent')}" if facts["names"] else rule


def _threshold(facts: Mapping[str, Any]) -> str:
    """Return what the threshold finds, and what it rejects."""
    kind = "a cosine" if facts["threshold_is_cosine"] else "a score"
    shares = []
    if facts["new_found"] is not None:
        shares.append(f"{facts['new_found']:.0f} % of the sentences of intents that are left out")
    if facts["none_found"] is not None:
        labelled = counted(facts["none_of_these"], "sentence")
        shares.append(f"{facts['none_found']:.0f} % of {labelled} labelled as none of the intents")
    line = f"No known intent below {kind} of {facts['threshold']:.3f}"
    if shares:
        line += f", which finds {' and '.join(shares)}"
    if not facts["threshold_is_given"]:
        line += f" and rejects at most {100 * (1 - PROMISED):.0f} % of the right intents"
    return f"{line}."
