"""Which sentences an encoder was trained on, as its folder knows it."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from emu_core import configure, train
from emu_core.api.intent_classifier import IntentClassifier
from emu_core.data.sets import LabelledSet
from emu_core.errors import RunError
from emu_core.runs import trained_on as module
from emu_core.runs.run import Run
from emu_core.runs.trained_on import TRAINED_ON, TrainedOn, trained_on, trained_rows
from tests.support.small import small_set
from tests.support.small_run import small_run
from tests.support.tiny_transformer import tiny_transformer

Trained = tuple[Run, LabelledSet]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    run, labelled, _ = small_run(tmp_path_factory.mktemp("trained") / "runs")
    return run, labelled


def selection(labelled: LabelledSet, **columns: str) -> LabelledSet:
    """The set with other values in some columns, which makes it another set."""
    return LabelledSet(labelled.frame.assign(**columns), "another")


@pytest.mark.slow
def test_its_file_has_a_hash_for_each_sentence_whose_label_was_learnt(trained: Trained) -> None:
    run, labelled = trained
    known = trained_on(f"run:{run.folder}")
    learnt = labelled.select(splits=["train"], languages=["en"]).frame
    assert known.unknown == "" and len(known.hashes) == len(set(learnt["text"].str.casefold()))
    assert known.rows(learnt.assign(id="")).all()
    # It is no text, and other sentences are not in it.
    content = (run.encoder_folder / TRAINED_ON).read_bytes()
    assert not any(text.encode() in content for text in learnt["text"])
    assert not known.rows(labelled.select(splits=["test"]).frame.assign(id="")).any()
    assert not known.rows(labelled.select(languages=["de"]).frame.assign(id="")).any()
    assert not known.rows(learnt.assign(id="", language="nl")).any()


def test_repeats_and_translations_of_sentences_are_known_in_any_set(trained: Trained) -> None:
    run, labelled = trained
    spec, train_rows = f"run:{run.folder}", (labelled.frame["split"] == "train").to_numpy()
    for other in (labelled, selection(labelled, split=""), selection(labelled, annotated="x")):
        rows, unknown = trained_rows(spec, other)
        assert unknown == "" and rows.tolist() == train_rows.tolist()
    shouted = labelled.frame.assign(text=labelled.frame["text"].str.upper() + "\u200b", id="")
    rows, _ = trained_rows(spec, LabelledSet(shouted, "shouted"))
    assert rows.tolist() == (train_rows & (labelled.frame["language"] == "en")).tolist()
    assert not trained_rows("use", labelled)[0].any()


@pytest.mark.slow
def test_a_run_on_a_run_knows_the_sentences_of_both(trained: Trained, tmp_path: Path) -> None:
    run, labelled = trained
    german = labelled.select(languages=["de"])
    second = train(
        german,
        encoder=f"run:{run.folder}",
        train_languages=["de"],
        method="head",
        out=tmp_path / "second",
        device="cpu",
    )
    bare = selection(labelled, id="", split="")
    rows, unknown = trained_rows(f"run:{second.folder}", bare)
    trained_languages = labelled.frame["language"].isin(["en", "de"])
    assert (
        unknown == "" and rows.tolist() == (trained_languages & (labelled.frame["split"] == "train")).tolist()
    )


@pytest.mark.slow
def test_an_intent_model_on_a_head_has_learnt_what_its_base_has(tmp_path: Path) -> None:
    """A head moves vectors by labels; without it, they are the base encoder's, which has seen none."""
    labelled = small_set(("en", "de"))
    head = train(labelled, out=tmp_path / "head", method="head", device="cpu")
    learnt = labelled.select(splits=["train"], languages=["en"])
    assert trained_rows(f"run:{head.folder}", learnt)[0].all()
    of_head, of_base = (
        IntentClassifier(spec, device="cpu").fit(learnt) for spec in (f"run:{head.folder}", "use")
    )
    assert of_head.facts == of_base.facts and of_head.facts["accuracy"] is not None
    asked = labelled.select(splits=["test"]).frame["text"].tolist()
    assert of_head.predict_proba(asked).tolist() == of_base.predict_proba(asked).tolist()
    # A head on what was fine-tuned has learnt its sentences, and one beside another encoder none.
    tuned = train(
        labelled,
        out=tmp_path / "tuned",
        method="emu",
        config=configure("emu", "use", epochs=1),
        device="cpu",
    )
    above = train(
        labelled, encoder=f"run:{tuned.folder}", method="head", out=tmp_path / "above", device="cpu"
    )
    assert IntentClassifier(f"run:{above.folder}", device="cpu").fit(learnt).facts["accuracy"] is None
    joined = IntentClassifier(f"run:{head.folder}+use", device="cpu").fit(learnt)
    assert joined.facts["accuracy"] is not None and not any("trained on" in note for note in joined.notes_)


@pytest.mark.slow
def test_where_nothing_is_known_it_is_said(trained: Trained, tmp_path: Path) -> None:
    run, labelled = trained
    shutil.copytree(run.encoder_folder, tmp_path / "old" / "encoder")
    (tmp_path / "old" / "encoder" / TRAINED_ON).unlink()
    (tmp_path / "old" / "encoder" / "checksums.json").unlink()
    model = tiny_transformer(tmp_path / "tiny")
    for spec in (f"run:{tmp_path / 'old'}", f"hf:{model}"):
        rows, unknown = trained_rows(spec, labelled)
        assert not rows.any() and unknown == spec
    notes = IntentClassifier(f"run:{tmp_path / 'old'}", device="cpu").fit(small_set(("en",))).notes_
    assert "does not say which sentences it was trained on" in notes[-1]
    # The data of a run without hashes are known as a whole.
    shutil.copyfile(run.folder / "data.json", tmp_path / "old" / "data.json")
    rows, unknown = trained_rows(f"run:{tmp_path / 'old'}", labelled)
    assert rows.sum() == (labelled.frame["split"] == "train").sum() and unknown == ""


def test_a_damaged_file_is_refused(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    for content in (b"", b"no safetensors", b"\x08\0\0\0\0\0\0\0{}      "):
        (tmp_path / "encoder" / TRAINED_ON).write_bytes(content)
        with pytest.raises(RunError, match="damaged"):
            trained_on(f"run:{tmp_path}")


def test_hashes_of_another_rule_say_nothing(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    run, labelled = trained
    spec = f"run:{run.folder}"
    monkeypatch.setattr(module, "repeat_keys", lambda sentences: sentences["text"])
    assert trained_on(spec).unknown == spec
    assert not trained_rows(spec, selection(labelled, split=""))[0].any()


def test_the_same_sentences_make_the_same_file(tmp_path: Path) -> None:
    frame = small_set(("en",)).frame
    nothing = TrainedOn(np.empty(0, np.uint64))
    for name, rows in (("one", frame), ("two", frame.iloc[::-1])):
        (tmp_path / name).mkdir()
        nothing.joined(rows).save(tmp_path / name)
    one, two = ((tmp_path / name / TRAINED_ON).read_bytes() for name in ("one", "two"))
    assert one == two
