from pathlib import Path

import pandas as pd
import pytest

from emu_app.data.tables import read_upload
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.errors import DataError
from emu_core.formats.read import read_files
from emu_core.formats.source_files import source_files
from emu_core.formats.tables.columns import apply_columns, guess_columns, guess_columns_of, guess_notes
from tests.support.exports import folder_of


def table(*columns: str) -> pd.DataFrame:
    return pd.DataFrame(
        [[f"{column} {row}" for column in columns] for row in range(2)], columns=list(columns)
    )


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("id,text,intent,language,split,annotated,trap", "text intent language id split annotated"),
        ("Utterance,LABEL,Locale", "Utterance LABEL Locale - - -"),
        ("sentence,category,lang,uid,partition,annot_utt", "sentence category lang uid partition annot_utt"),
        ("id,label,label_text,text,lang", "text label_text lang id - -"),
        ("scenario,intent,utt", "utt intent - - - -"),
        ("scenario,utt", "utt scenario - - - -"),
        ("Satz,Absicht,Sprache,Schlüssel,Aufteilung", "Satz Absicht Sprache Schlüssel Aufteilung -"),
        ("AEUSSERUNG,Kategorie", "AEUSSERUNG Kategorie - - - -"),
        ("pregunta,INTENCION,idioma,partición", "pregunta INTENCION idioma - partición -"),
        ("Énoncé,catégorie,langue,identifiant", "Énoncé catégorie langue identifiant - -"),
        ("テキスト,インテント,言語", "テキスト インテント 言語 - - -"),
        ("句子,意图,语言,编号", "句子 意图 语言 编号 - -"),
        ("Intent Name,label-text,query", "query Intent Name - - - -".replace("Intent Name", "Intent~Name")),
        ("a,b", "- - - - - -"),
    ],
)
def test_guess(header: str, expected: str) -> None:
    names = [None if name == "-" else name.replace("~", " ") for name in expected.split()]
    assert guess_columns(table(*header.split(","))) == ColumnMapping(*names)


def cells(**columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame({name.replace("_", " "): values for name, values in columns.items()}, dtype="str")


SENTENCES = [f"my order number {number} did not arrive" for number in range(10)]
TOPICS = ["late", "lost"] * 5


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Ticket text", "Topic of ticket"),
        ("user_utterance_clean", "Intent name (final)"),
        ("customerMessage", "predictedLabel2"),
        ("Kundenanfrage", "Hauptkategorie"),
        ("Texto del cliente", "categoría final"),
        ("ユーザー発話", "主インテント"),
        ("messages", "main category"),
    ],
)
def test_a_word_of_a_name_decides_and_is_said(text: str, intent: str) -> None:
    frame = pd.DataFrame(
        {intent: TOPICS, "Note": [f"{row} and more than that" * 9 for row in SENTENCES], text: SENTENCES}
    )
    columns = guess_columns(frame)
    assert (columns.text, columns.intent) == (text, intent)
    assert guess_notes(columns, None, "x.csv") == (
        f"x.csv, guessed: text is column '{text}', intent is column '{intent}'.",
    )
    assert guess_notes(columns, ColumnMapping(text=text, intent=intent), "x.csv") == ()


def test_names_of_columns_about_a_sentence_are_not_its_own() -> None:
    frame = cells(
        message_id=[f"m{number}" for number in range(10)],
        message_date=[f"2024-01-{number + 10}" for number in range(10)],
        text_length=["12"] * 10,
        label_confidence=["0.5", "0.7"] * 5,
        message_language=["en", "de"] * 5,
        wrote=SENTENCES,
        theme=TOPICS,
    )
    assert guess_columns(frame) == ColumnMapping(text="wrote", intent="theme", language="message language")


def test_contents_decide_where_no_name_does() -> None:
    frame = cells(
        nr=[str(number) for number in range(10)],
        when=["2024-01-02", "2024-01-03"] * 5,
        page=[f"https://example.org/{number}" for number in range(10)],
        mail=["ann@example.org", "bob@example.org"] * 5,
        hash=[f"{number:032x}" for number in range(10)],
        done=["yes", "no"] * 5,
        stars=["1", "5"] * 5,
        wrote=SENTENCES,
        about=TOPICS,
        spoken=["de", "en-GB"] * 5,
        part=["train"] * 8 + ["dev"] * 2,
    )
    columns = guess_columns(frame)
    assert columns == ColumnMapping(text="wrote", intent="about", language="spoken", split="part")
    assert guess_columns(frame.drop(columns="about")).intent in ("done", "stars")
    assert guess_columns(frame.drop(columns="wrote")).text is None


