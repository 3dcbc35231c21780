"""The intent model in a run's folder: written whole, read as it was, refused where it is damaged."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from emu_core import IntentClassifier, export, load_encoder, resume, train
from emu_core.api.train import plan_training
from emu_core.cli import main
from emu_core.data.sets import LabelledSet
from emu_core.encoders.saved import CHECKSUMS, write_checksums
from emu_core.errors import InputError, RunError
from emu_core.intents.answers import NO_INTENT
from emu_core.intents.labelled import fit_intents
from emu_core.runs.intents import INTENTS, StoredIntents, has_intents, load_intents, store_intents
from emu_core.runs.run import Run, RunState, create_run
from tests.support.processes import create_and_finish, exit_code
from tests.support.raises import raises
from tests.support.short_plans import Plan, plan
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

FACTS, ARRAYS, SENTENCES = "intents.json", "intents.safetensors", "sentences.parquet"
ASKED = ["Where is the pool?", "Wo ist der Pool?", "Can I bring my dog?", "12345", "Kann ich hier schwimmen?"]


@pytest.fixture(scope="module")
def data() -> LabelledSet:
    return small_set()


@pytest.fixture(scope="module")
def run(data: LabelledSet, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of the default method."""
    return train(data, out=tmp_path_factory.mktemp("runs") / "small", method="head", device="cpu")


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Run:
    return Run(shutil.copytree(run.folder, tmp_path / "copy"))


def files(run: Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run.folder / INTENTS).iterdir()}


@pytest.mark.slow
def test_what_is_stored_is_read_as_it_was(data: LabelledSet, tmp_path: Path) -> None:
    english = data.select(languages=["en"], splits=["train"])
    encode = load_encoder("use").encode
    model = fit_intents(english, encode, compact=True)
    vectors = encode(data.frame["text"].tolist())
    model = model.adapted({"ja": vectors[(data.frame["language"] == "ja").to_numpy()]})
    assert not has_intents(tmp_path)
    store_intents(tmp_path, StoredIntents(model, english))
    assert has_intents(tmp_path)
    assert sorted(path.name for path in (tmp_path / INTENTS).iterdir()) == sorted(
        (FACTS, ARRAYS, SENTENCES, CHECKSUMS)
    )
    stored = load_intents(tmp_path)
    spoken = data.frame["language"].tolist()
    expected, found = (each.predict(vectors, 3, spoken) for each in (model, stored.model))
    for name, values in vars(expected).items():
        np.testing.assert_array_equal(vars(found)[name], values, err_msg=name)
    np.testing.assert_array_equal(stored.model.probabilities(vectors), model.probabilities(vectors))
    assert stored.labelled.name == english.name and stored.model.adapted_languages == ("ja",)
    kept = ["text", "intent", "language"]
    pd.testing.assert_frame_equal(stored.labelled.frame[kept], english.frame[kept])
    # What was left by a process that was killed is replaced; the same model makes the same bytes.
    before = files(Run(tmp_path))
    (tmp_path / INTENTS / "left").write_text("by another")
    store_intents(tmp_path, StoredIntents(model, english))
    assert files(Run(tmp_path)) == before


@pytest.mark.slow
def test_a_number_takes_two_bytes(run: Run) -> None:
    arrays = load_file(run.folder / INTENTS / ARRAYS)
    assert arrays["units"].dtype == np.float16
    size, dim = arrays["units"].shape
    assert size == 72 and dim == 512, "the English sentences of the training split"


@pytest.mark.slow
def test_without_examples_no_labelled_sentence_is_in_the_files(data: LabelledSet, tmp_path: Path) -> None:
    english = data.select(languages=["en"], splits=["train"])
    model = fit_intents(english, load_encoder("use").encode, compact=True)
    store_intents(tmp_path, StoredIntents(model, english), keep_examples=False)
    content = b"".join(files(Run(tmp_path)).values())
    assert not any(text.encode() in content for text in english.frame["text"])
    stored = load_intents(tmp_path)
    assert set(stored.labelled.frame["text"]) == {"(not kept)"}
    assert stored.labelled.frame["intent"].tolist() == english.frame["intent"].tolist()
    table = pd.read_parquet(tmp_path / INTENTS / SENTENCES)
    assert not set(english.frame["text"]) & {str(cell) for name in table for cell in table[name]}


