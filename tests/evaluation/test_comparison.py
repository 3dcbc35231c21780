"""The comparison of two encoders against plain loops, counting, and the measures that it is made of."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.comparison import Change, Comparison
from tests.support.sentences import cosine, nearest_row, random_sentences

DATA = random_sentences(60, ("en", "de", "ja"), seed=6)
NOISE = np.random.default_rng(1).normal(size=(60, 5))
OTHER = (DATA.vectors / np.linalg.norm(DATA.vectors, axis=1, keepdims=True) + 0.25 * NOISE) * 3
SENTENCES = pd.DataFrame(
    {
        "text": [f"sentence {row}" for row in range(60)],
        "intent": DATA.intents,
        "language": DATA.languages,
        "id": DATA.ids,
    }
)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison(SENTENCES, DATA.vectors, OTHER, ("A", "B"))


def nearest_of(vectors: np.ndarray, query: int, pool: str | None) -> int:
    """The row of a query's nearest neighbour by a plain loop."""
    rows = [
        row
        for row in range(60)
        if row != query
        and not (DATA.ids[query] and DATA.ids[row] == DATA.ids[query])
        and pool in (None, DATA.languages[row])
    ]
    return nearest_row(vectors[query], {row: vectors[row] for row in rows})


def test_accuracy_is_counted_by_direction(comparison: Comparison) -> None:
    table = comparison.accuracy.set_index("pair")
    assert len(table) == 9
    for pair in table.index:
        source, target = pair.split("-")
        queries = [row for row in range(60) if DATA.languages[row] == source]
        right = {
            name: [DATA.intents[nearest_of(vectors, row, target)] == DATA.intents[row] for row in queries]
            for name, vectors in (("base", DATA.vectors), ("other", OTHER))
        }
        fixed = sum(b and not a for a, b in zip(*right.values(), strict=True))
        broken = sum(a and not b for a, b in zip(*right.values(), strict=True))
        row = table.loc[pair]
        assert (row["n"], row["fixed"], row["broken"]) == (len(queries), fixed, broken)
        assert row["base"] == pytest.approx(100 * sum(right["base"]) / len(queries))
        assert row["difference"] == pytest.approx(row["other"] - row["base"])
        assert row["base_low"] < row["base"] < row["base_high"] or row["base"] in (0, 100)
        # Exact McNemar: twice the smaller tail of fair coins, at most 1.
        coins = fixed + broken
        tail = sum(math.comb(coins, k) for k in range(min(fixed, broken) + 1))
        assert row["p_value"] == pytest.approx(min(1.0, float(Fraction(2 * tail, 2**coins))))
    with_english = [pair for pair in table.index if "en" in pair.split("-")]
    assert comparison.means["other"].tolist() == pytest.approx([table.loc[with_english, "other"].mean()])
    assert comparison.means["over"].tolist() == ["5 language pairs with English on a side"]
    assert comparison.matrix("base").loc["de", "ja"] == table.loc["de-ja", "base"]
    assert set(comparison.fallen["pair"]) == set(table.index[table["difference"] < 0])
    assert set(comparison.risen["pair"]) == set(table.index[table["difference"] > 0])


@pytest.mark.parametrize("pool", [None, "de"])
def test_changes_equal_plain_loops(comparison: Comparison, pool: str | None) -> None:
    table = comparison.changes(pool)
    kinds = []
    for query, row in table.iterrows():
        old, new = (nearest_of(vectors, query, pool) for vectors in (DATA.vectors, OTHER))
        assert (row["base_row"], row["other_row"]) == (old, new)
        assert row["other_neighbour"] == f"sentence {new}" and row["base_language"] == DATA.languages[old]
        assert row["base_cosine"] == pytest.approx(cosine(DATA.vectors[query], DATA.vectors[old]), abs=1e-6)
        assert row["other_cosine"] == pytest.approx(cosine(OTHER[query], OTHER[new]), abs=1e-6)
        was, now = (DATA.intents[near] == DATA.intents[query] for near in (old, new))
        kinds.append(
            "fixed" if now > was else "broken" if was > now else "unchanged" if old == new else "changed"
        )
    assert table["change"].tolist() == kinds
    counts = comparison.change_counts(pool).set_index("language")
    for language in ("en", "de", "ja"):
        here = [kind for kind, code in zip(kinds, DATA.languages, strict=True) if code == language]
        assert counts.loc[language].to_dict() == {kind.value: here.count(kind) for kind in Change}
    if pool is None:
        assert min(kinds.count(kind) for kind in Change) > 0  # else a kind was never tried


