"""Runs of the distillation: what they read and know, which teachers they refuse, and how they go on."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from emu_core import configure, load_encoder, resume, train
from emu_core.api.execute import Hooks
from emu_core.api.train import plan_training
from emu_core.cli import main
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.encoders.use.encoder import UseEncoder
from emu_core.errors import CancelledError, DataError, EmuError, EncoderError, RunError, TrainingError
from emu_core.formats.in_memory import Sources
from emu_core.formats.labelled import read_partly_labelled
from emu_core.methods.distil.teacher import teacher_vectors
from emu_core.processes import SINGLE_PROCESS
from emu_core.runs.config import RunConfig, RunTask
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.run import Run, RunState, Status, create_run
from emu_core.runs.trained_on import trained_on, trained_rows
from tests.support.raises import raises
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

TEXTS = ["Where is the pool?", "Wo ist der Pool?", "プールはどこですか", "Do you allow dogs?"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The default, trained with English labels."""
    return train(small_set(), out=tmp_path_factory.mktemp("teachers") / "teacher", device="cpu")


def settings(teacher: Run | str, **changes: Any) -> Any:
    spec = teacher if isinstance(teacher, str) else f"run:{teacher.folder}"
    return configure(
        "distil", "use", teacher=spec, **{"batch_size": 36, "epochs": 3, "learning_rate": 1e-4, **changes}
    )


def distilled(data: Sources, out: Path, teacher: Run | str, epochs: int = 3, **options: Any) -> Run:
    config = settings(teacher, epochs=epochs)
    return train(data, out=out, method="distil", config=config, device="cpu", **options)


@pytest.fixture(scope="module")
def student(teacher: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return distilled(small_set(), tmp_path_factory.mktemp("students") / "student", teacher)


def cosines(encoder: Any, texts: list[str]) -> Any:
    vectors = encoder.encode(texts)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors @ vectors.T)[np.triu_indices(len(texts), 1)]


@pytest.mark.slow
def test_a_student_sees_sentences_as_its_teacher_does(teacher: Run, student: Run) -> None:
    texts = small_set().train_part().frame["text"].tolist()
    wanted = cosines(load_encoder(f"run:{teacher.folder}"), texts)
    before, after = (
        np.corrcoef(cosines(load_encoder(spec), texts), wanted)[0, 1]
        for spec in ("use", f"run:{student.folder}")
    )
    assert after > before + 0.08
    # Sentences held out are nearer to others of their intent, of which it was told by the teacher alone.
    metrics = student.metrics()
    assert metrics.mean_specialised > metrics.mean_base + 4
    encoder = load_encoder(f"run:{student.folder}")
    assert isinstance(encoder, UseEncoder) and encoder.dim == 512


@pytest.mark.slow
def test_its_folder_says_what_it_learnt_from(teacher: Run, student: Run) -> None:
    config = student.config()
    assert config.hyperparameters["teacher"] == f"run:{teacher.folder}"
    assert (config.train_languages, config.unlabelled_languages) == ((), ("en", "de", "ja"))
    assert vars(student.data())["labelled"] == 0
    card = (student.folder / "README.md").read_text("utf-8")
    assert f"from the teacher `run:{teacher.folder}`" in card
    assert "sentences in en, de, ja without their labels" in card
    metrics = student.metrics()
    assert set(metrics.similar_sentences.by_language) == {"en", "de", "ja"} and metrics.selected_epoch == 3


@pytest.mark.slow
def test_labels_are_not_read(teacher: Run, student: Run, tmp_path: Path) -> None:
    """With others, the weights are equal to the bit."""
    labelled = small_set()
    shifted = labelled.frame["intent"].sample(frac=1, random_state=0).to_numpy()
    other = distilled(
        LabelledSet(labelled.frame.assign(intent=shifted), "other"), tmp_path / "other", teacher
    )
    weights, expected = (load_file(run.encoder_folder / "model.safetensors") for run in (other, student))
    assert all(torch.equal(weights[name], weight) for name, weight in expected.items())


def test_a_student_knows_what_its_teacher_was_trained_on(teacher: Run, tmp_path: Path) -> None:
    """It has learnt the teacher's labels, though it saw other sentences."""
    seen = small_set()
    others = seen.frame["split"] == "test"
    # The student trains on what the teacher did not see, and knows by itself no sentence of the teacher's.
    rest = LabelledSet(seen.frame[others].assign(split="").reset_index(drop=True), "rest")
    run = distilled(rest, tmp_path / "student", teacher, epochs=1)
    known, of_teacher = trained_on(f"run:{run.folder}"), trained_on(f"run:{teacher.folder}")
    assert known.unknown == "" and len(of_teacher.hashes) and np.isin(of_teacher.hashes, known.hashes).all()
    bare = LabelledSet(seen.frame.assign(split="", annotated="x"), "another")
    rows, unknown = trained_rows(f"run:{run.folder}", bare)
    assert unknown == "" and rows.all()  # the teacher's, their translations, and its own
    alone = trained_rows(f"run:{teacher.folder}", bare)[0]
    assert alone.tolist() == (~others).tolist()