def test_ties_and_unique_values_are_not_guessed() -> None:
    frame = cells(one=SENTENCES, two=SENTENCES, three=[f"topic {number}" for number in range(10)])
    assert guess_columns(frame) == ColumnMapping()


def test_columns_without_names_are_guessed_from_few_rows() -> None:
    frame = pd.DataFrame(
        {"column 1": ["hi", "hello", "bye"], "column 2": ["greet", "greet", "part"]}, dtype="str"
    )
    assert guess_columns(frame) == ColumnMapping(text="column 1", intent="column 2")
    frame = pd.DataFrame({"column 1": ["greet", "part"], "column 2": ["hi there", "good bye"]}, dtype="str")
    assert guess_columns(frame) == ColumnMapping(text="column 2", intent="column 1")
    assert guess_columns(frame.set_axis(["a", "b"], axis=1)).intent is None


def test_departments_are_no_languages() -> None:
    frame = cells(wrote=SENTENCES, office=["IT", "HR"] * 5)
    assert guess_columns(frame) == ColumnMapping(text="wrote", intent="office")
    frame = cells(wrote=SENTENCES, about=TOPICS, ticket_language=["DE", "EN"] * 5)
    assert guess_columns(frame).language == "ticket language"


def test_a_question_with_its_answer_and_category() -> None:
    answers = [f"we do as you say and it is there, number {number}" for number in range(10)]
    frame = cells(question=SENTENCES, answer=answers, category=TOPICS)
    assert guess_columns(frame) == ColumnMapping(text="question", intent="category")
    frame = cells(Kundenfrage=SENTENCES, Antwort=answers, Bereich=TOPICS)
    assert guess_columns(frame) == ColumnMapping(text="Kundenfrage", intent="Bereich")


def test_usual_names_are_not_said() -> None:
    assert guess_notes(ColumnMapping(text="utt", intent="label", language="locale"), None, "x.csv") == ()


def test_what_a_person_fixed_is_kept_and_used_once() -> None:
    guessed = guess_columns(table("text", "label", "intent"), ColumnMapping(text="intent"))
    assert guessed == ColumnMapping(text="intent", intent="label")


def test_missing_and_wrong_columns_say_what_there_is() -> None:
    frame = table("text", "trap", "language")
    words = r"x\.csv: no column 'intent'; found: text, trap, language\. "
    words += r"Name the column of intents \(reading=Reading\(mapping=ColumnMapping\(intent=\.\.\.\)\)\)$"
    with pytest.raises(DataError, match=words):
        apply_columns(frame, guess_columns(frame), language=None, name="x.csv")
    with pytest.raises(
        DataError,
        match=r"no column .text.; found: b\. Name the column of sentences \(reading=.*ColumnMapping\(text=",
    ):
        apply_columns(table("b"), ColumnMapping(), language="en", name="x.csv")
    with pytest.raises(DataError, match="no column 'nope'; found: text, trap"):
        apply_columns(frame, ColumnMapping(text="nope", intent="trap"), language="en", name="x.csv")
    with pytest.raises(DataError, match="'trap' is mapped to text and to intent; choose"):
        apply_columns(frame, ColumnMapping(text="trap", intent="trap"), language="en", name="x.csv")
    sentences = table("where is my secret?", "intent or so")
    with pytest.raises(DataError, match=r"found: column 1, column 2\. "):
        apply_columns(sentences, ColumnMapping(), language="en", name="x.csv")


