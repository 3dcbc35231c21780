"""Amazon Lex's bots of both versions."""

from pathlib import Path

from emu_core.formats.labelled import read_labelled
from tests.support.exports import cells, folder_of

COLUMNS = ("text", "intent", "language")


def intent(name: str, *utterances: str) -> dict[str, object]:
    return {
        "name": name,
        "sampleUtterances": [{"utterance": text} for text in utterances],
        "slotPriorities": [],
    }


def test_version_2() -> None:
    slot = {"name": "city", "valueElicitationSetting": {"sampleUtterances": [{"utterance": "to {city}"}]}}
    files = {
        "Manifest.json": {"metaData": {}},
        "Trip/Bot.json": {"name": "Trip", "identifier": "X"},
        "Trip/BotLocales/es_419/BotLocale.json": {"identifier": "es_419"},
        "Trip/BotLocales/es_419/Intents/Book/Intent.json": intent("Book", "ir a {city}", "viajar"),
        "Trip/BotLocales/es_419/Intents/Book/Slots/city/Slot.json": slot,
        "Trip/BotLocales/en_GB/Intents/Book/Intent.json": intent("Book", "travel"),
        "Trip/BotLocales/en_GB/Intents/FallbackIntent/Intent.json": {
            "name": "Fallback",
            "sampleUtterances": None,
        },
    }

    assert cells(files, *COLUMNS) == [
        ("travel", "Book", "en_GB"),
        ("ir a {city}", "Book", "es_419"),
        ("viajar", "Book", "es_419"),
    ]


def test_the_folder_of_a_locale(tmp_path: Path) -> None:
    files = {
        "Intents/A/Intent.json": intent("A", "eins", "zwei"),
        "Intents/B/Intent.json": intent("B", "drei"),
        "BotLocale.json": {"name": "Deutsch", "identifier": "de_DE"},
    }

    assert {language for _, _, language in cells(files, *COLUMNS)} == {"de_DE"}
    folder = folder_of(tmp_path / "BotLocales" / "it_IT", {path: files[path] for path in list(files)[:2]})
    for sources in (folder, [folder / path for path in list(files)[:2]]):
        labelled, _ = read_labelled(sources)
        assert labelled.languages == ("it",) and labelled.intents == ("A", "B")


def test_version_1() -> None:
    resource = {
        "name": "Trip",
        "locale": "en-US",
        "intents": [
            {
                "name": "Book",
                "sampleUtterances": ["go to {city}", "travel"],
                "slots": [{"sampleUtterances": ["to"]}],
            },
            {"name": "Bye", "sampleUtterances": []},
        ],
    }

    assert cells({"Trip.json": {"metadata": {"schemaVersion": "1.0"}, "resource": resource}}, *COLUMNS) == [
        ("go to {city}", "Book", "en-US"),
        ("travel", "Book", "en-US"),
    ]
