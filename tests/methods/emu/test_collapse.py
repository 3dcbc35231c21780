"""The collapse alarm: its measures by plain arithmetic, its thresholds, and a training run that really collapses."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from emu_core import train
from emu_core.data.sets import unlabelled_from
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder
from emu_core.errors import CancelledError, TrainingError
from emu_core.methods.emu import batches as emu_data
from emu_core.methods.emu import trainer as emu
from emu_core.methods.emu.batches import (
    EmuBatch,
    Spread,
    TrainingData,
    gradient_length,
    prepare_batches,
    spread_alarms,
    step_alarms,
    vector_spread,
    watched,
)
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.emu.trainer import EmuTrainer
from emu_core.methods.registry import configure
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.log import Record
from emu_core.training.fit import Fitted, fit
from tests.support.raises import raises
from tests.support.sentences import cosine
from tests.support.small import small_set

SETTINGS = replace(configure("emu-without-ld-cl", "use"), epochs=2)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("use")


@pytest.fixture
def data(encoder: Encoder) -> TrainingData:
    return prepare_batches(encoder.token_ids, small_set().train_part(), None, ["en"], SETTINGS)


def fitted(
    data: TrainingData, config: EmuConfig = SETTINGS, checkpoint: Checkpoint | None = None, stop_at: int = 0
) -> tuple[Fitted, list[Record], Encoder]:
    fresh, records = load_encoder("use"), list[Record]()
    steps = itertools.count()
    done = fit(
        EmuTrainer(fresh, data, config, seed=0), on_record=records.append, checkpoint=checkpoint,
        should_stop=lambda: bool(stop_at) and next(steps) == stop_at,
    )  # fmt: skip
    return done, [record for record in records if not record.is_step], fresh


def test_the_mean_cosine_is_that_of_plain_loops() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32) + 1
    pairs = [cosine(vectors[i], vectors[j]) for i, j in itertools.combinations(range(12), 2)]
    assert vector_spread(vectors).mean_cosine == pytest.approx(sum(pairs) / len(pairs), abs=1e-6)


@pytest.mark.parametrize("variances", [(1.0, 1.0, 1.0), (0.9, 0.1, 0.0), (0.6, 0.3, 0.1)])
def test_the_effective_rank_is_the_exponential_of_the_entropy_of_the_variances(
    variances: tuple[float, ...],
) -> None:
    # On a small cap of the sphere around an axis of their own, vectors in +- pairs have just these variances.
    sides = [math.sqrt(v) * 1e-2 for v in variances]
    rows = [
        [10.0, *(sign * side if i == j else 0.0 for j in range(3))]
        for i, side in enumerate(sides)
        for sign in (1, -1)
    ]
    expected = math.exp(-sum(v / sum(variances) * math.log(v / sum(variances)) for v in variances if v))
    assert vector_spread(np.array(rows, dtype=np.float64)).effective_rank == pytest.approx(expected, rel=1e-3)  # type: ignore[arg-type]


def test_equal_vectors_have_no_rank_and_odd_ones_no_crash() -> None:
    same = vector_spread(np.tile(np.random.default_rng(0).normal(size=(1, 512)).astype(np.float32), (256, 1)))
    assert same.effective_rank == 0 and same.mean_cosine == pytest.approx(1)
    assert math.isfinite(vector_spread(np.zeros((3, 4), dtype=np.float32)).mean_cosine)
    with raises(TrainingError, fix="learning_rate"):
        vector_spread(np.array([[1, 2], [np.nan, 1]], dtype=np.float32))


@pytest.mark.parametrize(
    ("base", "now", "alarms"),
    [
        (0.30, 0.96, 1),
        (0.30, 0.94, 0),
        (0.94, 0.96, 0),  # e5 begins high
        (0.94, 0.98, 1),
        (0.97, 0.96, 0),
    ],
)
def test_a_high_cosine_is_an_alarm_only_where_training_made_it(base: float, now: float, alarms: int) -> None:
    found = spread_alarms(Spread(base, 40.0), Spread(now, 40.0), 7)
    assert len(found) == alarms and all(f"from {base:.2f} to {now:.2f}" in alarm for alarm in found)


@pytest.mark.parametrize(
    ("rank", "intents", "alarms"),
    [
        (9.9, 60, 1),
        (10.0, 60, 0),
        (60.0, 60, 0),
        (9.9, 7, 0),  # room enough for 7 intents
        (2.9, 7, 1),
        (3.0, 7, 0),
        (1.0, 2, 0),  # two intents need no more
    ],
)
def test_few_directions_are_an_alarm_where_the_intents_need_more(
    rank: float, intents: int, alarms: int
) -> None:
    found = spread_alarms(Spread(0.3, 40.0), Spread(0.3, rank), intents)
    assert len(found) == alarms
    assert all(f"from 40.0 to {rank}, too few to keep {intents} intents" in alarm for alarm in found)


def test_too_many_steps_that_teach_nothing_are_an_alarm() -> None:
    assert step_alarms(100, 19, 9) == [] == step_alarms(0, 0, 0)
    (one,), (dead,) = step_alarms(100, 20, 9), step_alarms(100, 19, 10)
    assert one.startswith("20 of 100 batches held one intent") and dead.startswith("10 of 100 steps")


def test_the_length_of_a_gradient() -> None:
    first, second, without = (torch.nn.Parameter(torch.zeros(3)) for _ in range(3))
    assert gradient_length([first, second]) == 0
    first.grad, second.grad = torch.tensor([0.0, -3.0, 2.0]), torch.tensor([0.0, 6.0, 0.0])
    assert gradient_length([first, second, without]) == pytest.approx(7)
    second.grad = torch.zeros(3)
    assert gradient_length([second, without]) == 0
    second.grad = torch.tensor([1e-15, 0.0, 0.0])
    assert gradient_length([second]) > 0  # small is not zero
    for bad in (math.nan, math.inf):
        first.grad = torch.tensor([0.0, bad, 0.0])
        assert not math.isfinite(gradient_length([first, second]))


@pytest.mark.slow
def test_each_epoch_says_how_far_apart_the_vectors_are(
    data: TrainingData, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = data.labelled["en"].ids
    monkeypatch.setattr(emu_data, "WATCHED_MAX_SENTENCES", len(ids))
    done, epochs, trained = fitted(data)
    before, after = vector_spread(encoder.encode_ids(ids)), vector_spread(trained.encode_ids(ids))
    assert len(epochs) == 2
    for record in epochs:
        assert record.figures["base_mean_cosine"] == pytest.approx(before.mean_cosine)
        assert record.figures["base_effective_rank"] == pytest.approx(before.effective_rank)
        assert (record.figures["one_class_share"], record.figures["dead_share"]) == (0, 0)
        assert not record.texts
    assert epochs[1].figures["mean_cosine"] == pytest.approx(after.mean_cosine)
    assert epochs[1].figures["effective_rank"] == pytest.approx(after.effective_rank)
    assert epochs[0].figures["mean_cosine"] != epochs[1].figures["mean_cosine"]
    assert done.warnings == ()


@pytest.mark.slow
def test_watching_draws_nothing_from_the_trainings_generators(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = fitted(data)[2].state_dict()
    monkeypatch.setattr(emu_data, "WATCHED_MAX_SENTENCES", 7)
    others = fitted(data)[2].state_dict()
    assert all(torch.equal(weight, others[name]) for name, weight in weights.items())


def test_the_sample_is_fixed_by_the_seed_and_no_larger_than_it_may_be(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emu_data, "WATCHED_MAX_SENTENCES", 10)
    first, again, other = (watched(data.labelled, seed) for seed in (0, 0, 1))
    assert first == again != other and len(first) == 10


def spoil(monkeypatch: pytest.MonkeyPatch, from_step: int, **gradients: float) -> None:
    """Make every step from one on put all sentences in one place, or have a gradient of a length of its own."""
    step, steps = EmuTrainer.step, itertools.count(1)

    def spoilt(self: EmuTrainer, batch: EmuBatch) -> dict[str, float]:
        bad = next(steps) >= from_step
        if bad and "gradient" in gradients:
            monkeypatch.setattr(emu, "gradient_length", lambda weights: gradients["gradient"])
        values = step(self, batch)
        if bad and not gradients:
            with torch.no_grad():
                # The last layer adds up what is never negative: every vector is a number of ones.
                self.encoder.get_parameter("dense3.weight").zero_()
                self.encoder.get_parameter("skip3.weight").fill_(1e-3)
        return values

    monkeypatch.setattr(EmuTrainer, "step", spoilt)


@pytest.mark.slow
def test_a_collapse_is_logged_as_it_happens_and_ends_in_the_card(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil(monkeypatch, from_step=6)  # the second epoch
    run = train(
        small_set(), out=tmp_path / "r", method="emu-without-ld-cl", device="cpu", config=SETTINGS
    )  # fmt: skip
    first, second = (record for record in run.history() if not record.is_step)
    assert not first.texts
    alarm = second.texts["alarm"]
    assert "collapsed towards one direction" in alarm and "into few directions" in alarm
    warnings = run.metrics().warnings
    assert [("one direction" in w, "few directions" in w) for w in warnings] == [(True, False), (False, True)]
    card = (run.folder / "README.md").read_text("utf-8")
    assert all(warning in card for warning in warnings)
    assert str(run.status().message) == " ".join(warnings)


def test_what_is_kept_is_what_is_warned_of(data: TrainingData, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, from_step=6)
    accuracies = iter([2.0, 1.0])
    trainer = EmuTrainer(load_encoder("use"), data, SETTINGS, seed=0, score=lambda: next(accuracies))
    done = fit(trainer, on_record=lambda record: None, should_stop=lambda: False)
    assert done == Fitted(1, ())


@pytest.mark.slow
@pytest.mark.parametrize("gradient", [0.0, math.nan])
def test_steps_without_a_gradient_are_counted_through_a_stop(
    gradient: float, data: TrainingData, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil(monkeypatch, from_step=3, gradient=gradient)
    whole, epochs, _ = fitted(data)
    assert "8 of 10 steps left the encoder unchanged" in whole.warnings[0]
    assert epochs[0].figures["dead_share"] == pytest.approx(3 / 5)
    assert "3 of 5 steps" in epochs[0].texts["alarm"]

    monkeypatch.undo()
    spoil(monkeypatch, from_step=3, gradient=gradient)
    checkpoint = Checkpoint(tmp_path / "c" / "checkpoint.pt", every_s=1e9)
    with pytest.raises(CancelledError):
        fitted(data, checkpoint=checkpoint, stop_at=7)
    resumed, later, _ = fitted(data, checkpoint=checkpoint)
    assert resumed == whole and later == epochs[1:]


def test_single_class_batches_are_an_alarm_when_they_are_many(data: TrainingData) -> None:
    one = {"en": replace(data.labelled["en"], labels=[0] * 60 + [1] * 12)}
    done, epochs, _ = fitted(replace(data, labelled=one), replace(SETTINGS, batch_size=2, epochs=1))
    share = epochs[0].figures["one_class_share"]
    assert share >= 0.2 and f"{round(share * 36)} of 36 batches held one intent" in epochs[0].texts["alarm"]
    assert sum("batches held one intent" in warning for warning in done.warnings) == 1


def test_unlabelled_sentences_are_tokenised_once_and_only_when_they_are_drawn() -> None:
    asked: list[str] = []

    def lengths(texts: Sequence[str]) -> list[list[int]]:
        asked.extend(texts)
        return [[len(text)] for text in texts]

    labelled = small_set().train_part()
    data = prepare_batches(
        lengths, labelled, unlabelled_from(labelled, ["de"]), ["en"], configure("emu", "use")
    )
    assert set(asked) == set(labelled.select(languages=["en"]).frame["text"])
    asked.clear()
    first, second, *_ = data.unlabelled["de"].values()
    assert [data.tokens(text) for text in (second, first, second)] == [
        [len(second)],
        [len(first)],
        [len(second)],
    ]
    assert asked == [second, first]
