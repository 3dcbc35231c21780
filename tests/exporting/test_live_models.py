"""Live models of sentence-transformers, and what their users do with them, for each kind of encoder."""

import pickle
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from emu_core import export, load_encoder
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.e5 import E5File, E5SmallEncoder, bert, e5_tokenizer, sentence_transformer
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.laser.encoder import LaserEncoder
from emu_core.encoders.sentence_transformers_module import EmuModule, to_sentence_transformers
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import RunError
from emu_core.methods.bicvm.encoder import BicvmEncoder
from emu_core.methods.bicvm.settings import BicvmConfig
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.settings import DualEncoderConfig
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.layers import Fmda
from emu_core.methods.head.encoder import HeadEncoder
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.head.settings import HeadConfig
from emu_core.runs.run import Run, RunState, Status
from tests.support.packed import pack
from tests.support.raises import raises

TEXTS = ["the pool", "der hund schläft", "", "pool pool ? who", "the dog sleeps and the man too " * 30]


def tiny_e5() -> Encoder:
    file = E5File(pack().data)
    encoder = E5SmallEncoder(sentence_transformer(bert(file), e5_tokenizer(file)))
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weight in encoder.named_parameters():
            weight.normal_(0, 0.3) if weight.ndim > 1 else weight.fill_(name.endswith("LayerNorm.weight"))
    return encoder


def tiny_bicvm() -> Encoder:
    texts = {"en": ["the dog sleeps and the man too"], "de": ["der hund schläft , der mann auch"]}
    return BicvmEncoder.of_texts(texts, BicvmConfig(dim=6), seed=0)


def tiny_dual() -> Encoder:
    sizes = {"dim": 16, "embedding_dim": 8, "heads": 2, "filter_dim": 12}
    config = DualEncoderConfig(**sizes, layers=1, word_buckets=50, ngram_buckets=60)
    return DualEncoder.random(config, ("en", "de"), seed=0)


def disentangled() -> Encoder:
    torch.manual_seed(0)
    model = Fmda(32, ("en", "de"), 8, 4)
    model.standard.fit(torch.randn(20, 32))
    return DisentangledEncoder(require_transformer(tiny_e5()), model)


def with_head(base: Encoder) -> Encoder:
    texts = [*TEXTS, "when does the pool open", "a taxi please", "call me a taxi", "der mann"]
    settings = HeadConfig(share=0.5, language_directions=0, gate_width=1.0, centering=0.0)
    examples = Examples(base.encode(texts), [i % 3 for i in range(len(texts))])
    return HeadEncoder(base, fit_head(examples, settings))


KINDS: dict[str, Callable[[], Encoder]] = {
    "use": lambda: load_encoder("use"),
    "e5": tiny_e5,
    "bicvm": tiny_bicvm,
    "dual-encoder": tiny_dual,
    "disentangled": disentangled,
    "head on use": lambda: with_head(load_encoder("use")),
    "head on e5": lambda: with_head(tiny_e5()),
    "joined": lambda: JoinedEncoder([load_encoder("use"), with_head(tiny_e5())], [0.3, 0.7]),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def finished_run(folder: Path, encoder: Encoder) -> Run:
    run = Run(folder)
    encoder.save(run.encoder_folder)
    run.write_status(Status(RunState.FINISHED))
    return run


def opened(folder: Path, **options: Any) -> SentenceTransformer:
    fixed: dict[str, Any] = {"trust_remote_code": True, "device": "cpu", "local_files_only": True}
    return SentenceTransformer(str(folder), **fixed, **options)


def cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    left, right = (part.astype(np.float64) for part in (left, right))
    return (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


@pytest.mark.slow
@every_kind
def test_a_runs_live_model_has_the_exports_vectors_in_every_precision(kind: str, tmp_path: Path) -> None:
    encoder = KINDS[kind]()
    run = finished_run(tmp_path / "run", encoder)
    live = run.to_sentence_transformers()
    assert isinstance(live, SentenceTransformer) and live.device.type == "cpu"
    vectors = live.encode(TEXTS)
    exported = opened(export(run, tmp_path / "out"))
    np.testing.assert_allclose(vectors, exported.encode(TEXTS), rtol=0, atol=1e-6)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), rtol=0, atol=1e-5)
    assert live.get_embedding_dimension() == encoder.dim == live.encode("pool").shape[0]
    assert len(live.encode([])) == 0
    np.testing.assert_allclose(live.encode_query(TEXTS), vectors, rtol=0, atol=1e-6)
    assert live.encode_document(TEXTS).shape == vectors.shape
    assert live.similarity(vectors[:2], vectors).shape == (2, len(TEXTS))
    assert live.encode(TEXTS, precision="int8").dtype == np.int8
    for reduced, dtype in ((exported.half(), torch.float16), (live.to(torch.bfloat16), torch.bfloat16)):
        tensor = reduced.encode(TEXTS, convert_to_tensor=True)
        assert {tensor.dtype, reduced.dtype} == {dtype}
        assert cosines(tensor.float().numpy(), vectors).min() > 0.99


