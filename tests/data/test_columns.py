import pandas as pd
import pytest

from emu_core.data.labelled.columns import LABELLED_COLUMNS, ColumnMapping, apply_columns, guess_columns
from emu_core.data.readers.tables import read_table
from emu_core.errors import DataError


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


def test_what_a_person_fixed_is_kept_and_used_once() -> None:
    guessed = guess_columns(table("text", "label", "intent"), ColumnMapping(text="intent"))
    assert guessed == ColumnMapping(text="intent", intent="label")


def test_massive_is_read_as_it_is() -> None:
    line = (
        '{"id": "0", "locale": "de-DE", "partition": "%s", "scenario": "alarm", "intent": "alarm_set", '
        '"utt": "weck mich", "annot_utt": "weck mich [time : um fünf]", "judgments": [{"x": 1}]}\n'
    )
    frame = read_table(((line % "dev") + (line % "train")).encode(), "de-DE.jsonl")
    plain = apply_columns(frame, guess_columns(frame), language=None, name="de-DE.jsonl")
    assert tuple(plain.columns) == LABELLED_COLUMNS
    assert plain.iloc[0].tolist() == [
        "0",
        "weck mich",
        "alarm_set",
        "de",
        "dev",
        "weck mich [time : um fünf]",
    ]
    assert plain["split"].tolist() == ["dev", "train"]


def test_missing_and_wrong_columns_say_what_there_is() -> None:
    frame = table("text", "label2", "language")
    words = r"x\.csv: no column 'intent'; found: text, label2, language\. "
    words += r"Map one: mapping=ColumnMapping\(intent='label2'\)"
    with pytest.raises(DataError, match=words):
        apply_columns(frame, guess_columns(frame), language=None, name="x.csv")
    with pytest.raises(
        DataError, match=r"no column .text.; found: b\. Map one: mapping=ColumnMapping\(text='b'"
    ):
        apply_columns(table("b"), ColumnMapping(), language="en", name="x.csv")
    with pytest.raises(DataError, match="no column 'nope'; found: text, label2"):
        apply_columns(frame, ColumnMapping(text="nope", intent="label2"), language="en", name="x.csv")
    with pytest.raises(DataError, match="'label2' is mapped to text and to intent; choose"):
        apply_columns(frame, ColumnMapping(text="label2", intent="label2"), language="en", name="x.csv")
    with pytest.raises(DataError, match="text='a b'"):
        apply_columns(table("a b"), ColumnMapping(), language="en", name="x.csv")


def test_where_the_language_comes_from() -> None:
    frame = table("text", "intent")
    mapping = guess_columns(frame)

    def languages(language: str | None, name: str) -> set[str]:
        return set(apply_columns(frame, mapping, language=language, name=name)["language"])

    assert languages(None, "sib.de.csv") == {"de"}
    assert languages("German", "x.csv") == {"de"}
    assert languages("fr", "de.csv") == {"fr"}
    with pytest.raises(DataError, match=r"does not say its language.*\(language='en'\)"):
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
