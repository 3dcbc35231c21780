"""A transformer from a folder or the cache is what sentence-transformers makes of it, and runs no code of its own."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import BoW, Pooling
from torch import Tensor
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    T5Config,
    T5Model,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import available_encoders, load_encoder
from emu_core.encoders.transformer.hf import HfEncoder, in_cache
from emu_core.errors import EncoderError
from tests.support.tiny_transformer import tiny_transformer

TEXTS = ["Where is the pool?", "pool", "", "When does breakfast open? " * 9, "¿ünknown?", "pool " * 40]
COMMIT = "0" * 40


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT as transformers saves it."""
    return tiny_transformer(tmp_path_factory.mktemp("plain"))


def folder_of(modules: list[torch.nn.Module], folder: Path, **options: Any) -> Path:
    model = SentenceTransformer(modules=modules, device="cpu", **options)
    model.save_pretrained(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="module", params=["cls-and-prompt", "prompt-left-out", "mean-over-16-bits"])
def folder(request: pytest.FixtureRequest, plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentence-transformers folders that differ in all that must be kept."""
    out = tmp_path_factory.mktemp(request.param)
    transformer = Transformer(str(plain))
    torch.manual_seed(1)
    match request.param:
        case "cls-and-prompt":
            prompts = {"task": "find the hotel intent: ", "other": "when "}
            return folder_of(
                [transformer, Pooling(16, "cls")], out, prompts=prompts, default_prompt_name="task"
            )
        case "prompt-left-out":
            pooling = Pooling(16, "mean", include_prompt=False)
            modules = [transformer, pooling, Dense(16, 7), Normalize()]
            return folder_of(modules, out, prompts={"task": "where is "}, default_prompt_name="task")
        case _:
            transformer.max_seq_length = 9
            return folder_of([transformer.bfloat16(), Pooling(16, ("mean", "max"))], out)


def reference(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})


def test_vectors_are_sentence_transformers(folder: Path) -> None:
    encoder, theirs = load_encoder(f"hf:{folder}"), reference(folder)
    expected = theirs.encode(TEXTS)
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), encoder.dim) == expected.shape
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(TEXTS, batch_tokens=30), expected, rtol=0, atol=1e-5)
    assert max(map(len, encoder.token_ids(TEXTS))) == encoder.max_tokens == theirs.max_seq_length
    assert encoder.token_ids([]) == []


def test_what_is_kept_matters(plain: Path, folder: Path) -> None:
    """Without its own pooling and prompt the model gives other vectors."""
    encoder = load_encoder(f"hf:{folder}")
    plainly = SentenceTransformer(modules=[Transformer(str(plain)), Pooling(16, "mean")], device="cpu")
    expected, vectors = plainly.encode(TEXTS), encoder.encode(TEXTS)
    assert vectors.shape != expected.shape or np.abs(vectors - expected).max() > 0.1


def test_a_plain_transformers_folder_is_pooled_by_the_mean(plain: Path) -> None:
    encoder = load_encoder(f"hf:{plain}")
    model = BertModel.from_pretrained(plain).eval()
    for text, ids in zip(TEXTS, encoder.token_ids(TEXTS), strict=True):
        with torch.no_grad():
            expected = model(torch.tensor([ids])).last_hidden_state[0].mean(dim=0)
        np.testing.assert_allclose(encoder.encode([text])[0], expected.numpy(), rtol=0, atol=1e-5)


def test_gradients_reach_all_that_trains(folder: Path) -> None:
    encoder = load_encoder(f"hf:{folder}").train()
    vectors: Tensor = encoder(encoder.tokenize(TEXTS))
    assert (vectors.dtype, vectors.shape) == (torch.float32, (len(TEXTS), encoder.dim))
    (vectors * torch.arange(encoder.dim)).sum().backward()
    frozen = {name for name, p in encoder.named_parameters() if not p.requires_grad}
    assert frozen == {
        "model.0.model.embeddings.word_embeddings.weight",
        "model.0.model.pooler.dense.weight",
        "model.0.model.pooler.dense.bias",
    }
    for name, p in encoder.named_parameters():
        assert p.dtype == torch.float32
        assert name in frozen or (p.grad is not None and p.grad.isfinite().all()), name
    first_layer = "model.0.model.encoder.layer.0.attention.self.value.weight"
    grad = dict(encoder.named_parameters())[first_layer].grad
    assert grad is not None
    assert grad.abs().max() > 0


def test_saved_and_opened_again_it_is_the_same(folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(f"hf:{folder}")
    torch.manual_seed(2)
    with torch.no_grad():
        for p in encoder.parameters():
            p.mul_(1 + 0.1 * torch.randn_like(p))
    encoder.save(tmp_path / "encoder")
    opened = load_encoder(f"run:{tmp_path}")
    assert isinstance(opened, HfEncoder)
    assert opened.state_dict().keys() == encoder.state_dict().keys()
    assert np.array_equal(opened.encode(TEXTS), encoder.encode(TEXTS))
    alone = reference(tmp_path / "encoder" / "model").encode(TEXTS)  # with nothing of ours
    np.testing.assert_allclose(alone, encoder.encode(TEXTS), rtol=0, atol=1e-5)
    kinds = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert kinds == {".json", ".safetensors"}


class Marks:
    """Unpickled, it leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def harm(kind: str, folder: Path, mark: Path) -> None:
    code = f"from pathlib import Path\nPath({str(mark)!r}).touch()\n"
    if kind == "module":
        (folder / "custom.py").write_text(code + "class Module: pass\n", "utf-8")
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        modules[1]["type"] = "custom.Module"
        (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    elif kind == "model":
        (folder / "custom.py").write_text(code + "class Config: pass\nclass Model: pass\n", "utf-8")
        config = json.loads((folder / "config.json").read_text("utf-8")) | {"model_type": "custom"}
        config["auto_map"] = {"AutoConfig": "custom.Config", "AutoModel": "custom.Model"}
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
    else:
        (folder / "model.safetensors").unlink()
        config = json.loads((folder / "config.json").read_text("utf-8"))
        del config["dtype"]  # transformers then looks into the file for it
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
        torch.save({"weights": Marks(mark)}, folder / "pytorch_model.bin")
        config = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))
        config["model_kwargs"] = {"weights_only": False, "trust_remote_code": True}
        (folder / "sentence_bert_config.json").write_text(json.dumps(config), "utf-8")


