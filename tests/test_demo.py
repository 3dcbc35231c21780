"""The demo set keeps its promises: 28 intents, six languages, parallel, annotated, no utterance twice."""

import pandas as pd
import pytest

from emu_core.data.demo import demo_paths, load_demo
from emu_core.data.labelled import LabelledSet
from emu_core.data.load import read_labelled
from emu_core.data.readers import read_table
from emu_core.data.slots import parse_annotated

LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")


@pytest.fixture(scope="module")
def demo() -> LabelledSet:
    return load_demo()


def test_audit_finds_nothing(demo: LabelledSet) -> None:
    """No row dropped, no text twice or with two intents, no id in two splits, scripts that fit."""
    labelled, audit = read_labelled(["demo"])
    assert audit.summary() == [f"{len(demo):,} of {len(demo):,} rows kept: 28 intents in 6 languages."]
    assert labelled.frame.equals(demo.frame)
    assert labelled.name == "demo"


def test_counts_and_splits(demo: LabelledSet) -> None:
    assert demo.languages == LANGUAGES
    counts = demo.counts()
    assert counts.shape == (28, 6)
    assert counts.to_numpy().min() >= 16
    assert demo.splits == ("test", "train")
    for split in demo.splits:
        part = demo.select(splits=[split])
        assert part.counts().shape == (28, 6)
        assert part.counts().to_numpy().min() >= 1


def test_parallel_by_id(demo: LabelledSet) -> None:
    columns = ["intent", "split"]
    english = demo.select(languages=["en"]).frame.set_index("id")[columns].sort_index()
    assert english.index.is_unique
    for language in LANGUAGES[1:]:
        other = demo.select(languages=[language]).frame.set_index("id")[columns].sort_index()
        pd.testing.assert_frame_equal(other, english)


def test_annotations_are_the_texts_with_the_same_slots_in_every_language(demo: LabelledSet) -> None:
    names: dict[str, dict[str, list[str]]] = {}
    with_slots = dict.fromkeys(LANGUAGES, 0)
    for row in demo.frame.itertuples():
        plain, slots = parse_annotated(str(row.annotated))
        assert plain == row.text
        names.setdefault(str(row.id), {})[str(row.language)] = sorted(slot.name for slot in slots)
        with_slots[str(row.language)] += bool(slots)
    assert min(with_slots.values()) > 0
    for identifier, by_language in names.items():
        assert len({tuple(slots) for slots in by_language.values()}) == 1, (identifier, by_language)


def test_a_third_are_lexical_traps() -> None:
    for path in demo_paths():
        traps = read_table(path, path.name)["trap"]
        assert (~traps.isin(["", "0", "no", "false"])).mean() >= 1 / 3, path.name
