"""The posterior head is its formula, fitted as it says; the encoder that wears it saves, opens and exports."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from scipy.linalg import fractional_matrix_power
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from emu_core import load_encoder, resume, train
from emu_core.data.demo import REFERENCE, reference_texts
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.encode import cached_encode
from emu_core.encoders.registry import encoder_kind
from emu_core.errors import CancelledError, EncoderError, TrainingError
from emu_core.evaluation.classifier import regression
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.posterior import fit as posterior
from emu_core.methods.posterior import head as posterior_head
from emu_core.methods.posterior.encoder import PosteriorEncoder
from emu_core.methods.posterior.fit import (
    USUAL_PENALTY,
    Examples,
    choose_inverse_penalty,
    fit_head,
    language_space,
    learn_known,
)
from emu_core.methods.posterior.head import PosteriorHead, neutral
from emu_core.methods.posterior.method import as_functions
from emu_core.methods.posterior.settings import PosteriorConfig
from emu_core.methods.posterior.whitening import NewIntentGain
from emu_core.methods.registry import configure
from emu_core.runs.run import Run, RunState, Status
from emu_core.training import intent_regression
from emu_core.training.intent_regression import sampled_rows
from tests.support.small import small_set

Matrix = NDArray[np.float64]
PLAIN = PosteriorConfig(
    share=0.5,
    softening=1.5,
    whitening=0.0,
    whitening_factor=1.0,
    intent_parts=0,
    gate_quantile=0.02,
    language_directions=0,
    centering=0.0,
)
FULL = replace(PLAIN, whitening=0.3, intent_parts=3)


def unit(x: Matrix) -> Matrix:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def classes(n: int, k: int, d: int, seed: int = 0) -> tuple[Matrix, list[int]]:
    """N unit vectors in k classes of unequal size, and their classes."""
    rng = np.random.default_rng(seed)
    labels = [i % k if i % 3 else 0 for i in range(n)]
    labels[:k] = range(k)
    means = rng.normal(size=(k, d))
    return unit(means[labels] + 0.7 * rng.normal(size=(n, d))), labels


def near(v: Matrix, rows: Matrix, config: PosteriorConfig) -> float:
    return float(np.log(sum(np.exp((v @ row - 1) / config.gate_temperature) for row in rows)))


def whitened(x: Matrix, labels: list[int], whitening: float) -> Matrix:
    """The map, of each intent's own covariance in numpy's unbiased form."""
    d = x.shape[1]
    within = np.zeros((d, d))
    for c in set(labels):
        mine = x[[label == c for label in labels]]
        if len(mine) > 1:
            within += len(mine) * np.cov(mine.T)
    return np.asarray(
        fractional_matrix_power(whitening * d * within / np.trace(within) + (1 - whitening) * np.eye(d), -0.5)
    )


def signs(
    v: Matrix, x: Matrix, labels: list[int], chosen: float, config: PosteriorConfig
) -> tuple[float, float]:
    """How near a sentence is to its nearest intent, and how far the regression prefers one."""
    fitted = LogisticRegression(C=chosen, tol=1e-8, max_iter=3000).fit(x, labels)
    logits = fitted.coef_ @ v + fitted.intercept_
    if len(logits) == 1:
        logits = np.array([-logits[0], logits[0]]) / 2
    own = []
    for c in sorted(set(labels)):
        mine = x[[label == c for label in labels]]
        own.append(near(v, mine, config) - np.log(len(mine)))
    return max(own), float(logits.max() - logits.mean())


def by_hand(x: Matrix, labels: list[int], q: Matrix, config: PosteriorConfig, known: Matrix) -> Matrix:
    """What the method says, one sentence and one class at a time, in float64."""
    k, n = max(labels) + 1, len(labels)
    if config.whitening:
        spread = whitened(x, labels, config.whitening)
        x, q = unit(x @ spread), unit(q @ spread)
    chosen = choose_inverse_penalty(x, np.array(labels), config.kernel_temperature)
    regression = LogisticRegression(C=chosen, tol=1e-8, max_iter=3000).fit(x, labels)
    corners = simplex(x, labels)
    own = [near(x[i], x[[j for j in range(n) if j != i]], config) for i in range(n)]
    at, slope = np.quantile(own, config.gate_quantile), config.gate_width * np.std(own)
    out = []
    for v in q:
        scores = []
        for c in range(k):
            mine = [j for j in range(n) if labels[j] == c]
            kernel = sum(np.exp((v @ x[j] - 1) / config.kernel_temperature) for j in mine)
            logit = regression.coef_[c] @ v + regression.intercept_[c]
            scores.append((np.exp(logit) * kernel / np.sqrt(len(mine))) ** (1 / config.softening))
        p = np.array(scores) / sum(scores)
        gate = 1.0
        if config.gate_quantile or not len(known):
            gate /= 1 + np.exp(-(near(v, x, config) - at) / slope)
        if len(known):
            second = known[0] + known[1:] @ signs(v, x, labels, chosen, config)
            gate *= 1 / (1 + np.exp(-second))
        d = np.sqrt(k / (k - 1)) * (p - 1 / k)
        s = config.share * gate * np.linalg.norm(d)
        towards = d @ corners
        out.append(np.sqrt(1 - s) * v + np.sqrt(s) * towards / np.linalg.norm(towards))
    return unit(np.array(out))


def simplex(x: Matrix, labels: list[int]) -> Matrix:
    """The orthonormal rows nearest to the centred means: those of the inverse square root of their Gram matrix."""
    means = np.array([x[[label == c for label in labels]].mean(axis=0) for c in range(max(labels) + 1)])
    apart = means - means.mean(axis=0)
    values, axes = np.linalg.eigh(apart @ apart.T)
    kept = values > 1e-9  # 0 for equal weights of all means, and for more means than dimensions
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]) @ axes[:, kept].T @ apart)


@pytest.mark.parametrize(
    ("config", "k", "d"),
    [(PLAIN, 4, 12), (FULL, 4, 12), (replace(FULL, gate_quantile=0.0), 4, 12), (PLAIN, 9, 4)],
    ids=["nearness alone", "both factors", "left-out intents alone", "more intents than dimensions"],
)
def test_the_head_is_its_formula(config: PosteriorConfig, k: int, d: int) -> None:
    x, labels = classes(60, k, d)
    queries = unit(np.vstack([x[:5], np.random.default_rng(1).normal(size=(10, d))]))
    head = fit_head(Examples(x.astype(np.float32), labels), config)
    assert len(head.known) == (0 if config is PLAIN else 3)
    out = head(torch.from_numpy(3 * queries).float()).numpy()  # of any length
    assert out.shape == (15, d) == (15, head.dim)
    expected = by_hand(x, labels, queries, config, head.known.double().numpy())
    np.testing.assert_allclose(out, expected, atol=2e-5 if config is PLAIN else 2e-4)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, atol=1e-6)


def distances(head: PosteriorHead, queries: Matrix) -> torch.Tensor:
    """How far sentences are moved towards intents."""
    vectors = torch.from_numpy(queries).float()
    return (head(vectors) - head.mapped(vectors)).norm(dim=1)


def test_the_gate_is_learnt_of_intents_that_are_left_out() -> None:
    """Against the same divisions, one sentence at a time, with scikit-learn's own standardisation."""
    x, labels = classes(60, 4, 12)
    of = np.array(labels)
    draws = np.random.default_rng(0)
    sentence_part = draws.permutation(60) % 4
    draws.permutation(60)  # which sentences are taken of very many
    intent_part = draws.permutation(4) % 3
    rows, known = [], []
    for part in range(3):
        new = intent_part[of] == part
        held = ~new & (sentence_part == part)
        rest = ~new & ~held
        for asked, is_known in ((new, False), (held, True)):
            for v in x[asked]:
                rows.append(signs(v, x[rest], of[rest].tolist(), 30.0, FULL))
                known.append(is_known)
    scaler = StandardScaler().fit(rows)
    gate = LogisticRegression(class_weight="balanced").fit(scaler.transform(rows), known)
    found = learn_known(torch.from_numpy(x).float(), of, FULL, 30.0).numpy()
    log_odds = found[0] + np.array(rows) @ found[1:]
    np.testing.assert_allclose(log_odds, gate.decision_function(scaler.transform(rows)), atol=5e-3)