@pytest.mark.slow
def test_nothing_is_known_of_a_student_whose_teacher_does_not_say(teacher: Run, tmp_path: Path) -> None:
    """Nor of the student of such a student."""
    old = tmp_path / "old"
    shutil.copytree(teacher.encoder_folder, old / "encoder")
    (old / "encoder" / "trained_on.safetensors").unlink()
    (old / "encoder" / "checksums.json").unlink()
    first = distilled(small_set(("en",)), tmp_path / "first", f"run:{old}", epochs=1)
    second = distilled(small_set(("en",)), tmp_path / "second", first, epochs=1)
    assert (
        trained_on(f"run:{first.folder}").unknown
        == trained_on(f"run:{second.folder}").unknown
        == f"run:{old}"
    )


def test_sentences_of_files_are_added_but_none_that_is_measured(teacher: Run) -> None:
    labelled = small_set()
    measured = labelled.select(splits=["test"]).frame[["text", "language", "id"]].head(5)
    given = measured.assign(text=measured["text"].str.upper())
    extra = given.head(1).assign(text="A dog runs along the beach.", language="nl")
    files = UnlabelledSet(pd.concat([given, extra], ignore_index=True), "files")
    _, data = plan_training(labelled, method="distil", config=settings(teacher), unlabelled=files)
    assert data.unlabelled is not None
    texts = set(data.unlabelled.frame["text"])
    assert texts == {*labelled.train_part().frame["text"], "A dog runs along the beach."}
    # In some languages of the data alone.
    config, data = plan_training(
        labelled, method="distil", config=settings(teacher), unlabelled_languages=["de"], unlabelled=files
    )
    assert config.unlabelled_languages == ("de", "nl") and data.unlabelled is not None
    assert len(data.unlabelled) == len(labelled.train_part().select(languages=["de"])) + 1


def test_sentences_with_none_of_the_intents_are_sentences_too(teacher: Run) -> None:
    labelled = small_set().with_no_intents(["pets"])
    _, data = plan_training(labelled, method="distil", config=settings(teacher))
    assert data.unlabelled is not None and len(data.unlabelled) == len(small_set().train_part())


@pytest.mark.slow
def test_sentences_that_never_had_labels_are_enough(teacher: Run, tmp_path: Path) -> None:
    frame = small_set().train_part().frame
    files, extra = [tmp_path / f"mails.{language}.txt" for language in ("en", "ja")], tmp_path / "more.nl.txt"
    for file, language in zip(files, ("en", "ja"), strict=True):
        file.write_text("\n".join(frame.loc[frame["language"] == language, "text"]) + "\n", "utf-8")
    extra.write_text("Een hond rent over het strand.\n", "utf-8")
    found: list[str] = []
    run = train(
        files,
        out=tmp_path / "run",
        method="distil",
        config=settings(teacher),
        unlabelled=[extra],
        snapshots=True,
        device="cpu",
        hooks=Hooks(on_audit=found.extend),
    )
    assert found[0] == f"{len(frame) // 3 * 2} sentences without labels in en, ja."
    assert run.config().unlabelled_languages == ("en", "ja", "nl")
    assert "no rows of split test" in run.metrics().note
    assert len(pd.read_parquet(run.snapshots_folder / "sentences.parquet")) == len(frame) // 3 * 2 + 1
    rows, _ = trained_rows(f"run:{run.folder}", small_set())
    languages, splits = (small_set().frame[column] for column in ("language", "split"))
    assert rows[(languages != "de") & (splits == "train")].all() and not rows[splits == "test"].any()


def test_the_command_takes_text_without_labels(teacher: Run, tmp_path: Path) -> None:
    texts = small_set(("en",)).train_part().frame["text"]
    (tmp_path / "mails.en.txt").write_text("\n".join(texts), "utf-8")
    out, spec = tmp_path / "run", f"run:{teacher.folder}"
    arguments = ["train", str(tmp_path / "mails.en.txt"), "--method", "distil", "--teacher", spec]
    assert main([*arguments, "--epochs", "1", "--out", str(out), "--device", "cpu"]) == 0
    assert Run(out).config().unlabelled_languages == ("en",) and not Run(out).metrics().is_measured


