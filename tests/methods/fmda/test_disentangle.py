"""Training of FMDA and of its baseline: what each loss is made of, stages, saving."""

from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from emu_core.data.slots.utterances import slot_pairs
from emu_core.encoders.registry import encoder_kind, load_encoder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import EncoderError, TrainingError
from emu_core.methods.fmda.batches import DisentangleData, prepare_disentangling
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.layers import Fmda, MeaningLanguage
from emu_core.methods.fmda.parts import Part
from emu_core.methods.fmda.settings import FmdaConfig, MeaningLanguageConfig
from emu_core.methods.fmda.trainer import DisentangleTrainer
from emu_core.training.fit import fit
from tests.support.raises import raises
from tests.support.slot_set import slot_set
from tests.support.tiny_transformer import tiny_transformer

PAIR = [("en", "de")]
SMALL = FmdaConfig(
    hidden=8,
    language_hidden=4,
    utterance_cross_weight=1.0,
    standardised=True,
    negatives=2,
    batch_size=4,
    epochs=3,
    learning_rate=0.01,
)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> TransformerEncoder:
    folder = tiny_transformer(tmp_path_factory.mktemp("tiny"))
    return require_transformer(load_encoder(f"hf:{folder}"))


@pytest.fixture(scope="module")
def one_stage(encoder: TransformerEncoder) -> DisentangleData:
    return prepared(encoder, SMALL)


@pytest.fixture(scope="module")
def two_stages(encoder: TransformerEncoder) -> DisentangleData:
    return prepared(encoder, replace(SMALL, two_stage=True))


def prepared(encoder: TransformerEncoder, config: FmdaConfig | MeaningLanguageConfig) -> DisentangleData:
    labelled = slot_set()
    train, dev = (slot_pairs(labelled.select(splits=[split]), PAIR) for split in ("train", "dev"))
    return prepare_disentangling(encoder, train, dev, config, seed=0)


def batch(pairs: Tensor, data: DisentangleData, column: int = 0) -> Tensor:
    """Return pairs with their negatives in a column, as the trainer draws them."""
    return torch.cat([pairs, data.sentences.negatives[pairs, column]], dim=1)


def fmda(
    encoder: TransformerEncoder, data: DisentangleData, config: FmdaConfig = SMALL
) -> tuple[Fmda, DisentangleTrainer]:
    trainer = DisentangleTrainer(encoder, data, config, seed=0)
    assert isinstance(trainer.model, Fmda)
    return trainer.model, trainer


def test_every_sentence_has_its_targets_and_negatives(
    encoder: TransformerEncoder, one_stage: DisentangleData
) -> None:
    sentences, labelled = one_stage.sentences, slot_set()
    (train,) = slot_pairs(labelled.select(splits=["train"]), PAIR)
    everyone = [one for pair in zip(train.first, train.second, strict=True) for one in pair]
    assert len(sentences.states) == len(everyone) == 16
    assert one_stage.pairs.tolist() == [[2 * n, 2 * n + 1] for n in range(8)]
    for row, one in enumerate(everyone):
        assert one_stage.languages[int(sentences.language[row])] == one.language
        hidden = one.text.replace(one.slots[0].value, "[MASK]")
        kept = one.text[: one.slots[0].start].strip(), one.text[one.slots[0].end :].strip()
        left = " ".join([*["[MASK]"] * bool(kept[0]), one.slots[0].value, *["[MASK]"] * bool(kept[1])])
        for target, text in ((sentences.template_target, hidden), (sentences.residual_target, left)):
            encoder.eval()
            with torch.no_grad():
                expected = encoder.states(encoder.tokenize([text]))[0, 0]
            np.testing.assert_allclose(target[row], expected, rtol=1e-3, atol=1e-4)
        for other in sentences.negatives[row].tolist():
            assert everyone[other].language == one.language
            assert everyone[other].text != one.text