def test_a_run_answers_as_the_classifier_from_it(run: Run, data: LabelledSet) -> None:
    asked = [*data.held_out_part().frame["text"], *ASKED]  # type: ignore[union-attr]
    classifier = IntentClassifier.from_run(run, device="cpu")
    assert run.predict(asked, device="cpu") == classifier.predict(asked).tolist()
    german = run.predict(asked, languages="de", device="cpu")
    assert german == classifier.predict(asked, languages="de").tolist()
    assert run.predict(ASKED, device="cpu")[3] == NO_INTENT and run.predict([], device="cpu") == []
    assert set(classifier.classes_) == set(data.intents)
    assert classifier.explain(asked)["intent"].tolist() == classifier.predict(asked).tolist()
    # The reasons are the sentences that the run was trained with.
    learnt = data.train_part().select(languages=["en"]).frame
    near = classifier.explain(learnt["text"].tolist())
    assert near["nearest_1"].tolist() == learnt["text"].tolist()
    assert near["nearest_1_intent"].tolist() == learnt["intent"].tolist()
    assert near["nearest_1_cosine"].to_numpy() == pytest.approx(1, abs=1e-3)
    with raises(InputError, fix=None):
        run.predict("Where is the pool?", device="cpu")
    with pytest.raises(InputError, match="klingon"):
        run.predict(ASKED, languages="klingon", device="cpu")


@pytest.mark.slow
def test_a_run_that_moves_vectors_names_the_same_intents_as_its_base(run: Run, data: LabelledSet) -> None:
    metrics = run.metrics()
    measured = metrics.right_intents
    assert measured is not None and measured.base_rule == measured.specialised_rule
    for change in (measured.overall, *measured.by_language.values()):
        assert change.base == change.specialised and change.difference == 0
    learnt = data.train_part().select(languages=["en"])
    base = IntentClassifier("use", device="cpu").fit_labelled(learnt)
    held_out = data.held_out_part()
    assert held_out is not None
    asked, truth = held_out.frame["text"].tolist(), held_out.frame["intent"].to_numpy()
    of_run = IntentClassifier.from_run(run, device="cpu", reject_option=None).predict(asked)
    of_base = base.set_params(reject_option=None).predict(asked)
    assert (of_run == of_base).mean() > 0.99, "but for rounded vectors"
    by_language = held_out.frame["language"]
    for code, change in measured.by_language.items():
        rows = (by_language == code).to_numpy()
        assert 100 * (of_run == truth)[rows].mean() == pytest.approx(change.base)


@pytest.mark.slow
def test_a_fine_tuned_run_is_calibrated_on_what_it_holds_out(data: LabelledSet, tmp_path: Path) -> None:
    run = train(data, out=tmp_path / "tuned", method="softmax", epochs=1, device="cpu")
    model, held_out = load_intents(run).model, data.held_out_part()
    assert held_out is not None and model.unseen_ == len(held_out)
    measured = run.metrics().right_intents
    assert measured is not None
    right = measured.overall.specialised / 100 * len(held_out)
    assert model.accuracy_ == pytest.approx(100 * right / len(held_out))
    assert model.threshold_ is not None and model.new_found_ is not None
    classifier = IntentClassifier.from_run(run, device="cpu")
    assert any(f"those of {len(held_out)} that it held out" in note for note in classifier.facts["notes"])


@pytest.mark.slow
@pytest.mark.parametrize(("method", "is_calibrated"), [("head", True), ("softmax", False)])
def test_labels_that_the_vectors_have_not_learnt_calibrate_a_run(
    method: str, is_calibrated: bool, data: LabelledSet, tmp_path: Path
) -> None:
    """No sentence is held out of training: a head leaves its base as it is, and fine-tuning learns all labels."""
    frame = data.select(languages=["en"]).frame.assign(split="")
    settings = {} if is_calibrated else {"epochs": 1}
    run = train(LabelledSet(frame, "whole"), out=tmp_path / method, method=method, device="cpu", **settings)
    model = load_intents(run).model
    assert (model.accuracy_ is not None, model.threshold_ is not None) == (is_calibrated, is_calibrated)


