"""Blanks around a sentence are no part of it, whichever encoder reads it, and wherever it comes from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from emu_core.api.embed import embed
from emu_core.api.intent_classifier import IntentClassifier
from emu_core.encoders.base import Encoder
from emu_core.encoders.e5 import E5File, E5SmallEncoder, bert, e5_tokenizer, sentence_transformer
from emu_core.encoders.encode import shared_encode
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.sentence_transformers_module import EmuModule
from emu_core.processes import Processes
from tests.support.packed import pack
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

TEXT = "Where is the pool?"
BLANKS = (
    " ",
    "\n",
    "\r\n",
    "\t",
    "\xa0",
    "\u3000",
    "\u200b",
    "\ufeff",
    "\u200e",
    "\u202c",
    "\u2069",
    " \u200f\n",
)


@pytest.fixture(scope="module", params=["use", "e5-small", "hf"])
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    if request.param == "use":
        return load_encoder("use")
    if request.param == "hf":
        return load_encoder(f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}")
    file = E5File(pack().data)
    return E5SmallEncoder(sentence_transformer(bert(file), e5_tokenizer(file)))


def test_the_vector_is_that_of_the_sentence(encoder: Encoder) -> None:
    wanted = np.tile(encoder.encode([TEXT]), (len(BLANKS), 1))
    for texts in ([TEXT + blank for blank in BLANKS], [blank + TEXT for blank in BLANKS]):
        # A sum over a batch of another size, or elsewhere in memory, may round otherwise; the tokens are the same.
        np.testing.assert_allclose(encoder.encode(texts), wanted, atol=1e-6)
        np.testing.assert_allclose(shared_encode(encoder, Processes())(texts), wanted, atol=1e-6)
        features = EmuModule(encoder).preprocess(texts)
        assert {tuple(row) for row in features["input_ids"].tolist()} == {tuple(encoder.ids_of([TEXT])[0])}


@pytest.mark.slow
def test_sentences_of_files_are_read_without_blanks(tmp_path: Path) -> None:
    texts = [TEXT, f"{TEXT} \u200e", f"{TEXT}\t", "\u200b\u2066", "Bye"]
    table, vectors, predicted = (tmp_path / name for name in ("t.csv", "v.parquet", "p.parquet"))
    pd.DataFrame({"text": texts}).to_csv(table, index=False)
    embed(table, out=vectors, device="cpu")
    rows = np.array(pq.read_table(vectors)["vector"].to_pylist())
    assert (rows[0] == rows[1]).all() and (rows[0] == rows[2]).all() and (rows[0] != rows[4]).any()
    assert IntentClassifier(device="cpu").fit(small_set()).predict_file(table, predicted) == 4
    answers = pq.read_table(predicted).to_pandas()
    assert answers["text"].tolist() == [TEXT, TEXT, TEXT, "Bye"]
    assert answers["margin"].iloc[:3].nunique() == 1
