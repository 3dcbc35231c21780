"""Tables without a header, with a column per language, and those of known data sets."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from emu_core.data.audit import Audit
from emu_core.data.sets import LabelledSet
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled, read_unlabelled
from tests.support.tables import workbook

ROWS = [
    ("where is the pool", "pool"),
    ("how do I book a room", "book"),
    ("show me the pool, please", "pool"),
    ("a room for two", "book"),
]


def written(rows: Sequence[Sequence[str]], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def read(folder: Path, text: str | bytes, name: str = "hotel.en.csv") -> tuple[LabelledSet, Audit]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_labelled(path)


def rows_of(labelled: LabelledSet, *columns: str) -> list[tuple[str, ...]]:
    return list(labelled.frame[list(columns)].itertuples(index=False, name=None))


# Without a header


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_row_of_a_table_without_a_header_is_lost(delimiter: str, tmp_path: Path) -> None:
    labelled, audit = read(tmp_path, written(ROWS, delimiter))
    assert rows_of(labelled, "text", "intent") == ROWS
    if delimiter == ",":  # as Watson Assistant exports its intents
        return
    assert audit.notes[0] == "Table without a header: 4 examples, 2 intents."
    assert "hotel.en.csv, guessed: text is column 'column 1', intent is column 'column 2'." in audit.notes


@pytest.mark.parametrize(
    "rows",
    [
        [(intent, text) for text, intent in ROWS],
        [(str(number), text, intent, "en") for number, (text, intent) in enumerate(ROWS, 1)],
        [(intent, "", text) for text, intent in ROWS],  # cells of the first row without a value
        [(intent, intent, text) for text, intent in ROWS],  # the same value twice in the first row
        [(text.replace("pool", "query"), intent.replace("pool", "query")) for text, intent in ROWS],
        [(text, intent, "train" if number < 2 else "test") for number, (text, intent) in enumerate(ROWS)],
    ],
    ids=["intent first", "id and language", "blank", "twice", "an intent like a name", "split"],
)
def test_tables_without_a_header_of_any_columns(rows: list[tuple[str, ...]], tmp_path: Path) -> None:
    labelled, _ = read(tmp_path, written(rows))
    assert len(labelled) == 4
    assert {text.split()[0] for text in labelled.frame["text"]} == {"where", "how", "show", "a"}
    assert labelled.frame["intent"].nunique() == 2
    if rows[0][-1] == "train":
        assert labelled.splits == ("test", "train")


def test_a_workbook_without_a_header_and_other_scripts(tmp_path: Path) -> None:
    labelled, _ = read(tmp_path, workbook([list(row) for row in ROWS]), "hotel.en.xlsx")
    assert rows_of(labelled, "text", "intent") == ROWS
    japanese = [
        ("プールはどこですか", "pool"),
        ("部屋を予約したい", "book"),
        ("部屋はありますか", "book"),
        ("プールはありますか", "pool"),
    ]
    labelled, _ = read(tmp_path, written(japanese), "hotel.ja.csv")
    assert rows_of(labelled, "text", "intent") == japanese


@pytest.mark.parametrize(
    "header",
    [
        ("text", "intent"),
        ("What the guest asked", "Topic of it"),
        ("Satz des Gastes", "Thema"),
        ("0", "1"),  # as pandas names columns without names
        ("utterance", "pool"),
    ],
)
def test_a_header_is_no_row(header: tuple[str, str], tmp_path: Path) -> None:
    labelled, audit = read(tmp_path, written([header, *ROWS]))
    assert rows_of(labelled, "text", "intent") == ROWS
    assert not any("header" in note for note in audit.notes)


def test_rows_that_repeat_the_header_are_left_out_and_counted(tmp_path: Path) -> None:
    labelled, audit = read(tmp_path, written([("text", "intent"), *ROWS[:2], ("text", "intent"), *ROWS[2:]]))
    assert rows_of(labelled, "text", "intent") == ROWS
    assert "Left out of hotel.en.csv: 1 row that repeats the header." in audit.notes


def test_a_name_above_numbers_is_a_header(tmp_path: Path) -> None:
    rows = [(text, intent, "7") for text, intent in ROWS]
    labelled, _ = read(tmp_path, written([("what did the guest say", "what for", "age"), *rows]))
    assert len(labelled) == 4


def test_sentences_alone_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "mails.en.csv"
    path.write_text("where is the pool\nhow do I book a room\na room for two\n")
    assert read_unlabelled(path).frame["text"].tolist()[0] == "where is the pool"
    assert len(read_unlabelled(path)) == 3


# A column per language


@pytest.mark.parametrize(
    ("header", "languages"),
    [
        (("intent", "en", "de", "fr"), ("en", "de", "fr")),
        (("intent", "English", "German", "français"), ("en", "de", "fr")),
        (("intent", "en-US", "de_DE", "fr-FR"), ("en", "de", "fr")),
        (("label", "text_en", "text_de", "text_fr"), ("en", "de", "fr")),
        (("category", "Utterance (en)", "Utterance (de)", "Utterance (fr)"), ("en", "de", "fr")),
        (("intent", "en_sentence", "de_sentence", "fr_sentence"), ("en", "de", "fr")),
        (("intent", "English (US)", "German (DE)", "French (FR)"), ("en", "de", "fr")),
        (("intent", "textEn", "textDe", "textFr"), ("en", "de", "fr")),
        (("Absicht", "Englisch", "Deutsch", "Französisch"), ("en", "de", "fr")),
        (("intent", "en", "id", "it"), ("en", "id", "it")),  # Indonesian, and no ids
    ],
)
def test_a_column_per_language(header: tuple[str, ...], languages: tuple[str, ...], tmp_path: Path) -> None:
    rows = [
        header,
        ("pool", "where is it", "wo ist es", "où est-ce"),
        ("book", "a room please", "", "une chambre libre"),
    ]
    labelled, audit = read(tmp_path, written(rows), "hotel.csv")
    first, second, third = languages
    assert rows_of(labelled, "id", "text", "intent", "language") == [
        ("hotel.csv:1", "where is it", "pool", first),
        ("hotel.csv:1", "wo ist es", "pool", second),
        ("hotel.csv:1", "où est-ce", "pool", third),
        ("hotel.csv:2", "a room please", "book", first),
        ("hotel.csv:2", "une chambre libre", "book", third),
    ]
    named = ", ".join(sorted(languages, key=lambda code: (code != "en", code)))
    assert audit.notes[0].startswith(f"Table with a column per language ({named}): 5 examples")


def test_ids_of_a_wide_table_are_kept_and_numbers_are_no_sentences(tmp_path: Path) -> None:
    rows = [
        ("no", "uid", "intent", "en", "de", "split"),
        ("1", "a", "pool", "where is it", "wo ist es", "train"),
        ("2", "b", "book", "a room", "ein Zimmer", "test"),
    ]
    labelled, _ = read(tmp_path, written(rows), "hotel.csv")
    assert rows_of(labelled, "id", "language", "split") == [
        ("a", "en", "train"),
        ("a", "de", "train"),
        ("b", "en", "test"),
        ("b", "de", "test"),
    ]


def test_the_original_beside_translations_is_in_the_language_of_the_file(tmp_path: Path) -> None:
    rows = [
        ("text", "text_de", "text_fr", "intent"),
        ("where", "wo", "où", "pool"),
        ("a room", "Zimmer", "", "book"),
    ]
    labelled, _ = read(tmp_path, written(rows))
    assert rows_of(labelled, "text", "language") == [
        *(("where", "en"), ("wo", "de"), ("où", "fr"), ("a room", "en"), ("Zimmer", "de")),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [("text", "intent", "language", "en", "de"), ("a", "x", "en", "b", "c"), ("d", "y", "de", "e", "f")],
        [("text", "intent", "en", "de"), ("a", "x", "1", "0"), ("d", "y", "0", "1")],
        [("text", "intent", "text_de"), ("a", "x", "b c"), ("d", "y", "e f")],
    ],
    ids=["a column of the language", "numbers", "a single language"],
)
def test_what_is_no_wide_table(rows: list[tuple[str, ...]], tmp_path: Path) -> None:
    assert rows_of(read(tmp_path, written(rows))[0], "text") == [("a",), ("d",)]


def test_a_wide_table_without_intents(tmp_path: Path) -> None:
    path = tmp_path / "mails.json"
    path.write_text(
        json.dumps([{"en": "where is it", "de": "wo ist es"}, {"en": "a room please", "de": None}])
    )
    assert read_unlabelled(path).frame[["text", "language"]].to_numpy().tolist() == [
        *(["where is it", "en"], ["wo ist es", "de"], ["a room please", "en"]),
    ]


# Known data sets


TOKENS = '{"tokens": ["\\"", ""]}'


def test_mtop(tmp_path: Path) -> None:
    lines = [
        (
            "7",
            "IN:GET_WEATHER",
            "12:17:SL:DATE",
            "Weather for today",
            "weather",
            "en",
            "[IN:GET_WEATHER for ]",
            TOKENS,
        ),
        ("8", "IN:SET_ALARM", "", '"Wake" me', "alarm", "en", "[IN:SET_ALARM ]", TOKENS),
    ]
    labelled, audit = read(tmp_path, "\n".join(map("\t".join, lines)), "eval.txt.tsv")
    assert rows_of(labelled, "id", "text", "intent", "language", "annotated") == [
        ("7", "Weather for today", "IN:GET_WEATHER", "en", "Weather for [DATE : today]"),
        ("8", '"Wake" me', "IN:SET_ALARM", "en", ""),
    ]
    assert audit.notes[0] == "MTOP: 2 examples, 2 intents."


def test_multilingual_task_oriented_dialogue(tmp_path: Path) -> None:
    lines = [
        ("alarm/set_alarm", "", "set an alarm", "en_XX", '{"tokenizations":[]}'),
        (
            "weather/find",
            "7:11:weather/noun,12:18:datetime",
            "llueve aqui mañana",
            "es_XX",
            '{"tokenizations":[]}',
        ),
    ]
    labelled, audit = read(tmp_path, "\n".join(map("\t".join, lines)), "train-en.tsv")
    assert rows_of(labelled, "text", "intent", "language", "annotated") == [
        ("set an alarm", "alarm/set_alarm", "en", ""),
        ("llueve aqui mañana", "weather/find", "es", "llueve [weather/noun : aqui] [datetime : mañana]"),
    ]
    assert audit.notes[0] == "Multilingual task-oriented dialogue: 2 examples, 2 intents."


def test_hwu64(tmp_path: Path) -> None:
    header = (
        "userid;answerid;scenario;intent;status;answer_annotation;notes;suggested_entities;answer_normalised;answer;"
        "question"
    )
    text = (
        f"{header}\n1;1;alarm;set;null;wake me at [time : five];;;wake me at five;wake me at five;What would you say?\n"
        "1;2;audio;volume_mute;IRR_XR;mute it;;;mute it;Mute it;How would you say that?\n"
    )
    labelled, audit = read(tmp_path, text, "NLU-Data.en.csv")
    assert rows_of(labelled, "text", "intent", "annotated") == [
        ("wake me at five", "alarm_set", "wake me at [time : five]"),
        ("Mute it", "audio_volume_mute", "mute it"),
    ]
    assert audit.notes[0] == "HWU64: 2 examples, 2 intents."


def test_multiatis(tmp_path: Path) -> None:
    text = (
        "id\tutterance\tslot_labels\tintent\n"
        "3\tich will nach new york\tO O O B-toloc.city I-toloc.city\tatis_flight\n"
        "4\twas kostet das\tO O\tatis_airfare\n"
    )
    labelled, audit = read(tmp_path, text, "train_DE.tsv")
    assert rows_of(labelled, "id", "intent", "language", "annotated") == [
        ("3", "atis_flight", "de", "ich will nach [toloc.city : new york]"),
        ("4", "atis_airfare", "de", ""),
    ]
    assert audit.notes[0] == "MultiATIS++: 2 examples, 2 intents."


def test_massive_is_named(tmp_path: Path) -> None:
    row = {
        "id": "0",
        "locale": "de-DE",
        "partition": "test",
        "scenario": "alarm",
        "utt": "weck mich",
        "annot_utt": "",
    }
    lines = [{**row, "intent": intent} for intent in ("alarm_set", "alarm_query")]
    _, audit = read(tmp_path, "\n".join(map(json.dumps, lines)), "de-DE.jsonl")
    assert audit.notes[0] == "MASSIVE: 2 examples, 2 intents."


def test_no_sentence_of_a_table_is_in_a_message(tmp_path: Path) -> None:
    for text in ("my secret is this?,pool\n5,6\n", "my secret is this?,my secret is this?\na,b\n"):
        with pytest.raises(DataError) as caught:
            read(tmp_path, text)
        assert "secret" not in str(caught.value)
