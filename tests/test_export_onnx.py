"""An ONNX folder stands alone: its example runs in onnxruntime without torch, and has the encoder's vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from laser_tiny import write_published
from onnxruntime import InferenceSession
from packed import pack
from readme import readme_vectors
from torch import Tensor, nn

from emu_core import export, load_encoder
from emu_core.config import PosteriorConfig
from emu_core.encoders.base import Encoder
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.e5.bert import bert, sentence_transformer, tokenizer
from emu_core.encoders.e5.packed_file import E5File
from emu_core.encoders.laser.encoder import LaserEncoder
from emu_core.encoders.laser.network import LaserNetwork, LaserShape
from emu_core.encoders.laser.text import LaserText
from emu_core.encoders.posterior import PosteriorEncoder
from emu_core.encoders.transformer.hf import HfEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.encoders.use.encoder import UseEncoder
from emu_core.errors import EncoderError
from emu_core.exporting import onnx
from emu_core.models.fmda import Fmda
from emu_core.models.meaning_language import MeaningLanguage
from emu_core.trainers.posterior import fit_head

TEXTS = [
    "Where is the pool?",
    "",
    "Wo kann man hier schwimmen und danach noch etwas essen, wenn das Restaurant schon zu hat?",
    "who: poét?   pool",
    "𓀀𓀁 ꙮ pool 𓀀",
    "pool, " * 600,
]
ABROAD = ["プールはどこですか？", "游泳池在哪里？", "أين يقع المسبح؟"]
STRANGERS = ["emu_core", "torch", "transformers", "sentence_transformers"]


def changed(encoder: Encoder) -> Encoder:
    """The encoder with other weights than its package's."""
    torch.manual_seed(0)
    with torch.no_grad():
        for p in encoder.parameters():
            p.mul_(1 + 0.1 * torch.randn_like(p))
    return encoder


def tiny_transformer(include_prompt: bool = True) -> Encoder:
    file = E5File(pack().data)
    model: Any = sentence_transformer(bert(file), tokenizer(file))
    model[1].include_prompt = include_prompt
    torch.manual_seed(0)
    with torch.no_grad():  # the file's biases are so large that all texts have nearly the same vector
        for name, p in model.named_parameters():
            p.normal_() if p.ndim > 1 else p.fill_(name.endswith("LayerNorm.weight"))
    return HfEncoder(model)


def tiny_laser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> LaserEncoder:
    write_published(folder)
    monkeypatch.setenv("EMU_LASER_DIR", str(folder))
    return LaserEncoder.load()


def write(encoder: Encoder, folder: Path) -> Path:
    folder.mkdir()
    (folder / "README.md").write_text(onnx.write_onnx(encoder, folder), "utf-8")
    return folder


def with_head(base: Encoder) -> PosteriorEncoder:
    """An encoder of the posterior method, over a base whose head was fitted on a few sentences."""
    texts = [*TEXTS, *ABROAD, "When does the pool open?", "A taxi, please.", "Call me a taxi."]
    config = PosteriorConfig(language_directions=0, gate_width=1.0, centering=0.0)
    head = fit_head(base.encode(texts), [i % 3 for i in range(len(texts))], {}, config)
    return PosteriorEncoder(base, head)


@pytest.mark.parametrize("kind", ["use", "transformer", "twice"])
def test_the_posterior_on_any_of_them(kind: str, tmp_path: Path) -> None:
    base = tiny_transformer() if kind == "transformer" else load_encoder("use")
    encoder = with_head(with_head(base) if kind == "twice" else base)
    out = write(encoder, tmp_path / "out")
    vectors = readme_vectors(out, TEXTS + ABROAD, blocked=STRANGERS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS + ABROAD), rtol=0, atol=1e-5)
    assert vectors.shape[1] == base.dim + 3 * (2 if kind == "twice" else 1)
    assert np.abs(vectors[:, base.dim :]).max() > 0.1  # a posterior that the checked texts reach


def test_use(tmp_path: Path) -> None:
    """The README's example has the encoder's vectors where emu_core and torch are not."""
    encoder = changed(load_encoder("use"))
    out = write(encoder, tmp_path / "out")
    vectors = readme_vectors(out, TEXTS + ABROAD, blocked=STRANGERS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS + ABROAD), rtol=0, atol=1e-5)
    assert np.abs(vectors - load_encoder("use").encode(TEXTS + ABROAD)).max() > 0.01
    assert {path.name for path in out.iterdir()} == {"model.onnx", "sp.model", "config.json", "README.md"}
    config = json.loads((out / "config.json").read_text("utf-8"))
    assert 0.9999 <= config["lowest_cosine_to_torch"] <= 1.001
    assert (out / "model.onnx").stat().st_size < 85_000_000  # the piece embeddings are bytes in the file too
    session = InferenceSession(out / "model.onnx", providers=["CPUExecutionProvider"])
    described = [(i.name, i.type, i.shape) for i in [*session.get_inputs(), *session.get_outputs()]]
    assert described == [
        ("input_ids", "tensor(int64)", ["batch", "tokens"]),
        ("attention_mask", "tensor(int64)", ["batch", "tokens"]),
        ("sentence_embedding", "tensor(float)", ["batch", 512]),
    ]


def test_use_with_trained_piece_embeddings(tmp_path: Path) -> None:
    encoder = load_encoder("use")
    assert isinstance(encoder, UseEncoder)
    features = encoder.tokenize(TEXTS)
    with torch.no_grad():
        before = encoder(features)
        encoder.embeddings()[0].mul_(1.5)
        vectors = encoder.onnx_parts(tmp_path).graph(features["input_ids"], features["attention_mask"].long())
        np.testing.assert_allclose(vectors, encoder(features), rtol=0, atol=1e-5)
    assert (vectors - before).abs().max() > 0.01


