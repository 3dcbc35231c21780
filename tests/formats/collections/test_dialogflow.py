"""Dialogflow's agents, ES and CX, and what its API returns."""

from pathlib import Path

import pytest

from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled
from tests.support.exports import cells, folder_of, part, tables_of

COLUMNS = ("text", "intent", "language", "annotated")


def phrase(*parts: object, **keys: object) -> dict[str, object]:
    return {"id": "1", "data": list(parts), "isTemplate": False, "count": 0, **keys}


def test_es_agent() -> None:
    files = {
        "agent.json": {"language": "en", "supportedLanguages": ["de"]},
        "package.json": {"version": "1.0.0"},
        "entities/city.json": {"name": "city"},
        "entities/city_entries_en.json": [{"value": "Rome", "synonyms": ["Roma"]}],
        "intents/Book_a_trip.json": {
            "name": "Book: a trip",
            "responses": [{"messages": [{"speech": "Where to?"}]}],
        },
        "intents/Book_a_trip_usersays_en.json": [
            phrase(
                part("to "), part("Rome", alias="city", meta="@city"), part(" "), part("today", alias="date")
            ),
            phrase(part("book @city:city", userDefined=False), isTemplate=True),
        ],
        "intents/Book_a_trip_usersays_pt-br.json": [phrase(part("viajar"))],
        "intents/Default Fallback Intent.json": {"name": "Default Fallback Intent"},
        "intents/Default Fallback Intent_usersays_zh-tw.json": [phrase(part("嗯"))],
    }

    assert cells(files, *COLUMNS) == [
        ("to Rome today", "Book: a trip", "en", "to [city : Rome] [date : today]"),
        ("book @city:city", "Book: a trip", "en", ""),
        ("viajar", "Book: a trip", "pt-br", ""),
        ("嗯", "Default Fallback Intent", "zh-tw", ""),
    ]


def test_es_languages_are_codes(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path / "agent",
        {
            f"intents/{intent}_usersays_{locale}.json": [phrase(part(f"{intent} {locale}"))]
            for intent in ("a", "b")
            for locale in ("en", "en-au", "pt-br", "zh-tw")
        },
    )

    labelled, audit = read_labelled(folder)

    assert labelled.languages == ("en", "pt", "zh-tw")
    assert "Dialogflow ES: 8 examples, 2 intents in 8 files." in audit.notes


def test_es_files_that_are_named_one_by_one(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path,
        {
            "a_usersays_de.json": [phrase(part("hallo"))],
            "b_usersays_de.json": [phrase(part("tschüss"))],
            "a.json": {"id": "1", "name": "a", "auto": True, "responses": []},
        },
    )

    labelled, audit = read_labelled(sorted(folder.glob("*.json")))

    assert labelled.intents == ("a", "b") and labelled.languages == ("de",)
    assert "Not read, since they hold no labelled sentences: a.json." in audit.notes
    with pytest.raises(DataError, match=r"a.json \(Dialogflow ES\) holds no sentences to read; export it"):
        read_labelled(folder / "a.json")


def test_es_older_agent() -> None:
    files = {
        "agent.json": {"language": "fr"},
        "intents/a.json": {
            "name": "A",
            "userSays": [phrase(part("au "), part("nord", alias="where")), phrase()],
        },
        "intents/b.json": {"name": "B", "userSays": [phrase(part("bye"), lang="en")]},
        "intents/c.json": {"name": "C", "userSays": []},
    }

    assert [row for row in cells(files, *COLUMNS) if row[0]] == [
        ("au nord", "A", "fr", "au [where : nord]"),
        ("bye", "B", "en", ""),
    ]


def test_cx_agent() -> None:
    files = {
        "Agent/agent.json": {"displayName": "Bot", "defaultLanguageCode": "en"},
        "Agent/intents/book/book.json": {"name": "5", "displayName": "trip.book", "numTrainingPhrases": 2},
        "Agent/intents/book/trainingPhrases/en.json": {
            "trainingPhrases": [
                {"id": "1", "parts": [part("to "), part("Rome", parameterId="city")], "repeatCount": 3},
                {"parts": []},
            ]
        },
        "Agent/intents/book/trainingPhrases/en-us.json": {
            "trainingPhrases": [{"parts": [part("go", auto=True)], "languageCode": "en-us"}]
        },
        "Agent/intents/bye/trainingPhrases/fr-ca.json": {"trainingPhrases": [{"parts": [part("salut")]}]},
        "Agent/flows/Start/Start.json": {"displayName": "Start", "transitionRoutes": [{"intent": "book"}]},
    }

    assert [row for row in cells(files, *COLUMNS) if row[0]] == [
        ("go", "trip.book", "en-us", ""),
        ("to Rome", "trip.book", "en", "to [city : Rome]"),
        ("salut", "bye", "fr-ca", ""),
    ]


def test_cx_equal_locales_are_one_language(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path / "intents",
        {
            f"{intent}/trainingPhrases/{locale}.json": {
                "trainingPhrases": [{"parts": [part(f"{intent} {locale}")]}]
            }
            for intent in ("a", "b")
            for locale in ("en", "en-us", "de")
        },
    )

    labelled, _ = read_labelled(folder)

    assert labelled.languages == ("en", "de") and len(labelled) == 6 and labelled.intents == ("a", "b")


def test_a_file_of_cx_that_is_named_alone_is_named_by_its_folders(tmp_path: Path) -> None:
    phrases = {"trainingPhrases": [{"parts": [part("hi")]}, {"parts": [part("hello")]}]}
    folder = folder_of(tmp_path, {f"{name}/trainingPhrases/de.json": phrases for name in ("a", "b")})

    labelled, _ = read_labelled([folder / name / "trainingPhrases" / "de.json" for name in ("a", "b")])

    assert labelled.intents == ("a", "b") and labelled.languages == ("de",)


def test_intents_of_the_api() -> None:
    intent = {
        "name": "projects/p/agent/intents/1",
        "displayName": "book",
        "trainingPhrases": [
            {"type": "EXAMPLE", "parts": [part("to "), part("Rome", entityType="@city", alias="city")]}
        ],
    }

    for content in (intent, {"intents": [intent, {"displayName": "empty"}], "nextPageToken": ""}, [intent]):
        assert cells({"intents.json": content}, *COLUMNS) == [("to Rome", "book", "", "to [city : Rome]")]


def test_label_studio_is_not_dialogflow() -> None:
    annotation = {"result": [{"from_name": "intent", "value": {"choices": ["greet"]}}]}
    tables, _ = tables_of({"x.json": [{"id": 1, "data": {"text": "hi"}, "annotations": [annotation]}]})

    assert tables[0].recognised == "Label Studio"