@pytest.mark.slow
def test_files_with_labels_and_without_are_read_together(teacher: Run, tmp_path: Path) -> None:
    """What has labels is measured; everything else is learnt from, but for what is held out."""
    labelled = small_set(("en",)).frame.assign(language="")
    unlabelled = labelled.index[labelled["split"] == "train"][:5]
    labelled.loc[unlabelled, "intent"] = ""
    labelled.rename(columns={"text": "phrase", "intent": "topic"}).to_csv(
        tmp_path / "hotel.en.csv", index=False
    )
    (tmp_path / "mails.nl.txt").write_text("Een hond rent over het strand.\nEen kat slaapt.\n", "utf-8")
    other = small_set(("de",)).frame
    other.drop(columns="intent").to_csv(tmp_path / "other.csv", index=False)  # with its splits
    labelled_set, bare, findings = read_partly_labelled(
        sorted(tmp_path.glob("*.*")), reading=Reading(mapping=ColumnMapping(text="phrase", intent="topic"))
    )
    assert len(labelled_set) == len(labelled) - 5 and set(labelled_set.splits) == {"test", "train"}
    of_train = other[other["split"] == "train"]
    assert set(bare.frame["text"]) == {
        *labelled["text"].loc[unlabelled],
        "Een hond rent over het strand.",
        "Een kat slaapt.",
        *of_train["text"],
    }
    assert findings[-1] == f"{len(bare)} sentences without labels in en, de, nl."
    run = train(
        sorted(tmp_path.glob("*.*")),
        out=tmp_path / "run",
        method="distil",
        config=settings(teacher, epochs=1),
        reading=Reading(mapping=ColumnMapping(text="phrase", intent="topic")),
        unlabelled_languages=["en", "nl"],
        device="cpu",
    )
    assert run.config().unlabelled_languages == ("en", "nl")
    assert run.data(LabelledFacts).labelled == 0 and set(run.metrics().similar_sentences.by_language) == {
        "en"
    }
    known = trained_rows(f"run:{run.folder}", small_set())[0]
    assert known.sum() < len(known) and known[(small_set().frame["split"] == "train").to_numpy()].all()


def test_a_single_intent_is_not_used(teacher: Run, tmp_path: Path) -> None:
    """It can't be measured, and its sentences can be learnt."""
    frame = small_set(("en",)).frame.assign(split="", intent="pool")
    frame.to_csv(tmp_path / "one.csv", index=False)
    labelled, bare, findings = read_partly_labelled(tmp_path / "one.csv")
    assert not len(labelled) and len(bare) == len(frame)
    assert "intents can't be used" in findings[1] and "single intent 'pool'" in findings[1]
    _, data = plan_training(labelled, bare=bare, method="distil", config=settings(teacher))
    assert data.unlabelled is not None and len(data.unlabelled) == len(frame)


def test_labels_may_be_there_to_measure_alone(teacher: Run, tmp_path: Path) -> None:
    tested = small_set(("en",)).select(splits=["test"])
    tested.frame.to_csv(tmp_path / "tested.csv", index=False)
    texts = small_set(("en",)).train_part().frame["text"]
    (tmp_path / "mails.en.txt").write_text("\n".join([*texts, tested.frame["text"].iloc[0]]), "utf-8")
    files = [tmp_path / "tested.csv", tmp_path / "mails.en.txt"]
    run = distilled(files, tmp_path / "run", teacher, epochs=1)
    metrics = run.metrics()
    assert metrics.is_measured and metrics.right_intents is None and metrics.counts["en-en"] == len(tested)
    assert trained_rows(f"run:{run.folder}", tested)[0].sum() == 0


@pytest.mark.slow
def test_translations_of_held_out_sentences_are_not_learnt(teacher: Run, tmp_path: Path) -> None:
    frame = small_set().frame.assign(split="", annotated="")
    frame.loc[frame["language"] != "en", "intent"] = ""
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    run = train(
        tmp_path / "mixed.csv", out=tmp_path / "run", method="distil", config=settings(teacher, epochs=1),
        hold_out=0.25, device="cpu",
    )  # fmt: skip
    assert set(run.metrics().similar_sentences.by_language) == {"en"}
    rows = trained_rows(f"run:{run.folder}", LabelledSet(small_set().frame.assign(split=""), "again"))[0]
    alone = trained_rows(f"run:{teacher.folder}", small_set())[0]
    learnt = pd.Series(rows & ~alone).groupby(frame["id"]).sum()
    assert set(learnt) <= {0, 3}  # with all its translations, or not at all


