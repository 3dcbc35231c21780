"""A run of the method head, and its encoder, which saves, opens and is trained on."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from emu_core import load_encoder, resume, train
from emu_core.data.demo import REFERENCE, reference_texts
from emu_core.data.sets import LabelledSet
from emu_core.encoders.encode import cached_encode
from emu_core.encoders.registry import encoder_kind
from emu_core.errors import CancelledError, EncoderError, TrainingError
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.intents.whitening import NewIntentGain
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.head import fit as head_fit
from emu_core.methods.head import head as head_module
from emu_core.methods.head.encoder import HeadEncoder
from emu_core.methods.head.fit import (
    Examples,
)
from emu_core.methods.head.method import as_functions
from emu_core.methods.registry import configure
from emu_core.runs.run import Run, RunState, Status
from tests.support.head_by_hand import (
    FULL,
    PLAIN,
)
from tests.support.raises import raises
from tests.support.small import small_set


@pytest.mark.slow
def test_reference_sentences_are_parallel_and_never_tested_on() -> None:
    texts = reference_texts()
    assert set(texts) == {"en", "de", "es", "fr", "ja", "zh"}
    assert {len(some) for some in texts.values()} == {REFERENCE}
    from emu_core.data.demo import load_demo

    frame = load_demo().train_part().frame
    ids = {
        language: [
            frame.loc[(frame["text"] == text) & (frame["language"] == language), "id"].iloc[0]
            for text in some
        ]
        for language, some in texts.items()
    }
    assert len({tuple(some) for some in ids.values()}) == 1
    assert len({name.rsplit("-", 1)[0] for name in ids["en"]}) > 20  # most intents have a part in it


def test_a_list_of_texts_is_encoded_once() -> None:
    calls = []

    def encode(texts: list[str]) -> NDArray[np.float32]:
        calls.append(texts)
        return np.ones((len(texts), 3), dtype=np.float32)

    remembered = cached_encode(encode)  # type: ignore[arg-type]
    assert remembered(["a", "b"]) is remembered(["a", "b"])
    remembered(["b", "a"])
    assert calls == [["a", "b"], ["b", "a"]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small_set(), out=tmp_path_factory.mktemp("runs") / "small", device="cpu")


def test_it_is_the_method_where_none_is_named(run: Run) -> None:
    assert run.status().state is RunState.FINISHED
    assert run.config().method == "head"
    assert run.config().hyperparameters["share"] == configure("head", "use").share
    metrics = run.metrics()
    assert metrics.mean_specialised > metrics.mean_base + 5
    assert not run.training_folder.exists()
    new = metrics.new_intents
    assert new.queries == len(small_set().train_part().select(languages=["en"]).frame)
    assert new.specialised - new.base == pytest.approx(new.difference)
    assert new.low < new.difference < new.high
    used = load_encoder(f"run:{run.folder}").head
    assert used.share == pytest.approx(new.strength.share)
    card = (run.folder / "README.md").read_text("utf-8")
    assert "## Intents without labels" in card and f"{new.difference:+.1f} points" in card
    assert "`head`" in card and "no unlabelled sentences were used" in card


@pytest.mark.slow
def test_the_settings_that_were_chosen_are_those_of_the_head_and_of_its_new_intents(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = NewIntentGain(mean=9.0, error=0.1)
    monkeypatch.setattr(head_fit, "gain_of_new_intents", lambda *_: chosen)
    measured = []
    measure = head_fit.new_intents
    monkeypatch.setattr(head_fit, "new_intents", lambda *of: measured.append(of[2]) or measure(*of))
    run = train(small_set(), out=tmp_path / "stronger", device="cpu")
    start = configure("head", "use")
    share, whitening = start.share * start.share_factor, start.whitening * start.whitening_factor
    head = load_encoder(f"run:{run.folder}").head
    assert (measured[0].share, measured[0].whitening) == (share, whitening) and head.share == share
    strength = run.metrics().new_intents.strength
    assert strength.is_stronger and (strength.share, strength.whitening) == (share, whitening)


@pytest.mark.slow
def test_of_many_sentences_a_sample_is_cross_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_fit, "CROSS_VALIDATED", 60)
    rng = np.random.default_rng(0)
    labels = [n % 3 for n in range(120)]
    vectors = (np.eye(3, 8)[labels] + 0.3 * rng.normal(size=(120, 8))).astype(np.float32)
    given = Examples(vectors, labels, ids=[""] * 120), ["en"] * 120, FULL
    found = head_fit.cross_validated(*given)
    assert found is not None and found.queries == 60


@pytest.mark.slow
def test_without_held_out_sentences_it_is_cross_validated(tmp_path: Path) -> None:
    frame = small_set().frame.assign(split="")
    run = train(LabelledSet(frame, "bare"), out=tmp_path / "bare", train_languages=["en"], device="cpu")
    metrics = run.metrics()
    found = metrics.cross_validation
    assert not metrics.is_measured and found.divisions == 5
    assert found.queries == (frame["language"] == "en").sum()
    assert found.specialised - found.base == pytest.approx(found.difference)
    # The sentences' own labels would make nearly all of them right.
    assert found.base < found.specialised < 99
    line = f"similar sentences {found.base:.0f} → {found.specialised:.0f} of 100"
    assert line in (run.folder / "README.md").read_text("utf-8") and line in run._repr_html_()


def test_what_is_saved_is_what_was_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(f"run:{run.folder}")
    assert isinstance(encoder, HeadEncoder) and encoder.dim == 512
    assert encoder_kind(f"run:{run.folder}") == "use"
    test = small_set().select(splits=["test"]).frame
    found = leave_one_out(
        encoder.encode(test["text"].tolist()),
        test["intent"].tolist(),
        test["language"].tolist(),
        test["id"].tolist(),
    )
    assert found.accuracy == run.metrics().specialised
    texts = test["text"].tolist()
    monkeypatch.setattr(head_module, "COSINES", 7 * len(encoder.head.anchors))  # seven rows at a time
    both = as_functions(encoder.head).encode_with(load_encoder("use").encode)(texts)
    np.testing.assert_allclose(encoder.encode(texts), both, atol=1e-6)
    with torch.no_grad():
        np.testing.assert_allclose(encoder(encoder.tokenize(texts)).numpy(), both, atol=2e-6)


@pytest.mark.slow
def test_the_same_command_gives_the_same_weights(run: Run, tmp_path: Path) -> None:
    again = train(small_set(), out=tmp_path / "again", seed=5, device="cpu")  # nothing in it is drawn
    one, two = (load_file(r.encoder_folder / "head.safetensors") for r in (run, again))
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.slow
def test_a_second_head_goes_on_the_first(run: Run, tmp_path: Path) -> None:
    second = train(small_set(), out=tmp_path / "second", encoder=f"run:{run.folder}", device="cpu")
    encoder = load_encoder(f"run:{second.folder}")
    assert encoder.dim == 512
    assert encoder_kind(f"run:{second.folder}") == "use"


@pytest.mark.slow
def test_its_weights_can_be_trained_on_by_another_method(run: Run, tmp_path: Path) -> None:
    config = configure("softmax", "use", epochs=1)
    after = train(
        small_set(),
        out=tmp_path / "r",
        encoder=f"run:{run.folder}",
        method="softmax",
        config=config,
        device="cpu",
    )
    first, then = (load_encoder(f"run:{r.folder}") for r in (run, after))
    assert isinstance(first, HeadEncoder) and isinstance(then, HeadEncoder)
    assert torch.equal(first.head.anchors, then.head.anchors)
    # The first layer of `use` is not trained.
    assert torch.equal(first.base.layers()[0][0], then.base.layers()[0][0])
    assert not torch.equal(first.base.layers()[1][0], then.base.layers()[1][0])


@pytest.mark.parametrize("damage", ["cut", "shape", "missing", "number", "no base"])
def test_a_damaged_folder_is_said(run: Run, damage: str, tmp_path: Path) -> None:
    encoder = load_encoder(f"run:{run.folder}")
    encoder.save(folder := tmp_path / "encoder")
    head = folder / "head.safetensors"
    config = json.loads((folder / "config.json").read_text("utf-8"))
    match damage:
        case "cut":
            head.write_bytes(head.read_bytes()[:-100])
        case "shape":
            save_file(load_file(head) | {"bias": torch.zeros(2)}, head)
        case "missing":
            save_file({"bias": torch.zeros(2)}, head)
        case "number":
            config["head"]["softening"] = 0.0
            (folder / "config.json").write_text(json.dumps(config), "utf-8")
        case _:
            (folder / "base" / "config.json").unlink()
    with pytest.raises(EncoderError) as caught:
        load_encoder(f"run:{tmp_path}")
    assert "\n" not in str(caught.value)


def test_its_vectors_are_float32_in_reduced_precision_too(run: Run) -> None:
    """Emu's discriminator sees such vectors, when it is trained on a run."""
    encoder = load_encoder(f"run:{run.folder}")
    texts = small_set().frame["text"].tolist()[:5]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors = encoder.vectors(encoder.ids_of(texts))
    assert vectors.dtype == torch.float32
    np.testing.assert_allclose(vectors.numpy(), encoder.encode(texts), atol=0.03)


def test_settings_and_method_must_fit(tmp_path: Path) -> None:
    with raises(TrainingError, fix=None, match="EmuConfig.* head"):
        train(small_set(), out=tmp_path / "r", config=EmuConfig(), device="cpu")
    with raises(TrainingError, fix=None, match="HeadConfig.* emu"):
        train(small_set(), out=tmp_path / "r", method="emu", config=PLAIN, device="cpu")
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_same_head(run: Run, tmp_path: Path) -> None:
    stopped = Run(tmp_path / "r")

    def stop(status: Status) -> None:
        if status.phase == "fitting":
            stopped.cancel()

    with pytest.raises(CancelledError):
        train(small_set(), out=stopped.folder, device="cpu", on_progress=stop)
    assert stopped.status().state is RunState.CANCELLED and stopped.can_resume
    resume(stopped.folder)
    one, two = (load_file(r.encoder_folder / "head.safetensors") for r in (run, stopped))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert stopped.metrics().specialised == run.metrics().specialised