def test_a_sentence_of_no_labelled_intent_keeps_more_of_its_vector() -> None:
    rng = np.random.default_rng(4)
    labels = [i % 12 for i in range(240)]
    means = rng.normal(size=(24, 40))
    x = unit(means[labels] + 0.8 * rng.normal(size=(240, 40)))
    known = unit(means[labels] + 0.8 * rng.normal(size=(240, 40)))
    new = unit(means[12:].repeat(20, axis=0) + 0.8 * rng.normal(size=(240, 40)))
    head = fit_head(Examples(x.astype(np.float32), labels), replace(FULL, intent_parts=4))
    moves = [distances(head, q).mean() for q in (known, new)]
    assert moves[0] > 2 * moves[1]


def test_too_few_intents_leave_the_gate_of_nearness() -> None:
    x, labels = classes(40, 2, 6)
    head = fit_head(Examples(x.astype(np.float32), labels), FULL)
    assert len(head.known) == 0 and len(head.spread) == 6
    alone = fit_head(Examples(np.eye(3, dtype=np.float32), [0, 1, 2]), FULL)
    assert len(alone.spread) == 0  # no intent has two sentences
    x, labels = classes(20, 3, 30)
    with pytest.raises(TrainingError, match=r"lower whitening$"):
        fit_head(Examples(x.astype(np.float32), labels), replace(PLAIN, whitening=1.0))