@pytest.mark.slow
def test_what_needs_labels_says_so(teacher: Run, tmp_path: Path) -> None:
    file = tmp_path / "mails.en.csv"
    small_set().frame[["text", "language"]].to_csv(file, index=False)
    with raises(DataError, fix="intent_column"):
        train(file, out=tmp_path / "emu", method="emu", device="cpu")
    bare = UnlabelledSet(small_set().frame[["text", "language", "id"]], "bare")
    with raises(DataError, fix=None, match="emu .*distil"):
        train(bare, out=tmp_path / "emu", method="emu", device="cpu")
    with raises(DataError, fix="hold_out"):
        distilled(file, tmp_path / "out", teacher, hold_out=0.2)
    with raises(DataError, fix=None, match="'label'"):
        distilled(file, tmp_path / "out", teacher, reading=Reading(mapping=ColumnMapping(intent="label")))
    run = distilled(bare, tmp_path / "run", teacher, epochs=1)
    assert run.config().unlabelled_languages == ("en", "de", "ja")


def test_data_in_one_language_without_english_is_enough(teacher: Run) -> None:
    config, _ = plan_training(small_set(("de",)), method="distil", config=settings(teacher))
    assert config.unlabelled_languages == ("de",)


def unfinished(folder: Path, state: RunState, task: RunTask = RunTask.TRAIN) -> str:
    run = Run(folder)
    run.folder.mkdir(parents=True)
    run.write("config.json", RunConfig("emu", "data", {}, task=task).to_json())
    run.write_status(Status(state=state))
    return f"run:{folder}"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("nothing", TrainingError, "no teacher is named"),
        ("itself", TrainingError, "could learn nothing from itself"),
        ("missing", RunError, "no such run to learn from"),
        ("queued", TrainingError, "is queued, and has no encoder to learn from"),
        ("bench", TrainingError, "is a benchmark, and has no encoder to learn from"),
        ("unknown", EncoderError, "no encoder 'word2vec' to learn from; name one of use"),
        ("unnamed", EncoderError, "no encoder 'hf:' to learn from"),
    ],
)
def test_what_can_not_teach_is_refused_in_a_sentence(
    name: str, error: type[EmuError], message: str, student: Run, tmp_path: Path
) -> None:
    encoder = f"run:{student.folder}"
    specs: dict[str, Callable[[], str | None]] = {
        "nothing": lambda: None,
        "itself": lambda: f"run:{student.folder.parent / '.' / 'x' / '..' / student.name}",
        "missing": lambda: f"run:{tmp_path / 'missing'}",
        "queued": lambda: unfinished(tmp_path / "queued", RunState.QUEUED),
        "bench": lambda: unfinished(tmp_path / "bench", RunState.FINISHED, RunTask.BENCH),
        "unknown": lambda: "word2vec",
        "unnamed": lambda: "hf:",
    }
    config = configure("distil", "use", teacher=specs[name](), batch_size=36)
    with pytest.raises(error, match=message) as raised:
        train(
            small_set(), out=tmp_path / "out", method="distil", encoder=encoder, config=config, device="cpu"
        )
    assert "\n" not in str(raised.value) and not (tmp_path / "out").exists()


def test_too_few_sentences_are_refused(teacher: Run) -> None:
    few = LabelledSet(small_set(("en",)).train_part().frame.head(40), "few")
    with pytest.raises(
        TrainingError, match=r"40 sentences are fewer than one batch of 41.*unlabelled.*batch_size"
    ):
        plan_training(few, method="distil", config=settings(teacher, batch_size=41))