@pytest.mark.slow
def test_a_joined_run_names_the_same_intents_as_its_base(tmp_path: Path, data: LabelledSet) -> None:
    spec = f"use+hf:{tiny_transformer(tmp_path / 'tiny', letters=True)}"
    run = train(data, out=tmp_path / "joined", encoder=spec, method="head", device="cpu")
    measured = run.metrics().right_intents
    assert measured is not None and measured.overall.base == measured.overall.specialised
    stored = load_intents(run)
    assert len(stored.model.state()[1]["dims"]) == 2
    assert stored.model.shape[1] == load_encoder(spec).dim
    asked = data.frame["text"].tolist()
    vectors = load_encoder(spec, device="cpu").encode(asked)
    answers = stored.model.predict(vectors, 1)
    expected = np.where(answers.is_known, np.array(stored.model.intents_)[answers.labels], NO_INTENT)
    assert run.predict(asked, device="cpu") == expected.tolist()


def test_a_run_without_labels_has_none(tmp_path: Path) -> None:
    run = resume(create_run(tmp_path / "r", *plan("bicvm", tmp_path)).folder)
    assert not has_intents(run) and not (run.folder / INTENTS).exists()
    for ask in (
        lambda: load_intents(run),
        lambda: run.predict(["dog"]),
        lambda: IntentClassifier.from_run(run),
    ):
        with raises(RunError, fix="pool", match="no intents to name"):
            ask()


def test_a_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "mails.csv").write_text("text\n")
    with pytest.raises(RunError, match=r"mails\.csv is not a run: it is a file"):
        IntentClassifier.from_run(tmp_path / "mails.csv")


def test_a_run_that_is_not_finished_names_none(data: LabelledSet, tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", *plan_training(data, method="head"))
    for ask in (lambda: run.predict(ASKED, device="cpu"), lambda: IntentClassifier.from_run(run)):
        with pytest.raises(RunError, match="only a finished run has an encoder"):
            ask()


@pytest.mark.parametrize("name", [FACTS, ARRAYS, SENTENCES, CHECKSUMS])
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "missing"])
def test_a_damaged_file_is_one_sentence(name: str, damage: str, copy: Run) -> None:
    file = copy.folder / INTENTS / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"flipped": content, "cut": content[:-9], "empty": b""}[damage])
    with raises(RunError, fix=None, match="is damaged"):
        load_intents(copy)
    # Its encoder is another matter.
    assert load_encoder(f"run:{copy.folder}").encode(["pool"]).shape == (1, 512)


Change = Callable[[dict[str, Any], dict[str, Any], pd.DataFrame], object]


def _set(**facts: Any) -> Change:
    return lambda old, arrays, sentences: old.update(facts)


def _array(name: str, change: Callable[[Any], Any]) -> Change:
    return lambda facts, arrays, sentences: arrays.update({name: change(arrays[name])})


HOSTILE: Sequence[tuple[str, Change]] = [
    ("no list of intents", _set(intents=3)),
    ("intents of lists", _set(intents=[["pool"]] * 6)),
    ("too few intents", _set(intents=["pool"])),
    ("a rule that is none", _set(rule="__import__('os')")),
    ("no calibrations", _set(calibrations={})),
    ("calibrations of texts", _set(calibrations={"": ["0", None]})),
    ("calibrations in a list", _set(calibrations=[0])),
    ("shifts in a list", _set(shifts=[0])),
    ("shifts of one number", _set(shifts={"de": [1]})),
    ("labels beyond the intents", _array("labels", lambda labels: labels + 6)),
    ("labels of numbers with a point", _array("labels", lambda labels: labels.astype(np.float32))),
    ("wide vectors", _array("units", lambda units: np.hstack([units, units]))),
    ("vectors in a line", _array("units", np.ravel)),
    ("vectors that are no numbers", _array("units", lambda units: units * np.nan)),
    ("few vectors", _array("units", lambda units: units[:-1])),
    ("weights of another shape", _array("weight", np.transpose)),
    ("an order that is none", _array("order", np.zeros_like)),
    ("dims beyond the vectors", _array("dims", lambda dims: dims + 1)),
    ("a spread of another shape", _array("spread", lambda spread: spread[:, :-1])),
    ("a missing array", lambda facts, arrays, sentences: arrays.pop("bias")),
    ("a missing fact", lambda facts, arrays, sentences: facts.pop("intents")),
    ("a missing name", lambda facts, arrays, sentences: facts.pop("name")),
    ("few sentences", lambda facts, arrays, sentences: sentences.iloc[1:]),
    (
        "sentences without a text",
        lambda facts, arrays, sentences: sentences.drop(columns="text"),
    ),
    ("an empty sentence", lambda facts, arrays, sentences: sentences.loc.__setitem__((0, "text"), "")),
    (
        "a sentence of an unknown intent",
        lambda facts, arrays, sentences: sentences.loc.__setitem__((0, "intent"), "x"),
    ),
]


