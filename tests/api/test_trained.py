"""Each choice of what is trained moves just those weights, on each kind of encoder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from emu_core import load_encoder, train
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import open_encoder
from emu_core.encoders.transformer import encoder as transformer
from emu_core.errors import TrainingError
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.head.encoder import HeadEncoder
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.head.settings import HeadConfig
from emu_core.methods.registry import configure
from emu_core.training.trained_weights import trained_weights
from emu_core.training.weight_settings import Trained
from tests.support.raises import raises
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

TEXTS = ["Where is the pool?", "Wo ist der Pool?", "プールはどこですか"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer of three small layers, as sentence-transformers saves it."""
    return tiny_transformer(tmp_path_factory.mktemp("model") / "tiny", layers=3)


@pytest.fixture(params=["use", "hf"])
def make(request: pytest.FixtureRequest, folder: Path) -> Callable[[], Encoder]:
    """Opens an encoder."""
    return lambda: load_encoder("use" if request.param == "use" else f"hf:{folder}")


def moved(encoder: Encoder, config: EmuConfig) -> set[str]:
    """Names of the weights that one step of training changes."""
    before = {name: weight.detach().clone() for name, weight in encoder.named_parameters()}
    with trained_weights(encoder, config, interpolation=config.interpolation):
        chosen = [weight for weight in encoder.parameters() if weight.requires_grad]
        optimizer = torch.optim.SGD(chosen, lr=0.1)
        target = torch.randn(len(TEXTS), encoder.dim, generator=torch.Generator().manual_seed(0))
        loss = (encoder(encoder.tokenize(TEXTS)) - target).square().sum()
        loss.backward()
        optimizer.step()
    return {
        name
        for name, weight in encoder.named_parameters()
        if name not in before or not torch.equal(weight, before[name])
    }


def names(encoder: Encoder, weights: list[torch.nn.Parameter]) -> set[str]:
    chosen = {id(weight) for weight in weights}
    return {name for name, weight in encoder.named_parameters() if id(weight) in chosen}


def test_all_but_the_embeddings(make: Callable[[], Encoder]) -> None:
    encoder = make()
    expected = names(encoder, [weight for layer in encoder.layers() for weight in layer])
    got = moved(encoder, EmuConfig(trained=Trained.ALL_BUT_EMBEDDINGS))
    # Adding a constant to all keys changes no softmax: those biases have no gradient but rounding.
    assert {name for name in expected - got if not name.endswith("key.bias")} == set()
    assert got <= expected


def test_all_moves_the_embeddings_too(make: Callable[[], Encoder]) -> None:
    encoder = make()
    with_table = moved(encoder, EmuConfig(trained=Trained.ALL))
    table = names(encoder, encoder.embeddings())
    assert len(table) == 1 and table <= with_table
    assert len(with_table) > 10


@pytest.mark.parametrize("count", [1, 2])
def test_the_last_layers(count: int, make: Callable[[], Encoder]) -> None:
    encoder = make()
    expected = names(encoder, [weight for layer in encoder.layers()[-count:] for weight in layer])
    got = moved(encoder, EmuConfig(trained=Trained.LAST_LAYERS, last_layers=count))
    assert got <= expected and {name for name in expected - got if not name.endswith("key.bias")} == set()
    assert len(encoder.layers()) > count + 1


def test_more_layers_than_there_are(make: Callable[[], Encoder]) -> None:
    encoder = make()
    with (
        raises(TrainingError, fix="last_layers"),
        trained_weights(encoder, EmuConfig(trained=Trained.LAST_LAYERS, last_layers=99)),
    ):
        pass


def test_lora_moves_the_linear_maps_and_leaves_a_plain_model(folder: Path) -> None:
    encoder = load_encoder(f"hf:{folder}")
    before = [name for name, _ in encoder.named_parameters()]
    base = encoder.encode(TEXTS)
    got = moved(encoder, EmuConfig(trained=Trained.LORA, lora_rank=2))
    assert [name for name, _ in encoder.named_parameters()] == before
    # The update's second factor begins at zero, so after one step of SGD W + BA has moved in every linear map.
    linear = {f"{name}.weight" for name, m in encoder.named_modules() if isinstance(m, torch.nn.Linear)}
    assert got == {name for name in linear if "pooler" not in name}
    assert np.abs(encoder.encode(TEXTS) - base).max() > 1e-4


