"""The head is its formula."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from emu_core.errors import TrainingError
from emu_core.methods.head import fit as head_fit
from emu_core.methods.head.fit import (
    Examples,
    choose_inverse_penalty,
    fit_head,
    language_space,
)
from emu_core.methods.head.head import IntentHead, neutral
from emu_core.methods.head.settings import HeadConfig
from tests.support.head_by_hand import FULL, PLAIN, Matrix, by_hand, classes, unit
from tests.support.raises import raises


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "k", "d"),
    [(PLAIN, 4, 12), (FULL, 4, 12), (replace(FULL, gate_quantile=0.0), 4, 12), (PLAIN, 9, 4)],
    ids=["nearness alone", "both factors", "left-out intents alone", "more intents than dimensions"],
)
def test_the_head_is_its_formula(config: HeadConfig, k: int, d: int) -> None:
    x, labels = classes(60, k, d)
    queries = unit(np.vstack([x[:5], np.random.default_rng(1).normal(size=(10, d))]))
    head = fit_head(Examples(x.astype(np.float32), labels), config)
    assert len(head.known) == (0 if config is PLAIN else 3)
    out = head(torch.from_numpy(3 * queries).float()).numpy()  # of any length
    assert out.shape == (15, d) == (15, head.dim)
    expected = by_hand(x, labels, queries, config, head.known.double().numpy())
    np.testing.assert_allclose(out, expected, atol=2e-5 if config is PLAIN else 2e-4)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, atol=1e-6)


def distances(head: IntentHead, queries: Matrix) -> torch.Tensor:
    """How far sentences are moved towards intents."""
    vectors = torch.from_numpy(queries).float()
    return (head(vectors) - head.mapped(vectors)).norm(dim=1)


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


@pytest.mark.parametrize(("k", "d"), [(2, 6), (6, 6), (9, 4)])
def test_any_number_of_intents_has_vectors_to_move_towards(k: int, d: int) -> None:
    """Up to d intents, rows are orthonormal; of more, columns are."""
    x, labels = classes(60, k, d)
    of = head_fit.intent_vectors(x, np.array(labels)).double()
    gram = of @ of.T if k <= d else of.T @ of
    np.testing.assert_allclose(gram.numpy(), np.eye(min(k, d)), atol=1e-6)
    head = fit_head(Examples(x.astype(np.float32), labels), FULL)
    out = head(torch.from_numpy(x).float())
    assert out.shape == (60, d)
    np.testing.assert_allclose(out.norm(dim=1).numpy(), 1, atol=1e-6)


def test_intents_with_the_same_mean_are_still_moved_apart() -> None:
    x = unit(np.array([[1, 0, 0.1], [1, 0, -0.1], [1, 0, 0.1], [1, 0, -0.1], [0, 1, 0.0], [0, 1, 0.0]]))
    of = head_fit.intent_vectors(x, np.array([0, 0, 1, 1, 2, 2])).double()
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
    directions, center = language_space(reference, HeadConfig(language_directions=2, centering=1.0), 20)
    np.testing.assert_allclose((directions @ directions.T).numpy(), np.eye(2), atol=1e-5)
    np.testing.assert_allclose((directions @ center).numpy(), 0, atol=1e-5)
    units = {language: unit(vectors.astype(np.float64)) for language, vectors in reference.items()}
    left = np.stack(
        [v.mean(0) - v.mean(0) @ directions.numpy().T @ directions.numpy() for v in units.values()]
    )
    np.testing.assert_allclose(left - left.mean(0), 0, atol=1e-5)  # three means differ in two directions
    np.testing.assert_allclose(center.numpy(), left.mean(0), atol=1e-5)
    half = language_space(reference, HeadConfig(language_directions=2, centering=0.5), 20)[1]
    np.testing.assert_allclose(half.numpy(), center.numpy() / 2, atol=1e-6)
    x = neutral(torch.from_numpy(reference["en"]), directions, center)
    np.testing.assert_allclose(x.norm(dim=1).numpy(), 1, atol=1e-6)
    with raises(TrainingError, fix="language_directions"):
        language_space(reference, HeadConfig(language_directions=3), 20)


def test_gradients_reach_the_encoder_through_the_head() -> None:
    x, labels = classes(30, 3, 5)
    head = fit_head(Examples(x.astype(np.float32), labels), replace(FULL, gate_width=1.0))
    vectors = torch.randn(4, 5, requires_grad=True)
    (head(vectors) * torch.randn(5)).sum().backward()
    assert vectors.grad is not None and vectors.grad.abs().sum() > 0
    assert vectors.grad.isfinite().all()  # of those that the gate shuts out, too
    assert list(head.parameters()) == []


def test_head_of_wrong_shapes_is_refused() -> None:
    x, labels = classes(30, 3, 5)
    head = fit_head(Examples(x.astype(np.float32), labels), PLAIN)
    tensors = head.state_dict()
    with pytest.raises(ValueError, match="members has the shape"):
        IntentHead(tensors | {"bias": torch.zeros(4)}, **head.numbers())
