"""Data as people hold it is read as the same data in a file is."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv

from emu_core.api.predict import predict
from emu_core.cli import main
from emu_core.data.audit import labelled_from_frame
from emu_core.data.detection import detect_languages
from emu_core.data.held_texts import texts_of
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.data.sets import unlabelled_from
from emu_core.errors import DataError, InputError
from emu_core.formats.in_memory import is_file
from emu_core.formats.labelled import read_labelled, read_unlabelled
from tests.support.raises import raises

ROWS = {
    "utterance": ["Where is the pool?", "Wo ist der Pool?", "Call a taxi", "Ruf ein Taxi", "", "Call a taxi"],
    "category": ["pool", "pool", "taxi", "taxi", "taxi", "taxi"],
    "lang": ["en", "de-DE", "en", "german", "en", "en"],
    "nr": [1, 1, 2, 2, 3, 2],
}
FRAME = pd.DataFrame(ROWS)
CLASSES = datasets.Features(
    {
        "utterance": datasets.Value("string"),
        "category": datasets.ClassLabel(names=["taxi", "pool"]),
        "lang": datasets.Value("string"),
        "nr": datasets.Value("int64"),
    }
)


def classified() -> datasets.Dataset:
    numbers = {"taxi": 0, "pool": 1}
    return datasets.Dataset.from_dict(
        {**ROWS, "category": [numbers[name] for name in ROWS["category"]]}, features=CLASSES
    )


FORMS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "pandas categories": lambda: FRAME.astype({"category": "category", "utterance": object}),
    "pandas with missing numbers": lambda: FRAME.assign(score=[1.0, None, 2, None, None, 3]),
    "pandas of arrow": lambda: FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "a pandas index": lambda: FRAME.set_index("utterance"),
    "rows in another order": lambda: FRAME.iloc[::-1].iloc[::-1],
    "several": lambda: [FRAME.head(3), FRAME.tail(3)],
    "polars": lambda: pl.DataFrame(ROWS),
    "polars categories": lambda: pl.DataFrame(ROWS).with_columns(pl.col("category").cast(pl.Categorical)),
    "polars lazy": lambda: pl.DataFrame(ROWS).lazy(),
    "arrow": lambda: pa.table(ROWS),
    "an arrow batch": lambda: pa.RecordBatch.from_pydict(ROWS),
    "arrow dictionaries": lambda: pa.table(
        {**ROWS, "category": pa.array(ROWS["category"]).dictionary_encode()}
    ),
    "Hugging Face": lambda: datasets.Dataset.from_dict(ROWS),
    "Hugging Face classes": classified,
    "Hugging Face rows selected": lambda: classified().select([5, 4, 3, 2, 1, 0]).select([5, 4, 3, 2, 1, 0]),
    "Hugging Face in another format": lambda: classified().with_format("pandas"),
    "arrow of Hugging Face": lambda: classified().data.table,
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_table_in_memory_is_as_one_in_a_file(form: str, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    expected, audit = read_labelled(tmp_path / "rows.csv")
    labelled, held_audit = read_labelled(FORMS[form]())
    assert labelled.frame.equals(expected.frame) and labelled.intents == ("pool", "taxi")
    assert held_audit.dropped["reason"].str.replace(r" of row.*", "", regex=True).tolist() == [
        reason.partition(" of row")[0] for reason in audit.dropped["reason"]
    ]
    assert held_audit.summary()[0] == audit.summary()[0] == "4 of 6 rows kept: 2 intents in 2 languages."


def test_a_csv_read_by_arrow_is_taken(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    assert len(read_labelled(csv.read_csv(tmp_path / "rows.csv"))[0]) == 4


def test_the_splits_and_languages_of_a_data_set_are_kept() -> None:
    part = datasets.Dataset.from_dict({"text": ["a b", "c d"], "label": ["x", "y"]})
    other = datasets.Dataset.from_dict({"text": ["e f", "g h"], "label": ["x", "y"]})
    held, audit = read_labelled(
        datasets.DatasetDict(train=part, validation=other), reading=Reading(language="en")
    )
    assert held.frame["split"].tolist() == ["train", "train", "dev", "dev"] and held.name == "the DatasetDict"
    assert any("train (train)" in line for line in audit.summary())
    spoken, _ = read_labelled(datasets.DatasetDict(en=part, de=other))
    assert spoken.frame["language"].tolist() == ["en", "en", "de", "de"] and spoken.splits == ()
    without = datasets.Dataset.from_dict({"text": ["i j"]})
    named, audit = read_labelled(
        datasets.DatasetDict(train=part, unsupervised=without), reading=Reading(language="en")
    )
    assert len(named) == 2 and any("unsupervised" in line for line in audit.summary())


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [list, tuple, np.array, pd.Series, pl.Series, pa.array],
    ids=["list", "tuple", "numpy", "pandas", "polars", "arrow"],
)
def test_sentences_and_intents_are_taken_in_two_lists(make: Callable[[Any], Any]) -> None:
    texts, intents = ["Where is the pool?", "Call a taxi"], ["pool", "taxi"]
    labelled, _ = read_labelled((make(texts), make(intents)), reading=Reading(language="English"))
    assert labelled.frame[["text", "intent", "language"]].values.tolist() == [
        ["Where is the pool?", "pool", "en"],
        ["Call a taxi", "taxi", "en"],
    ]
    numbered, _ = read_labelled((make(texts), make([0, 1])), reading=Reading(language="en"))
    assert numbered.intents == ("0", "1")
    assert read_unlabelled(make(texts), reading=Reading(language="en")).frame["text"].tolist() == texts


def test_columns_are_mapped_guessed_and_read_by_language_as_in_files() -> None:
    frame = pd.DataFrame({0: ["a b c", "d e f"], 1: ["x", "y"]})
    labelled, _ = read_labelled(
        frame, reading=Reading(mapping=ColumnMapping(text="0", intent="1"), language="fr")
    )
    assert labelled.frame["text"].tolist() == ["a b c", "d e f"]
    wide = pl.DataFrame(
        {"en": ["the pool", "the taxi"], "de": ["der Pool", "das Taxi"], "intent": ["p", "t"]}
    )
    labelled, audit = read_labelled(wide)
    assert labelled.languages == ("en", "de") and labelled.frame["id"].nunique() == 2
    assert any("column per language" in line for line in audit.summary())
    tickets = pd.DataFrame(
        {"Ticket text": ["my card is lost", "send me a card"], "Ticket category": ["a", "b"]}
    )
    _, audit = read_labelled(tickets, reading=Reading(language="en"))
    assert any("the DataFrame, guessed: text is column 'Ticket text'" in line for line in audit.summary())
    lists = pl.DataFrame({"text": ["a b", "c d"], "intent": [["x"], ["y"]]})
    assert read_labelled(lists, reading=Reading(language="en"))[0].intents == ("x", "y")


def test_a_labelled_set_is_read_again() -> None:
    frame = pd.DataFrame({"text": ["a", "b", "c"], "intent": ["x", "y", "chat"], "language": "en"})
    labelled, _ = read_labelled(frame, reading=Reading(no_intents=["chat"]))
    again, _ = read_labelled(labelled)
    assert again.frame.equals(labelled.frame) and again.none_of_these.equals(labelled.none_of_these)
    assert again.name == labelled.name == "the DataFrame"


class Unknown:
    pass


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"text": ["a"]}, "a dict is no table; make it one by pandas.DataFrame, or give a file or a folder"),
        (None, "None is no data; give"),
        (3, "an int is no data; give"),
        (Unknown(), "an Unknown is no data; give"),
        ([Unknown()], "an Unknown is no data; give"),
        ([["a", "b"], ["x", "y"]], "a list is no table; make it one by pandas.DataFrame, or give"),
        ([{"text": "a"}], "a dict is no table; make it"),
        ((row for row in ["a"]), "a generator is no data; give"),
        (b"text,intent", "a bytes is no data; give"),
        ([], "the list is empty; give"),
        (pd.Series(["a b"]), "a Series is a single column; give"),
        (["Where is it?", "Call me now"], "a list of sentences has no intents; name files"),
        ((["a", "b"], ["x"]), "there are 2 texts and 1 intents; give each text its intent"),
        ((["a", None], ["x", "y"]), "sentence 2 of 2 is missing; leave it out"),
        ((["a", 2.5], ["x", "y"]), "sentence 2 of 2 is a float and no string; give strings"),
        ((np.array([["a", "b"]]), ["x"]), r"an array of the shape \(1, 2\) is no list of sentences"),
        (datasets.DatasetDict(), "the DatasetDict has no rows; give one"),
        (
            FRAME[["utterance", "category"]].copy(),
            r"the DataFrame does not say its language; name it \(reading=Reading\(language='en'\)\)",
        ),
        (FRAME[["nr"]], "the DataFrame: no column 'text'; found: nr"),
        (FRAME.head(0), "the DataFrame has no rows; give one"),
        (pd.DataFrame(), "the DataFrame has no rows; give one"),
        (pl.DataFrame(), "the DataFrame has no rows; give one"),
        (pa.table({}), "the Table has no rows; give one"),
        ("", "the name of a file is empty; give"),
        (pd.DataFrame, "a type is no data; give"),
        ((["a", "b"], {"x", "y"}), "the intents are a set; give a list, a Series or an array"),
        ((["a", "b"], {"x": 1}), "the intents are a dict; give a list"),
        ((["a", "b"], FRAME[["category"]]), "the intents are a DataFrame; give one of its columns: category"),
        ((FRAME[["utterance"]], ["x"]), "the texts are a DataFrame; give one of its columns: utterance"),
        ((pl.DataFrame(ROWS).lazy(), ["x"]), "the texts are a LazyFrame; give one of its columns: utterance"),
        ((iter("ab"), ["x", "y"]), "the texts are a str_ascii_iterator; give a list"),
        ((["a", "b"], [b"x", b"y"]), "the intent b'x' is a bytes; give strings or numbers"),
        (
            pl.DataFrame(ROWS).lazy().select("nr", "none"),
            'a LazyFrame can\'t be computed: unable to find column "none"',
        ),
        (
            pd.DataFrame({"text": [b"a", b"b"]}),
            "the DataFrame has no column of strings, but bytes; decode them",
        ),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "the DataFrame has two columns named text"),
        (pa.table([pa.array(["a"])] * 2, names=["text", "text"]), "the Table has two columns named text"),
        ([FRAME, "no/such.csv"], r"no such file"),
        (["demo", FRAME], "the demo set can't be joined with others"),
    ],
)
def test_what_can_not_be_read_is_refused_in_one_sentence(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_labelled(data)
    assert str(caught.value).count(". ") <= 1 and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("Where?", r"a str is a single sentence; give a list: \['Where\?'\]"),
        (FRAME, "a DataFrame is no list of sentences; give one of its columns: utterance, category"),
        (pa.table(ROWS), "a Table is no list of sentences; give one of its columns: utterance"),
        (
            pl.DataFrame(ROWS).lazy(),
            "a LazyFrame is no list of sentences; give one of its columns: utterance",
        ),
        ({"a", "b"}, "a set holds no sentences"),
        (np.array("a"), r"an array of the shape \(\) is no list of sentences"),
        ([b"a"], "sentence 1 of 1 is a bytes and no string"),
        (pd.Series(["a", pd.NA]), "sentence 2 of 2 is missing"),
        (7, "an int holds no sentences"),
        ({"a": 1}, "a dict holds no sentences"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_list_of_sentences_is_refused(texts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        texts_of(texts)
    with pytest.raises(DataError, match=message):
        detect_languages(texts)


def test_sentences_come_from_anything_that_holds_a_column() -> None:
    column = datasets.Dataset.from_dict({"text": ["a", "b"]})["text"]
    for texts in (["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Series(["a", "b"], index=[7, 3]), column):
        assert texts_of(texts) == ["a", "b"]
    assert texts_of(pl.Series(["a", "b"])) == texts_of(pa.chunked_array([["a"], ["b"]])) == ["a", "b"]
    assert texts_of(text for text in "ab") == ["a", "b"]


def test_libraries_of_tables_are_imported_by_who_holds_their_tables_only() -> None:
    code = (
        "import sys, pandas, emu_core\n"
        "emu_core.read_labelled(pandas.DataFrame({'text': ['a', 'b'], 'intent': ['x', 'y'], 'lang': 'en'}))\n"
        "print([name for name in ('polars', 'datasets', 'narwhals', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_string_by_itself_is_a_file_and_no_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for read in (read_labelled, read_unlabelled):
        with pytest.raises(DataError, match="sentences: no such file"):
            read("sentences")
    for arguments in (
        ["embed", "sentences", "--out", "x.parquet"],
        ["train", "sentences", "--method", "distil"],
    ):
        assert main(arguments) == 2
        assert "sentences: no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["mails.xls", "Mails.DOCX", "mails.ods", "./mails", "../mails", "report.pdf"]
)
def test_the_name_of_a_missing_file_is_no_sentence(name: str) -> None:
    assert is_file(name)
    assert not is_file(f"please open {name}")
    assert not any(map(is_file, ("/start", "e.g.", "version 2.0", "example.com")))


def test_unusual_frames_of_pandas_are_read() -> None:
    rows = {"text": ["a b", "c d"], "intent": ["x", "y"]}
    levels = pd.DataFrame(rows).set_axis(
        pd.MultiIndex.from_tuples([("text", ""), ("intent", "name")]), axis=1
    )
    assert read_labelled(levels, reading=Reading(language="en"))[0].intents == ("x", "y")
    also_a_column = pd.DataFrame(rows).set_index(
        pd.MultiIndex.from_tuples([("f r", "de"), ("g", "fr")], names=["text", "language"])
    )
    labelled, _ = read_labelled(also_a_column)
    assert labelled.frame[["text", "language"]].values.tolist() == [["a b", "de"], ["c d", "fr"]]
    beside = pd.DataFrame(rows).assign(
        raw=[b"a", None], when=pd.Timestamp("2026-01-01"), of=pd.interval_range(0, 2)
    )
    assert len(read_labelled(beside, reading=Reading(language="en"))[0]) == 2
    missing = pd.DataFrame({"text": ["a", None, "c", "d"], "intent": pd.Categorical(["x", "y", None, "z"])})
    labelled, audit = read_labelled(missing, reading=Reading(language="en"))
    assert labelled.frame["text"].tolist() == ["a", "d"] and len(audit.dropped) == 2


def test_parts_of_a_data_set_without_rows_are_left_out() -> None:
    part = datasets.Dataset.from_dict({"text": ["a b", "c d"], "label": ["x", "y"]})
    labelled, _ = read_labelled(
        datasets.DatasetDict(train=part, validation=part.select([])), reading=Reading(language="en")
    )
    assert len(labelled) == 2


def test_columns_are_mapped_by_the_names_that_a_frame_has() -> None:
    numbers = pd.DataFrame({0: ["a b", "c d"], 1: ["x", "y"], 2: ["p", "q"]})
    labelled, _ = read_labelled(
        numbers, reading=Reading(mapping=ColumnMapping(text=0, intent=2), language="en")
    )  # type: ignore[arg-type]
    assert labelled.intents == ("p", "q")
    levels = numbers.set_axis(
        pd.MultiIndex.from_tuples([("mail", "body"), ("queue", "old"), ("queue", "")]), axis=1
    )
    mapping = ColumnMapping(text=("mail", "body"), intent=("queue", "old"))  # type: ignore[arg-type]
    assert read_labelled(levels, reading=Reading(mapping=mapping, language="en"))[0].intents == ("x", "y")


def test_what_is_no_language_mapping_or_set_is_refused() -> None:
    columns = {"text": "utterance"}
    with raises(InputError, fix=None, match=r"emu_core\.ColumnMapping"):
        read_labelled(FRAME, reading=Reading(mapping=columns))  # type: ignore[arg-type]
    with raises(InputError, fix=None, match=r"emu_core\.ColumnMapping"):
        predict(FRAME, pool=FRAME, reading=Reading(mapping=columns))  # type: ignore[arg-type]
    for languages in (["en"] * 6, FRAME["lang"]):
        with pytest.raises(
            DataError, match=r"a (list|Series) is no language; give one, such as 'en', or a column"
        ):
            read_labelled(FRAME.drop(columns="lang"), reading=Reading(language=languages))  # type: ignore[arg-type]
    with raises(InputError, fix=None, match="DataFrame"):
        unlabelled_from(FRAME, ["de"])  # type: ignore[arg-type]
    with raises(InputError, fix=None, match="dict"):
        labelled_from_frame({}, "rows")  # type: ignore[arg-type]
    with raises(DataError, fix=None, match=r"'id'.*emu_core\.read_labelled"):
        labelled_from_frame(FRAME, "rows")
