"""A transformer's vectors in bfloat16, which any processor computes if it is told to, only slowly.

The bounds are those of bfloat16, of eight significant bits: a cosine with the vector of float32, or with that of the
same sentence in another batch, is at least .9999.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.devices import Precision
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.e5 import E5File, E5SmallEncoder, bert, e5_tokenizer, sentence_transformer
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.on_base import EncoderOnBase
from emu_core.encoders.registry import load_encoder, precision_notes
from emu_core.encoders.remembered import close_encoders, opened_encoder, remembered_vectors
from emu_core.encoders.transformer.bfloat16 import ConvertedWeights
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import cls_states, require_transformer, token_states
from emu_core.methods.distil.teacher import teacher_vectors
from emu_core.methods.emu.settings import EmuConfig
from emu_core.processes import SINGLE_PROCESS
from emu_core.training.trained_weights import trained_weights
from emu_core.training.weight_settings import Trained
from tests.support.packed import pack
from tests.support.tiny_transformer import tiny_transformer

TEXTS = ["pool", "who pool? pool, pool: pool", "", "où", "pool pool", "who?", "she stole pools: who?"]
EMULATED = pytest.warns(UserWarning, match="no instructions for bf16")


@pytest.fixture
def small() -> E5SmallEncoder:
    """A tiny e5-small, in float32."""
    file = E5File(pack().data)
    return E5SmallEncoder(sentence_transformer(bert(file), e5_tokenizer(file)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_transformer(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any processor is one without bfloat16."""
    for module in ("devices", "encoders.registry"):
        monkeypatch.setattr(f"emu_core.{module}.has_bf16", lambda device: False)


def cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """Of row with row, in float64."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    return ((x * y).sum(axis=1) / lengths).astype(np.float32)


def test_vectors_in_bf16_are_float32_and_nearly_those_of_fp32(small: E5SmallEncoder) -> None:
    expected = small.encode(TEXTS)
    assert small.placed("cpu:bf16") is small and small.precision is Precision.BF16
    vectors = small.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert not np.array_equal(vectors, expected)
    assert cosines(vectors, expected).min() >= 0.9999
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)  # normalised in float32
    np.testing.assert_array_equal(small.placed("cpu:fp32").encode(TEXTS), expected)


def test_a_sentence_has_nearly_the_same_vector_alone_as_in_company(small: E5SmallEncoder) -> None:
    small.placed("cpu:bf16")
    alone = np.concatenate([small.encode([text]) for text in TEXTS])
    for batch_tokens in (20, 40, None):
        assert cosines(small.encode(TEXTS, batch_tokens=batch_tokens), alone).min() >= 0.9999


def by_hand(encoder: TransformerEncoder, texts: list[str]) -> FloatArray:
    """The transformer under autocast; the mean over tokens and the normalisation in float32."""
    features = encoder.tokenize(texts)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        states = encoder.backbone(
            input_ids=features["input_ids"], attention_mask=features["attention_mask"]
        ).last_hidden_state
    mask = features["attention_mask"].unsqueeze(-1).float()
    means = (states.float() * mask).sum(dim=1) / mask.sum(dim=1)
    vectors: FloatArray = F.normalize(means, dim=1).numpy()
    return vectors


def test_only_the_transformer_computes_in_bf16(small: E5SmallEncoder) -> None:
    texts = ["pool", "who?", "où"]
    expected = by_hand(small, texts)
    np.testing.assert_allclose(small.placed("cpu:bf16").encode(texts), expected, rtol=0, atol=1e-6)


def test_a_model_of_the_hub_computes_in_bf16_too(folder: Path, emulated: None) -> None:
    texts = ["where is the pool ?", "open", "when does the hotel open ?"]
    expected = load_encoder(f"hf:{folder}", device="cpu:fp32").encode(texts)
    with EMULATED:
        encoder = load_encoder(f"hf:{folder}", device="cpu:bf16")
    vectors = encoder.encode(texts)
    assert not np.array_equal(vectors, expected) and cosines(vectors, expected).min() >= 0.999
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    by_hands = np.concatenate([by_hand(require_transformer(encoder), [text]) for text in texts])
    np.testing.assert_allclose(
        cosines(alone, by_hands), 1, rtol=0, atol=1e-6
    )  # its pooling doesn't normalise


class Doubled(EncoderOnBase):
    """A head that multiplies by a matrix, in the dtype that its products have."""

    spec = "doubled"
    dtypes: list[torch.dtype]

    def __init__(self, base: Encoder) -> None:
        super().__init__(base, nn.Linear(base.dim, base.dim), base.dim)
        self.dtypes = []

    @classmethod
    def on(cls, base: Encoder, *_: object) -> "Doubled":
        return cls(base)

    def forward(self, features: dict[str, Tensor]) -> Tensor:
        out: Tensor = self.head(self.base(features))
        self.dtypes.append(out.dtype)
        return out


def test_heads_compute_in_float32(small: E5SmallEncoder) -> None:
    encoder = Doubled(small).placed("cpu:bf16")
    assert encoder.precision is small.precision is Precision.BF16
    vectors = encoder.encode(TEXTS)
    assert set(encoder.dtypes) == {torch.float32}
    with torch.no_grad():
        expected = encoder.head(torch.from_numpy(small.encode(TEXTS))).numpy()
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-6)


def test_encoders_that_compute_in_float32_only_stay_in_it() -> None:
    expected = load_encoder("use", device="cpu:fp32").encode(["Where is the pool?"])
    encoder = load_encoder("use", device="cpu:bf16")
    assert encoder.precision is Precision.FP32
    np.testing.assert_array_equal(encoder.encode(["Where is the pool?"]), expected)


def test_of_a_joined_encoder_each_part_that_can_computes_in_bf16(small: E5SmallEncoder) -> None:
    joined = JoinedEncoder([load_encoder("use"), small])
    before = joined.encode(TEXTS)
    assert joined.placed("cpu:bf16").precision is Precision.BF16
    use, e5 = (joined.split(vectors) for vectors in (before, joined.encode(TEXTS)))
    np.testing.assert_array_equal(e5[0], use[0])
    assert not np.array_equal(e5[1], use[1]) and cosines(e5[1], use[1]).min() >= 0.9999


def test_with_gradient_the_forward_pass_is_that_of_training(small: E5SmallEncoder) -> None:
    ids = small.ids_of(TEXTS)
    expected = small.vectors_with_gradient(ids)
    actual = small.placed("cpu:bf16").vectors_with_gradient(ids)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def gradients(encoder: Encoder, converted: bool) -> list[Tensor]:
    """Of the last layer alone, in a step under autocast, with or without converted weights."""
    encoder.requires_grad_(False)
    last = encoder.layers()[-1]
    for weight in last:
        weight.requires_grad_(True)
    encoder.zero_grad()
    with pytest.MonkeyPatch.context() as patch:
        if not converted:
            name = "emu_core.encoders.transformer.encoder.is_reduced"
            patch.setattr(name, lambda device: False)
        with torch.autocast("cpu", torch.bfloat16):
            vectors = encoder.vectors_with_gradient(encoder.ids_of(TEXTS))
    vectors[:, 0].sum().backward()
    return [vectors.detach(), *(weight.grad for weight in last if weight.grad is not None)]


def test_a_step_in_bf16_is_the_same_with_frozen_weights_converted_once(small: E5SmallEncoder) -> None:
    expected = gradients(small, converted=False)
    with counted_conversions() as counts:
        actual = gradients(small, converted=True)
    assert len(actual) == len(expected) > 10
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    assert counts == [1] * 6 * 2  # weights and biases of the six frozen linear layers, of two layers


@contextmanager
def counted_conversions() -> Iterator[list[int]]:
    """How often each weight is converted in the block."""
    times: dict[int, int] = {}
    counts: list[int] = []
    of = ConvertedWeights.of

    def counting(self: ConvertedWeights, weight: Tensor) -> Tensor:
        known = {id(copy) for *_, copy in self._known.values()}
        converted = of(self, weight)
        times[id(weight)] = times.get(id(weight), 0) + (id(converted) not in known)
        return converted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConvertedWeights, "of", counting)
        yield counts
    counts += times.values()


def test_each_weight_is_converted_once_for_all_calls(small: E5SmallEncoder) -> None:
    small.placed("cpu:bf16")
    with counted_conversions() as counts:
        for _ in range(3):
            small.encode(TEXTS, batch_tokens=20)
    assert counts == [1] * (2 * 6 * 2)  # weights and biases of two layers of six products each


@pytest.mark.parametrize("how", ["in place", "exchanged", "through data", "loaded"])
def test_changed_weights_are_converted_again(how: str, small: E5SmallEncoder) -> None:
    changed = deepcopy(small)
    small.placed("cpu:bf16").encode(TEXTS)
    for encoder in (small, changed):
        weight = encoder.backbone.encoder.layer[0].output.dense.weight
        match how:
            case "in place":
                with torch.no_grad():
                    weight.mul_(1.5)
            case "exchanged":
                weight.data = weight.data * 1.5
            case "through data":
                weight.data.mul_(1.5)
                encoder.weights_changed()
            case _:
                state = {name: 1.5 * values for name, values in encoder.state_dict().items()}
                encoder.load_state_dict(state)
    np.testing.assert_array_equal(small.encode(TEXTS), changed.placed("cpu:bf16").encode(TEXTS))


def test_training_changes_the_vectors(small: E5SmallEncoder) -> None:
    """Also where an optimiser or LoRA changes weights in ways that torch doesn't count."""
    small.placed("cpu:bf16")
    for settings in (EmuConfig(trained=Trained.LORA, lora_rank=2), EmuConfig(trained=Trained.ALL)):
        before = small.encode(TEXTS)
        with trained_weights(small, settings):
            small.train()
            weights = [weight for weight in small.parameters() if weight.requires_grad]
            optimizer = torch.optim.Adam(weights, lr=1e-2, fused=True)
            for _ in range(3):
                loss = small.vectors_with_gradient(small.ids_of(TEXTS))[:, 0].sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            small.eval()
            small.encode(TEXTS)  # an epoch is measured
        after = small.encode(TEXTS)
        assert cosines(before, after).max() < 0.9999
        np.testing.assert_array_equal(after, deepcopy(small).encode(TEXTS))  # which has converted nothing yet