@pytest.mark.slow
def test_a_resumed_run_does_not_encode_with_the_teacher_again(
    teacher: Run, student: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "r")

    def stop(status: Status) -> None:
        if status.phase == "training" and status.step:
            run.cancel()

    with pytest.raises(CancelledError):
        distilled(small_set(), run.folder, teacher, on_progress=stop, hooks=Hooks(checkpoint_s=0))
    (stored,) = run.training_folder.glob("teacher-*.safetensors")
    assert run.checkpoint.exists()

    def encoded_again(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("emu_core.methods.distil.teacher.shared_encode", encoded_again)
    resume(run.folder)
    assert run.status().state is RunState.FINISHED and not stored.exists()
    weights, expected = (load_file(each.encoder_folder / "model.safetensors") for each in (run, student))
    assert all(torch.equal(weights[name], weight) for name, weight in expected.items())


def test_stored_vectors_are_those_of_the_teacher_and_the_sentences(tmp_path: Path) -> None:
    encoder = load_encoder("use")
    vectors = teacher_vectors(encoder, TEXTS, SINGLE_PROCESS, cache=tmp_path)
    assert vectors == pytest.approx(encoder.encode(TEXTS), abs=1e-6)
    others = [*TEXTS[:-1], TEXTS[-1] + "!"]
    assert not np.array_equal(teacher_vectors(encoder, others, SINGLE_PROCESS, cache=tmp_path), vectors)
    first, second = sorted(tmp_path.glob("*.safetensors"))
    assert first != second
    first.write_bytes(b"damaged")
    second.write_bytes(b"")
    assert teacher_vectors(encoder, TEXTS, SINGLE_PROCESS, cache=tmp_path) == pytest.approx(vectors, abs=1e-6)
    with torch.no_grad():
        next(weight for layer in encoder.layers()[-1:] for weight in layer).mul_(2)
    moved = teacher_vectors(encoder, TEXTS, SINGLE_PROCESS, cache=tmp_path)
    assert moved == pytest.approx(encoder.encode(TEXTS), abs=1e-6) and not np.allclose(
        moved, vectors, atol=1e-3
    )


@pytest.mark.slow
def test_a_run_of_another_method_may_be_the_student(teacher: Run, student: Run, tmp_path: Path) -> None:
    again = distilled(small_set(), tmp_path / "again", "use", encoder=f"run:{student.folder}")
    known = trained_on(f"run:{again.folder}")
    assert np.isin(trained_on(f"run:{teacher.folder}").hashes, known.hashes).all()
    # The base encoder as teacher takes some of the way back, among the sentences that both learnt from.
    texts = small_set().train_part().frame["text"].tolist()
    back, forth = (cosines(load_encoder(f"run:{run.folder}"), texts) for run in (again, student))
    wanted = cosines(load_encoder("use"), texts)
    assert np.abs(back - wanted).mean() < np.abs(forth - wanted).mean()


def test_a_renamed_teacher_is_renamed_in_its_students(teacher: Run, tmp_path: Path) -> None:
    shutil.copytree(teacher.folder, tmp_path / "first")
    first = Run(tmp_path / "first")
    config, data = plan_training(small_set(), method="distil", config=settings(first))
    run = create_run(tmp_path / "student", config, data)
    with raises(RunError, fix=None, match="'student'"):
        first.rename("second")
    run.write_status(replace(run.status(), state=RunState.CANCELLED))
    renamed = first.rename("second")
    assert run.config().hyperparameters["teacher"] == f"run:{renamed.folder}"
    assert run.config().encoder == "use"


@pytest.mark.slow
def test_joined_encoders_teach_and_learn(teacher: Run, tmp_path: Path) -> None:
    """A teacher may be joined, and each part of a joined student learns by itself."""
    tiny = f"hf:{tiny_transformer(tmp_path / 'tiny', letters=True)}"
    joined = f"run:{teacher.folder}+{tiny}"
    config = configure("distil", "use", teacher=joined, epochs=1)
    student = train(small_set(), out=tmp_path / "student", method="distil", encoder="use", config=config)
    assert load_encoder(f"run:{student.folder}").dim == 512
    assert trained_on(f"run:{student.folder}").unknown == tiny
    assert joined.partition("+")[0] in (student.folder / "README.md").read_text("utf-8")
    spec = f"use+{tiny}"
    config = configure("distil", spec, teacher=f"run:{teacher.folder}", epochs=1)
    both = train(small_set(), out=tmp_path / "both", method="distil", encoder=spec, config=config)
    taught = load_encoder(f"run:{both.folder}").parts[1].state_dict()  # type: ignore[union-attr]
    config = configure("distil", tiny, teacher=f"run:{teacher.folder}", epochs=1)
    alone = train(small_set(), out=tmp_path / "alone", method="distil", encoder=tiny, config=config)
    weights = load_encoder(f"run:{alone.folder}").state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in taught.items())


@pytest.mark.parametrize(
    ("joined", "error", "fix", "named"),
    [
        ("use+word2vec", EncoderError, "teacher", "'use.word2vec'"),
        ("use+run:gone", RunError, None, "gone"),
        ("use+use", EncoderError, None, "'use.use'"),
    ],
)
def test_a_joined_teacher_with_a_part_that_is_not_there_is_refused(
    joined: str, error: type[EmuError], fix: str | None, named: str
) -> None:
    with raises(error, fix=fix, match=named):
        plan_training(
            small_set(),
            method="distil",
            encoder="e5-small",
            config=configure("distil", "use", teacher=joined),
        )