@pytest.mark.parametrize("include_prompt", [True, False])
def test_a_transformer(include_prompt: bool, tmp_path: Path) -> None:
    encoder = tiny_transformer(include_prompt)
    out = write(encoder, tmp_path / "out")
    vectors = readme_vectors(out, TEXTS, blocked=STRANGERS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), rtol=0, atol=1e-5)
    assert "'query: '" in (out / "README.md").read_text("utf-8")


def test_the_prompt_left_out_is_another_vector() -> None:
    """Or else the test above could not tell whether the graph knows of it."""
    vectors = [tiny_transformer(include).encode(TEXTS) for include in (True, False)]
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01


def test_laser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny_laser(tmp_path / "published", monkeypatch)
    out = write(encoder, tmp_path / "out")
    monkeypatch.delenv("EMU_LASER_DIR")
    vectors = readme_vectors(out, TEXTS, blocked=["transformers", "sentence_transformers"])
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), rtol=0, atol=1e-5)


def test_laser_that_reads_one_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text: LaserText = tiny_laser(tmp_path, monkeypatch).text
    torch.manual_seed(0)
    encoder = LaserEncoder(LaserNetwork(LaserShape(len(text.dictionary), 1, 8, 6, 2, False)), text)
    features = encoder.tokenize(TEXTS)
    with torch.no_grad():
        vectors = encoder.onnx_parts(tmp_path).graph(features["input_ids"], features["attention_mask"].long())
        np.testing.assert_allclose(vectors, encoder(features), rtol=0, atol=1e-6)


class WithoutMask(nn.Module):
    """A graph that takes padding for words."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        mask = torch.ones_like(input_ids) + 0 * attention_mask
        out: Tensor = self.encoder({"input_ids": input_ids, "attention_mask": mask})
        return out


class Nearly(WithoutMask):
    """A graph whose vectors are a little off."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        out: Tensor = self.encoder({"input_ids": input_ids, "attention_mask": attention_mask})
        return out + 0.005 * torch.arange(out.shape[1]).remainder(2)


class NotANumber(WithoutMask):
    """A graph that divides by zero for one sentence of many."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        out: Tensor = self.encoder({"input_ids": input_ids, "attention_mask": attention_mask})
        zero = (attention_mask.sum(dim=1, keepdim=True) < 20).float()
        return out / zero * zero


@pytest.mark.parametrize("graph", [WithoutMask, Nearly, NotANumber])
def test_a_graph_that_is_not_the_encoder_is_not_handed_over(
    graph: type[WithoutMask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny: Any = tiny_transformer()
    tiny.model.save_pretrained(str(tmp_path / "model"))
    monkeypatch.setattr(onnx, "GraphModule", lambda encoder, _: graph(encoder))
    with pytest.raises(EncoderError, match="is not its encoder"):
        export(f"hf:{tmp_path / 'model'}", tmp_path / "out", format="onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_model_that_torch_can_not_trace_is_a_users_error(tmp_path: Path) -> None:
    class Untraceable(WithoutMask):
        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            return torch.ones(int(input_ids.sum().item()), 2)[input_ids.tolist()[0][0] :]

    encoder = tiny_transformer()
    with pytest.raises(EncoderError, match="can't be exported to ONNX"):
        onnx.write_graph(encoder, Untraceable(encoder), tmp_path / "model.onnx")


def test_a_tokenizer_that_changes_when_it_is_saved_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny_transformer()
    ids = encoder.token_ids
    monkeypatch.setattr(encoder, "token_ids", lambda texts: [[*row[:-1], 5] for row in ids(texts)])
    with pytest.raises(EncoderError, match="other tokens once it is saved"):
        onnx.write_onnx(encoder, tmp_path)


def test_weights_that_one_file_can_not_hold_lie_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "SINGLE_FILE", 1000)
    encoder = tiny_transformer()
    out = write(encoder, tmp_path / "out")
    assert (out / "model.onnx.data").stat().st_size > (out / "model.onnx").stat().st_size
    moved = out.rename(tmp_path / "moved")
    vectors = readme_vectors(moved, TEXTS, blocked=STRANGERS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), rtol=0, atol=1e-5)


def test_a_graph_tells_nothing_of_this_machine_and_the_encoder_stays_as_it_was(tmp_path: Path) -> None:
    encoder = tiny_transformer().train()
    onnx.write_onnx(encoder, tmp_path)
    assert encoder.training
    assert b".py" not in (tmp_path / "model.onnx").read_bytes()


@pytest.mark.parametrize("baseline", [False, True])
def test_the_meaning_of_fmda_and_its_baseline(baseline: bool, tmp_path: Path) -> None:
    base = require_transformer(tiny_transformer())
    torch.manual_seed(0)
    model = MeaningLanguage(32, ("en", "de")) if baseline else Fmda(32, ("en", "de"), 8, 4)
    model.standard.fit(torch.randn(20, 32))
    encoder = DisentangledEncoder(base, model)
    encoder.save(tmp_path / "run" / "encoder")
    opened = load_encoder(f"run:{tmp_path / 'run'}")
    (tmp_path / "out").mkdir()
    onnx.write_onnx(opened, tmp_path / "out")  # compares the graph with torch
    session = InferenceSession(tmp_path / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    texts = TEXTS[:3]
    features = opened.tokenize(texts)
    feed = {name: features[name].numpy().astype(np.int64) for name in ("input_ids", "attention_mask")}
    np.testing.assert_allclose(session.run(None, feed)[0], encoder.encode(texts), rtol=1e-3, atol=1e-4)
