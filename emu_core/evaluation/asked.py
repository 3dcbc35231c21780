"""One sentence asked in every language that its set has it in: which languages an encoder leaves behind."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normalised
from emu_core.data.languages import ordered
from emu_core.data.repeats import sentence_groups
from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.retrieval import nearest


def has_translations(sentences: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which of N sentences have their id in another language, too, (N,)."""
    ids, languages = (pd.factorize(sentences[column])[0] for column in ("id", "language"))
    first, last = np.full(len(ids), len(ids)), np.full(len(ids), -1)
    np.minimum.at(first, ids, languages)
    np.maximum.at(last, ids, languages)
    several: NDArray[np.bool_] = (first < last)[ids] & (sentences["id"] != "").to_numpy()
    return several


def known_rows(sentences: pd.DataFrame) -> dict[str, int]:
    """Return the row number of each sentence by its `normal_form`: the first that has translations, or the first."""
    texts, translated = normalised(sentences["text"].tolist()), has_translations(sentences)
    translated_first = sorted(range(len(texts)), key=lambda row: not translated[row])
    return {texts[row]: row for row in reversed(translated_first)}


def translated_rows(sentences: pd.DataFrame, row: int) -> list[int]:
    """Return the row numbers of a sentence and its translations, the rows with its id: one a language, English first.

    Args:
        sentences: N rows with the columns language and id, "" for none.
        row: the sentence, which stands for its own language.
    """
    ids, languages = sentences["id"].to_numpy(), sentences["language"].to_numpy()
    same = np.flatnonzero(ids == ids[row]).tolist() if ids[row] else []
    row_of_language = {languages[other]: other for other in (*reversed(same), row)}
    return [row_of_language[code] for code in ordered(row_of_language)]


def nearest_by_language(
    sentences: pd.DataFrame,
    vectors: Mapping[str, Vectors],
    rows: Sequence[int],
    groups: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the nearest neighbour of one sentence in each of its languages, by each encoder.

    None of them finds a translation or a repeat of itself. Columns: `row`, `text`, `language`, `intent`, and for each
    encoder, prefixed with its name, `_row`, `_text`, `_intent`, `_cosine` and `_right`, whether the intent is the
    sentence's own. A sentence that has no neighbour has the row -1 and the intent "".

    Args:
        sentences: N rows with the columns text, intent, language and id.
        vectors: (N, d) by the encoder's name.
        rows: of `translated_rows`.
        groups: N groups of sentences that don't meet; None for those of `sentence_groups`.

    Raises:
        DataError: a vector is zero or not finite.
    """
    table = sentences.iloc[list(rows)][["text", "language", "intent"]].reset_index(drop=True)
    table.insert(0, "row", list(rows))
    groups = sentence_groups(sentences) if groups is None else groups
    for name, of_encoder in vectors.items():
        neighbours = nearest(of_encoder, rows, 1, groups)
        found, has_any = neighbours.rows[:, 0], neighbours.rows[:, 0] >= 0
        table[f"{name}_row"] = found
        for column in ("text", "intent"):
            table[f"{name}_{column}"] = np.where(has_any, sentences[column].to_numpy()[found], "")
        table[f"{name}_cosine"] = neighbours.cosines[:, 0]
        table[f"{name}_right"] = has_any & (table[f"{name}_intent"] == table["intent"])
    return table
