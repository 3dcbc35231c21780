"""An ONNX folder stands alone: its example runs in onnxruntime without torch, and has the encoder's vectors."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnxruntime import InferenceSession
from torch import Tensor

from emu_core import export, load_encoder
from emu_core.encoders.base import Encoder, FloatArray, pad
from emu_core.encoders.e5 import E5File, bert, e5_tokenizer, sentence_transformer
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.laser.encoder import LaserEncoder
from emu_core.encoders.onnx_parts import CHECK_TEXTS, Graph, OnnxParts
from emu_core.encoders.transformer.hf import HfEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.encoders.use.encoder import UseEncoder
from emu_core.errors import EncoderError, Fix
from emu_core.exporting import writers
from emu_core.methods.bicvm.encoder import BicvmEncoder
from emu_core.methods.bicvm.settings import BicvmConfig
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.layers import Fmda, MeaningLanguage
from emu_core.methods.head.encoder import HeadEncoder
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.head.settings import HeadConfig
from emu_core.reports.export_readme import write_readme
from emu_core.runs.run import Run, RunState, Status
from tests.support.exported_readme import readme_vectors
from tests.support.packed import pack
from tests.support.raises import raises

pytestmark = pytest.mark.slow

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
    network = bert(file)
    network.encoder.layer, network.config.num_hidden_layers = network.encoder.layer[:1], 1
    model: Any = sentence_transformer(network, e5_tokenizer(file))
    model[1].include_prompt = include_prompt
    torch.manual_seed(0)
    with torch.no_grad():  # the file's biases are so large that all texts have nearly the same vector
        for name, p in model.named_parameters():
            p.normal_() if p.ndim > 1 else p.fill_(name.endswith("LayerNorm.weight"))
    return HfEncoder(model)


@pytest.fixture
def laser(laser_files: Path, monkeypatch: pytest.MonkeyPatch) -> LaserEncoder:
    monkeypatch.setenv("EMU_LASER_DIR", str(laser_files))
    encoder = LaserEncoder.load()
    monkeypatch.delenv("EMU_LASER_DIR")
    return encoder


def tiny_bicvm() -> BicvmEncoder:
    """An encoder whose graph is a few operations, for what is the same with every encoder."""
    texts = {"en": ["the dog sleeps and the man too"], "de": ["der hund schläft , der mann auch"]}
    return BicvmEncoder.of_texts(texts, BicvmConfig(dim=6), seed=0)


def write(encoder: Encoder, folder: Path) -> Path:
    folder.mkdir()
    write_readme(folder, "exported", writers.write_onnx(encoder, folder), "exported")
    return folder


def with_head(base: Encoder) -> HeadEncoder:
    """An encoder of the head method, over a base whose head was fitted on a few sentences."""
    texts = [*TEXTS, *ABROAD, "When does the pool open?", "A taxi, please.", "Call me a taxi."]
    config = HeadConfig(share=0.5, language_directions=0, gate_width=1.0, centering=0.0)
    return HeadEncoder(
        base, fit_head(Examples(base.encode(texts), [i % 3 for i in range(len(texts))]), config)
    )


def check_head(vectors: FloatArray, encoder: HeadEncoder, texts: list[str]) -> None:
    """Check that these are the encoder's vectors, with a posterior that the texts reach."""
    np.testing.assert_allclose(vectors, encoder.encode(texts), rtol=0, atol=1e-5)
    mapped = encoder.head.mapped(torch.from_numpy(encoder.base.encode(texts))).numpy()
    assert np.linalg.norm(vectors[:, : mapped.shape[1]] - mapped, axis=1).max() > 0.1


def test_use_and_the_head_on_it_twice(tmp_path: Path) -> None:
    """The README's example has the encoder's vectors where emu_core and torch are not."""
    base = changed(load_encoder("use"))
    assert np.abs(base.encode(TEXTS) - load_encoder("use").encode(TEXTS)).max() > 0.01
    encoder = with_head(with_head(base))
    out = write(encoder, tmp_path / "out")
    vectors = readme_vectors(out, TEXTS + ABROAD, blocked=STRANGERS)
    check_head(vectors, encoder, TEXTS + ABROAD)
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


def weights_of(graph: Path) -> dict[int, int]:
    """The bytes of a graph's constants, by their type's number in ONNX."""
    import onnx

    sizes: dict[int, int] = {}
    for constant in onnx.load(graph).graph.initializer:
        sizes[constant.data_type] = sizes.get(constant.data_type, 0) + len(constant.raw_data)
    return sizes


