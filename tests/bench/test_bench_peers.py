from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu_core.bench.experiment import measure_cell
from emu_core.bench.peers import (
    Budget,
    Peer,
    SentenceModel,
    frozen_peer,
    positive_pairs,
    scored_pairs,
    tuned_peer,
)
from emu_core.bench.results import Cell
from emu_core.data.demo import reference_texts
from emu_core.data.sets import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.errors import TrainingError
from emu_core.evaluation.classifier import C_VALUES
from emu_core.evaluation.run_metrics import measure_accuracy
from emu_core.methods.registry import configure
from tests.support.bench_cells import planned
from tests.support.bench_set import bench_set
from tests.support.tiny_transformer import tiny_transformer

LABELS = [0, 0, 0, 1, 1, 2]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"


def test_positive_pairs_join_each_sentence_with_another_of_its_class_each_epoch() -> None:
    pairs = positive_pairs(LABELS, 3, np.random.default_rng(0))
    assert [anchor for anchor, _ in pairs] == [0, 1, 2, 3, 4] * 3  # the last is alone in its class
    assert all(a != p and LABELS[a] == LABELS[p] for a, p in pairs)
    assert len({p for a, p in pairs if a == 0}) > 1
    with pytest.raises(TrainingError, match="no intent has two sentences"):
        positive_pairs([0, 1, 2], 1, np.random.default_rng(0))


