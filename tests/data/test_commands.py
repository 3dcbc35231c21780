"""Generated commands: pairing, annotation, splits and files."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from emu_core.api.generate import generate
from emu_core.api.inputs import labelled_set
from emu_core.data.commands import groups as groups_module
from emu_core.data.commands.generate import Filler, commands_report, generate_commands
from emu_core.data.commands.groups import NUMBERS_BY_KIND, language_groups
from emu_core.data.commands.vocabulary import checked_languages, vocabulary, vocabulary_languages
from emu_core.data.commands.wordings import Expander
from emu_core.data.sets import LabelledSet
from emu_core.data.slots.utterances import parse_annotated
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled

pytest.importorskip("home_assistant_intents")
pytest.importorskip("hassil")

LANGUAGES = ("en", "de", "es")
TWO = ("en", "es")  # whose templates are expanded fastest
COUNT = 600


@pytest.fixture(scope="module")
def commands() -> LabelledSet:
    """Return a few commands in three languages."""
    return generate_commands(LANGUAGES, COUNT, seed=3)


def _slots(frame: pd.DataFrame) -> pd.Series:
    return frame["annotated"].map(lambda text: {slot.name: slot.value for slot in parse_annotated(text)[1]})


@pytest.mark.slow
def test_every_meaning_stands_once_in_each_language(commands: LabelledSet) -> None:
    """Ids are distinct and complete; the intent and split belong to the id."""
    frame = commands.frame
    assert len(frame) == COUNT * len(LANGUAGES)
    assert not frame.duplicated(["id", "language"]).any()
    assert (frame.groupby("id")["language"].nunique() == len(LANGUAGES)).all()
    assert (frame.groupby("id")[["intent", "split"]].nunique() == 1).all(axis=None)
    assert not frame.assign(folded=frame["text"].str.casefold()).duplicated(["folded", "language"]).any()


@pytest.mark.slow
def test_annotations_give_the_text_and_the_same_slots_in_each_language(commands: LabelledSet) -> None:
    """What is in brackets is in the text, and an id has the same slots everywhere."""
    frame = commands.frame
    assert [parse_annotated(text)[0] for text in frame["annotated"]] == frame["text"].tolist()
    names = _slots(frame).map(lambda slots: " ".join(sorted(slots)))
    assert (names.groupby(frame["id"]).nunique() == 1).all()
    assert frame["text"].str.fullmatch(r"\w[^\[\]{}<>|]*[^\s]").all()
    assert not frame["text"].str.contains("  ", regex=False).any()


def test_the_ids_values_are_the_texts_values(commands: LabelledSet) -> None:
    """A value's key in the id leads to the language's own word, and a number to itself."""
    seen = 0
    for row, slots in zip(commands.frame.itertuples(), _slots(commands.frame), strict=True):
        pairs = dict(part.split("=", 1) for part in str(row.id).split("/")[1:])
        assert set(pairs) == set(slots)
        for slot, key in pairs.items():
            if slot == "area":
                word = vocabulary(str(row.language)).values["area"][key]
                assert slots[slot] in {word.text, *word.placed[1:]}
                seen += 1
            elif key.lstrip("-").isdigit():
                assert slots[slot] == key.lstrip("-")
                seen += 1
    assert seen > COUNT


def test_numbers_are_told_apart_by_direction_and_kind() -> None:
    """Louder by 5 and quieter by 5, 2700 kelvin and warm white have different ids."""
    assert set(NUMBERS_BY_KIND["percent_up"]).isdisjoint(NUMBERS_BY_KIND["percent_down"])
    assert set(NUMBERS_BY_KIND["kelvin"]).isdisjoint(language_groups("en").words["color_temperature_names"])


@pytest.mark.slow
def test_splits_are_by_meaning_and_test_has_unseen_wordings(commands: LabelledSet) -> None:
    """About a tenth each for dev and test; what is kept for test is in no train role."""
    shares = commands.frame["split"].value_counts(normalize=True)
    assert shares["train"] == pytest.approx(0.8, abs=0.06)
    assert shares["dev"] == pytest.approx(0.1, abs=0.05)
    groups = language_groups("en")
    lines = Filler(groups, 3).lines
    kept = [group for group in groups.wordings if lines[group, "test"]]
    assert len(kept) > len(groups.wordings) / 3
    for group in kept:
        parts = {
            split: {wording.parts for line in lines[group, split].values() for wording in line}
            for split in ("train", "dev", "test")
        }
        assert parts["train"]
        assert parts["train"].isdisjoint(parts["test"])
        assert parts["train"].isdisjoint(parts["dev"])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_set_in_another_process(commands: LabelledSet) -> None:
    """Nothing depends on the process or on Python's hash seed; another seed gives another set."""
    code = (
        "from emu_core.data.commands.generate import generate_commands as make;"
        f"print(make({TWO!r}, {COUNT}, seed=3).sha256())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}  # this process has another
    other = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    assert other.stdout.strip() == generate_commands(TWO, COUNT, seed=3).sha256()
    assert generate_commands(LANGUAGES, COUNT, seed=4).sha256() != commands.sha256()


def test_a_text_depends_on_its_own_language_alone(commands: LabelledSet) -> None:
    """Fillers say a meaning alike whatever other languages are asked."""
    alone = generate_commands(["de"], COUNT, seed=3).frame.set_index("id")["text"]
    beside = commands.select(languages=["de"]).frame.set_index("id")["text"]
    both = alone.index.intersection(beside.index)
    assert len(both) > COUNT / 4
    assert (alone[both] == beside[both]).mean() > 0.98  # A text that was taken is drawn again.


def test_words_agree() -> None:
    """Articles and places are of the word, not of the template."""
    groups = language_groups("de")
    filler = Filler(groups, 0)
    texts = generate_commands(["de"], COUNT, seed=1).frame["text"]
    assert filler.language == "de"
    assert not texts.str.contains(r"\b(?:das|dem|den|im) Küche\b|\b(?:die|der|den) Wohnzimmer\b").any()
    assert texts.str.contains("in der Küche|im Wohnzimmer").any()


def test_expander_draws_all_of_a_small_template() -> None:
    """Alternatives, optional parts, permutations, rules and told lists."""
    expander = Expander({"on": "(on|off)"}, {"step": {"up": ["louder"]}})
    texts = {
        "".join(part if isinstance(part, str) else f"<{part.slot}>" for part in wording.parts): wording.fixed
        for wording in expander.draw("turn [the] {name:who} <on> {step:volume}", 1, 200)
    }
    assert texts == {
        f"turn {the}<who> {on} louder": (("volume", "up"),) for the in ("", "the ") for on in ("on", "off")
    }
    assert len(expander.draw("(a b;c d)", 1, 50)) == 2
    assert not expander.draw("use <missing>", 1)
    assert not expander.draw("{name}s here", 1), "a value with an ending"


@pytest.mark.parametrize("language", vocabulary_languages())
def test_vocabularies_are_sound(language: str) -> None:
    """Every language has the words English has, none empty, none with a bracket, none twice in a list."""
    own, english = vocabulary(language).values, vocabulary("en").values
    assert len(own["area"]) >= 30
    assert set(own["area"]) == set(english["area"])
    for source, words in own.items():
        assert set(words) <= set(english[source]), source
        texts = [word.text for word in words.values()]
        assert len(set(texts)) == len(texts), (source, texts)
        assert all(text == text.strip() and text and not set(text) & set("[]|~:") for text in texts)


@pytest.mark.slow
def test_each_language_pairs_with_english() -> None:
    """Every language gives paired commands."""
    for language in vocabulary_languages():
        assert len(generate_commands(["en", language], 60)) == 60 * len({"en", language})


@pytest.mark.slow
def test_report_counts_what_languages_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares are of the larger language; weak pairs are said in a sentence."""
    # Of three pairs, two are weak now.
    monkeypatch.setattr("emu_core.data.commands.generate._MIN_SHARED_GROUPS", 0.93)
    report = commands_report(["de", "en", "pl"])
    assert [one["language"] for one in report["languages"]] == ["en", "de", "pl"]
    groups = {one["language"]: one["groups"] for one in report["languages"]}
    for pair in report["pairs"]:
        least, most = sorted([groups[pair["source"]], groups[pair["target"]]])
        assert pair["share"] == pytest.approx(pair["groups"] / most)
        assert report["groups"] <= pair["groups"] <= least
    shares = sorted((pair["share"], pair["groups"]) for pair in report["pairs"])
    weak = [f"share {groups} groups" for share, groups in shares if share < 0.93]
    assert weak and all(words in said for words, said in zip(weak, report["weak"], strict=True))


@pytest.mark.slow
def test_files_are_read_back_to_the_same_set(tmp_path: Path) -> None:
    """One CSV a language, with the licence; nothing is written over."""
    said = generate(["en", "de"], 300, 0, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.md",
        "de.csv",
        "en.csv",
    ]
    back, _ = read_labelled([tmp_path / "out" / "de.csv", tmp_path / "out" / "en.csv"])
    assert back.sha256() == generate_commands(["en", "de"], 300).sha256() == said["sha256"]
    assert [one["language"] for one in said["languages"]] == ["en", "de"]
    whole, _ = labelled_set(str(tmp_path / "out"))  # the folder as it is can be trained on
    assert len(whole) == 600 and whole.languages == ("en", "de")
    assert sum(said["rows"]["de"].values()) == 300
    note = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in note
    assert "Home Assistant" in note
    assert "What was changed" in note
    with (tmp_path / "out" / "en.csv").open(encoding="utf-8-sig", newline="") as file:
        assert not any(cell.startswith(("=", "+", "-", "@", "'")) for row in csv.reader(file) for cell in row)
    with pytest.raises(DataError, match="exists already"):
        generate(["en"], 10, 0, tmp_path / "out")


def test_errors_say_how_to_mend_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is one sentence with what there is."""
    with pytest.raises(DataError, match="ask for 1 or more"):
        generate_commands(["en"], 0)
    with pytest.raises(DataError, match=r"no commands in ja; choose from .*en"):
        generate_commands(["en", "ja"], 5)
    with pytest.raises(DataError, match="choose from"):
        generate_commands([], 5)
    assert checked_languages(["English", "de-DE", "en"]) == ("en", "de")
    monkeypatch.setattr(groups_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install home-assistant-intents==\S+ hassil=="):
        groups_module.check_installed()


def test_too_many_are_refused_with_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count in the message is one that can be had."""
    from emu_core.data.commands import generate as module

    few = [choices for choices in module.shared_choices([language_groups("en")]) if choices.size < 20][:12]
    monkeypatch.setattr(module, "shared_choices", lambda groups: few)
    with pytest.raises(DataError, match=r"the templates give [\d,]+ meanings? in en") as caught:
        generate_commands(["en"], 10_000)
    there_are = int(str(caught.value).split("give ")[1].split()[0].replace(",", ""))
    assert 0 < there_are <= sum(choices.size for choices in few)
    assert len(generate_commands(["en"], there_are)) == there_are
