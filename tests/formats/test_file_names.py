"""What the names of files and folders state."""

import re
from dataclasses import replace

import pytest

from emu_core.errors import DataError
from emu_core.formats.file_names import (
    LANGUAGE_ORDER,
    TEXT_LANGUAGE_ORDER,
    Statement,
    language_of_file,
    stated_language,
    statements,
)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *[
            (name, "de")
            for name in ("de.csv", "sib.de.csv", "de-DE.jsonl", "massive de-DE.jsonl", "train.de.gz")
        ],
        *[(name, "de") for name in ("DE.CSV.GZ", "german.tsv", "tatoeba.deu-eng.deu", "x.de_DE.parquet")],
        *[(name, None) for name in ("data.csv", "my data.csv", "notes.csv", "foo.csv", ".csv", "")],
    ],
)
def test_language_of_file(name: str, code: str | None) -> None:
    assert language_of_file(name) == code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *[
            ("train_DE.tsv", "de"),
            ("de.valid.conll", "de"),
            ("corpus-fr.json", "fr"),
            ("general_fr.yml", "fr"),
        ],
        *[
            ("deu_Latn.dev.tsv", "de"),
            ("zh_TW.csv", "zh-tw"),
            ("data-pt-br.csv", "pt"),
            ("data_german.csv", "de"),
        ],
        *[("de.train_1.csv", "de"), ("de.dev.csv", "de"), ("fr-test-00000-of-00002.parquet", "fr")],
        *[
            (name, None)
            for name in ("my_data.csv", "support_it.csv", "tickets-uk.csv", "so-so.csv", "tickets_may.csv")
        ],
        *[(name, None) for name in ("test.csv", "train-00000-of-00002.parquet", "an_data.csv")],
    ],
)
def test_the_last_word_beside_the_split_is_the_language(name: str, code: str | None) -> None:
    assert language_of_file(name) == code


def test_folders_state_languages_and_splits() -> None:
    paths = ["deu_Latn/dev.tsv", "eng_Latn/train.tsv", "test/it/x.csv", "en-us/General.lu"]
    assert statements(paths, ["flores"] * 4) == [
        Statement(folder="de", split="dev"),
        Statement(folder="en", split="train"),
        Statement(split="test"),  # `it` may be anything
        Statement(folder="en"),
    ]


def test_a_code_that_is_also_a_word_counts_beside_another_language() -> None:
    alone, _ = statements(["nlu_it.yml", "faq_de.yml"], ["", ""])
    assert (alone.language(), alone.doubtful) == (None, "it")
    beside, _ = statements(["nlu_it.yml", "nlu_de.yml"], ["", ""])
    assert (beside.sibling, beside.doubtful) == ("it", None)


def test_languages_are_believed_in_their_order() -> None:
    codes = dict(zip(LANGUAGE_ORDER, ("ar", "cs", "de", "el", "fi", "hu", "it"), strict=True))
    states = Statement(**codes)
    for rule, code in codes.items():
        assert states.believed() == (rule, code)
        states = replace(states, **{rule: None})
    assert states.believed() == ("", None)
    assert Statement(given="fi", name="ar").believed("hu", TEXT_LANGUAGE_ORDER) == ("given", "hu")


def test_a_project_is_not_believed_where_a_name_may_mean_another_language() -> None:
    assert Statement(project="de", given="en").language() == "de"
    assert Statement(project="de", doubtful="it").language() is None
    assert Statement(project="de", doubtful="it").language("en") == "en"


def test_one_split_alone_is_none() -> None:
    assert statements(["train.csv"], [""]) == statements(["all.csv"], [""])
    splits = [stated.split for stated in statements(["train.csv", "test.csv", "more.csv"], [""] * 3)]
    assert splits == ["train", "test", ""]


def test_the_folder_around_a_named_file_is_told_apart() -> None:
    assert statements(["dev.tsv"], ["deu_Latn"]) == [Statement(around="de")]


@pytest.mark.parametrize(
    "name", ["hotel.csv", "intents.v2.csv", "a/support_it.csv.gz", "train.txt", "nlu.yml"]
)
def test_the_name_that_an_error_suggests_states_the_language(name: str) -> None:
    with pytest.raises(DataError) as caught:
        stated_language(None, name)
    suggestion = re.search(r"as in (\S+)$", str(caught.value))
    assert suggestion and language_of_file(suggestion[1]) == "en"