def test_gains_are_means_over_a_languages_directions(comparison: Comparison) -> None:
    accuracy = comparison.accuracy
    of_the_mean = accuracy[(accuracy["queries"] == "en") | (accuracy["pool"] == "en")]
    by_language = of_the_mean.groupby("queries")["difference"].mean()
    assert comparison.gains.set_index("language")["difference"].to_dict() == pytest.approx(
        by_language.to_dict()
    )
    overall = comparison.similar.overall
    assert (overall.base, overall.specialised) == pytest.approx(
        tuple(comparison.means.iloc[0][["base", "other"]])
    )


def test_triples_are_ones_that_the_base_encoder_gets_wrong(comparison: Comparison) -> None:
    for across in (False, True):
        table = comparison.triples(across_languages=across)
        assert len(table) > 0
        for row in table.to_dict("records"):
            rows = [row["row1"], row["row2"], row["row3"]]
            assert [row["s1"], row["s2"], row["s3"]] == [f"sentence {at}" for at in rows]
            intents = [DATA.intents[at] for at in rows]
            assert intents[0] == intents[2] != intents[1] == row["intent_s2"]
            assert (row["language"] != row["language_s3"]) == across
            for name, vectors in (("base", DATA.vectors), ("other", OTHER)):
                a, b, c = (vectors[at] for at in rows)
                cosines = [cosine(a, b), cosine(a, c), cosine(b, c)]
                assert [row[f"{name}_s{which}"] for which in ("12", "13", "23")] == pytest.approx(
                    cosines, abs=1e-6
                )
                assert row[f"{name}_closest"] == ("1-2", "1-3", "2-3")[int(np.argmax(cosines))]
            assert row["base_s12"] > row["base_s13"]
    rows = comparison.example_rows()
    assert rows[:3] == comparison.triples()[["row1", "row2", "row3"]].iloc[0].tolist()


def test_similarity_is_ordered_by_intent(comparison: Comparison) -> None:
    rows = [5, 40, 12, 3]
    found = comparison.similarity(rows)
    assert list(found) == ["A", "B"]
    order = found["A"].index.tolist()
    assert sorted(order) == sorted(rows)
    assert [DATA.intents[row] for row in order] == sorted(DATA.intents[row] for row in order)
    assert found["B"].loc[40, 12] == pytest.approx(cosine(OTHER[40], OTHER[12]), abs=1e-6)


def test_what_takes_time_can_be_computed_elsewhere() -> None:
    first, second = (Comparison(SENTENCES, DATA.vectors, OTHER) for _ in range(2))
    second.with_computed(first.computed())
    assert second.measured is first.measured and second.suggested is first.suggested


def test_one_language_has_no_leakage_and_no_mean_with_english() -> None:
    english = SENTENCES["language"] == "en"
    alone = Comparison(SENTENCES[english], DATA.vectors[english], OTHER[english])
    assert alone.leakage is None
    assert alone.means["over"].tolist() == ["1 language pair"]
    assert len(alone.changes()) == english.sum()  # a fresh index


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="60 and 59 vectors can't be paired"):
        Comparison(SENTENCES, DATA.vectors, OTHER[1:])
    with pytest.raises(DataError, match="no column 'id'"):
        Comparison(SENTENCES.drop(columns="id"), DATA.vectors, OTHER)
    with pytest.raises(DataError, match="two names"):
        Comparison(SENTENCES, DATA.vectors, OTHER, ("A", "A"))
    one = Comparison(SENTENCES.iloc[[0, 1]], DATA.vectors[:2], OTHER[:2])
    with pytest.raises(DataError, match="leave-one-out needs two"):
        _ = one.accuracy