@pytest.mark.parametrize("kind", ["module", "model", "pickle"])
def test_a_folder_with_code_of_its_own_is_refused(kind: str, plain: Path, tmp_path: Path) -> None:
    folder, mark = tmp_path / "model", tmp_path / "mark"
    folder_of([Transformer(str(plain)), Pooling(16, "cls")], folder)
    harm(kind, folder, mark)
    with pytest.raises(EncoderError) as raised:
        load_encoder(f"hf:{folder}")
    assert not mark.exists()
    assert "\n" not in str(raised.value)
    assert kind == "pickle" or "Python code of its own" in str(raised.value)


@pytest.mark.parametrize(
    "lost", ["config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json"]
)
def test_a_folder_that_is_not_whole_is_one_sentence(lost: str, plain: Path, tmp_path: Path) -> None:
    folder_of([Transformer(str(plain)), Pooling(16, "cls")], tmp_path)
    (tmp_path / lost).unlink()
    with pytest.raises(EncoderError) as raised:
        load_encoder(f"hf:{tmp_path}")
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


Weights = dict[str, Tensor]
FIRST = "encoder.layer.0."


def without(start: str) -> Callable[[Weights], Weights]:
    return lambda weights: {name: weight for name, weight in weights.items() if not name.startswith(start)}


def renamed(pattern: str, by: str) -> Callable[[Weights], Weights]:
    return lambda weights: {re.sub(pattern, by, name): weight for name, weight in weights.items()}


def widened(weights: Weights) -> Weights:
    name = f"{FIRST}output.dense.bias"
    return {**weights, name: torch.cat([weights[name]] * 2)}


UNFITTING = {
    "a prefix": renamed("^", "module."),
    "a prefix of sentence-transformers": renamed("^", "0.auto_model."),
    "a prefix of some": renamed("^encoder", "text.encoder"),
    "no layer": without(FIRST),
    "no last layer": without("encoder.layer.1."),
    "no embeddings": without("embeddings.word"),
    "no bias": without(f"{FIRST}output.dense.bias"),
    "no norm": without("embeddings.LayerNorm"),
    "other names": renamed("query|value", "qkv"),
    "nothing": lambda weights: {"x": torch.zeros(1)},
    "another size": widened,
}