@pytest.mark.parametrize(("k", "d"), [(2, 6), (6, 6), (9, 4)])
def test_any_number_of_intents_has_vectors_to_move_towards(k: int, d: int) -> None:
    """Up to d intents, rows are orthonormal; of more, columns are."""
    x, labels = classes(60, k, d)
    of = posterior.intent_vectors(x, np.array(labels)).double()
    gram = of @ of.T if k <= d else of.T @ of
    np.testing.assert_allclose(gram.numpy(), np.eye(min(k, d)), atol=1e-6)
    head = fit_head(Examples(x.astype(np.float32), labels), FULL)
    out = head(torch.from_numpy(x).float())
    assert out.shape == (60, d)
    np.testing.assert_allclose(out.norm(dim=1).numpy(), 1, atol=1e-6)


def test_intents_with_the_same_mean_are_still_moved_apart() -> None:
    x = unit(np.array([[1, 0, 0.1], [1, 0, -0.1], [1, 0, 0.1], [1, 0, -0.1], [0, 1, 0.0], [0, 1, 0.0]]))
    of = posterior.intent_vectors(x, np.array([0, 0, 1, 1, 2, 2])).double()
    np.testing.assert_allclose((of @ of.T).numpy(), np.eye(3), atol=1e-6)


def test_two_classes_are_as_good_as_more() -> None:
    x, labels = classes(40, 2, 6)
    head = fit_head(Examples(x.astype(np.float32), labels), PLAIN)
    chosen = choose_inverse_penalty(x, np.array(labels), PLAIN.kernel_temperature)
    regression = LogisticRegression(C=chosen, tol=1e-8, max_iter=3000).fit(x, labels)
    logits = torch.from_numpy(x).float() @ head.weight.T + head.bias
    np.testing.assert_allclose(logits.softmax(1).numpy(), regression.predict_proba(x), atol=1e-4)


def test_what_is_unlike_the_training_sentences_stays_as_it_was() -> None:
    x, labels = classes(60, 4, 64)
    far = unit(np.random.default_rng(2).normal(size=(30, 64)))
    head = fit_head(Examples(x.astype(np.float32), labels), PLAIN)
    assert distances(head, far).max() < 0.01
    assert distances(head, x).median() > 0.3
    nothing = fit_head(Examples(x.astype(np.float32), labels), replace(PLAIN, share=0))
    np.testing.assert_allclose(nothing(torch.from_numpy(far).float()).numpy(), far, atol=1e-6)


