"""Estimators in folders: the same predictions from the folder alone, and nothing from a folder that is not whole."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from emu_core import files, train
from emu_core.data.reading import Reading
from emu_core.encoders import estimators
from emu_core.encoders.saved import CHECKSUMS, write_checksums
from emu_core.errors import InputError, RunError
from emu_core.sklearn import IntentClassifier, SentenceEncoder, SpecialisedEncoder
from emu_core.sklearn.stored import ABOUT, ARRAYS, texts_from_array, texts_to_array
from tests.support.small import small_set

ENCODER = SentenceEncoder(device="cpu")
ASKED = [
    "Where is the pool?",
    "Wo ist der Pool?",
    "Can I bring my dog?",
    "The derivative of a sine is a cosine",
]


@pytest.fixture(scope="module")
def labelled() -> pd.DataFrame:
    return small_set(("en", "de")).select(splits=["train"]).frame


@pytest.fixture(scope="module")
def classifier(labelled: pd.DataFrame) -> IntentClassifier:
    """A classifier with all that can be stored: sentences of no intent, two languages, a confidence."""
    is_wrong = np.arange(len(labelled)) % 7 == 0  # so that some predictions are wrong
    given = np.where(is_wrong, np.roll(labelled["intent"], 40), labelled["intent"])
    texts, intents = [*labelled["text"], "Who are you?", ASKED[-1]], [*given, "oos", "oos"]
    languages = [*labelled["language"], "en", "en"]
    return IntentClassifier(ENCODER, n_neighbors=2).fit(texts, intents, languages=languages)


@pytest.fixture(scope="module")
def specialised(labelled: pd.DataFrame) -> SpecialisedEncoder:
    encoder = SpecialisedEncoder(device="cpu", share_factor=2.0, random_state=np.int64(3))
    return encoder.fit(labelled["text"], labelled["intent"], languages=labelled["language"].tolist())


@pytest.fixture(scope="module")
def whole(classifier: IntentClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return classifier.save(tmp_path_factory.mktemp("stored") / "classifier")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "classifier"))


def assert_same(first: IntentClassifier, second: IntentClassifier) -> None:
    for results in zip(
        (first.predict(ASKED), first.predict_proba(ASKED), *first.kneighbors(ASKED)),
        (second.predict(ASKED), second.predict_proba(ASKED), *second.kneighbors(ASKED)),
        strict=True,
    ):
        assert results[0].dtype == results[1].dtype
        np.testing.assert_array_equal(*results)
    pd.testing.assert_frame_equal(
        first.explain(ASKED, languages="de"), second.explain(ASKED, languages="de"), check_exact=True
    )
    assert first.facts == second.facts and first.classes_.tolist() == second.classes_.tolist()
    assert first.classes_.dtype == second.classes_.dtype and first.pool_.sha256() == second.pool_.sha256()


def test_a_classifier_is_the_same_from_its_folder(classifier: IntentClassifier, whole: Path) -> None:
    again = IntentClassifier.load(whole)
    assert_same(classifier, again)
    assert classifier.classifier_.has_confidence and classifier.facts["none_of_these"] == 2
    assert repr(again) == repr(classifier)
    assert sorted(path.name for path in whole.iterdir()) == sorted((ABOUT, ARRAYS, CHECKSUMS, "transformer"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [str, object, np.int8, float, bool])
def test_classes_of_every_type_are_the_same(dtype: Any, labelled: pd.DataFrame, tmp_path: Path) -> None:
    numbers = pd.factorize(labelled["intent"], sort=True)[0]
    y = (
        labelled["intent"].to_numpy() if dtype in (str, object) else numbers % (2 if dtype is bool else 9)
    ).astype(dtype)
    option = None if dtype is bool else np.int64(-1) if dtype in (np.int8, float) else "other"
    fitted = IntentClassifier("use", reject_option=option, threshold=0.9, device="cpu").fit(
        labelled["text"], y
    )
    assert_same(fitted, IntentClassifier.load(fitted.save(tmp_path / "saved")))


@pytest.mark.slow
def test_a_specialised_encoder_is_the_same_from_its_folder(
    specialised: SpecialisedEncoder, labelled: pd.DataFrame, tmp_path: Path
) -> None:
    again = SpecialisedEncoder.load(specialised.save(tmp_path / "encoder"), device="cpu")
    assert again.transform(ASKED).tobytes() == specialised.transform(ASKED).tobytes()
    assert again.get_params() == specialised.get_params() and again.get_params()["share_factor"] == 2.0
    assert again.classes_.tolist() == specialised.classes_.tolist()
    assert again.languages_ == specialised.languages_
    np.testing.assert_array_equal(again.trained_on_.hashes, specialised.trained_on_.hashes)
    fitted = IntentClassifier(specialised).fit(labelled["text"], labelled["intent"])
    assert_same(fitted, IntentClassifier.load(fitted.save(tmp_path / "classifier")))


@pytest.mark.slow
def test_the_encoder_of_a_run_is_copied(labelled: pd.DataFrame, tmp_path: Path) -> None:
    """So that the run, and the place where the folder was written, may be deleted."""
    run = train(
        labelled[["text", "intent"]], out=tmp_path / "hotel", reading=Reading(language="en"), device="cpu"
    )
    spec = f"run:{run.folder}+use"
    encoder, classifier = SentenceEncoder(spec, device="cpu"), IntentClassifier(spec, device="cpu")
    classifier.fit(labelled["text"], labelled["intent"], languages=labelled["language"].tolist())
    vectors, predicted = encoder.transform(ASKED), classifier.predict_proba(ASKED)
    for name, estimator in (("encoder", encoder), ("classifier", classifier)):
        estimator.save(tmp_path / "first" / name)
    shutil.rmtree(run.folder)
    (tmp_path / "first").rename(tmp_path / "second")
    again = SentenceEncoder.load(tmp_path / "second" / "encoder")
    assert again.transform(ASKED).tobytes() == vectors.tobytes()
    assert again.encoder == f"run:{tmp_path}/second/encoder/encoders/hotel+use"
    loaded = IntentClassifier.load(tmp_path / "second" / "classifier")
    assert loaded.predict_proba(ASKED).tobytes() == predicted.tobytes()
    assert loaded.predict_file(pd.DataFrame({"text": ASKED}), tmp_path / "out.csv") == len(ASKED)


@pytest.mark.slow
def test_the_classifier_of_a_run_is_the_same_from_its_folder(labelled: pd.DataFrame, tmp_path: Path) -> None:
    """Its model is fitted on vectors that no head has moved, before and after."""
    run = train(
        labelled[["text", "intent"]], out=tmp_path / "hotel", reading=Reading(language="en"), device="cpu"
    )
    fitted = IntentClassifier.from_run(run, device="cpu")
    assert_same(fitted, IntentClassifier.load(fitted.save(tmp_path / "classifier"), device="cpu"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("save", "error", "message"),
    [
        (lambda out, texts, y: IntentClassifier().save(out), NotFittedError, "not fitted"),
        (lambda out, texts, y: SpecialisedEncoder().save(out), NotFittedError, "not fitted"),
        (
            lambda out, texts, y: IntentClassifier(make_pipeline(ENCODER)).fit(texts, y).save(out),
            InputError,
            "a Pipeline, which can't be saved; give a SentenceEncoder",
        ),
        (
            lambda out, texts, y: (
                IntentClassifier(ENCODER, reject_option=LogisticRegression()).fit(texts, y).save(out)
            ),
            InputError,
            r"reject_option is a LogisticRegression.*set_params\(reject_option=",
        ),
        (lambda out, texts, y: ENCODER.save(out / "file" / "sub"), RunError, "can't write .*Not a directory"),
        (lambda out, texts, y: ENCODER.save(out / "file"), RunError, "in use; choose another folder"),
        (lambda out, texts, y: ENCODER.save(out / ".."), RunError, "in use; choose another folder"),
    ],
    ids=["classifier", "encoder", "pipeline", "parameter", "below a file", "file", "full folder"],
)
def test_what_can_not_be_saved_leaves_nothing(
    save: Callable[[Path, Any, Any], object],
    error: type[Exception],
    message: str,
    labelled: pd.DataFrame,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    if error is RunError:
        out.mkdir()
        (out / "file").write_text("a")
    with pytest.raises(error, match=message):
        save(out, labelled["text"], labelled["intent"])
    assert [path.name for path in tmp_path.rglob("*")] == (["out", "file"] if error is RunError else [])


def test_a_saved_estimator_is_replaced_and_other_files_are_not(folder: Path) -> None:
    ENCODER.save(folder)
    assert SentenceEncoder.load(folder).get_params() == ENCODER.get_params()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="in use"):
        ENCODER.save(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


class Killed(BaseException):
    """A stand-in for the end of the process."""


def test_a_save_that_is_killed_anywhere_leaves_the_old_estimator_or_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each operation on the disk is the last one once; what would clean up afterwards is killed, too."""
    names = ("rename", "mkdir", "write_bytes", "chmod", "replace")
    number, steps, outcomes = 0, 0, set[str]()

    def killing(name: str) -> Callable[..., Any]:
        operation = getattr(Path, name)

        def step(self: Path, *args: Any, **options: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > number:
                raise Killed
            return operation(self, *args, **options)

        return step

    whole = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    is_killed = True
    while is_killed:
        steps = 0
        with monkeypatch.context() as patched:
            for name in names:
                patched.setattr(Path, name, killing(name))
            patched.setattr(files.shutil, "rmtree", lambda *args, **options: None)
            try:
                ENCODER.save(folder)
                is_killed = False
            except Killed:
                pass
        number += 1
        if folder.exists():
            left = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
            outcomes.add("old" if left == whole else "new")
            if left != whole:
                SentenceEncoder.load(folder)
        else:
            outcomes.add("none")
            assert len(list(folder.parent.glob(".*.part/" + ARRAYS))) == 1  # the old one, under another name
            next(folder.parent.glob(".*.part/" + ARRAYS)).parent.rename(folder)
    assert number > 5 and outcomes == {"old", "none", "new"}


@pytest.mark.parametrize("name", [ABOUT, ARRAYS, CHECKSUMS, f"transformer/{ABOUT}"])
@pytest.mark.parametrize("damage", ["changed", "cut", "empty", "gone"])
def test_a_damaged_file_is_named(name: str, damage: str, folder: Path) -> None:
    file, content = folder / name, (folder / name).read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    file.write_bytes({"changed": changed, "cut": content[:middle]}.get(damage, b""))
    if damage == "gone":
        file.unlink()
    with pytest.raises(
        InputError, match=r"differs from what was saved; copy the folder again|no estimator in"
    ):
        IntentClassifier.load(folder)


def test_a_file_that_was_not_saved_is_refused(folder: Path) -> None:
    (folder / "more.bin").write_bytes(b"0")
    with pytest.raises(InputError, match=r"more\.bin differs from what was saved"):
        IntentClassifier.load(folder)
    (folder / "more.bin").unlink()
    (folder / "link").symlink_to(folder.parent)
    with pytest.raises(InputError, match="link is a link"):
        IntentClassifier.load(folder)


def test_large_files_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MAX_JSON_BYTES", "MAX_ARRAY_BYTES"):
        with monkeypatch.context() as patched:
            patched.setattr(estimators, limit, 10)
            with pytest.raises(InputError, match="larger than"):
                IntentClassifier.load(folder)
    monkeypatch.setattr(estimators, "MAX_FILES", 2)
    with pytest.raises(InputError, match="has 5 files"):
        IntentClassifier.load(folder)


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change estimator.json as somebody who knows of the checksums does."""
    about = json.loads((folder / ABOUT).read_text())
    change(about)
    (folder / ABOUT).write_text(json.dumps(about))
    (folder / CHECKSUMS).unlink()
    write_checksums(folder)
    return folder


def test_other_classes_and_versions_say_what_opens_them(folder: Path) -> None:
    with pytest.raises(
        InputError, match=r"holds the estimator IntentClassifier; open it with IntentClassifier\.load"
    ):
        SentenceEncoder.load(folder)
    rewritten(folder, lambda about: about.update(format=3, emu_core="7.1"))
    with pytest.raises(
        InputError, match=r"emu_core 7\.1 in format 3.*reads format 2: open it with emu_core 7\.1"
    ):
        IntentClassifier.load(folder)
    with pytest.raises(InputError, match="no estimator in"):
        IntentClassifier.load(folder.parent)


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.clear(),
        lambda about: about.pop("fitted"),
        lambda about: about.update(parameters=[]),
        lambda about: about["parameters"].update(n_neighbors="3"),
        lambda about: about["parameters"].update(n_neighbors={"a": 1}),
        lambda about: about["parameters"].update(nonsense=1),
        lambda about: about["parameters"].update(encoder="run:/etc"),
        lambda about: about["parameters"].update(encoder="run:encoders/../.."),
        lambda about: about["parameters"].update(encoder="hf:/etc"),
        lambda about: about["parameters"].update(encoder=3),
        lambda about: about["fitted"].update(classes={"dtype": "<U9", "values": []}),
        lambda about: about["fitted"]["classes"].update(dtype="<U99999", values=["a"] * 9_999),
        lambda about: about["fitted"]["classes"].update(dtype="O8"),
        lambda about: about["fitted"]["classes"].update(values=["a"]),
        lambda about: about["fitted"]["classifier"].update(name_strength_=-1.0),
        lambda about: about["fitted"]["classifier"].update(rule="pickle"),
        lambda about: about["fitted"]["classifier"].update(calibrations={"": ["a", None]}),
        lambda about: about["fitted"]["classifier"].update(calibrations={}),
        lambda about: about["fitted"]["classifier"].update(intents=["pool"] * 9),
        lambda about: about["fitted"]["classifier"].update(accuracy_="high"),
    ],
)
def test_strange_facts_are_one_sentence(change: Callable[[dict[str, Any]], object], folder: Path) -> None:
    with pytest.raises(InputError, match="does not hold a whole estimator; copy the folder again"):
        IntentClassifier.load(rewritten(folder, change))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("units", lambda array: array[:-1]),
        ("units", lambda array: array[:, :-1]),
        ("units", lambda array: array.astype(np.float64)),
        ("units", lambda array: array * np.nan),
        ("labels", lambda array: array + 1),
        ("labels", lambda array: array - 1),
        ("none", lambda array: array[:, :-1]),
        ("class_numbers", lambda array: array + 1),
        ("class_numbers", lambda array: array[:-1]),
        ("pool_rows", lambda array: array[:-1]),
        ("frame text", lambda array: array[:-1]),
        ("frame text ends", lambda array: array[::-1].copy()),
        ("frame language ends", lambda array: array * 0),
        ("none_of_these intent ends", lambda array: array[:-1]),
        ("surprise ", lambda array: array[::-1].copy()),
        ("surprise ", lambda array: array.astype(np.float64)),
        ("frame id", None),
        ("labels", None),
    ],
)
def test_strange_arrays_are_one_sentence(
    name: str, change: Callable[[np.ndarray], np.ndarray] | None, folder: Path
) -> None:
    arrays = load_file(folder / ARRAYS)
    array = arrays.pop(name)
    save_file(arrays if change is None else {**arrays, name: change(array)}, folder / ARRAYS)
    rewritten(folder, lambda about: None)
    with pytest.raises(InputError, match="does not hold a whole estimator; copy the folder again"):
        IntentClassifier.load(folder)


@pytest.mark.parametrize("texts", [[], [""], ["", "", ""], ["a", "", "ä", "\ud800", "한글"]])
def test_texts_are_the_same_from_bytes(texts: list[str]) -> None:
    assert texts_from_array(*texts_to_array(texts)) == texts