@pytest.mark.parametrize("kind", UNFITTING)
@pytest.mark.parametrize("layout", ["transformers", "sentence-transformers"])
def test_weights_that_do_not_fit_are_refused(kind: str, layout: str, plain: Path, tmp_path: Path) -> None:
    """Transformers draws the missing ones at random, so that two loads differ."""
    if layout == "transformers":
        shutil.copytree(plain, tmp_path, dirs_exist_ok=True)
    else:
        folder_of([Transformer(str(plain)), Pooling(16, "cls"), Dense(16, 7)], tmp_path)
    rewrite(tmp_path / "model.safetensors", UNFITTING[kind])
    with pytest.raises(EncoderError) as raised:
        load_encoder(f"hf:{tmp_path}")
    assert str(tmp_path) in str(raised.value) and "\n" not in str(raised.value)


def rewrite(file: Path, change: Callable[[Weights], Weights]) -> None:
    save_file(change(load_file(file)), file, {"format": "pt"})


def test_the_folder_can_not_allow_weights_of_another_size(plain: Path, tmp_path: Path) -> None:
    folder_of([Transformer(str(plain)), Pooling(16, "cls")], tmp_path)
    rewrite(tmp_path / "model.safetensors", widened)
    config = json.loads((tmp_path / "sentence_bert_config.json").read_text("utf-8"))
    config["model_kwargs"] = {"ignore_mismatched_sizes": True}
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(EncoderError):
        load_encoder(f"hf:{tmp_path}")


@pytest.mark.parametrize("lost", ["linear.weight", "linear.bias"])
def test_a_dense_module_without_its_weights_is_refused(lost: str, plain: Path, tmp_path: Path) -> None:
    folder_of([Transformer(str(plain)), Pooling(16, "cls"), Dense(16, 7)], tmp_path)
    rewrite(tmp_path / "2_Dense" / "model.safetensors", without(lost))
    with pytest.raises(EncoderError):
        load_encoder(f"hf:{tmp_path}")


def test_a_missing_layer_in_several_files_is_refused(plain: Path, tmp_path: Path) -> None:
    shutil.copytree(plain, tmp_path, dirs_exist_ok=True)
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    parts = {
        "model-1.safetensors": without("encoder")(weights),
        "model-2.safetensors": {
            name: weight for name, weight in weights.items() if name.startswith("encoder.layer.0")
        },
    }
    for name, part in parts.items():
        save_file(part, tmp_path / name, {"format": "pt"})
    places = {weight: name for name, part in parts.items() for weight in part}
    index = {"metadata": {}, "weight_map": places}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    with pytest.raises(EncoderError):
        load_encoder(f"hf:{tmp_path}")


def test_an_adapter_needs_its_weights_and_those_of_the_model_under_it(plain: Path, tmp_path: Path) -> None:
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    shutil.copytree(plain, base)
    config = LoraConfig(r=2, target_modules=["query"], init_lora_weights=False)
    get_peft_model(BertModel.from_pretrained(base), config).save_pretrained(adapter)
    for file in plain.glob("tokenizer*"):
        shutil.copy(file, adapter)
    encoder = load_encoder(f"hf:{adapter}")
    assert np.abs(encoder.encode(TEXTS) - load_encoder(f"hf:{plain}").encode(TEXTS)).max() > 0.01
    rewrite(base / "model.safetensors", without(f"{FIRST}output"))
    with pytest.raises(EncoderError):
        load_encoder(f"hf:{adapter}")
    shutil.copy(plain / "model.safetensors", base)
    rewrite(adapter / "adapter_model.safetensors", lambda weights: dict(list(weights.items())[1:]))
    with pytest.raises(EncoderError):
        load_encoder(f"hf:{adapter}")


def test_only_a_pooler_that_nothing_reads_may_be_missing(plain: Path, tmp_path: Path) -> None:
    shutil.copytree(plain, tmp_path, dirs_exist_ok=True)
    rewrite(tmp_path / "model.safetensors", without("pooler"))
    expected = load_encoder(f"hf:{plain}").encode(TEXTS)
    for _ in range(2):
        np.testing.assert_array_equal(load_encoder(f"hf:{tmp_path}").encode(TEXTS), expected)


