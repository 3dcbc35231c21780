"""Texts of all kinds come back from a folder as they were."""

from pathlib import Path

import numpy as np
import pytest

from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import TEXT_KINDS, read_stored_texts, store_texts
from emu_core.data.texts.text import TrainingText
from emu_core.errors import DataError

TEXTS: tuple[TrainingText, ...] = (
    ParallelText("en", "de", ("a\u2028b", "b"), ("ä", "ß"), "x", (0, 1), ("odd",)),
    Dialogues("fr", ("où ?", "là"), ("ici", "là"), "d", ("one row left out",)),
    RunningText("en", (("one", "two", "three"), ("four", "five", "six")), "r"),
    Nli(("a", "b"), ("c", "d"), np.array([2, 0]), "en", "n"),
)


def same(one: TrainingText, other: TrainingText) -> bool:
    frames = [text.to_frame().to_dict("list") for text in (one, other)]
    return type(one) is type(other) and one.facts() == other.facts() and frames[0] == frames[1]


def test_every_kind_has_its_text_here() -> None:
    assert [type(text) for text in TEXTS] == list(TEXT_KINDS.values())


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.kind)
def test_a_text_is_its_frame_and_its_facts(text: TrainingText) -> None:
    again = TEXT_KINDS[text.kind].from_frame(text.to_frame(), text.facts())
    assert same(again, text) and len(again) == len(text)
    assert isinstance(text, Nli) or again == text
    if isinstance(again, Nli):
        assert again.labels.dtype == np.int64 and again.labels.tolist() == [2, 0]


def test_parts_come_back_from_a_folder(tmp_path: Path) -> None:
    store_texts(tmp_path, {"train": TEXTS, "dev": TEXTS[:1]})
    parts = read_stored_texts(tmp_path)
    assert list(parts) == ["train", "dev"]
    assert all(same(*two) for two in zip(parts["train"], TEXTS, strict=True))
    assert parts["dev"] == [TEXTS[0]]


@pytest.mark.parametrize("name", ["texts-2.parquet", "texts.json"])
@pytest.mark.parametrize("damage", [None, b"", b"damaged"])
def test_damaged_files_are_refused(tmp_path: Path, name: str, damage: bytes | None) -> None:
    store_texts(tmp_path, {"train": TEXTS})
    if damage is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(damage)
    with pytest.raises(DataError, match="damaged"):
        read_stored_texts(tmp_path)


def test_texts_of_a_run_of_the_first_version_are_read(tmp_path: Path) -> None:
    TEXTS[1].to_frame().to_parquet(tmp_path / "texts-1.parquet")  # its facts have no part
    facts = '[{"kind": "dialogues", "language": "fr", "name": "d", "notes": ["one row left out"]}]'
    (tmp_path / "texts.json").write_text(facts)
    assert read_stored_texts(tmp_path) == {"train": [TEXTS[1]]}


def test_the_hash_is_of_sentences_and_languages() -> None:
    text = Dialogues("fr", ("a", "b"), ("c", "d"), "one")
    assert text.sha256() == Dialogues("fr", ("a", "b"), ("c", "d"), "two", ("note",)).sha256()
    others = (
        Dialogues("de", ("a", "b"), ("c", "d"), "one"),
        Dialogues("fr", ("b", "a"), ("c", "d"), "one"),
        Dialogues("fr", ("a", "b"), ("c", "e"), "one"),
    )
    assert len({text.sha256(), *(other.sha256() for other in others), *(t.sha256() for t in TEXTS)}) == 8