def rewritten(run: Run, change: Change) -> None:
    """Change what is stored, with checksums that fit, as somebody would who means harm."""
    folder = run.folder / INTENTS
    facts, arrays = json.loads((folder / FACTS).read_text("utf-8")), load_file(folder / ARRAYS)
    sentences = pd.read_parquet(folder / SENTENCES)
    changed = change(facts, arrays, sentences)
    if isinstance(changed, pd.DataFrame):
        sentences = changed
    (folder / FACTS).write_text(json.dumps(facts), "utf-8")
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / ARRAYS)
    sentences.to_parquet(folder / SENTENCES)
    (folder / CHECKSUMS).unlink()
    write_checksums(folder)


@pytest.mark.parametrize("change", [change for _, change in HOSTILE], ids=[name for name, _ in HOSTILE])
def test_what_goes_not_together_is_one_sentence_whatever_the_checksums_say(change: Change, copy: Run) -> None:
    rewritten(copy, change)
    with raises(RunError, fix=None, match="is damaged; train the run again"):
        load_intents(copy)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (FACTS, "[]"),
        (FACTS, "null"),
        (FACTS, '"text"'),
        (FACTS, "[" * 100_000),
        (FACTS, '{"intents": ' + "9" * 5_000 + "}"),
        (ARRAYS, "\x00" * 8),
        (ARRAYS, "\xff" * 64),
        (SENTENCES, "PAR1PAR1"),
        (SENTENCES, "PAR1" + "\x00" * 100 + "PAR1"),
        (CHECKSUMS, "[]"),
        (CHECKSUMS, "{}"),
    ],
)
def test_content_of_another_kind_is_one_sentence(name: str, content: str, copy: Run) -> None:
    folder = copy.folder / INTENTS
    (folder / name).write_bytes(content.encode("latin-1"))
    if name != CHECKSUMS:
        (folder / CHECKSUMS).unlink()
        write_checksums(folder)
    with raises(RunError, fix=None, match="is damaged; train the run again"):
        load_intents(copy)


def test_more_than_is_needed_and_a_path_for_a_name_change_nothing(run: Run, copy: Run) -> None:
    outside = copy.folder.parent / "outside"

    def more(facts: dict[str, Any], arrays: dict[str, Any], sentences: pd.DataFrame) -> None:
        facts.update({"name": f"../../{outside.name}", "__class__": "Run", "encoder": "run:/"})
        arrays["more"] = np.zeros(3)
        sentences["path"] = str(outside)

    rewritten(copy, more)
    assert copy.predict(ASKED, device="cpu") == run.predict(ASKED, device="cpu")
    assert load_intents(copy).labelled.name == f"../../{outside.name}"
    assert sorted(path.name for path in copy.folder.parent.iterdir()) == ["copy"]


def test_a_run_keeps_its_intents_under_another_name_and_from_the_trash(run: Run, copy: Run) -> None:
    expected, before = run.predict(ASKED, device="cpu"), files(copy)
    renamed = copy.rename("another")
    assert not copy.folder.exists() and files(renamed) == before
    assert renamed.predict(ASKED, device="cpu") == expected
    again = renamed.put_aside().put_back()
    assert files(again) == before and again.predict(ASKED, device="cpu") == expected


