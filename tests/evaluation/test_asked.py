"""One sentence asked in every language of its set, against plain loops."""

import math

import numpy as np
import pandas as pd
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.asked import has_translations, known_rows, nearest_by_language, translated_rows
from emu_core.evaluation.comparison import Comparison
from tests.support.sentences import cosine, nearest_row, random_sentences

DATA = random_sentences(60, ("en", "de", "ja"), seed=6)
SENTENCES = pd.DataFrame(
    {
        "text": [f"sentence {row}" for row in range(60)],
        "intent": DATA.intents,
        "language": DATA.languages,
        "id": DATA.ids,
    }
)
OTHER = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)


def rows_with(row: int) -> list[int]:
    return [other for other in range(60) if DATA.ids[row] and DATA.ids[other] == DATA.ids[row]]


def test_each_language_finds_its_nearest_that_is_no_translation() -> None:
    several = 0
    for row in range(60):
        rows = translated_rows(SENTENCES, row)
        assert row in rows
        assert [DATA.languages[other] for other in rows] == sorted(
            {DATA.languages[other] for other in rows_with(row) or [row]},
            key=lambda code: (code != "en", code),
        )
        several += len(rows) > 1
        assert bool(has_translations(SENTENCES)[row]) == (len(rows) > 1)
        table = nearest_by_language(SENTENCES, {"A": DATA.vectors, "B": OTHER}, rows)
        assert table["row"].tolist() == rows
        for name, vectors in (("A", DATA.vectors), ("B", OTHER)):
            for number, query in enumerate(rows):
                pool = {
                    other: vectors[other] for other in range(60) if other not in (query, *rows_with(query))
                }
                found = nearest_row(vectors[query], pool)
                line = table.iloc[number]
                assert line[f"{name}_row"] == found and line[f"{name}_text"] == f"sentence {found}"
                assert line[f"{name}_intent"] == DATA.intents[found]
                assert line[f"{name}_cosine"] == pytest.approx(
                    cosine(vectors[query], vectors[found]), abs=1e-6
                )
                assert line[f"{name}_right"] == (DATA.intents[found] == DATA.intents[query])
    assert several


def test_a_sentence_without_others_finds_nothing() -> None:
    pair = SENTENCES.iloc[:2].assign(id="1", language=["en", "de"])
    table = nearest_by_language(pair, {"A": DATA.vectors[:2]}, [0, 1])
    assert table["A_row"].tolist() == [-1, -1] and table["A_intent"].tolist() == ["", ""]
    assert not table["A_right"].any() and all(map(math.isnan, table["A_cosine"]))


def test_of_equal_sentences_the_first_with_translations_is_known() -> None:
    frame = pd.DataFrame(
        {
            "text": ["Taxi!", "taxi!", "ＴＡＸＩ!", "Pool?"],
            "language": ["en", "de", "en", "en"],
            "id": ["", "1", "1", ""],
        }
    )
    assert known_rows(frame) == {"taxi!": 1, "pool?": 3}


def test_a_comparison_asks_a_known_sentence_in_its_languages() -> None:
    row = int(np.flatnonzero(has_translations(SENTENCES))[0])
    comparison = Comparison(SENTENCES, DATA.vectors, OTHER)
    table = comparison.ask(f" SENTENCE  {row} ")
    assert table["row"].tolist() == translated_rows(SENTENCES, row)
    assert {"base_right", "other_right"} <= set(table)
    with pytest.raises(DataError, match="'Something else' is none of the 60 sentences"):
        comparison.ask("Something else")
