"""Dialogues, running text, inference pairs, scored pairs and documents as people hold them in Python."""

from collections.abc import Callable
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emu_core.data.reading import Reading
from emu_core.data.texts.dialogues import Dialogues
from emu_core.errors import DataError
from emu_core.formats.texts.dialogues import read_dialogues
from emu_core.formats.texts.documents import read_documents
from emu_core.formats.texts.nli import read_nli
from emu_core.formats.texts.running_text import read_running_text
from emu_core.formats.texts.scored_pairs import read_scored_pairs

TABLES = [pd.DataFrame, pl.DataFrame, pa.table, datasets.Dataset.from_dict]
TALK = {
    "Context": ["Hi, you", " ", "Wie?"],
    "reply": ["Hello", "So.", "So!"],
    "language": ["en", "en", "de-DE"],
}
RELATED = {
    "premise": ["It rains.", "He runs.", "She eats.", ""],
    "hypothesis": ["It is wet.", "He moves.", "She sleeps.", "So."],
    "label": [1, 0, -1, 2],
}
REPLY = pd.DataFrame({"comment": ["a"], "response": ["b"]})
CLASSES = datasets.Features(
    {
        "premise": datasets.Value("string"),
        "hypothesis": datasets.Value("string"),
        "label": datasets.ClassLabel(names=["entailment", "neutral", "contradiction"]),
    }
)


@pytest.mark.parametrize("table", TABLES)
def test_dialogues_of_a_table_are_told_apart_by_language(table: Callable[[Any], Any]) -> None:
    english, german = read_dialogues(table(TALK))
    name = english.name
    assert english == Dialogues(
        "en", ("Hi, you",), ("Hello",), name, (f"{name}: 1 row without comment or response left out.",)
    )
    assert german == Dialogues("de", ("Wie?",), ("So!",), name)


def test_dialogues_are_taken_in_two_lists_or_by_the_keys_of_a_data_set() -> None:
    (text,) = read_dialogues((["Hi"], np.array(["Hello"])), "French")
    assert text == Dialogues("fr", ("Hi",), ("Hello",), "(comments, responses)")
    part = datasets.Dataset.from_dict({"comment": ["a"], "response": ["b"]})
    texts = read_dialogues(datasets.DatasetDict(en=part, de=part))
    assert [text.language for text in texts] == ["en", "de"]


def test_running_text_is_a_list_or_a_table_of_sentences_in_order() -> None:
    sentences = ["One.", "Two.", "Three.", "", "Four.", "Five.", "Six.", "Seven."]
    documents = (("One.", "Two.", "Three."), ("Four.", "Five.", "Six.", "Seven."))
    table = pl.DataFrame({"text": sentences})
    for given in (sentences, tuple(sentences), pd.Series(sentences), np.array(sentences), table):
        (text,) = read_running_text(given, "en")
        assert text.documents == documents and text.language == "en"
    (again,) = read_running_text(text.to_frame(), "en")
    assert again.documents == documents
    rows = {"sentence": [*"abcdef"], "document": [9, 9, 2, 9, 2, 2], "language": "en"}
    (text,) = read_running_text(pd.DataFrame(rows))
    assert text.documents == (("a", "b", "d"), ("c", "e", "f"))
    two = read_running_text(pd.DataFrame({"text": [*"abcdef"], "language": ["en", "de"] * 3}))
    assert [(text.language, text.documents) for text in two] == [
        ("en", (("a", "c", "e"),)),
        ("de", (("b", "d", "f"),)),
    ]


@pytest.mark.parametrize("table", [*TABLES, lambda rows: datasets.Dataset.from_dict(rows, features=CLASSES)])
def test_inference_pairs_have_names_or_numbers_as_labels(table: Callable[[Any], Any]) -> None:
    (pairs,) = read_nli(table(RELATED))
    assert pairs.premises == ("It rains.", "He runs.") and pairs.labels.tolist() == [1, 0]
    assert pairs.language == "en" and len(pairs.notes) == 2
    named = {
        "sentence1": ["a", "b"],
        "sentence2": ["c", "d"],
        "gold_label": ["neutral", "-"],
        "language": ["de", "fr"],
    }
    (pairs,) = read_nli(table(named) if table in TABLES else pd.DataFrame(named))
    assert pairs.language == "de" and pairs.labels.tolist() == [1]
    (again,) = read_nli(pairs.to_frame(), "de")
    assert again.premises == pairs.premises and again.labels.tolist() == pairs.labels.tolist()


