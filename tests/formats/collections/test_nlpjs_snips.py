"""The corpora of nlp.js, and the data sets of Snips NLU."""

from pathlib import Path

from emu_core.data.reading import Reading
from emu_core.formats.labelled import read_labelled
from tests.support.exports import cells, folder_of, part


def corpus(locale: str, *items: dict[str, object]) -> dict[str, object]:
    return {"name": "Corpus", "locale": locale, "data": list(items)}


def test_nlpjs_tests_are_the_test_split() -> None:
    item = {"intent": "a", "utterances": ["one", "two"], "answers": ["three"]}
    with_tests = corpus(
        "it-IT", {**item, "tests": ["four"]}, {"intention": "b", "utterances": ["five"], "tests": None}
    )

    assert cells({"corpus-it.json": with_tests}, "text", "intent", "language", "split") == [
        ("one", "a", "it-IT", "train"),
        ("two", "a", "it-IT", "train"),
        ("four", "a", "it-IT", "test"),
        ("five", "b", "it-IT", "train"),
    ]
    assert cells({"corpus.json": corpus("it", item)}, "split") == [("",), ("",)]


def test_nlpjs_languages(tmp_path: Path) -> None:
    items = [{"intent": name, "utterances": [name]} for name in ("a", "b")]
    files = {
        f"corpus-{code}.json": corpus(locale, *items) for code, locale in (("en", "en-US"), ("id", "id-ID"))
    }

    labelled, _ = read_labelled(folder_of(tmp_path / "corpora", files))

    assert labelled.languages == ("en", "id")


COLUMNS = ("text", "intent", "language", "annotated")


def test_snips_json() -> None:
    to_rome = {"data": [part("to "), part("Rome", entity="place", slot_name="to")]}
    content = {
        "intents": {
            "book": {"utterances": [to_rome, {"data": []}]},
            "bye": {"utterances": [{"data": [part("bye")]}]},
        },
        "entities": {"place": {"data": [{"value": "Rome", "synonyms": []}]}},
        "language": "fr",
    }

    assert cells({"dataset.json": content}, *COLUMNS) == [
        ("to Rome", "book", "fr", "to [to : Rome]"),
        ("bye", "bye", "fr", ""),
    ]


def test_snips_benchmark(tmp_path: Path) -> None:
    def utterances(text: str) -> list[object]:
        return [{"data": [part("play "), part(text, entity="track")]}]

    files = {
        f"{intent}/{split}_{intent}.json": {intent: utterances(f"{intent} {split}")}
        for intent in ("PlayMusic", "AddToPlaylist")
        for split in ("train", "validate")
    }

    assert ("play PlayMusic train", "PlayMusic", "", "play [track : PlayMusic train]") in cells(
        files, *COLUMNS
    )
    labelled, _ = read_labelled(folder_of(tmp_path / "snips", files), reading=Reading(language="en"))
    assert set(labelled.frame["split"]) == {"train", "dev"} and labelled.intents == (
        "AddToPlaylist",
        "PlayMusic",
    )


def test_snips_yaml() -> None:
    text = (
        "# a bot\n---\ntype: entity\nname: place\nvalues:\n- [Rome, Roma]\n---\ntype: intent\nname: book\nslots:\n"
        "- name: to\n  entity: place\nutterances:\n- to [to:place](Rome)\n- '[to](Bern): now'\n- no\n---\n"
        "type: intent\nname: bye\nutterances: [bye]\n"
    )

    assert cells({"dataset.yaml": text}, *COLUMNS) == [
        ("to Rome", "book", "", "to [to : Rome]"),
        ("Bern: now", "book", "", "[to : Bern]: now"),
        ("no", "book", "", ""),
        ("bye", "bye", "", ""),
    ]
