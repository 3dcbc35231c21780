"""Fitted estimators and their folders are exported as runs are: the encoder that computes their vectors."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer

import emu_core
from emu_core.encoders.saved import CHECKSUMS, write_checksums
from emu_core.errors import EncoderError, InputError, RunError
from emu_core.sklearn import IntentClassifier, SentenceEncoder, SpecialisedEncoder
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

TEXTS = ["Where is the pool?", "Wo ist der Pool?", "", "pool " * 50]
Estimator = SentenceEncoder | SpecialisedEncoder | IntentClassifier


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Estimator]:
    """Each estimator, with every kind of encoder that it can have."""
    frame = small_set(("en",)).select(splits=["train"]).frame
    texts, intents = frame["text"].tolist(), frame["intent"].tolist()
    tiny = f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"
    specialised = SpecialisedEncoder(device="cpu", share_factor=2.0).fit(texts, intents)
    run = tmp_path_factory.mktemp("run")
    specialised.encoder_.save(run / "encoder")
    return {
        "specialised": specialised,
        "encoder": SentenceEncoder(tiny, device="cpu"),
        "joined": SentenceEncoder(f"use+run:{run}", device="cpu"),
        "classifier of a name": IntentClassifier("use", device="cpu").fit(texts, intents),
        "classifier of a transformer": IntentClassifier(specialised, device="cpu").fit(texts, intents),
    }


def expected(estimator: Estimator) -> np.ndarray:
    if isinstance(estimator, IntentClassifier):
        named = isinstance(estimator.encoder, str)
        estimator = SentenceEncoder(estimator.encoder, device="cpu") if named else estimator.encoder_
    return estimator.transform(TEXTS)


def opened(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), trust_remote_code=True, device="cpu", local_files_only=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["specialised", "encoder", "joined", "classifier of a name", "classifier of a transformer"]
)
def test_an_estimator_and_its_folder_are_exported(
    name: str, fitted: dict[str, Estimator], tmp_path: Path
) -> None:
    estimator = fitted[name]
    vectors, folder = expected(estimator), estimator.save(tmp_path / "saved")
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
    for source in (estimator, str(folder)):
        live = emu_core.to_sentence_transformers(source)
        np.testing.assert_allclose(live.encode(TEXTS), vectors, rtol=0, atol=1e-5)
    for number, source in enumerate((estimator, folder)):
        out = emu_core.export(source, tmp_path / f"out-{number}")
        np.testing.assert_allclose(opened(out).encode(TEXTS), vectors, rtol=0, atol=1e-5)
    assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*")) == before
    assert f"# {type(estimator).__name__}\n" in (tmp_path / "out-0" / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_the_export_of_an_estimator_has_its_base_and_licence(
    fitted: dict[str, Estimator], tmp_path: Path
) -> None:
    out = emu_core.export(fitted["specialised"], tmp_path / "out")
    assert "\nlicense: apache-2.0\n" in (out / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_training_the_live_model_leaves_the_estimator_as_it_was(fitted: dict[str, Estimator]) -> None:
    estimator = fitted["specialised"]
    before = expected(estimator)
    for parameter in emu_core.to_sentence_transformers(estimator).parameters():
        parameter.data.zero_()
    np.testing.assert_array_equal(expected(estimator), before)


@pytest.mark.slow
def test_an_estimator_is_exported_as_a_graph(fitted: dict[str, Estimator], tmp_path: Path) -> None:
    out = emu_core.export(fitted["encoder"], tmp_path / "out", format="onnx")
    assert json.loads((out / "config.json").read_text("utf-8"))["encoder"] == "hf"


@pytest.mark.parametrize("estimator", [SpecialisedEncoder(), IntentClassifier()])
@pytest.mark.parametrize("function", [emu_core.export, emu_core.to_sentence_transformers])
def test_what_is_not_fitted_is_said(
    function: Callable[..., object], estimator: Estimator, tmp_path: Path
) -> None:
    with pytest.raises(NotFittedError):
        function(estimator, *([tmp_path / "out"] if function is emu_core.export else []))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", [None, 3, HashingVectorizer(), ["use"]])
def test_what_has_no_encoder_is_said(source: object, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        emu_core.export(source, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        emu_core.to_sentence_transformers(source)  # type: ignore[arg-type]


def test_the_vectors_of_another_transformer_are_not_exported(tmp_path: Path) -> None:
    texts, intents = ["Where is the pool?", "Call me a taxi"] * 2, ["pool", "taxi"] * 2
    foreign = HashingVectorizer(n_features=16)
    classifier = IntentClassifier(Dense(foreign)).fit(texts, intents)
    with pytest.raises(InputError):
        emu_core.export(classifier, tmp_path / "out")


class Dense:
    """A transformer to dense vectors."""

    def __init__(self, inner: HashingVectorizer) -> None:
        self.inner = inner

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {"inner": self.inner}

    def fit(self, X: list[str], y: object = None) -> "Dense":  # noqa: N803
        return self

    def transform(self, X: list[str]) -> np.ndarray:  # noqa: N803
        return np.asarray(self.inner.transform(X).todense(), np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["changed", "version", "elsewhere", "list"])
def test_a_damaged_folder_is_not_exported(damage: str, fitted: dict[str, Estimator], tmp_path: Path) -> None:
    folder = fitted["joined"].save(tmp_path / "saved")
    if damage == "changed":
        next(folder.rglob("head.safetensors")).write_bytes(b"0")
    else:
        about = json.loads((folder / "estimator.json").read_text("utf-8"))
        change = {"version": {"format": 9}, "elsewhere": {}, "list": {"parameters": []}}[damage]
        if damage == "elsewhere":
            shutil.copytree(folder, tmp_path / "other")
            about["parameters"]["encoder"] = f"run:{tmp_path / 'other' / 'encoders'}"
        (folder / "estimator.json").write_text(json.dumps(about | change), "utf-8")
        (folder / CHECKSUMS).unlink()
        write_checksums(folder)
    for function in (
        emu_core.to_sentence_transformers,
        lambda source: emu_core.export(source, tmp_path / "out"),
    ):
        with pytest.raises(InputError):
            function(folder)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_nothing_is_no_run(tmp_path: Path) -> None:
    with pytest.raises((RunError, EncoderError)):
        emu_core.to_sentence_transformers(tmp_path)