@pytest.mark.parametrize("table", TABLES)
def test_scored_pairs_of_a_table_are_by_language(table: Callable[[Any], Any]) -> None:
    sides = {"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"]}
    rows = {**sides, "score": [1.0, 2.5, 0.0], "language": ["de", "en", "de"]}
    pairs = read_scored_pairs(table(rows))
    assert set(pairs) == {"en", "de"}
    assert pairs["de"].second == ["d", "f"] and pairs["de"].scores == [1, 0]


def test_documents_of_a_table_are_as_those_of_a_file() -> None:
    rows = pd.DataFrame(
        {"text": ["One. Two!", "Three", "Vier"], "class": ["a", "b", "a"], "language": ["en", "en", "de"]}
    )
    documents = read_documents(rows, reading=Reading(language="en"))
    assert documents.texts == ("One.\nTwo!", "Three") and documents.labels == ("a", "b")
    assert read_documents((["x", "y"], [0, 1]), reading=Reading(language="en")).labels == ("0", "1")


@pytest.mark.parametrize(
    ("read", "data", "message"),
    [
        (
            read_dialogues,
            {"comment": ["a"]},
            "a dict is no table; make it one by pandas.DataFrame, or name files",
        ),
        (
            read_dialogues,
            pd.DataFrame({"comment": ["a"], "b": ["c"]}),
            "no column response; found: comment, b[.] Rename one",
        ),
        (read_dialogues, pd.DataFrame({"a": ["a"], "b": ["c"]}), "no column comment, response; found: a, b"),
        (
            read_dialogues,
            (["a", "b"], ["c"]),
            "there are 2 comments and 1 responses; give each comment its response",
        ),
        (
            read_dialogues,
            REPLY,
            r"add a column language, or name it: emu_core.read_dialogues\(..., language='en'\)",
        ),
        (
            read_dialogues,
            REPLY.assign(response=None, language="en"),
            "no row has a comment and",
        ),
        (
            read_dialogues,
            REPLY.assign(language="Klingonese"),
            "is not a language",
        ),
        (read_dialogues, "none.en.csv", "no such file"),
        (
            read_running_text,
            ["a", "b", "c"],
            r"the list does not say its language.*emu_core.read_running_text",
        ),
        (read_running_text, "Sentence", "Sentence does not say its language"),
        (read_running_text, ["a", None], "sentence 2 of 2 is missing"),
        (read_running_text, 3, "an int is no data; name files with a sentence a line"),
        (read_running_text, pd.DataFrame({"n": [1]}), "the DataFrame: no column text; found: n"),
        (read_nli, pd.DataFrame(RELATED).assign(label="maybe"), "the DataFrame: row 1 has the label 'maybe'"),
        (
            read_nli,
            (["a"], ["b"]),
            "a list is no table; make it one by pandas.DataFrame, or name files of SNLI",
        ),
        (read_nli, pd.DataFrame(RELATED).head(0), "the DataFrame has no rows"),
        (
            read_scored_pairs,
            pd.DataFrame({"sentence1": ["a"]}),
            "no column sentence2, score; found: sentence1",
        ),
        (
            read_scored_pairs,
            pd.DataFrame({"sentence1": ["a"], "sentence2": ["b"], "score": ["x"], "language": "en"}),
            "the DataFrame, row 1: the score 'x' is not a number",
        ),
        (
            read_scored_pairs,
            pd.DataFrame({"sentence1": ["a"], "sentence2": ["b"], "score": [1]}),
            "the DataFrame does not say its language; add a column language$",
        ),
        (read_scored_pairs, ["a.csv"], "a.csv is a file among tables"),
    ],
)
def test_what_is_no_such_text_is_refused(read: Callable[[Any], Any], data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(data)