def test_language_directions_and_the_mean_are_taken_out() -> None:
    rng = np.random.default_rng(3)
    content = rng.normal(size=(50, 20))
    shift = {language: rng.normal(size=20) for language in ("en", "de", "fr")}
    reference = {language: (content + 2 * shift[language] + 5).astype(np.float32) for language in shift}
    directions, center = language_space(reference, PosteriorConfig(language_directions=2, centering=1.0), 20)
    np.testing.assert_allclose((directions @ directions.T).numpy(), np.eye(2), atol=1e-5)
    np.testing.assert_allclose((directions @ center).numpy(), 0, atol=1e-5)
    units = {language: unit(vectors.astype(np.float64)) for language, vectors in reference.items()}
    left = np.stack(
        [v.mean(0) - v.mean(0) @ directions.numpy().T @ directions.numpy() for v in units.values()]
    )
    np.testing.assert_allclose(left - left.mean(0), 0, atol=1e-5)  # three means differ in two directions
    np.testing.assert_allclose(center.numpy(), left.mean(0), atol=1e-5)
    half = language_space(reference, PosteriorConfig(language_directions=2, centering=0.5), 20)[1]
    np.testing.assert_allclose(half.numpy(), center.numpy() / 2, atol=1e-6)
    x = neutral(torch.from_numpy(reference["en"]), directions, center)
    np.testing.assert_allclose(x.norm(dim=1).numpy(), 1, atol=1e-6)
    with pytest.raises(TrainingError, match=r"lower language_directions$"):
        language_space(reference, PosteriorConfig(language_directions=3), 20)


def test_gradients_reach_the_encoder_through_the_head() -> None:
    x, labels = classes(30, 3, 5)
    head = fit_head(Examples(x.astype(np.float32), labels), replace(FULL, gate_width=1.0))
    vectors = torch.randn(4, 5, requires_grad=True)
    (head(vectors) * torch.randn(5)).sum().backward()
    assert vectors.grad is not None and vectors.grad.abs().sum() > 0
    assert vectors.grad.isfinite().all()  # of those that the gate shuts out, too
    assert list(head.parameters()) == []


def test_one_intent_is_too_few() -> None:
    with pytest.raises(TrainingError, match="two intents"):
        fit_head(Examples(np.eye(20, dtype=np.float32), [0] * 20), PLAIN)


