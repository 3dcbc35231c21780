"""How predictions were made and how far they hold, in sentences beside every table of them."""

from collections.abc import Mapping
from typing import Any

from emu_core.data.wording import counted
from emu_core.evaluation.vector_classifier import PROMISED, Rule


def prediction_notes(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences on a classifier's accuracy and threshold, and its notes.

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
    return [*lines, *facts["notes"]]


def _rule(facts: Mapping[str, Any]) -> str:
    """Return what decides in words."""
    if facts["rule"] == Rule.NEIGHBOURS:
        return "the nearest one" if facts["votes"] == 1 else f"the votes of the {facts['votes']} nearest ones"
    regression = "a logistic regression"
    return regression if facts["rule"] == Rule.REGRESSION else f"{regression} and the nearest ones together"


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
        line += f" and rejects at most {100 * (1 - PROMISED):.0f} % of the right predictions"
    return f"{line}."
