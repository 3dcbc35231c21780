"""BiCVM's encoder: words, languages, compositions by plain loops, folders, and its loss against plain loops."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from emu_core.errors import EncoderError, TrainingError
from emu_core.losses.noise_contrastive_hinge import batch_hinge, noise_contrastive_hinge, squared_distance
from emu_core.methods.bicvm.encoder import BicvmEncoder
from emu_core.methods.bicvm.settings import TUNED_BICVM, BicvmConfig, Composition
from emu_core.methods.bicvm.vocabulary import Vocabulary, words
from tests.support.raises import raises

TEXTS = {
    "de": ["Der Hund schläft.", "Der Mann und der Hund", "Die Hand", "die die"],
    "en": ["The dog sleeps.", "The man and the dog", "the hand", "to die or not to die"],
}


def encoder(composition: Composition = Composition.ADD, **changes: object) -> BicvmEncoder:
    config = BicvmConfig(composition=composition, dim=5, init_deviation=1.0, **changes)  # type: ignore[arg-type]
    return BicvmEncoder.of_texts(TEXTS, config, seed=3)


def vector_of(model: BicvmEncoder, language: str, word: str) -> np.ndarray:
    known, vectors = model.word_vectors(language)
    return vectors[known.index(word)]


def test_words_are_lower_cased_and_punctuation_is_a_word() -> None:
    assert words("Der HUND, schläft.") == ["der", "hund", ",", "schläft", "."]
    assert words("L’eau d'hommes don't") == ["l'", "eau", "d'", "hommes", "don'", "t"]
    assert words("我的 Wi-Fi") == ["我", "的", "wi", "-", "fi"]
    assert words(" \n") == []


def test_vocabularies_are_each_languages_own() -> None:
    vocabulary = Vocabulary.of(TEXTS)
    assert vocabulary.languages == ("en", "de")
    assert dict(vocabulary.counts["de"]) | {} == {
        "der": 3, "die": 3, "hund": 2, ".": 1, "hand": 1, "mann": 1, "schläft": 1, "und": 1,
    }  # fmt: skip
    english, german = vocabulary.ids(["die", "hand", "."], "en"), vocabulary.ids(["die", "hand", "."], "de")
    assert not set(english) & set(german)
    every = [vocabulary.ids([word], code)[0] for code in ("en", "de") for word in vocabulary.counts[code]]
    assert every == list(range(1, len(vocabulary) + 1))
    assert list(Vocabulary.of(TEXTS, min_count=2).counts["de"]) == ["der", "die", "hund"]
    with raises(EncoderError, fix="min_count"):
        encoder(min_count=7)


def test_a_language_is_guessed_by_how_often_it_has_the_words() -> None:
    vocabulary = Vocabulary.of(TEXTS)
    english, german = (sum(vocabulary.counts[code].values()) for code in ("en", "de"))
    assert vocabulary.counts["en"]["die"] / english < vocabulary.counts["de"]["die"] / german
    assert vocabulary.guess(["die"]) == "de"
    assert vocabulary.guess(["die", "to"]) == "en"  # "to" is unknown in German
    assert vocabulary.guess(["die", "xyz", "zyx"]) == "de"  # an unknown word tells nothing
    assert vocabulary.guess([]) == vocabulary.guess(["xyz"]) == "en"


def test_languages_reach_the_words() -> None:
    model = encoder()
    assert model.token_ids(["die"], ["en"]) == [model.vocabulary.ids(["die"], "en")]
    assert model.token_ids(["die"], [""]) == model.token_ids(["die"]) == [model.vocabulary.ids(["die"], "de")]
    np.testing.assert_array_equal(
        model.encode(["die", "Die xyz"], languages=["en", "de"]),
        [vector_of(model, "en", "die"), vector_of(model, "de", "die")],
    )
    with raises(EncoderError, fix=None, match="'fr'"):
        model.token_ids(["die"], ["fr"])
    with raises(EncoderError, fix=None, match="'fr'"):
        model.word_vectors("fr")
    with pytest.raises(ValueError, match="zip"):
        model.token_ids(["die", "der"], ["de"])


def test_the_sum_by_plain_loops() -> None:
    model = encoder()
    text = "The dog and the man."
    expected = [0.0] * 5
    for word in ["the", "dog", "and", "the", "man", "."]:
        for d in range(5):
            expected[d] += float(vector_of(model, "en", word)[d])
    found = model.encode([text, "to"], languages=["en", "en"])
    np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], vector_of(model, "en", "to"), rtol=1e-6)


def test_bigrams_by_plain_loops() -> None:
    model = encoder(Composition.BIGRAM)
    sentences = [["the", "dog", "and", "the", "man"], ["man"], ["the", "man", "and", "the", "dog"]]
    found = model.encode([" ".join(s) for s in sentences], languages=["en"] * 3)
    for row, sentence in enumerate(sentences):
        for d in range(5):
            before, expected = 0.0, 0.0
            for word in sentence:
                x = float(vector_of(model, "en", word)[d])
                expected += math.tanh(before + x)
                before = x
            assert found[row, d] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert not np.allclose(found[0], found[2])  # the order counts


@pytest.mark.parametrize("composition", list(Composition))
def test_no_known_word_is_the_mean_word(composition: Composition) -> None:
    model = encoder(composition)
    mean = sum(row for row in model.table.detach().numpy()[1:]) / (len(model.table) - 1)
    found = model.encode(["", "the dog", "xyz zyx", "  "], languages=["en"] * 4)
    np.testing.assert_allclose(found[[0, 2, 3]], [mean] * 3, rtol=1e-5)
    assert not np.allclose(found[1], mean)
    np.testing.assert_allclose(model.encode(["", "xyz"]), [mean] * 2, rtol=1e-5)


@pytest.mark.parametrize("composition", list(Composition))
def test_gradients_reach_the_words_and_no_padding(composition: Composition) -> None:
    model = encoder(composition)
    model(model.tokenize(["the dog", "der", "the man and the dog", ""])).square().sum().backward()
    assert model.table.grad is not None
    moved = set(model.table.grad.any(dim=1).nonzero().squeeze(1).tolist())
    named = [
        *model.vocabulary.ids(["the", "dog", "man", "and"], "en"),
        *model.vocabulary.ids(["der"], "de"),
    ]
    assert moved == set(named)
    assert model.embeddings() == [model.table]
    assert model.layers() == []


def test_long_texts_are_cut() -> None:
    model = encoder()
    assert len(model.token_ids(["dog " * 600])[0]) == model.max_tokens == 512


def test_saved_and_opened_to_the_bit(tmp_path: Path) -> None:
    for composition in Composition:
        model = encoder(composition)
        folder = tmp_path / composition
        model.save(folder)
        assert json.loads((folder / "config.json").read_text())["encoder"] == "bicvm"
        opened = BicvmEncoder.open(folder)
        texts = ["The dog sleeps", "der Hund schläft", "die", ""]
        assert opened.encode(texts).tobytes() == model.encode(texts).tobytes()
        assert opened.word_vectors("de")[0] == model.word_vectors("de")[0]
        assert (opened.languages, opened.dim) == (("en", "de"), 5)
        assert opened.composition is composition


def spoil(folder: Path, what: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    match what:
        case "another word":
            content = json.loads((folder / "vocabulary.json").read_text())
            content["en"]["cat"] = content["en"].pop("dog")
            (folder / "vocabulary.json").write_text(json.dumps(content))
        case "composition":
            (folder / "config.json").write_text(json.dumps(config | {"composition": "mean"}))
        case "config":
            (folder / "config.json").write_text("{")
        case "weights":
            path = folder / "model.safetensors"
            path.write_bytes(path.read_bytes()[:-7])
        case "rows":
            save_file({"table": torch.zeros(3, 5)}, folder / "model.safetensors")
        case "not finite":
            table = encoder().table.detach().clone()
            table[4, 2] = math.nan
            save_file({"table": table}, folder / "model.safetensors")
        case "padding":
            table = encoder().table.detach().clone()
            table[0, 2] = 1
            save_file({"table": table}, folder / "model.safetensors")
        case name:
            (folder / name).unlink()


@pytest.mark.parametrize(
    "what",
    [
        "another word",
        "composition",
        "config",
        "weights",
        "rows",
        "not finite",
        "padding",
        "model.safetensors",
        "vocabulary.json",
        "config.json",
    ],
)
def test_damaged_folders_are_refused(tmp_path: Path, what: str) -> None:
    encoder().save(tmp_path)
    BicvmEncoder.open(tmp_path)
    spoil(tmp_path, what)
    with raises(EncoderError, fix=None, match=what if "." in what else r"'bicvm'|config\.json"):
        BicvmEncoder.open(tmp_path)


def test_first_weights_are_gaussian_and_the_seeds_own() -> None:
    texts = {"en": [f"word{n}" for n in range(4000)]}
    config = BicvmConfig(dim=20, init_deviation=0.3)
    table = BicvmEncoder.of_texts(texts, config, seed=1).table[1:]
    assert table.mean().item() == pytest.approx(0, abs=0.01)
    assert table.std().item() == pytest.approx(0.3, rel=0.02)
    assert (table.abs() < 0.3).float().mean().item() == pytest.approx(0.683, abs=0.01)
    assert torch.equal(table, BicvmEncoder.of_texts(texts, config, seed=1).table[1:])
    assert not torch.equal(table, BicvmEncoder.of_texts(texts, config, seed=2).table[1:])


def hinge_by_loops(a: np.ndarray, b: np.ndarray, noise: np.ndarray, margin: float) -> float:
    total = 0.0
    for row in range(len(a)):
        for n in noise[row]:
            own = sum((x - y) ** 2 for x, y in zip(a[row], b[row], strict=True))
            other = sum((x - y) ** 2 for x, y in zip(a[row], n, strict=True))
            total += max(0.0, margin + own - other)
    return float(total)


@pytest.mark.parametrize("margin", [1.0, 8.0])
def test_eq_6_and_7_by_plain_loops(margin: float) -> None:
    draws = np.random.default_rng(0)
    a, b, noise = draws.normal(size=(4, 3)), draws.normal(size=(4, 3)), draws.normal(size=(4, 5, 3)) * 2
    found = noise_contrastive_hinge(torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(noise), margin)
    expected = hinge_by_loops(a, b, noise, margin)
    assert found.item() == pytest.approx(expected)
    assert expected > 0
    others = np.array([[b[j] for j in range(4) if j != i] for i in range(4)])
    found = batch_hinge(torch.from_numpy(a), torch.from_numpy(b), margin)
    assert found.item() == pytest.approx(hinge_by_loops(a, b, others, margin))
    distance = squared_distance(torch.from_numpy(a), torch.from_numpy(b))
    np.testing.assert_allclose(
        distance, [float(np.linalg.norm(x - y) ** 2) for x, y in zip(a, b, strict=True)]
    )


def test_gradients_of_the_hinge() -> None:
    draws = torch.Generator().manual_seed(0)
    a, b, noise = (
        torch.randn(shape, generator=draws, dtype=torch.float64, requires_grad=True)
        for shape in ((3, 4), (3, 4), (3, 5, 4))
    )
    assert torch.autograd.gradcheck(lambda x, y, n: noise_contrastive_hinge(x, y, n, 3.0), (a, b, noise))
    assert torch.autograd.gradcheck(lambda x, y: batch_hinge(x, y, 3.0), (a, b))


def test_the_papers_settings() -> None:
    config = BicvmConfig()
    assert (config.dim, config.margin, config.noise, config.l2_weight) == (40, 50.0, 50, 1.0)
    assert (config.learning_rate, config.epochs, config.composition) == (0.1, 50, Composition.ADD)
    assert not config.both_ways
    BicvmConfig(**TUNED_BICVM)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0},
        {"noise": -1},
        {"margin": 0.0},
        {"margin": math.nan},
        {"l2_weight": -1.0},
        {"epochs": 1.5},
        {"learning_rate": 0.0},
        {"composition": "mean"},
        {"noise": 0, "batch_size": 1},
        {"word_dropout": 1.0},
    ],
)
def test_settings_out_of_range(wrong: dict[str, object]) -> None:
    with pytest.raises(TrainingError):
        BicvmConfig(**wrong)  # type: ignore[arg-type]
