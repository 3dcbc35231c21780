"""Training of FMDA and of its baseline: what each loss is made of, stages, early stopping, going on after a kill."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from emu_core.config import FmdaConfig, MeaningLanguageConfig
from emu_core.data.slots.utterances import slot_pairs
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.registry import encoder_kind, load_encoder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import CancelledError, EncoderError, TrainingError
from emu_core.models.fmda import Fmda
from emu_core.models.meaning_language import MeaningLanguage
from emu_core.models.parts import Part
from emu_core.runs.checkpoint import Checkpoint
from emu_core.trainers.disentangle import Stage, fit_stages
from emu_core.trainers.disentangle_data import DisentangleData, prepare_disentangling
from emu_core.trainers.fmda import fmda_stages
from emu_core.trainers.meaning_language import meaning_language_stages
from tests.slot_set import slot_set
from tests.tiny_transformer import tiny_transformer

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


def fmda(data: DisentangleData, seed: int = 0) -> Fmda:
    torch.manual_seed(seed)
    model = Fmda(data.sentences.template_target.shape[1], data.languages, SMALL.hidden, SMALL.language_hidden)
    model.standard.fit(data.sentences.cls)
    return model


def fitted(
    model: nn.Module, stages: list[Stage], data: DisentangleData, config: FmdaConfig, **kwargs: object
) -> list[dict[str, object]]:
    records: list[dict[str, object]] = []
    settings: dict[str, object] = {
        "seed": 0,
        "on_record": records.append,
        "should_stop": lambda: False,
        **kwargs,
    }
    fit_stages(model, stages, data.sentences.negatives, config, **settings)  # type: ignore[arg-type]
    return records


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


def test_eq_5_is_the_sum_of_its_terms(one_stage: DisentangleData) -> None:
    model, sentences = fmda(one_stage), one_stage.sentences
    (stage,) = fmda_stages(model, one_stage, SMALL)
    pairs = one_stage.pairs[[1, 4]]
    negatives = sentences.negatives[pairs, 0]
    losses = {name: value.item() for name, value in stage.losses(pairs, negatives).items()}

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
    torch.manual_seed(0)
    model, sentences = MeaningLanguage(16, data.languages), data.sentences
    (stage,) = meaning_language_stages(model, data, config)
    pairs = data.pairs[[0, 5]]
    negatives = sentences.negatives[pairs, 1]
    losses = {name: value.item() for name, value in stage.losses(pairs, negatives).items()}
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
def test_each_loss_can_be_left_out_and_weighted(weight: str, one_stage: DisentangleData) -> None:
    def losses(**weights: float) -> dict[str, Tensor]:
        (stage,) = fmda_stages(model, one_stage, replace(SMALL, **weights))  # type: ignore[arg-type]
        return stage.losses(one_stage.pairs, one_stage.sentences.negatives[one_stage.pairs, 0])

    model, name = fmda(one_stage), weight.removesuffix("_weight")
    whole, without, double = losses(), losses(**{weight: 0.0}), losses(**{weight: 2.0})
    assert set(whole) - set(without) == {name}
    assert double[name].item() == pytest.approx(2 * whole[name].item(), rel=1e-5)


def test_the_first_stage_trains_the_template_encoder_and_the_second_leaves_it(
    two_stages: DisentangleData,
) -> None:
    config = replace(SMALL, two_stage=True, epochs=1)
    model = fmda(two_stages)
    stages = fmda_stages(model, two_stages, config)
    assert two_stages.template_pairs is not None
    rows = two_stages.template_pairs
    of = two_stages.sentences
    assert torch.equal(of.language[rows[:, 0]], of.language[rows[:, 1]])  # one language
    np.testing.assert_allclose(of.template_target[rows[:, 0]], of.template_target[rows[:, 1]], atol=1e-5)
    losses = set(stages[0].losses(rows[:2], of.negatives[rows[:2], 0]))
    assert losses == {"template", "template_cross", "template_contrast"}
    pairs = two_stages.pairs[:2]
    later = set(stages[1].losses(pairs, of.negatives[pairs, 0]))
    assert later == {
        "language",
        "utterance",
        "utterance_cross",
        "residual",
        "residual_cross",
        "meaning_contrast",
    }

    template = [weight.detach().clone() for weight in model.template_layers()]
    others = model.rebuild[0].weight.detach().clone()
    fitted(model, stages[:1], two_stages, config)
    trained = [weight.detach().clone() for weight in model.template_layers()]
    moved = sum(not torch.equal(a, b) for a, b in zip(template, trained, strict=True))
    assert moved >= 5  # all but the key's bias
    assert torch.equal(others, model.rebuild[0].weight)
    fitted(model, stages[1:], two_stages, config)
    assert all(torch.equal(a, b) for a, b in zip(trained, model.template_layers(), strict=True))
    assert not torch.equal(others, model.rebuild[0].weight)


def scored(model: nn.Module, stage: Stage, scores: list[float], seen: list[float]) -> Stage:
    """A stage whose held-out accuracies are given; `seen` gets a weight after each epoch."""
    left = iter(scores)

    def score() -> float:
        seen.append(next(iter(model.parameters())).sum().item())
        return next(left)

    return replace(stage, score=score)


@pytest.mark.parametrize(
    ("scores", "epochs", "best"),
    [([5, 7, 7, 6, 9, 9], 4, 2), ([1, 2, 3, 4, 5, 6], 6, 6), ([9, 1, 1, 1, 1, 1], 3, 1)],
)
def test_training_ends_when_nothing_gets_better_and_keeps_the_best(
    scores: list[float], epochs: int, best: int, one_stage: DisentangleData
) -> None:
    config = replace(SMALL, epochs=6, patience=2)
    model, seen = fmda(one_stage), []
    (stage,) = fmda_stages(model, one_stage, config)
    records = fitted(model, [scored(model, stage, scores, seen)], one_stage, config)
    told = [record for record in records if record["kind"] == "epoch"]
    assert [record["dev_accuracy"] for record in told] == scores[:epochs]
    assert next(iter(model.parameters())).sum().item() == seen[best - 1]
    assert all(weight.requires_grad for weight in model.parameters())


def test_the_held_out_sentences_are_those_of_dev(one_stage: DisentangleData) -> None:
    model = fmda(one_stage)
    (stage,) = fmda_stages(model, one_stage, SMALL)
    assert stage.score is not None
    assert one_stage.held_out is not None
    assert len(one_stage.held_out.states) == 8
    right = round(stage.score() / 100 * 8)  # four queries each way
    assert stage.score() == pytest.approx(100 * right / 8)


@pytest.mark.parametrize("stop_after", [1, 3, 4])
def test_a_run_that_was_killed_ends_with_the_same_weights(
    stop_after: int, two_stages: DisentangleData, tmp_path: Path
) -> None:
    config = replace(SMALL, two_stage=True, patience=9)
    whole = fmda(two_stages)
    all_records = fitted(whole, fmda_stages(whole, two_stages, config), two_stages, config)
    epochs = [record for record in all_records if record["kind"] == "epoch"]
    assert [record["epoch"] for record in epochs] == list(range(1, 7))

    told: list[dict[str, object]] = []
    path = tmp_path / "training" / "checkpoint.safetensors"
    killed = fmda(two_stages)
    with pytest.raises(CancelledError):
        fitted(
            killed,
            fmda_stages(killed, two_stages, config),
            two_stages,
            config,
            on_record=told.append,
            should_stop=lambda: sum(record["kind"] == "epoch" for record in told) == stop_after,
            checkpoint=Checkpoint(path, every_s=0),
        )
    again = fmda(two_stages, seed=5)
    rest = fitted(
        again, fmda_stages(again, two_stages, config), two_stages, config,
        checkpoint=Checkpoint(path, every_s=0),
    )  # fmt: skip
    assert [r["epoch"] for r in rest if r["kind"] == "epoch"] == list(range(stop_after + 1, 7))
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name


def test_a_loss_that_is_no_number_says_what_to_do(one_stage: DisentangleData) -> None:
    model = fmda(one_stage)
    (stage,) = fmda_stages(model, one_stage, SMALL)
    bad = replace(stage, losses=lambda *_: {"template_cross": torch.tensor(torch.nan, requires_grad=True)})
    with pytest.raises(TrainingError, match=r"the template-cross loss is nan at step 1.*--learning-rate"):
        fitted(model, [bad], one_stage, SMALL)


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


@pytest.mark.parametrize("damage", ["head.safetensors", "config.json"])
def test_a_damaged_folder_says_so(damage: str, encoder: TransformerEncoder, tmp_path: Path) -> None:
    DisentangledEncoder(encoder, Fmda(16, ("en", "de"), 8, 4)).save(tmp_path / "run" / "encoder")
    (tmp_path / "run" / "encoder" / damage).write_bytes(b"{}")
    with pytest.raises(EncoderError, match=r"train the run again"):
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
    ("values", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number, 1 or more"),
        ({"template_weight": -1.0}, "template_weight must be a number, 0 or more"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0"),
        ({f.name: 0.0 for f in fields(FmdaConfig) if f.name.endswith("_weight")}, "every loss has weight 0"),
    ],
)
def test_settings_out_of_range_say_so(values: dict[str, float], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        FmdaConfig(**values)  # type: ignore[arg-type]