def test_an_export_carries_the_encoder_alone(run: Run, data: LabelledSet, tmp_path: Path) -> None:
    export(run.folder, out=tmp_path / "out")
    exported = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert exported and not {FACTS, ARRAYS, SENTENCES} & {path.name for path in exported}
    learnt = data.train_part().select(languages=["en"]).frame["text"]
    contents = [path.read_bytes() for path in exported]
    assert not any(text.encode() in content for text in learnt for content in contents)


def test_the_command_needs_no_pool(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mails, out = tmp_path / "mails.csv", tmp_path / "out.csv"
    pd.DataFrame({"text": ASKED, "id": list("abcde")}).to_csv(mails, index=False)
    assert main(["predict", str(mails), "--run", str(run.folder), "--out", str(out), "--device", "cpu"]) == 0
    written = pd.read_csv(out)
    assert written["id"].tolist() == list("abcde")
    assert written["intent"].tolist() == run.predict(ASKED, device="cpu")
    capsys.readouterr()
    assert main(["predict", *ASKED[:1], "--run", str(run.folder), "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"][0]["intent"] == "pool"
    shutil.rmtree(shutil.copytree(run.folder, tmp_path / "bare") / INTENTS)
    assert main(["predict", str(mails), "--run", str(tmp_path / "bare"), "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert "no intents to name" in error and "--pool" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "option", [["--no-intent", "pool"], ["--real-intent", "oos"], ["--merge-intents", "case"]]
)
def test_what_a_run_would_ignore_is_refused(
    option: list[str], run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["predict", *ASKED[:1], "--run", str(run.folder), "--device", "cpu", *option]
    assert main(asked) == 2
    error = capsys.readouterr().err
    assert f"{option[0]} would change nothing" in error and error.count("\n") == 1


@pytest.fixture(scope="module")
def labelled_plan(data: LabelledSet, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    encoder = f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny') / 'tiny', letters=True)}"
    return plan_training(data, method="head", encoder=encoder)


@pytest.fixture(scope="module")
def whole(labelled_plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("whole") / "r")
    assert exit_code(create_and_finish, str(run.folder), *labelled_plan, 1e9) == 0
    return run


def die_with_intents(folder: str, is_written: bool) -> None:
    """Go on with a run, and die while the intents are being written, or when they just have been."""
    from emu_core.api import execute
    from emu_core.runs import intents

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if is_written:
        execute.write_card = die
    else:
        intents.write_checksums = die
    resume(folder)


@pytest.mark.slow
@pytest.mark.parametrize("is_written", [False, True])
def test_a_run_killed_while_it_writes_its_intents_ends_with_the_same_bytes(
    is_written: bool, labelled_plan: Plan, whole: Run, tmp_path: Path
) -> None:
    run = create_run(tmp_path / "r", *labelled_plan)
    assert exit_code(die_with_intents, str(run.folder), is_written) == -signal.SIGKILL
    assert run.status().state is RunState.INTERRUPTED and run.can_resume
    assert has_intents(run) is is_written, "a folder that is not whole has another name"
    with pytest.raises(RunError, match=r"only a finished run has an encoder to .*; resume it"):
        run.predict(ASKED, device="cpu")
    assert exit_code(resume, str(run.folder)) == 0
    assert files(run) == files(whole) and files(whole)
    assert not list(run.folder.rglob("*.part")) and not run.training_folder.exists()


@pytest.mark.slow
def test_a_run_killed_at_any_renaming_ends_with_the_same_intents(
    labelled_plan: Plan, whole: Run, tmp_path: Path
) -> None:
    number, code = 0, None
    while code != 0:
        number += 1
        run = Run(tmp_path / str(number))
        code = exit_code(create_and_finish, str(run.folder), *labelled_plan, 1e9, number)
        if code != 0:
            assert code == -signal.SIGKILL
            assert exit_code(create_and_finish, str(run.folder), *labelled_plan, 1e9) == 0
        assert files(run) == files(whole) and run.status().state is RunState.FINISHED
        assert not list(run.folder.rglob("*.part"))
    assert number > 10