def test_eq_5_is_the_sum_of_its_terms(encoder: TransformerEncoder, one_stage: DisentangleData) -> None:
    model, trainer = fmda(encoder, one_stage)
    sentences, (stage,) = one_stage.sentences, trainer.stages
    pairs = one_stage.pairs[[1, 4]]
    negatives = sentences.negatives[pairs, 0]
    losses = {name: value.item() for name, value in stage.losses(batch(pairs, one_stage)).items()}

    out = model(*sentences.states.batch(torch.arange(len(sentences.states))))
    parts = {part: vectors.detach().numpy() for part, vectors in out.parts().items()}
    lang, tp, rs, m = (parts[p] for p in (Part.LANGUAGE, Part.TEMPLATE, Part.RESIDUAL, Part.MEANING))
    utterance = model.rebuilt(out).detach().numpy()
    cls = sentences.states.first(torch.arange(len(sentences.states))).numpy()
    center, scale = cls.mean(axis=0), cls.std(axis=0, ddof=1)
    to_tp, to_rs = sentences.template_target.numpy(), sentences.residual_target.numpy()
    cls, to_tp, to_rs = ((x - center) / scale for x in (cls, to_tp, to_rs))

    def rebuilt(of: int, language: int) -> np.ndarray:
        first, _, last = model.rebuild
        assert isinstance(first, nn.Linear)
        assert isinstance(last, nn.Linear)
        x = torch.tensor(tp[of] + rs[of] + lang[language])
        return last(torch.relu(first(x))).detach().numpy()

    logits = model.language_logits(out.language).detach().numpy()

    def mse(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean((x - y) ** 2))

    def cos(x: np.ndarray, y: np.ndarray) -> float:
        return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))

    expected = dict.fromkeys(losses, 0.0)
    for (a, b), (a_neg, b_neg) in zip(pairs.tolist(), negatives.tolist(), strict=True):
        for own, other in ((a, b), (b, a)):
            power = np.exp(logits[own])
            expected["language"] -= np.log(power[int(sentences.language[own])] / power.sum())
            expected["utterance"] += mse(utterance[own], cls[own])
            expected["utterance_cross"] += mse(rebuilt(own, other), cls[other])
            expected["template"] += mse(tp[own] + lang[own], to_tp[own])  # eq. 1
            expected["template_cross"] += mse(tp[own] + lang[other], to_tp[other])  # eq. 2
            expected["residual"] += mse(rs[own] + lang[own], to_rs[own])
            expected["residual_cross"] += mse(rs[own] + lang[other], to_rs[other])
        for name, x in (("template_contrast", tp), ("meaning_contrast", m)):  # eq. 3, 4
            expected[name] += -cos(x[a], x[b]) + cos(x[a], x[a_neg]) + cos(x[b], x[b_neg])
    assert len(losses) == 9
    for name, value in losses.items():
        assert value == pytest.approx(expected[name] / 2, rel=1e-3, abs=1e-5), name


def test_the_baselines_losses(encoder: TransformerEncoder) -> None:
    config = MeaningLanguageConfig(negatives=2, batch_size=4)
    data = prepared(encoder, config)
    trainer = DisentangleTrainer(encoder, data, config, seed=0)
    model, sentences, (stage,) = trainer.model, data.sentences, trainer.stages
    assert isinstance(model, MeaningLanguage)
    pairs = data.pairs[[0, 5]]
    negatives = sentences.negatives[pairs, 1]
    losses = {name: value.item() for name, value in stage.losses(batch(pairs, data, 1)).items()}
    cls = sentences.states.first(torch.arange(len(sentences.states)))
    out = model.split(cls)
    m, lang, cls = (x.detach().numpy() for x in (out.meaning, out.language, cls))
    logits = model.language_logits(out.language).detach().numpy()

    def cos(x: np.ndarray, y: np.ndarray) -> float:
        return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))

    expected = dict.fromkeys(losses, 0.0)
    for (a, b), (a_neg, b_neg) in zip(pairs.tolist(), negatives.tolist(), strict=True):
        for own, other, neg in ((a, b, a_neg), (b, a, b_neg)):
            expected["reconstruction"] += float(np.mean((m[own] + lang[own] - cls[own]) ** 2))
            expected["cross_reconstruction"] += float(np.mean((m[own] + lang[other] - cls[other]) ** 2))
            expected["meaning"] += max(0.0, cos(m[own], m[neg]))
            expected["attraction"] += 1 - cos(lang[own], lang[neg])
            power = np.exp(logits[own])
            expected["language"] -= np.log(power[int(sentences.language[own])] / power.sum())
        expected["meaning"] += 1 - cos(m[a], m[b])
        expected["repulsion"] += max(0.0, cos(lang[a], lang[b]))
    assert len(losses) == 6
    for name, value in losses.items():
        assert value == pytest.approx(expected[name] / 2, rel=1e-3, abs=1e-5), name


@pytest.mark.parametrize(
    "weight", [field.name for field in fields(FmdaConfig) if field.name.endswith("_weight")]
)
def test_each_loss_can_be_left_out_and_weighted(
    weight: str, encoder: TransformerEncoder, one_stage: DisentangleData
) -> None:
    def losses(**weights: float) -> dict[str, Tensor]:
        _, trainer = fmda(encoder, one_stage, replace(SMALL, **weights))  # type: ignore[arg-type]
        (stage,) = trainer.stages
        return stage.losses(batch(one_stage.pairs, one_stage))

    name = weight.removesuffix("_weight")
    whole, without, double = losses(), losses(**{weight: 0.0}), losses(**{weight: 2.0})
    assert set(whole) - set(without) == {name}
    assert double[name].item() == pytest.approx(2 * whole[name].item(), rel=1e-5)