@pytest.mark.slow
@every_kind
def test_a_model_is_saved_again_as_it_is(kind: str, tmp_path: Path) -> None:
    model = to_sentence_transformers(KINDS[kind]())
    vectors = model.encode(TEXTS)
    model.max_seq_length = 4
    limited = model.encode(TEXTS)
    assert np.abs(limited - vectors)[-1].max() > 1e-3  # or else the limit changed nothing
    model.half().save_pretrained(str(tmp_path / "again"))
    again = opened(tmp_path / "again", model_kwargs={"torch_dtype": torch.float32})
    assert again.dtype == torch.float32 and again.max_seq_length == 4
    assert cosines(again.encode(TEXTS), limited).min() > 0.999
    assert opened(tmp_path / "again").dtype == torch.float16
    assert opened(tmp_path / "again", model_kwargs={"dtype": "bfloat16"}).dtype == torch.bfloat16


@pytest.mark.slow
@every_kind
def test_a_tokenizer_counts_tokens_and_feeds_the_model(kind: str) -> None:
    model = to_sentence_transformers(KINDS[kind]())
    tokenizer = model.tokenizer
    ids = tokenizer(TEXTS[:2])["input_ids"]
    assert [len(row) for row in ids] == [len(tokenizer.encode(text)) for text in TEXTS[:2]]
    if kind not in ("dual-encoder", "joined"):  # which count words, and tokens of each part
        assert len(tokenizer(TEXTS[4], truncation=True, max_length=4)["input_ids"]) == 4
    if isinstance(model[0], EmuModule) and "e5" not in kind and kind != "disentangled":
        features = tokenizer(TEXTS, padding=True, return_tensors="pt")
        with torch.no_grad():
            vectors = model.eval()(features)["sentence_embedding"].numpy()
        np.testing.assert_allclose(vectors, model.encode(TEXTS), rtol=0, atol=1e-5)
        arrays = tokenizer.pad({"input_ids": ids}, return_tensors="np")
        assert {len(array) for name, array in arrays.items() if name.endswith("attention_mask")} == {2}


def test_laser_in_half_precision(laser_files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_LASER_DIR", str(laser_files))
    model = to_sentence_transformers(LaserEncoder.load())
    vectors = model.encode(TEXTS)
    assert cosines(model.half().encode(TEXTS), vectors).min() > 0.999
    assert len(model.tokenizer.encode("pool")) > 1


def test_a_limit_beyond_the_encoders_is_refused() -> None:
    model = to_sentence_transformers(load_encoder("use"))
    for limit in (513, 0):
        with pytest.raises(ValueError, match=f"max_seq_length .* {limit}; .*1 to 512"):
            model.max_seq_length = limit
    assert len(model.tokenizer("pool " * 1000, max_length=600)["input_ids"]) == 512


def test_a_precision_that_is_none_is_refused(tmp_path: Path) -> None:
    tiny_bicvm().save(tmp_path)
    for named in ("floaty", "int8"):
        with pytest.raises(ValueError, match=f"dtype .*{named}"):
            EmuModule.load(str(tmp_path), model_kwargs={"dtype": named})


def test_only_a_finished_run_has_a_live_model(tmp_path: Path) -> None:
    run = Run(tmp_path / "queued")
    run.folder.mkdir()
    run.write_status(Status())
    with raises(RunError, fix=None, match="queued"):
        run.to_sentence_transformers()


@pytest.mark.slow
@every_kind
def test_a_model_goes_to_other_processes(kind: str) -> None:
    """As it does to those of `encode(pool=...)`."""
    model = to_sentence_transformers(KINDS[kind]())
    elsewhere = pickle.loads(bytes(ForkingPickler.dumps(model)))  # noqa: S301 - our own
    np.testing.assert_allclose(elsewhere.encode(TEXTS), model.encode(TEXTS), rtol=0, atol=1e-6)