def test_as_few_sentences_as_intents_are_enough() -> None:
    """Nothing can be held out then: the usual penalty is taken."""
    x = np.eye(3, dtype=np.float32)
    assert choose_inverse_penalty(x.astype(np.float64), np.arange(3), 0.05) == USUAL_PENALTY
    out = fit_head(Examples(x, [0, 1, 2]), PLAIN)(torch.from_numpy(x))
    assert out.isfinite().all() and out.argmax(dim=1).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("penalties", "alike", "left"),
    [((0.01, 3000.0), 0.0, 1), ((0.01, 3.0, 3000.0), 0.0, 1), ((0.01, 3.0, 3000.0), 1.0, 0)],
)
def test_the_penalty_is_the_smallest_that_is_as_good_as_the_best(
    penalties: tuple[float, ...], alike: float, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against scikit-learn's own splits and cold fits: far apart the best is taken, else the smallest."""
    monkeypatch.setattr(posterior, "INVERSE_PENALTIES", penalties)
    monkeypatch.setattr(posterior, "ALIKE", alike)
    rng = np.random.default_rng(7)
    labels = np.arange(90) % 3
    x = unit(np.eye(40)[labels] + 0.45 * rng.normal(size=(90, 40)))
    order = np.random.default_rng(0).permutation(90)
    shuffled, of = x[order], labels[order]
    losses = []
    for c in penalties:
        scores = np.zeros((90, 3))
        for others, part in KFold(5).split(shuffled):
            fitted = LogisticRegression(C=c, tol=1e-8, max_iter=5000).fit(shuffled[others], of[others])
            kernel = np.exp((shuffled[part] @ shuffled[others].T - 1) / 0.05)
            for k in range(3):
                mine = of[others] == k
                scores[part, k] = np.log(kernel[:, mine].sum(axis=1) / np.sqrt(mine.sum()) + 1e-30)
            scores[part] += fitted.decision_function(shuffled[part])
        at = [-np.log(softmax(scores / t, axis=1)[np.arange(90), of]) for t in np.geomspace(0.5, 8, 400)]
        losses.append(min(at, key=np.mean))
    best = min(losses, key=np.mean)
    as_good = [
        c
        for c, loss in zip(penalties, losses, strict=True)
        if np.mean(loss - best) <= max(np.std(loss - best) / np.sqrt(90), alike)
    ]
    assert choose_inverse_penalty(x, labels, 0.05) == min(as_good)
    assert best is losses[-1]
    assert as_good == list(penalties[left:])


def test_a_looser_fit_goes_on_from_the_one_before_it_to_its_own_end() -> None:
    """The steps are small there: with scikit-learn's own tolerance the second fit would end where it begins."""
    x, labels = classes(120, 6, 64)
    fitted = regression(300.0).fit(x, labels)
    loose = fitted.set_params(C=1000.0).fit(x, labels).coef_
    alone = LogisticRegression(C=1000.0, tol=1e-9, max_iter=5000).fit(x, labels).coef_
    assert np.linalg.norm(loose - alone) < 0.02 * np.linalg.norm(alone)


def test_translations_are_held_out_together() -> None:
    """Of labels that say nothing, the least can be learnt; a translation that is not held out would tell them.

    The kernel is so wide that it tells nothing.
    """
    rng = np.random.default_rng(1)
    labels = np.tile(np.arange(120) % 3, 2)
    x = unit(np.tile(rng.normal(size=(120, 60)), (2, 1)) + 0.05 * rng.normal(size=(240, 60)))
    ids = [f"s{i}" for i in range(120)] * 2
    assert choose_inverse_penalty(x, labels, 10.0, ids) == min(posterior.INVERSE_PENALTIES)
    assert choose_inverse_penalty(x, labels, 10.0) > min(posterior.INVERSE_PENALTIES)
    assert choose_inverse_penalty(x, labels, 10.0, [""] * 240) == choose_inverse_penalty(x, labels, 10.0)


def test_of_very_many_sentences_some_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(posterior, "GATE_MAX_ROWS", 40)
    monkeypatch.setattr(posterior, "regression", lambda c: seen.append(c) or regression(c))
    x, labels = classes(200, 3, 8)
    assert choose_inverse_penalty(x, np.array(labels), 0.05) in posterior.INVERSE_PENALTIES
    assert len(seen) == posterior.HEAD_FOLDS


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
    assert run.config().method == "posterior"
    assert run.config().hyperparameters["share"] == configure("posterior", "use").share
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
    assert "## New-intent guard" in card and f"{new.difference:+.1f} points" in card
    assert "`posterior`" in card and "no unlabelled sentences were used" in card


def test_the_settings_that_were_chosen_are_those_of_the_head_and_of_the_guard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = NewIntentGain(mean=9.0, error=0.1)
    monkeypatch.setattr(posterior, "gain_of_new_intents", lambda *_: chosen)
    guarded = []
    guard = posterior.new_intents
    monkeypatch.setattr(posterior, "new_intents", lambda *of: guarded.append(of[2]) or guard(*of))
    run = train(small_set(), out=tmp_path / "stronger", device="cpu")
    start = configure("posterior", "use")
    share, whitening = start.share * start.share_factor, start.whitening * start.whitening_factor
    head = load_encoder(f"run:{run.folder}").head
    assert (guarded[0].share, guarded[0].whitening) == (share, whitening) and head.share == share
    strength = run.metrics().new_intents.strength
    assert strength.is_stronger and (strength.share, strength.whitening) == (share, whitening)


def test_of_many_sentences_a_sample_is_cross_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior, "CROSS_VALIDATED", 60)
    rng = np.random.default_rng(0)
    labels = [n % 3 for n in range(120)]
    vectors = (np.eye(3, 8)[labels] + 0.3 * rng.normal(size=(120, 8))).astype(np.float32)
    given = Examples(vectors, labels, ids=[""] * 120), ["en"] * 120, FULL
    found = posterior.cross_validated(*given)
    assert found is not None and found.queries == 60


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
    line = f"Acc@1 {found.base:.1f} → {found.specialised:.1f} %"
    assert line in (run.folder / "README.md").read_text("utf-8") and line in run._repr_html_()


def test_what_is_saved_is_what_was_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(f"run:{run.folder}")
    assert isinstance(encoder, PosteriorEncoder) and encoder.dim == 512
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
    monkeypatch.setattr(posterior_head, "COSINES", 7 * len(encoder.head.anchors))  # seven rows at a time
    both = as_functions(encoder.head).encode_with(load_encoder("use").encode)(texts)
    np.testing.assert_allclose(encoder.encode(texts), both, atol=1e-6)
    with torch.no_grad():
        np.testing.assert_allclose(encoder(encoder.tokenize(texts)).numpy(), both, atol=2e-6)


