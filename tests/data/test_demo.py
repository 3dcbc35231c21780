"""The demo set keeps its promises: 28 intents, six languages, parallel, annotated, no utterance twice."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from emu_core.data.demo import demo_paths, load_demo
from emu_core.data.sets import LabelledSet
from emu_core.data.slots.utterances import parse_annotated
from emu_core.formats.labelled import read_labelled
from emu_core.formats.tables.read import read_table

LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")


@pytest.fixture(scope="module")
def demo() -> LabelledSet:
    return load_demo()


def test_audit_finds_nothing(demo: LabelledSet) -> None:
    """No row dropped, no text twice or with two intents, no id in two splits, scripts that fit."""
    labelled, audit = read_labelled(["demo"])
    assert audit.summary() == [f"{len(demo):,} of {len(demo):,} rows kept: 28 intents in 6 languages."]
    assert labelled.frame.equals(demo.frame)
    assert labelled.name == "demo"


def test_counts_and_splits(demo: LabelledSet) -> None:
    assert demo.languages == LANGUAGES
    counts = demo.counts()
    assert counts.shape == (28, 6)
    assert counts.to_numpy().min() >= 16
    assert demo.splits == ("test", "train")
    for split in demo.splits:
        part = demo.select(splits=[split])
        assert part.counts().shape == (28, 6)
        assert part.counts().to_numpy().min() >= 1


def test_parallel_by_id(demo: LabelledSet) -> None:
    columns = ["intent", "split"]
    english = demo.select(languages=["en"]).frame.set_index("id")[columns].sort_index()
    assert english.index.is_unique
    for language in LANGUAGES[1:]:
        other = demo.select(languages=[language]).frame.set_index("id")[columns].sort_index()
        pd.testing.assert_frame_equal(other, english)


def test_annotations_are_the_texts_with_the_same_slots_in_every_language(demo: LabelledSet) -> None:
    names: dict[str, dict[str, list[str]]] = {}
    with_slots = dict.fromkeys(LANGUAGES, 0)
    for row in demo.frame.itertuples():
        plain, slots = parse_annotated(str(row.annotated))
        assert plain == row.text
        names.setdefault(str(row.id), {})[str(row.language)] = sorted(slot.name for slot in slots)
        with_slots[str(row.language)] += bool(slots)
    assert min(with_slots.values()) > 0
    for identifier, by_language in names.items():
        assert len({tuple(slots) for slots in by_language.values()}) == 1, (identifier, by_language)


def test_words_mislead_in_a_third_of_the_set_and_in_nearly_every_trap() -> None:
    """By shared character n-grams alone, whose nearest sentence of the language has another intent?"""
    for path in demo_paths():
        table = read_table(path, path.name)
        grams = TfidfVectorizer(analyzer="char", ngram_range=(2, 4)).fit_transform(table["text"].str.lower())
        shared = (grams @ grams.T).toarray()
        np.fill_diagonal(shared, -1)
        intents = table["intent"].to_numpy()
        misled = intents[shared.argmax(axis=1)] != intents
        marked = table["trap"].isin(["same_words", "different_words"]).to_numpy()
        assert set(table["trap"]) == {"same_words", "different_words", "plain"}
        assert marked.mean() >= 1 / 3, path.name
        assert misled.mean() >= 1 / 3, path.name
        assert misled[marked].mean() >= 0.8, path.name