def test_copies_and_saved_encoders_hold_no_converted_weights(small: E5SmallEncoder, tmp_path: Path) -> None:
    small.save(tmp_path / "before")
    names = set(small.state_dict())
    vectors = small.placed("cpu:bf16").encode(TEXTS)
    assert set(small.state_dict()) == names
    small.save(tmp_path / "after")
    for file in ("config.json", "model/model.safetensors"):
        assert (tmp_path / "after" / file).read_bytes() == (tmp_path / "before" / file).read_bytes()
    copied = deepcopy(small)
    assert not copied._converted._known and copied.precision is Precision.BF16
    assert not pickle.loads(pickle.dumps(small._converted))._known  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(copied.encode(TEXTS), vectors)


def test_caches_keep_precisions_apart(folder: Path, tmp_path: Path) -> None:
    texts = ["where is the pool ?", "open"]
    encoder = require_transformer(load_encoder(f"hf:{folder}"))
    ids = encoder.token_ids(texts)
    expected = (
        cls_states(encoder, ids, cache=tmp_path),
        teacher_vectors(encoder, texts, SINGLE_PROCESS, cache=tmp_path),
    )
    token_states(encoder, ids, cache=tmp_path)
    remembered = remembered_vectors(encoder, texts)
    assert len(list(tmp_path.iterdir())) == 3
    encoder.placed("cpu:bf16")
    states = cls_states(encoder, ids, cache=tmp_path)
    token_states(encoder, ids, cache=tmp_path)
    vectors = teacher_vectors(encoder, texts, SINGLE_PROCESS, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 6
    assert states.dtype == torch.float32 and not torch.equal(states, expected[0])
    assert not np.array_equal(vectors, expected[1])
    np.testing.assert_array_equal(remembered_vectors(encoder, texts), encoder.encode(texts))
    assert not np.array_equal(remembered_vectors(encoder, texts), remembered)
    encoder.placed("cpu:fp32")
    np.testing.assert_array_equal(remembered_vectors(encoder, texts), remembered)


@pytest.mark.usefixtures("emulated")
def test_an_encoder_is_open_in_each_precision(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = f"hf:{folder}"
    close_encoders()
    first = opened_encoder(spec)
    assert first.precision is Precision.FP32 and opened_encoder(spec) is first
    monkeypatch.setenv("EMU_PRECISION", "bf16")
    with EMULATED:
        other = opened_encoder(spec)
    assert other is not first and other.precision is Precision.BF16
    close_encoders()


@pytest.mark.usefixtures("emulated")
def test_it_is_said_that_vectors_are_in_bf16(folder: Path) -> None:
    spec = f"hf:{folder}"
    assert precision_notes(spec, "cpu") == precision_notes(spec, "cpu:fp32") == ()
    assert precision_notes("use", "cpu:bf16") == ()
    (note,) = precision_notes(spec, "cpu:bf16")
    assert precision_notes(f"use+{spec}", "cpu:bf16") == (note,) and "bfloat16" in note