def test_scored_pairs_are_of_one_class_and_of_two_in_turn() -> None:
    pairs, scores = scored_pairs(LABELS, 2, np.random.default_rng(0))
    assert [anchor for anchor, _ in pairs] == [0, 1, 2, 3, 4, 5] * 2
    for (a, b), score in zip(pairs, scores, strict=True):
        assert score == float(LABELS[a] == LABELS[b]) and a != b
    assert scores == [1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    with pytest.raises(TrainingError, match="single intent"):
        scored_pairs([1, 1], 1, np.random.default_rng(0))


def blobs(n: int, seed: int) -> tuple[LabelledSet, dict[str, np.ndarray]]:
    """Sentences whose vectors lie around three centres, stretched along one axis that says nothing."""
    rng = np.random.default_rng(seed)
    frame = bench_set(("en",)).frame
    rows = [frame.iloc[i % len(frame)] for i in range(n)]
    made = frame.iloc[[0] * n].reset_index(drop=True)
    made["intent"] = [str(row["intent"]) for row in rows]
    made["text"] = [f"sentence {i}" for i in range(n)]
    centres = {"pool": (0, 0), "hotel": (0, 3), "hours": (3, 0)}
    vectors = {
        f"sentence {i}": np.array([*centres[str(rows[i]["intent"])], 0.0])
        + rng.normal(size=3) * (0.4, 0.4, 9)
        for i in range(n)
    }
    return LabelledSet(made, "blobs"), vectors


def encoder_of(vectors: dict[str, np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda texts: np.array([vectors[text] for text in texts])


def test_lda_is_fisher_with_half_shrinkage() -> None:
    labelled, vectors = blobs(90, 0)
    encode = encoder_of(vectors)
    texts, intents = labelled.frame["text"].tolist(), labelled.frame["intent"].to_numpy()
    system = frozen_peer(Peer.LDA, encode, labelled)
    x = encode(texts)
    # Within-class covariance, half of it replaced by its mean variance on the diagonal.
    parts = [x[intents == name] for name in labelled.intents]
    within = sum(
        len(part)
        / len(x)
        * (0.5 * np.cov(part.T, bias=True) + 0.5 * np.eye(3) * np.cov(part.T, bias=True).trace() / 3)
        for part in parts
    )
    found = np.asarray(system.encode(texts))
    assert found.shape == (90, 2)
    # Discriminant scores are the centred vectors under a map that makes the within-class covariance the identity.
    axes = np.linalg.lstsq(x - x.mean(axis=0), found - found.mean(axis=0), rcond=None)[0]
    assert np.abs(axes.T @ within @ axes - np.eye(2)).max() < 0.05
    assert system.classify is not None
    scaled = [(x - part.mean(axis=0)) @ np.linalg.inv(within) for part in parts]
    distances = np.stack(
        [
            np.einsum("nd,nd->n", product, x - part.mean(axis=0))
            for product, part in zip(scaled, parts, strict=True)
        ]
    )
    expected = np.asarray(labelled.intents)[distances.argmin(axis=0)]
    assert (np.asarray(system.classify(texts)) == expected).mean() > 0.97


def test_logistic_regression_gives_its_class_probabilities_less_their_mean() -> None:
    labelled, vectors = blobs(90, 1)
    texts = labelled.frame["text"].tolist()
    system = frozen_peer(Peer.LOGISTIC, encoder_of(vectors), labelled)
    found = np.asarray(system.encode(texts))
    probabilities = found + 1 / 3
    assert found.shape == (90, 3) and np.allclose(found.sum(axis=1), 0) and (probabilities >= 0).all()
    assert probabilities.max(axis=1).mean() > 0.9
    assert system.classify is not None
    named = np.asarray(labelled.intents)[found.argmax(axis=1)]
    assert named.tolist() == list(system.classify(texts))
    assert (named == labelled.frame["intent"].to_numpy()).mean() > 0.9
    assert system.facts["C"] in C_VALUES


def test_prototypes_are_the_means_of_unit_vectors() -> None:
    labelled, vectors = blobs(90, 1)
    texts, intents = labelled.frame["text"].tolist(), labelled.frame["intent"].tolist()
    system = frozen_peer(Peer.PROTOTYPES, encoder_of(vectors), labelled)
    x = np.array([vectors[text] for text in texts])
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    means = [
        np.mean([unit for unit, of in zip(units, intents, strict=True) if of == name], axis=0)
        for name in labelled.intents
    ]
    cosines = np.array([[unit @ mean / np.linalg.norm(mean) for mean in means] for unit in units])
    np.testing.assert_allclose(np.asarray(system.encode(texts)), cosines, atol=1e-6)
    assert system.classify is not None
    assert list(system.classify(texts)) == [labelled.intents[row.argmax()] for row in cosines]


def test_a_frozen_peer_takes_an_intent_of_one_sentence_and_refuses_a_single_intent() -> None:
    labelled, vectors = blobs(30, 2)
    frame = labelled.frame
    frame.loc[0, "intent"] = "alone"
    alone = LabelledSet(frame, "x")
    for peer in (Peer.LOGISTIC, Peer.LDA, Peer.PROTOTYPES):
        assert len(frozen_peer(peer, encoder_of(vectors), alone).encode(["sentence 3"])) == 1
    one = LabelledSet(frame.assign(intent="pool"), "x")
    with pytest.raises(TrainingError, match="single intent"):
        frozen_peer(Peer.LDA, encoder_of(vectors), one)


@pytest.mark.slow
@pytest.mark.parametrize("peer", [Peer.LDA, Peer.LOGISTIC, Peer.PROTOTYPES])
def test_a_frozen_peer_is_a_cell(peer: Peer, tiny: str) -> None:
    result = measure_cell(planned("emu", encoder=tiny), Cell(f"peer.{peer}", ("en",)))
    assert set(result.wheres("correct")) == {"en-en", "en-de", "de-en", "de-de"}
    assert {code: len(result.values["classified", "", code]) for code in ("en", "de")} == {"en": 6, "de": 6}
    assert result.seconds > 0


def test_a_model_without_prompts_gives_the_encoders_vectors(tiny: str) -> None:
    for spec in (tiny, "use"):
        expected = load_encoder(spec).encode(["where is the pool ?", "hotel"])
        assert (
            np.abs(SentenceModel(spec, "cpu").encode(["where is the pool ?", "hotel"]) - expected).max()
            < 1e-5
        )


def test_a_prompt_is_put_into_the_texts(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tiny_transformer(tmp_path / "plain")), device="cpu")
    model.prompts, model.default_prompt_name = {"find": "find the hotel: "}, "find"
    model.save_pretrained(str(tmp_path / "prompted"), create_model_card=False)
    spec = f"hf:{tmp_path / 'prompted'}"
    sentences = SentenceModel(spec, "cpu")
    assert sentences.prompt == "find the hotel: " and sentences.model.prompts == {}
    expected = load_encoder(spec).encode(["where is the pool ?"])
    assert np.abs(sentences.encode(["where is the pool ?"]) - expected).max() < 1e-5


def test_a_missing_package_is_named(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import emu_core.bench.peers as module

    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    budget = Budget(1, 4, 1e-3, 0, "cpu")
    with pytest.raises(
        TrainingError, match="datasets and accelerate is not installed; pip install datasets accel"
    ):
        tuned_peer(Peer.COSENT, SentenceModel(tiny, "cpu"), planned("emu").data.train, budget)


@pytest.mark.slow
@pytest.mark.parametrize("peer", [Peer.SOFTMAX, Peer.TRIPLET, Peer.RANKING, Peer.COSENT])
def test_a_tuned_peer_moves_the_encoder_and_is_repeated_by_its_seed(peer: Peer, tiny: str) -> None:
    pytest.importorskip("datasets")
    train = planned("emu").data.train.select(languages=["en"])
    texts = train.frame["text"].tolist()
    before = load_encoder(tiny).encode(texts)
    found = []
    for seed in (0, 0, 1):
        system = tuned_peer(peer, SentenceModel(tiny, "cpu"), train, Budget(2, 4, 1e-2, seed, "cpu"))
        found.append(np.asarray(system.encode(texts)))
    assert np.abs(found[0] - before).max() > 1e-3
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])
    pairs = peer in (Peer.RANKING, Peer.COSENT)
    assert system.facts["sentence_passes"] == 12 * 2 * (2 if pairs else 1)
    assert (system.classify is not None) == (peer is Peer.SOFTMAX)
    if system.classify is not None:
        assert set(system.classify(texts)) <= set(train.intents)


@pytest.mark.slow
def test_setfit_with_its_own_budget_trains_on_all_its_pairs(tiny: str) -> None:
    pytest.importorskip("setfit")
    cell = Cell("peer.setfit-own-budget", ("en",), 0, "theirs")
    result = measure_cell(planned("emu", encoder=tiny), cell)
    # 20 pairs of each sort for each of 12 sentences, two sentences a pair.
    assert result.facts["sentence_passes"] == 2 * 2 * 20 * 12
    assert set(result.wheres("classified")) == {"en", "de"}


def test_the_base_is_evened_out_by_the_first_step_of_the_default(tiny: str) -> None:
    experiment = planned("emu", encoder=tiny, parts=["peers"])
    result = measure_cell(experiment, Cell("base-evened"))
    encode, frame = load_encoder(tiny).encode, experiment.data.test.frame
    reference = [encode(texts) for texts in reference_texts().values()]
    means = np.stack([(x / np.linalg.norm(x, axis=1, keepdims=True)).mean(axis=0) for x in reference])
    config: Any = configure("head", "hf")
    axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][: config.language_directions]
    x = encode(frame["text"].tolist())
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    mean = means.mean(axis=0)
    x = x - x @ axes.T @ axes - config.centering * (mean - mean @ axes.T @ axes)
    expected = measure_accuracy(experiment.data.test, lambda texts: x.astype(np.float32))
    for way, right in expected.correct.items():
        assert result.values["correct", "", way].tolist() == right.tolist()


def test_setfit_is_a_cell_within_the_budget(tiny: str) -> None:
    pytest.importorskip("setfit")
    cell = Cell("peer.setfit", ("en",), 0, "ours")
    result = measure_cell(planned("emu", encoder=tiny, epochs=1), cell)
    # 12 sentences in one epoch: 6 pairs fit, one batch of 16 pairs is the least.
    assert result.facts["sentence_passes"] == 32
    assert set(result.wheres("classified")) == {"en", "de"} and result.seconds > 0
