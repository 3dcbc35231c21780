"""A run of FMDA from its data to its folder: what is trained on, kept, measured, and gone on with after a stop."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from emu_core import resume, train
from emu_core.api.execute import Hooks
from emu_core.api.train import plan_training
from emu_core.data.sets import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.errors import CancelledError, DataError, EncoderError
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.method import training_pairs
from emu_core.methods.fmda.parts import Part
from emu_core.methods.fmda.settings import FmdaConfig
from emu_core.runs import progress
from emu_core.runs.checkpoint import Checkpoint, CheckpointPosition
from emu_core.runs.run import Run, RunState, Status
from tests.support.fmda_set import fmda_set
from tests.support.raises import raises
from tests.support.slot_set import slot_set
from tests.support.tiny_transformer import tiny_transformer

CONFIG = FmdaConfig(
    hidden=8, negatives=2, batch_size=4, epochs=2, patience=9, two_stage=True, standardised=True
)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"


@pytest.fixture(scope="module")
def run(spec: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(
        slot_set(),
        out=tmp_path_factory.mktemp("runs") / "r",
        method="fmda",
        encoder=spec,
        device="cpu",
        config=CONFIG,
    )


def test_every_phase_that_encodes_tells_how_far_it_is(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "STATUS_INTERVAL_S", 0.0)
    told: dict[str, list[float]] = {}
    train(
        slot_set(),
        out=tmp_path / "r",
        method="fmda",
        encoder=spec,
        device="cpu",
        config=CONFIG,
        on_progress=lambda status: told.setdefault(status.phase, []).append(status.progress),
    )
    assert list(told)[1:] == [
        "loading",
        "encoding",
        "training",
        "measuring the parts",
        "evaluating",
        "saving",
    ]
    for phase in ("loading", "encoding", "measuring the parts", "evaluating"):
        shares = told[phase]
        assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares), phase


@pytest.mark.slow
def test_a_run_says_what_each_embedding_is_good_for(run: Run) -> None:
    assert run.status().state is RunState.FINISHED
    assert run.config().pairs == (("en", "de"),)
    parts = run.metrics().parts
    assert list(parts.embeddings) == [part.value for part in Part]
    for measured in parts.embeddings.values():
        assert set(measured.translation) == {"en-de", "de-en"}
        assert set(measured.template) == {"en", "de"}
        assert 0 <= measured.probe <= 100
    assert parts.counts.translation == {"en-de": 4, "de-en": 4}
    encoder = load_encoder(f"run:{run.folder}")
    assert isinstance(encoder, DisentangledEncoder)
    held_out = slot_set().held_out_part()
    assert held_out is not None
    frame = held_out.frame
    texts = {
        code: frame[frame["language"] == code].sort_values("id")["text"].tolist() for code in ("en", "de")
    }
    first, second = (encoder.parts(texts[code])[Part.TEMPLATE] for code in ("en", "de"))
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (first, second)]
    right = np.mean((units[0] @ units[1].T).argmax(axis=1) == np.arange(4))
    assert parts.embeddings["template"].translation["en-de"] == pytest.approx(100 * right)


def test_the_log_names_stages_and_counts_epochs_through(run: Run) -> None:
    epochs = [record for record in run.history() if not record.is_step]
    assert [(record.stage, record.epoch) for record in epochs] == [
        ("template", 1), ("template", 2), ("rest", 3), ("rest", 4),
    ]  # fmt: skip
    assert run.status().epochs == 4


@pytest.mark.slow
def test_a_cancelled_run_goes_on_to_the_same_layers(
    run: Run, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = Run(tmp_path / "r")
    monkeypatch.setattr("emu_core.runs.progress.STATUS_INTERVAL_S", 0.0)  # every step is heard of

    def stop(status: Status) -> None:
        if status.step == 9:  # within the second stage's first epoch
            stopped.cancel()

    with pytest.raises(CancelledError):
        train(
            slot_set(), out=stopped.folder, method="fmda", encoder=spec, device="cpu", config=CONFIG,
            on_progress=stop,
        )  # fmt: skip
    assert Checkpoint(stopped.checkpoint).position() == CheckpointPosition(3, 9)
    assert stopped.can_resume
    resume(stopped.folder)
    whole, again = (load_encoder(f"run:{one.folder}") for one in (run, stopped))
    assert isinstance(whole, DisentangledEncoder)
    assert isinstance(again, DisentangledEncoder)
    for name, weight in whole.head.state_dict().items():
        assert torch.equal(weight, again.head.state_dict()[name]), name
    assert not stopped.training_folder.exists()


@pytest.mark.slow
def test_the_frozen_encoder_is_not_asked_twice(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emu_core.encoders.transformer.encoder import TransformerEncoder

    asked: list[int] = []
    real = TransformerEncoder.states

    def states(self: TransformerEncoder, features: dict[str, torch.Tensor]) -> torch.Tensor:
        asked.append(len(features["input_ids"]))
        return real(self, features)

    monkeypatch.setattr(TransformerEncoder, "states", states)
    counts = []
    for name in ("a", "b"):
        asked.clear()
        train(
            slot_set(), out=tmp_path / name, method="fmda", encoder=spec, device="cpu", config=CONFIG,
            hooks=Hooks(cache=tmp_path / "cache"),
        )  # fmt: skip
        counts.append(sum(asked))
    assert counts[1] < counts[0]
    # 16 training and 8 dev sentences, those made of them, and the masked ones: at the second time read.
    assert counts[0] - counts[1] >= 16 + 16 + 8


def test_without_dev_every_tenth_pair_chooses_the_epoch() -> None:
    train_pairs, dev_pairs = training_pairs(slot_set(split=False), [("en", "de")])
    assert (len(train_pairs[0]), len(dev_pairs[0])) == (15, 1)
    assert not {one.id for one in train_pairs[0].first} & {one.id for one in dev_pairs[0].first}
    train_pairs, dev_pairs = training_pairs(slot_set(), [("en", "de")])
    assert (len(train_pairs[0]), len(dev_pairs[0])) == (8, 4)


def test_what_is_wrong_is_said_before_a_run_is_made(spec: str, tmp_path: Path) -> None:
    labelled = slot_set()
    bare = LabelledSet(labelled.frame.assign(annotated=""), labelled.name)
    with raises(DataError, fix=None, match="'annotated'"):
        train(bare, out=tmp_path / "r", method="fmda", encoder=spec, device="cpu")
    assert not (tmp_path / "r").exists()
    with raises(EncoderError, fix=None, match="'use' .*e5-small"):
        train(labelled, out=tmp_path / "s", method="fmda", encoder="use", device="cpu")


def test_sentences_with_none_of_the_intents_are_learnt_too() -> None:
    """Templates and meanings are learnt without intents, so that it does not matter what a row's is."""
    whole = fmda_set()
    rows = whole.frame.assign(intent=whole.frame["intent"].replace("plain", "none"))
    labelled = LabelledSet.divided(rows, "fmda", ["none"])
    assert len(labelled) < len(whole)
    _, stored = plan_training(labelled, method="fmda", encoder="e5-small", pairs=[("en", "de")])
    assert len(stored.labelled) == len(whole) and not len(stored.labelled.none_of_these)


@pytest.mark.parametrize(
    ("method", "words"),
    [("fmda", "learnt from like every other row"), ("head", "neither learnt as an intent")],
)
def test_the_audit_says_what_a_method_does_with_rows_of_none(
    method: str, words: str, spec: str, tmp_path: Path
) -> None:
    """FMDA learns from translations with annotated slots, whatever their intent."""
    frame = slot_set().frame.copy()
    frame.loc[frame.index[::4], "intent"] = "out_of_scope"
    frame.to_csv(tmp_path / "commands.csv", index=False)
    findings: list[str] = []

    def stop(audit: Sequence[str]) -> None:
        findings.extend(audit)
        raise CancelledError

    with pytest.raises(CancelledError):
        train(
            tmp_path / "commands.csv",
            out=tmp_path / "r",
            method=method,
            encoder=spec,
            hooks=Hooks(on_audit=stop),
        )
    (finding,) = (line for line in findings if "labelled out_of_scope" in line)
    assert words in finding
