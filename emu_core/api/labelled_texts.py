"""Sentences and their intents as scikit-learn passes them, `X` and `y`, made a labelled set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.audit import audit_rows, located
from emu_core.data.cleaning import HALF, holds_half
from emu_core.data.held_texts import Texts, check_as_many, languages_named, spoken_codes, texts_of
from emu_core.data.languages import UNDETERMINED
from emu_core.data.reading import Reading
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.data.wording import shown
from emu_core.errors import InputError

WITHOUT_INTENTS = "requires y to be passed, but the target y is None: give the intent of each sentence"
"""How scikit-learn begins, and its tools expect, the message."""
_NAME = "the sentences"


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """A labelled set of sentences that were passed with their intents.

    Attributes:
        labelled: the sentences that the audit keeps; their language is `UNDETERMINED` if none was passed.
        rows: (P,) the position, among those passed, of each of its sentences that have an intent.
        classes: (k,) the intents as they were passed, sorted.
        class_of: the position in `classes` of each intent of the labelled set.
        weights: (P,) how much each of these sentences counts; None if none were passed.
    """

    labelled: LabelledSet
    rows: NDArray[np.intp]
    classes: NDArray[Any]
    class_of: dict[str, int]
    weights: NDArray[np.float64] | None = None


def labelled_texts(
    X: Texts,  # noqa: N803 - as in all of scikit-learn
    y: Any,
    *,
    languages: str | Sequence[str] | None = None,
    groups: Sequence[Any] | None = None,
    no_intents: Sequence[str] = (),
    sample_weight: Sequence[float] | None = None,
) -> LabelledTexts:
    """Audit sentences and their intents as those of a file, and make a labelled set of them.

    Exact repeats, empty sentences and those with a weight of 0 are left out, and intents such as "out_of_scope" stand
    for "none of these".

    Args:
        X: N sentences.
        y: N intents, texts or whole numbers.
        languages: the language of all sentences, or of each; None for unknown ones.
        groups: the same value for translations of each other; None or "" for none.
        no_intents: those of them that stand for "none of these".
        sample_weight: N numbers, how much each sentence counts; None for all alike.

    Raises:
        InputError: these are no sentences, no intents or weights for them, or there are less than two intents.
    """
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise InputError(WITHOUT_INTENTS)
    texts, labels = texts_of(X), column_or_1d(y, warn=True)
    if not texts:
        raise InputError("there are no sentences; give at least two, with their intents")
    check_as_many(labels, texts, "intents")
    as_given = np.asarray(y, dtype=object).ravel()  # where text does not make NaN a text, too
    if (is_missing := pd.isna(as_given)).any():
        raise InputError(f"sentence {int(is_missing.argmax()) + 1:,} has no intent; leave it out")
    check_classification_targets(labels)
    names = _whole([str(label) for label in labels.tolist()], "intent")
    codes = _codes(languages, texts)  # an audit asks for one; English stands for unknown ones
    rows = pd.DataFrame("", index=range(len(texts)), columns=list(LABELLED_COLUMNS), dtype="str")
    rows["text"], rows["intent"], rows["language"] = texts, names, codes or "en"
    if groups is not None:
        check_as_many(groups, texts, "groups")
        rows["id"] = _whole(["" if pd.isna(group) else str(group) for group in groups], "group")
    weights = None if sample_weight is None else _weights(sample_weight, texts)
    counting = np.arange(len(texts)) if weights is None else np.flatnonzero(weights)
    usable, audit = audit_rows(
        located(rows, _NAME).iloc[counting].reset_index(drop=True),
        reading=Reading(no_intents=[name for name in no_intents if name in names]),
    )
    if not codes:
        usable = usable.assign(language=UNDETERMINED)
    labelled = LabelledSet.divided(usable, _NAME, audit.none_of_these)
    kept = np.setdiff1d(counting, audit.dropped["row"].to_numpy(dtype=np.intp) - 1)
    has_intent = ~usable["intent"].isin(audit.none_of_these).to_numpy(dtype=bool)
    positions = kept[has_intent]
    if len(labelled.intents) < 2:
        are = (
            f"are of one class, {shown(labelled.intents[0])!r}" if labelled.intents else "have no intent left"
        )
        raise InputError(f"the sentences that can be used {are}; give sentences of two classes or more")
    # The audit spells intents alike, so that two labels may be one class.
    first_rows = pd.Series(positions).groupby(labelled.frame["intent"].to_numpy()).first()
    classes = np.unique(labels[first_rows.to_numpy()])
    class_of = dict(zip(first_rows.index, np.searchsorted(classes, labels[first_rows]).tolist(), strict=True))
    return LabelledTexts(
        labelled, positions, classes, class_of, None if weights is None else weights[positions]
    )


def _whole(names: list[str], what: str) -> list[str]:
    """Return the intents or groups of sentences. Raises InputError where one holds half a character."""
    if number := next((number for number, name in enumerate(names, 1) if holds_half(name)), 0):
        raise InputError(f"the {what} of sentence {number:,} holds {HALF}; fix it")
    return names


def _weights(sample_weight: Sequence[float], texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the weights of sentences, (N,). Raises InputError unless they are numbers of which one is above 0."""
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("sample_weight has no numbers; give one for each sentence, 0 or more") from error
    if weights.ndim != 1:
        raise InputError(f"sample_weight has {weights.ndim} dimensions; give one number for each sentence")
    check_as_many(weights.tolist(), texts, "weights")
    if len(bad := np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))):
        raise InputError(
            f"the weight of sentence {bad[0] + 1:,} is {weights[bad[0]]:g}; give 0 to leave it out, or more"
        )
    if not weights.any():
        raise InputError("all weights in sample_weight are zero; give some sentences a higher one")
    return weights


def _codes(languages: str | Sequence[str] | None, texts: Sequence[str]) -> list[str]:
    """Return the language code of each text, [] if all are unknown."""
    if languages is not None and not isinstance(languages, str):
        named = languages_named(languages, len(texts))
        check_as_many(named, texts, "languages")
        if unnamed := next((n for n, name in enumerate(named, 1) if name in ("", UNDETERMINED)), 0):
            raise InputError(
                f"sentence {unnamed:,} has no language; give a code, such as en, or leave it out"
            )
    codes = spoken_codes(languages, len(texts))
    return codes if any(codes) else []
