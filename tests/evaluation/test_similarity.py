import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation import similarity
from emu_core.evaluation.similarity import cosine_matrix, heat_map_order
from tests.support.sentences import cosine, random_sentences


def test_cosines_by_hand() -> None:
    vectors = random_sentences(12, ("en",), seed=7).vectors
    matrix = cosine_matrix(vectors)
    assert matrix.shape == (12, 12)
    for i in range(12):
        assert matrix[i, i] == 1
        for j in range(12):
            assert matrix[i, j] == pytest.approx(cosine(vectors[i], vectors[j]), abs=1e-6)


def test_a_matrix_is_symmetric_and_within_bounds() -> None:
    vectors = np.random.default_rng(0).normal(size=(201, 300))
    matrix = cosine_matrix(np.concatenate([vectors, vectors * -0.3, vectors * 7]))
    assert (matrix == matrix.T).all()
    assert matrix.min() >= -1
    assert matrix.max() <= 1


def test_matrix_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"row 1 \(from 0\) is zero"):
        cosine_matrix(np.array([[1.0, 0.0], [0.0, 0.0]]))
    monkeypatch.setattr(similarity, "MAX_SENTENCES", 3)
    assert cosine_matrix(np.eye(3)).shape == (3, 3)
    with pytest.raises(DataError, match="4 sentences are too many to compare; choose up to 3"):
        cosine_matrix(np.eye(4))


def test_order_is_by_intent_then_language_then_row() -> None:
    intents = ["pool", "bar", "pool", "pool", "bar", "pool"]
    languages = ["de", "ja", "en", "ar", "en", "en"]
    assert heat_map_order(intents, languages).tolist() == [4, 1, 2, 5, 3, 0]
    assert heat_map_order([], []).shape == (0,)
    with pytest.raises(DataError, match="1 languages for 2 vectors"):
        heat_map_order(["a", "b"], ["en"])
