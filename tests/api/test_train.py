import inspect
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from emu_core import IntentClassifier, evaluate, load_encoder, pretrain, train
from emu_core.api.train import plan_training
from emu_core.data.reading import READING_OPTIONS, Reading
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.errors import CancelledError, DataError, EmuError, EncoderError, Fix, RunError, TrainingError
from emu_core.evaluation.leakage import language_leakage
from emu_core.methods.emu.method import CHOSEN_ON_MEASURED
from emu_core.methods.emu.method import METHODS as EMU_METHODS
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.registry import configure, method_named, methods
from emu_core.reports.verdict import run_verdict
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.log import Record, RecordKind
from emu_core.runs.run import Run, RunState, Status
from emu_core.settings import infos
from tests.support.raises import raises
from tests.support.slot_set import slot_set
from tests.support.small import small_set

ONE_EPOCH = replace(configure("emu", "use"), epochs=1, critic_steps=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of one epoch."""
    return train(
        small_set(),
        out=tmp_path_factory.mktemp("runs") / "small",
        device="cpu",
        method="emu",
        config=ONE_EPOCH,
    )


@pytest.mark.slow
def test_settings_are_given_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = train(small_set(), method="emu", epochs=1, critic_steps=2, device="cpu")
    assert run.folder == Path("runs/emu-use-1")
    assert dict(run.config().hyperparameters) == asdict(ONE_EPOCH)


def test_settings_that_the_method_lacks_or_has_already_are_refused(tmp_path: Path) -> None:
    def refused(**options: Any) -> str:
        with pytest.raises(TrainingError) as error:
            train(small_set(), out=tmp_path / "run", **options)
        assert not (tmp_path / "run").exists()
        return str(error.value)

    assert "no setting shares, but share;" in refused(shares=0.2)
    assert all(info.name in refused(nonsense=1) for info in infos(method_named("head").settings))
    assert "epochs" in refused(method="emu", config=ONE_EPOCH, epochs=3)
    assert "share_factor" in refused(preset="fast", share_factor=1.0)
    assert "reading=Reading(language=...)" in refused(language="en")


def test_train_has_few_parameters_and_no_setting_has_the_name_of_one() -> None:
    named = inspect.signature(train).parameters.keys() | inspect.signature(pretrain).parameters.keys()
    assert len(inspect.signature(train).parameters) <= 19
    names = {info.name for method in methods().values() for info in infos(method.settings)}
    assert names & (named | {*READING_OPTIONS}) == set()


@pytest.mark.slow
def test_a_run_is_whole(run: Run) -> None:
    assert {path.name for path in run.folder.iterdir()} == {
        "config.json", "data.json", "log.jsonl", "metrics.json", "status.json", "encoder", "intents", "README.md",
        ".emu-lock",
    }  # fmt: skip
    status = run.status()
    assert status.state is RunState.FINISHED and status.step == status.steps == 5 and status.progress == 1
    assert run.config().hyperparameters["epochs"] == 1
    assert run.config().unlabelled_languages == ("de", "ja")
    assert (facts := run.data(LabelledFacts)).rows == 324 and facts.labelled == 72
    steps = [record for record in run.history() if record.is_step]
    assert [record.step for record in steps] == [1, 2, 3, 4, 5]
    assert {"softmax", "center", "adversarial", "critic"} == steps[0].figures.keys()
    parts = sum(steps[0].figures[part] for part in ("softmax", "center", "adversarial"))
    assert steps[0].loss == pytest.approx(parts, rel=1e-5)


@pytest.mark.slow
def test_the_language_of_the_data_is_that_of_unlabelled_files_too(tmp_path: Path) -> None:
    labelled, sentences = tmp_path / "small.csv", tmp_path / "mails.txt"
    small_set(("en",)).frame[["text", "intent", "language"]].to_csv(labelled, index=False)
    sentences.write_text("Wo ist der Aufzug?\nWo ist die Treppe?\n", "utf-8")
    run = train(
        [labelled],
        reading=Reading(language="de"),
        unlabelled=[sentences],
        out=tmp_path / "run",
        device="cpu",
        method="emu",
        config=ONE_EPOCH,
    )
    assert run.config().unlabelled_languages == ("de",)


def test_the_metrics_are_those_of_evaluate(run: Run) -> None:
    metrics = run.metrics()
    for spec, accuracy, mean in (
        ("use", metrics.base, metrics.mean_base),
        (f"run:{run.folder}", metrics.specialised, metrics.mean_specialised),
    ):
        measured = evaluate(small_set(), encoder=spec, split="test", device="cpu")
        assert measured["accuracy"] == accuracy
        assert measured["mean_with_en"] == pytest.approx(mean)
    directions = [value for pair, value in metrics.base.items() if "en" in pair.split("-")]
    assert len(directions) == 5
    assert metrics.mean_base == pytest.approx(float(np.mean(directions)))


def test_similar_sentences_and_leakage_are_those_of_both_encoders(run: Run) -> None:
    metrics, part = run.metrics(), small_set().select(splits=["test"])
    frame, by_language = part.frame, metrics.similar_sentences.by_language
    for language, change in by_language.items():
        targets = ("en", "de", "ja") if language == "en" else ("en",)
        over = [metrics.specialised[f"{language}-{t}"] - metrics.base[f"{language}-{t}"] for t in targets]
        assert change.difference == pytest.approx(sum(over) / len(over))
        assert change.low < change.difference < change.high and change.queries == 36
    assert list(by_language) == ["en", "de", "ja"]
    overall = metrics.similar_sentences.overall
    assert (overall.base, overall.specialised) == pytest.approx((metrics.mean_base, metrics.mean_specialised))
    for leakage, spec in ((metrics.leakage.base, "use"), (metrics.leakage.specialised, f"run:{run.folder}")):
        vectors = load_encoder(spec).encode(frame["text"].tolist())
        expected = language_leakage(vectors, frame["language"].tolist(), frame["id"].tolist())
        assert asdict(leakage) == pytest.approx(asdict(expected))
    measured = evaluate(small_set(), encoder=f"run:{run.folder}", split="test", device="cpu")
    assert measured["changes"] == {language: asdict(change) for language, change in by_language.items()}


@pytest.mark.slow
def test_right_intents_are_those_of_a_classifier_on_each_encoder(run: Run) -> None:
    measured, asked = run.metrics().right_intents, small_set().select(splits=["test"]).frame
    assert measured is not None and list(measured.by_language) == ["en", "de", "ja"]
    pool = small_set().train_part().select(languages=["en"])
    unlabelled = small_set().train_part().select(languages=["de", "ja"]).frame  # which Emu learns from, too
    for spec, side, rule, rejected in (
        ("use", "base", measured.base_rule, measured.rejected.base),
        (f"run:{run.folder}", "specialised", measured.specialised_rule, measured.rejected.specialised),
    ):
        classifier = IntentClassifier(spec, threshold=-1, device="cpu").fit(pool)
        classifier.adapt(unlabelled["text"], languages=unlabelled["language"])
        answers = classifier.predict(asked["text"], languages=asked["language"])
        right = answers == asked["intent"].to_numpy()
        assert classifier.facts["rule"] == rule
        accuracies = {code: getattr(change, side) for code, change in measured.by_language.items()}
        assert accuracies == pytest.approx(
            (100 * pd.Series(right).groupby(asked["language"]).mean()).to_dict()
        )
        assert getattr(measured.overall, side) == pytest.approx(sum(accuracies.values()) / 3)
        assert rejected.of == right.sum()


def test_training_changed_the_encoder_and_saved_it(run: Run) -> None:
    base, specialised = load_encoder("use"), load_encoder(f"run:{run.folder}")
    texts = ["Where is the pool?", "プールはどこですか？"]
    assert np.abs(base.encode(texts) - specialised.encode(texts)).max() > 1e-3


def test_the_card_says_what_happened(run: Run) -> None:
    card = (run.folder / "README.md").read_text("utf-8")
    verdict = run_verdict(run.metrics())
    assert f"**{verdict.sentence}**" in card
    for measure in verdict.measures:
        assert f"## {measure.title}\n" in card and measure.languages in card
    assert all(pair in card for pair in run.metrics().base)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(run: Run, tmp_path: Path) -> None:
    weights = load_file(run.encoder_folder / "model.safetensors")
    again = train(small_set(), out=tmp_path / "again", device="cpu", method="emu", config=ONE_EPOCH)
    other = train(small_set(), out=tmp_path / "other", device="cpu", method="emu", config=ONE_EPOCH, seed=1)
    same = load_file(again.encoder_folder / "model.safetensors")
    different = load_file(other.encoder_folder / "model.safetensors")
    assert all(bool((weights[name] == same[name]).all()) for name in weights)
    assert any(bool((weights[name] != different[name]).any()) for name in weights)


@pytest.mark.slow
@pytest.mark.parametrize("method", [one.name for one in EMU_METHODS if one.name != "emu"])
def test_every_method_trains(method: str, tmp_path: Path) -> None:
    config = replace(configure(method, "use"), epochs=1, critic_steps=1)
    small = small_set(("en", "de"))
    run = train(small, out=tmp_path / "r", method=method, device="cpu", config=config)
    assert run.status().state is RunState.FINISHED
    parts = run.history()[0].figures
    assert ("critic" in parts) == (method in ("emu-parallel", "emu-anchored"))
    assert ("center" in parts) == (method in ("emu-parallel", "emu-anchored", "emu-without-ld"))


@pytest.mark.slow
def test_two_training_languages_take_turns(tmp_path: Path) -> None:
    run = train(
        small_set(),
        out=tmp_path / "r",
        train_languages=["en", "de"],
        device="cpu",
        method="emu",
        config=ONE_EPOCH,
    )
    assert {r.texts["language"] for r in run.history() if r.is_step} == {"en", "de"}


@pytest.mark.slow
def test_labels_of_other_languages_and_the_test_rows_are_never_read(run: Run, tmp_path: Path) -> None:
    frame = small_set().frame.copy()
    hidden = (frame["language"] != "en") | (frame["split"] == "test")
    frame.loc[hidden, "intent"] = np.where(np.arange(hidden.sum()) % 2, "pool", "gym")
    blind = train(
        LabelledSet(frame, "blind"), out=tmp_path / "r", device="cpu", method="emu", config=ONE_EPOCH
    )
    seen = load_file(run.encoder_folder / "model.safetensors")
    unseen = load_file(blind.encoder_folder / "model.safetensors")
    assert all(bool((seen[name] == unseen[name]).all()) for name in seen)


@pytest.mark.slow
def test_dev_rows_choose_the_epoch_by_the_training_languages_only(tmp_path: Path) -> None:
    frame = small_set().frame.copy()
    frame["split"] = frame["split"].replace({"test": "dev"})
    labelled = LabelledSet(frame, "with dev")
    config = replace(ONE_EPOCH, epochs=3, learning_rate=1e-2)
    run = train(labelled, out=tmp_path / "r", device="cpu", method="emu", config=config)
    accuracies = [r.dev_accuracy for r in run.history() if not r.is_step]
    best = max(accuracies)
    assert run.metrics().selected_epoch == 1 + accuracies.index(best)
    assert run.metrics().specialised["en-en"] == pytest.approx(best)
    assert CHOSEN_ON_MEASURED in run.metrics().warnings


@pytest.mark.slow
@pytest.mark.parametrize(("epochs", "measured_on"), [(1, "dev"), (2, "test")])
def test_nothing_is_said_where_what_is_measured_chose_nothing(
    epochs: int, measured_on: str, tmp_path: Path
) -> None:
    frame = small_set().frame.copy()
    tests = frame.index[frame["split"] == "test"]
    frame.loc[tests, "split"] = ["dev" if row % 2 else measured_on for row in range(len(tests))]
    config = replace(ONE_EPOCH, epochs=epochs)
    run = train(LabelledSet(frame, "with dev"), out=tmp_path / "r", device="cpu", method="emu", config=config)
    assert all(r.dev_accuracy is not None for r in run.history() if not r.is_step)
    assert CHOSEN_ON_MEASURED not in run.metrics().warnings


@pytest.mark.slow
def test_unlabelled_sentences_may_come_from_elsewhere(tmp_path: Path) -> None:
    german = pd.DataFrame({"text": [f"Wo ist Zimmer {i}?" for i in range(20)], "language": "de", "id": ""})
    run = train(
        small_set(("en",)), out=tmp_path / "r", device="cpu", method="emu", config=ONE_EPOCH,
        unlabelled=UnlabelledSet(german.astype("str"), "german"),
    )  # fmt: skip
    assert run.config().unlabelled_languages == ("de",)


def test_rows_without_a_label_and_given_sentences_are_learnt_from_beside_labelled_ones() -> None:
    labelled = small_set(("en", "de"))
    held_out = labelled.frame.query("split == 'test' and language == 'de'").iloc[0]
    bare = UnlabelledSet(
        pd.DataFrame(
            {
                "text": ["Où est la piscine ?", "Otra lengua", held_out["text"], "its translation"],
                "language": ["fr", "es", "de", "fr"],
                "id": ["", "", "", held_out["id"]],
            }
        ),
        "small",
    )

    def learnt(**options: Any) -> dict[str, int]:
        _, data = plan_training(labelled, method="emu", bare=bare, **options)
        assert data.unlabelled is not None and held_out["text"] not in data.unlabelled.frame["text"].tolist()
        return data.unlabelled.frame["language"].value_counts().to_dict()

    assert learnt() == {"de": 72, "fr": 1, "es": 1}  # a held-out sentence and its translation stay unseen
    assert learnt(unlabelled_languages=["fr"]) == {"fr": 1}
    given = pd.DataFrame({"text": ["Waar is het zwembad?"], "language": ["nl"]})
    assert learnt(unlabelled=given) == {"nl": 1}
    assert learnt(unlabelled=given, unlabelled_languages=["fr", "de"]) == {"de": 72, "fr": 1, "nl": 1}


@pytest.mark.parametrize(
    "unlabelled", [{"unlabelled": ["Wo ist mein Zimmer?"]}, {"unlabelled_languages": ["de"]}]
)
def test_unlabelled_sentences_that_the_method_does_not_read_are_refused(
    unlabelled: dict[str, Any], tmp_path: Path
) -> None:
    with raises(TrainingError, fix=next(iter(unlabelled)), match="the method fmda "):
        train(slot_set(), out=tmp_path / "r", device="cpu", method="fmda", pairs=["en-de"], **unlabelled)
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_a_loss_that_is_not_a_number_ends_the_run_with_the_fix(tmp_path: Path) -> None:
    wild = replace(ONE_EPOCH, learning_rate=1e12, classifier_learning_rate=1e12, alpha=1e18)
    with raises(TrainingError, fix="learning_rate", match="loss is (nan|inf) "):
        train(small_set(), out=tmp_path / "r", device="cpu", method="emu", config=wild)
    run = Run(tmp_path / "r")
    assert run.status().state is RunState.FAILED and Fix("learning_rate") in run.status().message.parts
    assert not run.encoder_folder.exists()


@pytest.mark.slow
def test_what_an_optimizer_imports_is_not_timed_as_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases, made_in = [""], []
    adam = torch.optim.Adam

    def made(*args: Any, **kwargs: Any) -> torch.optim.Optimizer:
        made_in.append(phases[-1])
        return adam(*args, **kwargs)

    monkeypatch.setattr(torch.optim, "Adam", made)
    train(
        small_set(),
        out=tmp_path / "r",
        device="cpu",
        method="softmax",
        config=configure("softmax", "use", epochs=1),
        on_progress=lambda status: phases.append(status.phase),
    )
    assert made_in == ["loading", "training"]


@pytest.mark.slow
def test_a_listener_is_told_every_step_and_epoch_of_the_log_once(tmp_path: Path) -> None:
    told: list[Record] = []
    run = train(
        small_set(),
        out=tmp_path / "r",
        device="cpu",
        method="emu",
        config=ONE_EPOCH,
        on_progress=lambda status: told.extend(status.records),
    )
    assert told == run.history() and {record.kind for record in told} == set(RecordKind)
    assert "records" not in (run.folder / "status.json").read_text("utf-8") and run.status().records == ()


@pytest.mark.slow
def test_a_cancelled_run_stops_at_its_next_step_and_leaves_no_encoder(tmp_path: Path) -> None:
    def stop(status: Status) -> None:
        if status.phase == "training":
            Run(tmp_path / "r").cancel()

    with pytest.raises(CancelledError):
        train(small_set(), out=tmp_path / "r", device="cpu", method="emu", config=ONE_EPOCH, on_progress=stop)
    run = Run(tmp_path / "r")
    assert run.status().state is RunState.CANCELLED and run.status().step < 5
    assert not run.encoder_folder.exists()


def _one_intent_in_english() -> LabelledSet:
    frame = small_set().frame
    english = frame["language"] == "en"
    return LabelledSet(frame[~english | (frame["intent"] == "pool")].reset_index(drop=True), "thin")


@pytest.mark.parametrize(
    ("labelled", "changes", "error", "fix", "named"),
    [
        (small_set(("en",)), {}, TrainingError, "unlabelled", "en; .*emu-without-ld"),
        (
            small_set(),
            {"train_languages": ["fr"]},
            DataError,
            Fix("train_languages", ("en",)),
            "fr; there are: en, de, ja",
        ),
        (_one_intent_in_english(), {}, TrainingError, None, "in en .*'pool'"),
        (small_set(), {"unlabelled_languages": ["fr"]}, DataError, None, "fr"),
        (small_set(), {"method": "magic"}, TrainingError, None, "'magic'; there are: head, emu,"),
        (small_set(), {"device": "cuda:7"}, TrainingError, None, "'cuda:7'"),
        (small_set(), {"encoder": "word2vec"}, EncoderError, None, "'word2vec'; there are: use"),
        (small_set(), {"encoder": "run:/nowhere"}, EncoderError, None, "/nowhere/encoder"),
    ],
)
def test_what_can_not_be_trained_on_is_said(
    labelled: LabelledSet,
    changes: dict[str, object],
    error: type[EmuError],
    fix: Fix | str | None,
    named: str,
    tmp_path: Path,
) -> None:
    with raises(error, fix=fix, match=named) as caught:
        train(
            labelled, out=tmp_path / "r", **{"device": "cpu", "method": "emu", "config": ONE_EPOCH} | changes
        )  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_emu_parallel_needs_the_translations(tmp_path: Path) -> None:
    frame = small_set(("en", "de")).frame.copy()
    frame.loc[frame["language"] == "de", "id"] = ""
    config = configure("emu-parallel", "use")
    with raises(TrainingError, fix="id_column", match="72 of 72 in en .* in de"):
        train(LabelledSet(frame, "x"), out=tmp_path / "r", method="emu-parallel", device="cpu", config=config)


def test_what_is_thin_is_said_and_trained_on(tmp_path: Path) -> None:
    frame = small_set().frame
    english = frame[(frame["language"] == "en") & (frame["split"] == "train")]
    german = frame[(frame["language"] == "de") & (frame["split"] == "train")].head(3)
    only = pd.concat(
        [english[english["intent"] != "pool"], english[english["intent"] == "pool"].head(1), german]
    )
    run = train(
        LabelledSet(only.reset_index(drop=True), "x"),
        out=tmp_path / "r",
        device="cpu",
        method="emu",
        config=ONE_EPOCH,
    )
    warnings = " ".join(run.metrics().warnings)
    assert "one sentence only in en of: pool" in warnings
    assert "only 3 unlabelled sentences in de" in warnings
    assert "nothing was measured" in run.metrics().note and not run.metrics().is_measured
    assert run.metrics().similar_sentences is None and run.metrics().leakage is None
    card = (run.folder / "README.md").read_text("utf-8")
    assert "**No sentence was held out" in card and "one sentence only in en of: pool" in card
    assert str(run.status().message) == warnings


@pytest.mark.slow
def test_batches_of_one_class_are_reported(tmp_path: Path) -> None:
    small = small_set(("en", "de"))
    frame = small.frame[small.frame["intent"].isin(["pool", "gym"])].reset_index(drop=True)
    config = replace(ONE_EPOCH, batch_size=2)
    run = train(LabelledSet(frame, "two"), out=tmp_path / "r", device="cpu", method="emu", config=config)
    assert any("batches held one intent only" in warning for warning in run.metrics().warnings)


def test_a_run_in_use_is_not_overwritten(run: Run) -> None:
    before = json.dumps(run.metrics().to_json())
    with raises(RunError, fix="out", match=str(run.folder)):
        train(small_set(), out=run.folder, device="cpu", method="emu", config=EmuConfig(epochs=1))
    assert json.dumps(run.metrics().to_json()) == before