def test_where_the_language_comes_from() -> None:
    frame = table("text", "intent")

    def languages(language: str | None, name: str) -> set[str]:
        files = source_files([(name, frame.to_csv(index=False).encode())])
        return set(read_files(files, reading=Reading(language=language)).rows["language"])

    assert languages(None, "sib.de.csv") == {"de"}
    assert languages("German", "x.csv") == {"de"}
    assert languages("fr", "de.csv") == {"de"}
    with pytest.raises(DataError, match=r"does not say its language.*\(reading=Reading\(language='en'\)\)"):
        languages(None, "x.csv")
    with pytest.raises(DataError, match="'Klingonese' is not a language"):
        languages("Klingonese", "x.csv")
    own = frame.assign(language=["de-DE", "zh_TW"])
    plain = apply_columns(own, guess_columns(own), language="en", name="fr.csv")
    assert plain["language"].tolist() == ["de", "zh-tw"]


def test_splits_get_their_usual_names_and_missing_values_are_empty() -> None:
    frame = pd.DataFrame(
        {"text": ["a", None, "c"], "intent": ["x"] * 3, "split": ["Validation", " TRAINING ", "fold 1"]},
        index=[7, 8, 9],
    )
    plain = apply_columns(frame, guess_columns(frame), language="en", name="x.csv")
    assert plain["split"].tolist() == ["dev", "train", "fold 1"]
    assert plain["text"].tolist() == ["a", "", "c"]
    assert plain["id"].tolist() == [""] * 3
    assert plain.index.equals(pd.RangeIndex(3))


def two_files(first: pd.DataFrame, second: pd.DataFrame) -> list[ColumnMapping]:
    """Return the columns of two tables of one set, which must not depend on their order."""
    columns = guess_columns_of([first, second], [None, None])
    assert guess_columns_of([second, first], [None, None]) == columns[::-1]
    return columns


def test_a_choice_of_column_is_made_once_for_all_files_of_a_set() -> None:
    large = cells(mail=SENTENCES, concern=TOPICS, floor=[f"floor {row % 5}" for row in range(10)])
    small = cells(mail=SENTENCES[:3], concern=TOPICS[:3], floor=["floor 1", "floor 1", "floor 2"])
    tiny = cells(mail=SENTENCES[:2], concern=["late", "lost"], floor=["floor 1", "floor 1"])
    for other in (small, tiny, small.assign(more="x"), small.drop(columns="floor")):
        together = two_files(large, other)
        assert {columns.intent for columns in together} == {guess_columns(large).intent} == {"concern"}
        assert {columns.text for columns in together} == {"mail"}


def test_without_names_it_is_made_once_for_tables_of_one_width() -> None:
    names = ["column 1", "column 2", "column 3"]
    large = cells(a=SENTENCES, b=TOPICS, c=["x", "x", "y", "z", "x"] * 2).set_axis(names, axis=1)
    small = cells(a=SENTENCES[:3], b=["late", "lost", "torn"], c=["x", "x", "y"]).set_axis(names, axis=1)
    assert guess_columns(small).intent == "column 3"
    assert {columns.intent for columns in two_files(large, small)} == {guess_columns(large).intent}


def test_tables_of_several_tools_have_their_own_columns() -> None:
    first = cells(mail=SENTENCES, concern=TOPICS)
    second = cells(wording=[f"please tell me about it {row}" for row in range(10)], desk=TOPICS)
    assert two_files(first, second) == [
        ColumnMapping(text="mail", intent="concern"),
        ColumnMapping(text="wording", intent="desk"),
    ]
    usual = cells(text=SENTENCES, intent=TOPICS, concern=["x", "x", "y", "y", "z"] * 2)
    assert two_files(usual, first) == [
        ColumnMapping(text="text", intent="intent"),
        ColumnMapping(text="mail", intent="concern"),
    ]


def test_a_folder_and_an_upload_are_read_by_the_same_columns(tmp_path: Path) -> None:
    large = cells(mail=SENTENCES, concern=TOPICS, floor=[f"floor {row % 5}" for row in range(10)])
    small = cells(mail=SENTENCES[:3], concern=TOPICS[:3], floor=["floor 1", "floor 1", "floor 2"])
    files = {"a.en.csv": large.to_csv(index=False), "b.en.csv": small.to_csv(index=False)}
    rows = read_files(source_files([folder_of(tmp_path, files)])).rows
    assert set(rows["intent"]) == {"late", "lost"} and len(rows) == 13
    upload = read_upload("key", [(name, content.encode()) for name, content in files.items()])
    mappings, notes = upload.mappings(upload.guess())
    assert {columns.intent for columns in mappings} == {"concern"} and len(notes) == 2
