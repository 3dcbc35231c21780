"""Encoders that were trained from nothing as ONNX graphs, alone and with a head."""

from pathlib import Path

import numpy as np
import pytest

from emu_core.encoders.base import Encoder
from emu_core.exporting.writers import write_onnx
from emu_core.methods.bicvm.encoder import BicvmEncoder
from emu_core.methods.bicvm.settings import BicvmConfig, Composition
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.settings import DualEncoderConfig
from emu_core.reports.export_readme import write_readme
from tests.support.exported_readme import readme_vectors

TEXTS = ["the dog sleeps", "der hund schläft", "", "unheard words", "the dog and the man and the dog"]
SMALL = {
    "word_buckets": 300,
    "ngram_buckets": 200,
    "embedding_dim": 12,
    "dim": 8,
    "heads": 2,
    "filter_dim": 16,
}


def bicvm(composition: Composition) -> Encoder:
    texts = {"en": ["the dog sleeps and the man too"], "de": ["der hund schläft , der mann auch"]}
    return BicvmEncoder.of_texts(texts, BicvmConfig(dim=6, composition=composition), seed=0)


def dual(**changes: object) -> Encoder:
    encoder = DualEncoder.random(DualEncoderConfig(**{**SMALL, **changes}), ["en", "de"], seed=0)  # type: ignore[arg-type]
    for layer in encoder.transformer:  # layers before which norms stand begin as nothing
        for weight in layer.parameters():
            weight.data.normal_(std=0.3)
    return encoder


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoder",
    [
        bicvm(Composition.ADD),
        bicvm(Composition.BIGRAM),
        dual(layers=2),
        dual(layers=1, pre_norm=True, normalised=True, position_scale=0.0),
        dual(layers=0, ngram_max=0),
    ],
    ids=["add", "bigram", "layers", "pre-norm", "words"],
)
def test_the_folder_gives_the_encoders_vectors(encoder: Encoder, tmp_path: Path) -> None:
    write_readme(tmp_path, "exported", write_onnx(encoder, tmp_path), "exported")
    found = readme_vectors(tmp_path, TEXTS, blocked=["torch"])
    np.testing.assert_allclose(found, encoder.encode(TEXTS), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[TEXTS.index("")], encoder.encode([""])[0], rtol=1e-4, atol=1e-5)