def test_lora_computes_what_its_merged_weights_do(folder: Path) -> None:
    encoder = load_encoder(f"hf:{folder}")
    with trained_weights(encoder, EmuConfig(trained=Trained.LORA, lora_rank=2)):
        for name, weight in encoder.named_parameters():
            if weight.requires_grad:
                assert "lora_" in name
                torch.nn.init.normal_(weight, std=0.05, generator=torch.Generator().manual_seed(len(name)))
        adapted = encoder.encode(TEXTS)
    assert encoder.encode(TEXTS) == pytest.approx(adapted, abs=1e-5)


@pytest.mark.parametrize("which", [Trained.ALL_BUT_EMBEDDINGS, Trained.LORA])
def test_interpolation_leaves_the_weights_between_before_and_after(folder: Path, which: Trained) -> None:
    found = {}
    for share in (0.25, 1.0):
        torch.manual_seed(0)
        encoder = load_encoder(f"hf:{folder}")
        base = {name: weight.detach().clone() for name, weight in encoder.named_parameters()}
        moved(encoder, EmuConfig(trained=which, lora_rank=2, interpolation=share))
        found[share] = {name: weight.detach() for name, weight in encoder.named_parameters()}
    assert any(not torch.equal(base[name], weight) for name, weight in found[1.0].items())
    for name, weight in found[0.25].items():
        assert torch.allclose(weight, 0.75 * base[name] + 0.25 * found[1.0][name], atol=1e-6), name


def test_a_transformers_training_step_is_computed_in_parts_on_a_cpu(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also under layers of ours; to the vectors of `encode`."""
    encoder = load_encoder(f"hf:{folder}")
    ids = encoder.token_ids(TEXTS)
    monkeypatch.setattr(transformer, "CPU_STEP_TOKENS", max(map(len, ids)))
    seen: list[int] = []
    collate = type(encoder).collate
    monkeypatch.setattr(
        type(encoder), "collate", lambda self, part: seen.append(len(part)) or collate(self, part)
    )
    vectors = encoder.vectors_with_gradient(ids)
    assert vectors.requires_grad and len(seen) > 1 and sum(seen) == len(TEXTS)
    assert vectors.detach().numpy() == pytest.approx(encoder.encode(TEXTS), abs=1e-5)
    examples = Examples(encoder.encode(TEXTS), [n % 2 for n in range(len(TEXTS))])
    head = fit_head(examples, HeadConfig(language_directions=0, centering=0.0))
    assert HeadEncoder(encoder, head).step_tokens == encoder.step_tokens is not None


def test_lora_is_for_transformers() -> None:
    encoder = load_encoder("use")
    flags = [weight.requires_grad for weight in encoder.parameters()]
    with (
        raises(TrainingError, fix="trained", match="LoRA .*'use'"),
        trained_weights(encoder, EmuConfig(trained=Trained.LORA)),
    ):
        pass
    assert [weight.requires_grad for weight in encoder.parameters()] == flags


def test_gradient_flags_come_back(make: Callable[[], Encoder]) -> None:
    encoder = make()
    flags = {name: weight.requires_grad for name, weight in encoder.named_parameters()}
    for trained in (Trained.LAST_LAYERS, Trained.ALL_BUT_EMBEDDINGS):
        with trained_weights(encoder, EmuConfig(trained=trained)):
            pass
        assert {name: weight.requires_grad for name, weight in encoder.named_parameters()} == flags


@pytest.mark.slow
def test_unpacking_the_table_of_use_changes_no_vector_and_is_saved(tmp_path: Path) -> None:
    encoder = load_encoder("use")
    packed = encoder.encode(TEXTS)
    (table,) = encoder.embeddings()
    assert np.array_equal(encoder.encode(TEXTS), packed)
    with torch.no_grad():
        table += 0.01
    changed = encoder.encode(TEXTS)
    encoder.save(tmp_path)
    assert load_file(tmp_path / "model.safetensors")["embedding"].shape == (128_010, 512)
    assert np.array_equal(open_encoder(tmp_path).encode(TEXTS), changed)
    assert np.abs(changed - packed).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("trained", list(Trained))
def test_a_transformer_trains_with_each_choice(trained: Trained, folder: Path, tmp_path: Path) -> None:
    spec = f"hf:{folder}"
    config = configure("emu", spec, epochs=1, critic_steps=1, trained=trained, learning_rate=1e-3)
    run = train(
        small_set(("en", "de")), out=tmp_path / "r", encoder=spec, method="emu", config=config, device="cpu"
    )
    base, specialised = load_encoder(spec).encode(TEXTS), load_encoder(f"run:{run.folder}").encode(TEXTS)
    assert np.abs(base - specialised).max() > 1e-4
    assert run.config().hyperparameters["trained"] == trained