def test_the_first_stage_trains_the_template_encoder_and_the_second_leaves_it(
    encoder: TransformerEncoder, two_stages: DisentangleData
) -> None:
    config = replace(SMALL, two_stage=True, epochs=1)
    model, trainer = fmda(encoder, two_stages, config)
    stages = trainer.stages
    assert two_stages.template_pairs is not None
    rows = two_stages.template_pairs
    of = two_stages.sentences
    assert torch.equal(of.language[rows[:, 0]], of.language[rows[:, 1]])  # one language
    np.testing.assert_allclose(of.template_target[rows[:, 0]], of.template_target[rows[:, 1]], atol=1e-5)
    losses = set(stages[0].losses(batch(rows[:2], two_stages)))
    assert losses == {"template", "template_cross", "template_contrast"}
    pairs = two_stages.pairs[:2]
    later = set(stages[1].losses(batch(pairs, two_stages)))
    assert later == {
        "language",
        "utterance",
        "utterance_cross",
        "residual",
        "residual_cross",
        "meaning_contrast",
    }

    def weights() -> dict[str, Tensor]:
        return {name: weight.clone() for name, weight in model.state_dict().items()}

    seen = [weights()]
    fit(
        trainer,
        on_record=lambda record: seen.append(weights()) if not record.is_step else None,
        should_stop=lambda: False,
    )
    template = {id(weight) for weight in model.template_layers()}
    names = {name for name, weight in model.named_parameters() if id(weight) in template}
    moved = [
        {name for name in before if not torch.equal(before[name], after[name])}
        for before, after in pairwise(seen)
    ]
    assert moved[0] & names >= names - {"key.bias"}  # which moves every token's logit alike
    assert not any(name.startswith("rebuild") for name in moved[0])
    assert not moved[1] & names and "rebuild.0.weight" in moved[1]


def test_the_held_out_sentences_are_those_of_dev(
    encoder: TransformerEncoder, one_stage: DisentangleData
) -> None:
    (stage,) = fmda(encoder, one_stage)[1].stages
    assert stage.score is not None
    assert one_stage.held_out is not None
    assert len(one_stage.held_out.states) == 8
    right = round(stage.score() / 100 * 8)  # four queries each way
    assert stage.score() == pytest.approx(100 * right / 8)


@pytest.mark.parametrize("baseline", [False, True])
def test_an_encoder_is_saved_and_opened(baseline: bool, encoder: TransformerEncoder, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = MeaningLanguage(16, ("en", "de")) if baseline else Fmda(16, ("en", "de"), 8, 4)
    whole = DisentangledEncoder(encoder, model)
    whole.save(tmp_path / "run" / "encoder")
    opened = load_encoder(f"run:{tmp_path / 'run'}")
    assert isinstance(opened, DisentangledEncoder)
    assert encoder_kind(f"run:{tmp_path / 'run'}") == "hf"
    texts = ["where is the pool ?", "open"]
    parts, again = whole.parts(texts), opened.parts(texts)
    assert set(parts) == set(whole.part_names) == set(opened.part_names)
    for part, vectors in parts.items():
        np.testing.assert_allclose(again[part], vectors, rtol=1e-4, atol=1e-5)
    meaning = parts[Part.MEANING] / np.linalg.norm(parts[Part.MEANING], axis=1, keepdims=True)
    np.testing.assert_allclose(opened.encode(texts), meaning, rtol=1e-3, atol=1e-4)
    if baseline:
        with pytest.raises(EncoderError, match="only FMDA has an attention"):
            opened.attention(texts[0])
    else:
        tokens, template, residual = zip(*opened.attention(texts[0]), strict=True)
        assert tokens == ("[CLS]", "where", "is", "the", "pool", "?", "[SEP]")
        assert sum(template) == pytest.approx(1, abs=1e-5)
        assert sum(residual) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("damage", "named"), [("head.safetensors", "'disentangled'"), ("config.json", r"config\.json")]
)
def test_a_damaged_folder_says_so(
    damage: str, named: str, encoder: TransformerEncoder, tmp_path: Path
) -> None:
    DisentangledEncoder(encoder, Fmda(16, ("en", "de"), 8, 4)).save(tmp_path / "run" / "encoder")
    (tmp_path / "run" / "encoder" / damage).write_bytes(b"{}")
    with raises(EncoderError, fix=None, match=named):
        load_encoder(f"run:{tmp_path / 'run'}")


def test_only_layers_of_the_meaning_have_gradients(encoder: TransformerEncoder) -> None:
    torch.manual_seed(2)
    whole = DisentangledEncoder(encoder, Fmda(16, ("en", "de"), 8, 4))
    named = {id(weight) for layer in whole.layers() for weight in layer}
    whole(whole.tokenize(["where is the pool ?"])).sum().backward()
    for name, weight in whole.named_parameters():
        if weight.requires_grad:
            moved = weight.grad is not None and bool((weight.grad != 0).any())
            assert (id(weight) in named) is moved, name


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"template_weight": -1.0}, "template_weight"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({f.name: 0.0 for f in fields(FmdaConfig) if f.name.endswith("_weight")}, None),
    ],
)
def test_settings_out_of_range_say_so(values: dict[str, float], fix: str | None) -> None:
    with raises(TrainingError, fix=fix):
        FmdaConfig(**values)  # type: ignore[arg-type]