@pytest.mark.parametrize("kind", ["masked language model", "t5", "xlm-roberta", "albert", "distilbert"])
def test_whole_models_that_are_saved_otherwise_still_open(kind: str, plain: Path, tmp_path: Path) -> None:
    """A head for another task, a prefix that transformers knows, weights that are stored once for two."""
    sizes = {"vocab_size": 17, "num_attention_heads": 2, "num_hidden_layers": 2, "hidden_size": 16}
    sizes |= {"intermediate_size": 32, "max_position_embeddings": 40}
    model: Any
    match kind:
        case "masked language model":
            model = BertForMaskedLM(BertConfig(**sizes))
        case "t5":
            model = T5Model(T5Config(vocab_size=17, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2))
        case "xlm-roberta":
            model = XLMRobertaForMaskedLM(XLMRobertaConfig(**sizes, pad_token_id=1))
        case "albert":
            model = AlbertForMaskedLM(AlbertConfig(**sizes, embedding_size=8))
        case _:
            names = {"dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2}
            model = DistilBertForMaskedLM(DistilBertConfig(vocab_size=17, **names))
    model.save_pretrained(tmp_path)
    for file in plain.glob("tokenizer*"):
        shutil.copy(file, tmp_path)
    vectors = [load_encoder(f"hf:{tmp_path}").encode(TEXTS) for _ in range(2)]
    np.testing.assert_array_equal(*vectors)


def test_a_cached_model_that_lacks_weights_is_not_said_to_be_absent(plain: Path, hub: Path) -> None:
    repository = cached(plain, hub, "acme/tiny")
    (repository / ".no_exist" / COMMIT).mkdir(parents=True)
    (repository / ".no_exist" / COMMIT / "modules.json").touch()
    rewrite(repository / "snapshots" / COMMIT / "model.safetensors", without(FIRST))
    with pytest.raises(EncoderError, match=re.escape(FIRST)):
        load_encoder("hf:acme/tiny")


def test_a_model_that_is_no_transformer_is_refused(tmp_path: Path) -> None:
    folder_of([BoW(["pool", "hotel"])], tmp_path)
    with pytest.raises(EncoderError, match="not a transformer"):
        load_encoder(f"hf:{tmp_path}")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache; there is no network."""
    cache = tmp_path / "hub"
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(cache))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return cache


def cached(folder: Path, cache: Path, name: str) -> Path:
    """Put a folder where the hub's cache has it."""
    repository = cache / ("models--" + name.replace("/", "--"))
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT, "utf-8")
    shutil.copytree(folder, repository / "snapshots" / COMMIT)
    return repository


def test_a_model_in_the_cache_opens_without_network(folder: Path, hub: Path) -> None:
    cached(folder, hub, "acme/tiny")
    cached(folder, hub, "sentence-transformers/short-name")
    expected = reference(folder).encode(TEXTS)
    for name in ("acme/tiny", "short-name"):
        np.testing.assert_allclose(load_encoder(f"hf:{name}").encode(TEXTS), expected, rtol=0, atol=1e-5)


def test_a_model_whose_pooling_is_not_cached_is_not_guessed(plain: Path, hub: Path) -> None:
    repository = cached(plain, hub, "acme/tiny")
    assert not in_cache("acme/tiny")
    with pytest.raises(EncoderError, match="go online once"):
        load_encoder("hf:acme/tiny")
    no_such_file = (
        repository / ".no_exist" / COMMIT
    )  # how the cache notes that a model is of transformers only
    no_such_file.mkdir(parents=True)
    (no_such_file / "modules.json").touch()
    encoder: Encoder = load_encoder("hf:acme/tiny")
    np.testing.assert_array_equal(encoder.encode(TEXTS), load_encoder(f"hf:{plain}").encode(TEXTS))


@pytest.mark.parametrize(
    "name", ["acme/missing", "missing", "", "./no/such/folder", "a b", "../x", "x" * 300, "~nobody/x", "a\0b"]
)
def test_a_missing_model_is_one_clear_sentence(
    name: str, hub: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EncoderError) as raised:
        load_encoder(f"hf:{name}")
    message = str(raised.value)
    assert "\n" not in message
    assert any(
        mend in message for mend in ("go online once", "see https://huggingface.co", "name a model after")
    )
    assert capsys.readouterr().err == ""


def test_it_is_listed() -> None:
    assert "hf:" in [encoder.spec for encoder in available_encoders() if encoder.available]
