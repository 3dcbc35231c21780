"""Other packages open an export as the page Use an encoder elsewhere says, those that the development needs anyway."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import semantic_search
from setfit import SetFitModel
from sklearn.neighbors import NearestNeighbors

from emu_core import export

TRAIN = ["Where is the pool?", "Is the pool open?", "May I swim?", "A taxi, please.", "Call me a taxi."]
INTENTS = ["pool", "pool", "pool", "taxi", "taxi"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export("use", tmp_path_factory.mktemp("exports") / "use")


def setfit(exported: Path, **options: object) -> SetFitModel:
    return SetFitModel.from_pretrained(
        str(exported), trust_remote_code=True, local_files_only=True, device="cpu", **options
    )


def test_setfit_trains_a_classifier_and_saves_it(exported: Path, tmp_path: Path) -> None:
    model = setfit(exported, labels=["pool", "taxi"])
    model.fit(TRAIN, INTENTS, num_epochs=1)
    asked = ["Wo ist der Pool?", "Ich brauche ein Taxi."]
    assert list(model.predict(asked)) == ["pool", "taxi"]
    model.save_pretrained(tmp_path / "setfit")
    assert list(setfit(tmp_path / "setfit").predict(asked)) == ["pool", "taxi"]


def test_setfits_differentiable_head_is_trained_on_padded_tokens(exported: Path) -> None:
    model = setfit(exported, use_differentiable_head=True, head_params={"out_features": 2})
    rates = {"head_learning_rate": 0.1, "body_learning_rate": 1e-5, "l2_weight": 0.01}
    model.fit(TRAIN, [0, 0, 0, 1, 1], num_epochs=20, batch_size=5, max_length=16, **rates)
    assert model.predict(["Wo ist der Pool?", "Ich brauche ein Taxi."]).tolist() == [0, 1]


def test_an_index_finds_what_the_export_finds(exported: Path) -> None:
    model = SentenceTransformer(str(exported), trust_remote_code=True, device="cpu", local_files_only=True)
    pool = model.encode(TRAIN, normalize_embeddings=True)
    query = model.encode(["Wann öffnet das Schwimmbad?"], normalize_embeddings=True)
    ((found,),) = semantic_search(query, pool, top_k=1)
    index = NearestNeighbors(n_neighbors=1, metric="cosine").fit(pool)
    assert index.kneighbors(query, return_distance=False).item() == found["corpus_id"]
    assert INTENTS[int(found["corpus_id"])] == "pool"
    assert np.isclose(found["score"], float((query @ pool.T).max()), atol=1e-6)