def test_a_graph_is_quantised(tmp_path: Path) -> None:
    """Its vectors are nearly those of float32, and README.md and config.json say how near."""
    encoder = tiny_transformer()
    whole, small = (
        export(encoder_run(encoder, tmp_path), tmp_path / "whole", format="onnx"),
        tmp_path / "small",
    )
    export(tmp_path / "run", small, format="onnx", int8=True)
    assert {path.name for path in small.iterdir()} == {path.name for path in whole.iterdir()}
    float32, int8 = 1, 3
    assert weights_of(whole / "model.onnx").get(int8, 0) == 0
    sizes = weights_of(small / "model.onnx")
    assert sizes[int8] > sizes[float32] / 2
    ids, mask = (tensor.long().numpy() for tensor in pad(encoder.token_ids(TEXTS), encoder.pad_id))
    session = InferenceSession(small / "model.onnx", providers=["CPUExecutionProvider"])
    (vectors,), exact = session.run(None, {"input_ids": ids, "attention_mask": mask}), encoder.encode(TEXTS)
    cosines = (vectors * exact).sum(axis=1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(exact, axis=1)
    assert 0.9 < cosines.min() < 0.999999
    configs = [json.loads((folder / "config.json").read_text("utf-8")) for folder in (whole, small)]
    assert [config["weights"] for config in configs] == ["float32", "int8"]
    assert 0.9 <= configs[1]["lowest_cosine_to_torch"] < configs[0]["lowest_cosine_to_torch"]
    assert "weights are in 8 bits" in (small / "README.md").read_text("utf-8")
    assert "weights are in 8 bits" not in (whole / "README.md").read_text("utf-8")


def encoder_run(encoder: Encoder, folder: Path) -> Run:
    run = Run(folder / "run")
    encoder.save(run.encoder_folder)
    run.write_status(Status(RunState.FINISHED))
    return run


@pytest.mark.slow
def test_the_graph_of_use_can_be_quantised_by_onnxruntime_itself(tmp_path: Path) -> None:
    """Without preparing it: all weights, also those of convolutions, are constants."""
    from onnxruntime.quantization import quantize_dynamic

    out = export("use", tmp_path / "out", format="onnx")
    quantize_dynamic(out / "model.onnx", tmp_path / "small.onnx")
    assert (tmp_path / "small.onnx").stat().st_size < 75_000_000


def test_only_a_graph_has_weights_in_8_bits(tmp_path: Path) -> None:
    with raises(EncoderError, fix=Fix("format", "onnx")):
        export("use", tmp_path / "out", int8=True)
    assert not (tmp_path / "out").exists()


def test_a_quantised_graph_that_is_far_from_its_encoder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cosines = iter([1.0] * 5 + [0.5] * 5)  # of float32, and then of 8 bits
    monkeypatch.setattr(writers, "_cosines", lambda encoder, session, ids: np.full(1, next(cosines)))
    with raises(EncoderError, fix=Fix("int8", False)):
        writers.write_onnx(tiny_transformer(), tmp_path, int8=True)


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


def test_a_transformer(tmp_path: Path) -> None:
    encoder = tiny_transformer().train()
    out = write(encoder, tmp_path / "out")
    assert encoder.training  # as it was
    assert b".py" not in (out / "model.onnx").read_bytes()  # nothing of this machine
    vectors = readme_vectors(out, TEXTS, blocked=STRANGERS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), rtol=0, atol=1e-5)
    assert "'query: '" in (out / "README.md").read_text("utf-8")


def test_a_transformer_that_leaves_its_prompt_out_and_the_head_on_it(tmp_path: Path) -> None:
    encoder = with_head(tiny_transformer(include_prompt=False))
    out = write(encoder, tmp_path / "out")
    vectors = readme_vectors(out, TEXTS, blocked=STRANGERS)
    check_head(vectors, encoder, TEXTS)
    assert "'query: '" in (out / "README.md").read_text("utf-8")


def test_joined_encoders_are_one_graph_and_one_folder(tmp_path: Path) -> None:
    parts = [changed(load_encoder("use")), with_head(tiny_transformer(include_prompt=False))]
    encoder = JoinedEncoder(parts)
    texts = [*TEXTS, *ABROAD, *CHECK_TEXTS]
    vectors = readme_vectors(write(encoder, tmp_path / "out"), texts, blocked=STRANGERS)
    np.testing.assert_allclose(vectors, encoder.encode(texts), rtol=0, atol=1e-5)


def test_three_joined_encoders_with_weights_of_which_one_has_words_of_its_own(tmp_path: Path) -> None:
    """Of a text without known words, that part has no token."""
    parts = [tiny_bicvm(), tiny_transformer(include_prompt=False), with_head(tiny_transformer())]
    encoder = JoinedEncoder(parts, [0.2, 0.5, 0.3])
    out = write(encoder, tmp_path / "out")
    texts = [*TEXTS, *ABROAD, *CHECK_TEXTS, "the dog sleeps", "", "der hund schläft , der mann auch"]
    vectors = readme_vectors(out, texts, blocked=["transformers"])
    np.testing.assert_allclose(vectors, encoder.encode(texts), rtol=0, atol=1e-5)
    others = JoinedEncoder(parts, [0.7, 0.2, 0.1]).encode(texts)
    assert np.abs(vectors - others).max() > 0.01  # or else weights could be left out
    assert "of each of 3 encoders" in (out / "README.md").read_text("utf-8")