def test_the_same_command_gives_the_same_weights(run: Run, tmp_path: Path) -> None:
    again = train(small_set(), out=tmp_path / "again", seed=5, device="cpu")  # nothing in it is drawn
    one, two = (load_file(r.encoder_folder / "head.safetensors") for r in (run, again))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_second_head_goes_on_the_first(run: Run, tmp_path: Path) -> None:
    second = train(small_set(), out=tmp_path / "second", encoder=f"run:{run.folder}", device="cpu")
    encoder = load_encoder(f"run:{second.folder}")
    assert encoder.dim == 512
    assert encoder_kind(f"run:{second.folder}") == "use"


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
    assert isinstance(first, PosteriorEncoder) and isinstance(then, PosteriorEncoder)
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


def test_settings_and_method_must_fit(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="EmuConfig, which is not what the method posterior takes"):
        train(small_set(), out=tmp_path / "r", config=EmuConfig(), device="cpu")
    with pytest.raises(TrainingError, match="PosteriorConfig, which is not what the method emu takes"):
        train(small_set(), out=tmp_path / "r", method="emu", config=PLAIN, device="cpu")
    assert not (tmp_path / "r").exists()


def test_head_of_wrong_shapes_is_refused() -> None:
    x, labels = classes(30, 3, 5)
    head = fit_head(Examples(x.astype(np.float32), labels), PLAIN)
    tensors = head.state_dict()
    with pytest.raises(ValueError, match="members has the shape"):
        PosteriorHead(tensors | {"bias": torch.zeros(4)}, **head.numbers())


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


def test_many_intents_are_told_apart_in_groups_and_kept_by_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    x, labels = classes(120, 12, 16)
    vectors = x.astype(np.float32)
    whole = fit_head(Examples(vectors, labels), FULL, 10.0)
    monkeypatch.setattr(posterior, "DENSE", 0)
    numbered = fit_head(Examples(vectors, labels), FULL, 10.0)
    assert numbered.members.shape == (120,) and whole.members.shape == (120, 12)
    out = numbered(torch.from_numpy(vectors))
    np.testing.assert_allclose(out, whole(torch.from_numpy(vectors)), atol=1e-6)
    again = PosteriorHead(numbered.state_dict(), **numbered.numbers())
    torch.testing.assert_close(again(torch.from_numpy(vectors)), out)
    with pytest.raises(ValueError, match="classes"):
        PosteriorHead(numbered.state_dict() | {"members": numbered.members + 1}, **numbered.numbers())
    monkeypatch.setattr(posterior, "MANY", 6)
    monkeypatch.setattr(intent_regression, "MANY", 6)
    monkeypatch.setattr(intent_regression, "GROUP", 4)
    monkeypatch.setattr(posterior, "FEW_SENTENCES", 5)
    seen = []
    monkeypatch.setattr(intent_regression, "regression", lambda c: seen.append(c) or regression(c))
    grouped = fit_head(Examples(vectors, labels), PLAIN, 10.0)
    assert len(seen) == 3 and grouped.weight.shape == (12, 16)
    seen.clear()
    assert posterior.choose_penalty(Examples(vectors, labels), FULL) in posterior.INVERSE_PENALTIES
    right = [
        head.posterior(torch.from_numpy(vectors)).argmax(dim=1).numpy() == labels for head in (whole, grouped)
    ]
    assert right[1].mean() >= right[0].mean() - 0.05 > 0.8
    given = Examples(vectors, labels, ids=[""] * 120), ["en"] * 120, FULL, 10.0
    found = posterior.new_intents(*given)
    assert found is not None and found.queries < 120
    assert "12 intents" in posterior.samples(labels)[0]


def test_of_many_sentences_every_intent_keeps_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [0] * 800 + [1] * 198 + [2] * 2
    rows = sampled_rows(labels, 100)
    assert rows == sorted(set(rows)) and rows == sampled_rows(labels, 100)
    assert np.bincount(np.array(labels)[rows]).tolist() == [80, 19, 2]
    assert sampled_rows(labels, 1000) == list(range(len(labels)))
    assert sampled_rows([0, 1, 0, 1, 2, 2], 5) == list(range(6))  # each intent keeps the three it may
    assert posterior.samples(labels) == ()