def test_the_prompt_left_out_is_another_vector() -> None:
    """Or else the test above could not tell whether the graph knows of it."""
    vectors = [tiny_transformer(include).encode(TEXTS) for include in (True, False)]
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01


def test_laser(tmp_path: Path, laser: LaserEncoder) -> None:
    out = write(laser, tmp_path / "out")
    vectors = readme_vectors(out, TEXTS, blocked=["transformers", "sentence_transformers"])
    np.testing.assert_allclose(vectors, laser.encode(TEXTS), rtol=0, atol=1e-5)


def without_mask(graph: Graph) -> Graph:
    """Take padding for words."""
    return lambda ids, mask: graph(ids, torch.ones_like(mask) + 0 * mask)


def nearly(graph: Graph) -> Graph:
    """Move all vectors a little."""
    return lambda ids, mask: graph(ids, mask) + 0.05 * torch.arange(6).remainder(2)


def not_a_number(graph: Graph) -> Graph:
    """Divide by zero for one sentence of many."""

    def divided(ids: Tensor, mask: Tensor) -> Tensor:
        zero = (mask.sum(dim=1, keepdim=True) < 20).float()
        return graph(ids, mask) / zero * zero

    return divided


@pytest.mark.parametrize("spoil", [without_mask, nearly, not_a_number])
def test_a_graph_that_is_not_the_encoder_is_not_handed_over(
    spoil: Callable[[Graph], Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_bicvm().save(tmp_path / "run" / "encoder")
    parts = BicvmEncoder.onnx_parts

    def spoilt(self: BicvmEncoder, folder: Path) -> OnnxParts:
        right = parts(self, folder)
        return replace(right, graph=spoil(right.graph))

    monkeypatch.setattr(BicvmEncoder, "onnx_parts", spoilt)
    with pytest.raises(EncoderError, match="is not its encoder"):
        export(f"run:{tmp_path / 'run'}", tmp_path / "out", format="onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_model_that_torch_can_not_trace_is_a_users_error(tmp_path: Path) -> None:
    def untraceable(ids: Tensor, mask: Tensor) -> Tensor:
        return torch.ones(int(ids.sum().item()), 2)[ids.tolist()[0][0] :]

    with pytest.raises(EncoderError, match="can't be exported to ONNX"):
        writers.write_graph(tiny_bicvm(), untraceable, tmp_path / "model.onnx")


def test_a_tokenizer_that_changes_when_it_is_saved_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny_transformer()
    ids = encoder.token_ids
    monkeypatch.setattr(encoder, "token_ids", lambda texts: [[*row[:-1], 5] for row in ids(texts)])
    with raises(EncoderError, fix=Fix("format", "sentence-transformers"), match="'hf'"):
        writers.write_onnx(encoder, tmp_path)


def test_weights_that_one_file_can_not_hold_lie_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "_MAX_SINGLE_FILE_BYTES", 100)
    encoder = tiny_bicvm()
    out = write(encoder, tmp_path / "out")
    assert (out / "model.onnx.data").stat().st_size >= encoder.table.nbytes
    moved = out.rename(tmp_path / "moved")
    session = InferenceSession(moved / "model.onnx", providers=["CPUExecutionProvider"])
    features = encoder.tokenize(["the dog", "der mann schläft"])
    feed = {name: features[name].numpy().astype(np.int64) for name in ("input_ids", "attention_mask")}
    np.testing.assert_allclose(session.run(None, feed)[0], encoder(features).detach(), rtol=0, atol=1e-6)


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
    writers.write_onnx(opened, tmp_path / "out")  # compares the graph with torch
    session = InferenceSession(tmp_path / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    texts = TEXTS[:3]
    features = opened.tokenize(texts)
    feed = {name: features[name].numpy().astype(np.int64) for name in ("input_ids", "attention_mask")}
    np.testing.assert_allclose(session.run(None, feed)[0], encoder.encode(texts), rtol=1e-3, atol=1e-4)


def test_missing_packages_are_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "find_spec", lambda name: None if name == "onnxscript" else object())
    with pytest.raises(EncoderError, match=r'pip install "emu-core\[onnx\]"'):
        writers.write_onnx(tiny_bicvm(), tmp_path)
    assert list(tmp_path.iterdir()) == []
