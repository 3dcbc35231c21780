"""Training of BiCVM: the steps by plain loops, noise drawn afresh, AdaGrad, L2, documents, a pivot, going on."""

import math

import numpy as np
import pytest
import torch

from emu_core.data.texts.parallel import ParallelText
from emu_core.errors import TrainingError
from emu_core.methods.bicvm import trainer as bicvm
from emu_core.methods.bicvm.encoder import BicvmEncoder, compose
from emu_core.methods.bicvm.settings import BicvmConfig, Composition
from emu_core.methods.bicvm.trainer import (
    AdaGrad,
    BicvmBatch,
    BicvmTrainer,
    corpus_of,
    other_rows,
    untrained_encoder,
)
from emu_core.runs.log import Record
from emu_core.training.fit import fit
from tests.support.raises import raises

COLOURS = {"en": "red blue green white", "de": "rot blau grün weiß", "fr": "rouge bleu vert blanc"}
THINGS = {"en": "dog cat house tree", "de": "hund katze haus baum", "fr": "chien chat maison arbre"}
SMALL = BicvmConfig(dim=6, margin=5.0, noise=3, epochs=2, batch_size=4, init_deviation=0.5)


def text(target: str, documents: tuple[int, ...] = ()) -> ParallelText:
    """16 pairs: each colour with each thing, in English and another language."""

    def side(language: str) -> tuple[str, ...]:
        return tuple(f"{c} {t}" for c in COLOURS[language].split() for t in THINGS[language].split())

    return ParallelText("en", target, side("en"), side(target), f"en-{target}", documents)


def fitted(
    config: BicvmConfig,
    pairs: list[ParallelText] | None = None,
    *,
    seed: int = 0,
    encoder: BicvmEncoder | None = None,
) -> tuple[BicvmEncoder, list[Record]]:
    pairs = pairs or [text("de")]
    encoder = encoder or untrained_encoder(pairs, config, seed=seed)
    records: list[Record] = []
    trainer = BicvmTrainer(encoder, pairs, config, seed=seed)
    fit(trainer, on_record=records.append, should_stop=lambda: False)
    assert records[-1].step == trainer.total_steps
    return encoder, records


def batches_of(config: BicvmConfig, seed: int = 0) -> list[BicvmBatch]:
    """The batches that training makes, in their order."""
    pairs = [text("de")]
    trainer = BicvmTrainer(untrained_encoder(pairs, config, seed=seed), pairs, config, seed=seed)
    return [batch for epoch in range(config.epochs) for batch in trainer.batches(epoch + 1, 0)]


def by_loops(
    encoder: BicvmEncoder, pairs: ParallelText, batches: list[BicvmBatch], config: BicvmConfig
) -> np.ndarray:
    """Eq. 7 and AdaGrad with derivatives written out, sentence by sentence, in float64."""
    table = encoder.table.detach().numpy().astype(np.float64)
    squares = np.zeros_like(table)
    first = encoder.token_ids(pairs.first, [pairs.source] * len(pairs))
    second = encoder.token_ids(pairs.second, [pairs.target] * len(pairs))
    total = np.zeros(len(table))
    for sentence in (*first, *second):
        for word in sentence:
            total[word] += 1
    for batch in batches:
        gradient = np.zeros_like(table)
        for row, drawn in zip(batch.rows.tolist(), batch.second_noise.tolist(), strict=True):
            a, b = (table[side[row]].sum(axis=0) for side in (first, second))
            for other in drawn:
                n = table[second[other]].sum(axis=0)
                if config.margin + ((a - b) ** 2).sum() - ((a - n) ** 2).sum() > 0:
                    for word in first[row]:
                        gradient[word] += 2 * (a - b) - 2 * (a - n)
                    for word in second[row]:
                        gradient[word] -= 2 * (a - b)
                    for word in second[other]:
                        gradient[word] += 2 * (a - n)
            for word in (*first[row], *second[row]):
                gradient[word] += config.l2_weight * table[word] / total[word]
        squares += gradient**2
        moved = squares > 0
        table[moved] -= config.learning_rate * gradient[moved] / np.sqrt(squares[moved])
    return table


@pytest.mark.parametrize("l2_weight", [0.0, 1.0, 20.0])
def test_steps_by_plain_loops(l2_weight: float) -> None:
    config = BicvmConfig(
        dim=6, margin=5.0, noise=3, epochs=2, batch_size=5, init_deviation=0.5, l2_weight=l2_weight
    )
    batches = batches_of(config)
    assert len(batches) == 2 * 4
    start = untrained_encoder([text("de")], config, seed=0)
    expected = by_loops(start, text("de"), batches, config)
    found, _ = fitted(config)
    np.testing.assert_allclose(found.table.detach(), expected, rtol=2e-3, atol=2e-4)
    assert not np.allclose(start.table.detach(), expected, atol=0.05)
    assert not found.table[0].any()


@pytest.mark.parametrize("word_dropout", [0.0, 0.6])
def test_an_epochs_l2_adds_up_to_the_objectives(word_dropout: float) -> None:
    """Each step's part, added up over an epoch in which nothing moves, is lambda / 2 ||theta||^2."""
    config = BicvmConfig(
        dim=6, noise=1, epochs=1, batch_size=4, l2_weight=0.7, learning_rate=1e-12, word_dropout=word_dropout
    )
    encoder = untrained_encoder([text("de")], config, seed=0)
    _, with_l2 = fitted(config, encoder=encoder)
    encoder = untrained_encoder([text("de")], config, seed=0)
    norm = encoder.table.detach().square().sum().item()
    steps = [record for record in with_l2 if record.is_step]
    l2 = sum(4 * (record.loss - record.figures["hinge"]) for record in steps)
    assert len(steps) == 4
    assert l2 == pytest.approx(0.35 * norm, rel=1e-3)


def test_adagrad_by_plain_loops() -> None:
    table = torch.tensor([[0.0, 0.0], [1.0, -2.0], [3.0, 0.5]])
    optimizer = AdaGrad(table, 0.1)
    steps = [([1, 2], [[0.5, -4.0], [0.0, 1e-3]]), ([1], [[2.0, 3.0]]), ([0, 2], [[7.0, 0.0], [0.25, -1e-3]])]
    values = [[0.0, 0.0], [1.0, -2.0], [3.0, 0.5]]
    sums = [[0.0, 0.0] for _ in values]
    for rows, gradient in steps:
        optimizer.step(torch.tensor(rows), torch.tensor(gradient))
        for row, numbers in zip(rows, gradient, strict=True):
            for d, g in enumerate(numbers):
                sums[row][d] += g * g
                if g:
                    values[row][d] -= 0.1 * g / math.sqrt(sums[row][d])
    np.testing.assert_allclose(table, values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(optimizer.total, sums, rtol=1e-5)


def test_noise_is_drawn_afresh_for_each_pair_and_epoch() -> None:
    config = BicvmConfig(dim=4, noise=8, epochs=3, batch_size=4)
    drawn: dict[int, list[tuple[int, ...]]] = {}
    for batch in batches_of(config):
        assert batch.first_noise.shape == (4, 0)
        for row, noise in zip(batch.rows.tolist(), batch.second_noise.tolist(), strict=True):
            assert row not in noise
            drawn.setdefault(row, []).append(tuple(noise))
    assert sorted(drawn) == list(range(16))
    every = [noise for epochs in drawn.values() for noise in epochs]
    assert all(len(epochs) == 3 for epochs in drawn.values())
    assert len(set(every)) == len(every)  # 48 draws of 8 from 15: none twice, of one pair or of two


def test_the_order_of_pairs_is_each_epochs_own() -> None:
    batches = batches_of(BicvmConfig(dim=4, noise=1, epochs=3, batch_size=4))
    orders = [tuple(np.concatenate([b.rows for b in batches[n : n + 4]]).tolist()) for n in (0, 4, 8)]
    assert len(set(orders)) == 3
    assert all(sorted(order) == list(range(16)) for order in orders)


def test_noise_for_both_sides_is_drawn_apart() -> None:
    config = BicvmConfig(dim=4, noise=8, epochs=1, batch_size=4, both_ways=True)
    for batch in batches_of(config):
        assert batch.first_noise.shape == batch.second_noise.shape == (4, 8)
        assert not np.array_equal(batch.first_noise, batch.second_noise)


def test_noise_is_even_over_the_other_rows() -> None:
    rows = np.array([0, 3, 4])
    counts = [
        np.bincount(drawn, minlength=5) for drawn in other_rows(rows, 40_000, 5, np.random.default_rng(0))
    ]
    for row, count in zip(rows.tolist(), counts, strict=True):
        assert count[row] == 0
        np.testing.assert_allclose(np.delete(count, row), 10_000, rtol=0.04)


@pytest.mark.parametrize("noise", [0, 3])
def test_both_ways_is_the_loss_and_its_mirror(noise: int) -> None:
    """The loss of one way on the texts exchanged is the other way's; in a batch of all there is only one noise."""
    both = BicvmConfig(dim=6, noise=noise, epochs=1, batch_size=16, l2_weight=0.0, both_ways=True, margin=5.0)
    one = BicvmConfig(dim=6, noise=noise, epochs=1, batch_size=16, l2_weight=0.0, margin=5.0)
    encoder = untrained_encoder([text("de")], both, seed=0)
    start = encoder.table.detach().clone()
    losses = []
    for config, pairs in ((both, text("de")), (one, text("de")), (one, text("de").turned())):
        with torch.no_grad():
            encoder.table.copy_(start)
        losses.append(fitted(config, [pairs], encoder=encoder)[1][0].figures["hinge"])
    if noise == 0:
        assert losses[0] == pytest.approx(losses[1] + losses[2], rel=1e-5)
    else:
        assert losses[0] > 1.5 * losses[1]


@pytest.mark.parametrize("composition", list(Composition))
@pytest.mark.parametrize("noise", [0, 5])
def test_translations_find_each_other(composition: Composition, noise: int) -> None:
    config = BicvmConfig(
        dim=16, noise=noise, both_ways=True, epochs=30, batch_size=8, composition=composition, margin=4.0,
        l2_weight=0.0,
    )  # fmt: skip
    pairs = text("de")
    encoder, records = fitted(config)
    a, b = encoder.encode(pairs.first), encoder.encode(pairs.second)
    nearest = ((a[:, None] - b) ** 2).sum(-1).argmin(1)
    assert (nearest == np.arange(16)).mean() > 0.9
    losses = [record.loss for record in records if not record.is_step]
    assert losses[-1] < 0.2 * losses[0]


def test_a_pivot_joins_two_languages_without_a_pair() -> None:
    config = BicvmConfig(dim=16, noise=0, both_ways=True, epochs=40, batch_size=8, margin=4.0, l2_weight=0.0)
    encoder, records = fitted(config, [text("de"), text("fr")])
    assert {record.texts["pair"] for record in records if record.is_step} == {"en-de", "en-fr"}
    first_epoch = [record.texts["pair"] for record in records if record.is_step and record.epoch == 1]
    assert first_epoch.count("en-de") == first_epoch.count("en-fr") == 2
    a, b = encoder.encode(text("de").second), encoder.encode(text("fr").second)
    assert (((a[:, None] - b) ** 2).sum(-1).argmin(1) == np.arange(16)).mean() > 0.9
    words, vectors = encoder.word_vectors("de")
    french, theirs = encoder.word_vectors("fr")
    found = {
        word: french[((v - theirs) ** 2).sum(1).argmin()] for word, v in zip(words, vectors, strict=True)
    }
    right = sum(found[w] == f for w, f in zip(THINGS["de"].split(), THINGS["fr"].split(), strict=True))
    assert right >= 3


def test_documents_are_sums_of_their_sentences() -> None:
    pairs = text("de", documents=(0, 5, 6))
    for composition in Composition:
        config = BicvmConfig(dim=4, document_sentences=0, composition=composition, init_deviation=1.0)
        encoder = untrained_encoder([pairs], config, seed=0)
        corpus = corpus_of(encoder, pairs, config)
        assert len(corpus) == 3
        (ids, before), offsets = corpus.second.take(np.array([2, 0]))
        at = (torch.from_numpy(values) for values in (ids, before, offsets))
        found = compose(encoder.table, next(at), next(at), next(at), composition)
        each = encoder.encode(pairs.second)
        np.testing.assert_allclose(found.detach(), [each[6:].sum(0), each[:5].sum(0)], rtol=1e-4, atol=1e-5)
    sizes = {
        n: len(corpus_of(encoder, pairs, BicvmConfig(document_sentences=n))) for n in (1, 2, 3, 4, 10, 20)
    }
    assert sizes == {1: 16, 2: 3 + 1 + 5, 3: 2 + 1 + 4, 4: 2 + 1 + 3, 10: 3, 20: 3}
    assert len(corpus_of(encoder, text("de"), BicvmConfig(document_sentences=3))) == 6
    with raises(TrainingError, fix="document_sentences", match=text("de").name):
        corpus_of(encoder, text("de"), BicvmConfig(document_sentences=0))
    with raises(TrainingError, fix="document_sentences", match="1 pairs"):
        corpus_of(encoder, text("de"), BicvmConfig(document_sentences=16))


def test_pairs_without_a_known_word_are_left_out() -> None:
    encoder = untrained_encoder([text("de")], SMALL, seed=0)
    pairs = ParallelText("en", "de", ("red", "xyz", "dog"), ("rot", "hund", "xyz hund rot"), "three")
    corpus = corpus_of(encoder, pairs, SMALL)
    assert len(corpus) == 2
    (ids, before), offsets = corpus.second.take(np.array([1, 0]))
    assert ids.tolist() == encoder.vocabulary.ids(["hund", "rot", "rot"], "de")
    assert before.tolist() == [0, ids[0], 0]
    assert offsets.tolist() == [0, 2]
    assert BicvmTrainer(encoder, [pairs], SMALL, seed=0).warnings() == [
        "1 of 3 pairs of en-de were left out, since one side has no word that occurs often enough",
    ]
    nothing = ParallelText("en", "de", ("xyz", "zyx"), ("xyz", "zyx"), "none")
    with raises(TrainingError, fix="document_sentences", match="none has 0 pairs"):
        fitted(SMALL, [nothing], encoder=encoder)
    with pytest.raises(TrainingError, match="no parallel text"):
        BicvmTrainer(encoder, [], SMALL, seed=0)


def test_dropout_leaves_words_out_in_training_only() -> None:
    config = BicvmConfig(dim=6, noise=0, epochs=1, batch_size=16, word_dropout=0.5, l2_weight=0.0)
    corpus = corpus_of(untrained_encoder([text("de")], config, seed=0), text("de"), config)
    rows, none = np.arange(16), np.zeros((16, 0), dtype=np.int64)
    kept = []
    for seed in range(200):
        batch = BicvmBatch(corpus, rows, none, none, np.random.default_rng(seed))
        words = bicvm._words(batch, corpus.first, none, 0.5)
        ids = words.words[0]
        ends = np.append(words.offsets[1:], len(ids))
        for row in rows.tolist():
            own = ids[words.offsets[row] : ends[row]].tolist()
            whole = corpus.first.take(np.array([row]))[0][0].tolist()
            assert set(own) <= set(whole)
            kept.append(len(own) / len(whole))
    assert np.mean(kept) == pytest.approx(0.5, abs=0.02)
    a, b = fitted(config)[0], fitted(BicvmConfig(**{**vars(config), "word_dropout": 0.0}))[0]
    assert not torch.equal(a.table, b.table)


def test_the_word_before_a_word_may_be_dropped() -> None:
    """A step on a few rows of the table has the loss of the whole table, also if noise lost the word before."""
    config = BicvmConfig(
        dim=6, noise=3, batch_size=2, word_dropout=0.6, composition=Composition.BIGRAM, l2_weight=0.0
    )
    for seed in range(5):
        encoder = untrained_encoder([text("de")], config, seed=seed)
        encoder.table.data.mul_(5)
        trainer = BicvmTrainer(encoder, [text("de")], config, seed=seed)
        batch, again = (next(iter(trainer.batches(1, 0))) for _ in range(2))
        sides = [(batch.corpus.first, batch.first_noise), (batch.corpus.second, batch.second_noise)]
        everywhere = np.arange(len(trainer.table))
        first, second = (
            bicvm._words(batch, side, noise, 0.6).vectors(trainer.table, everywhere, encoder)
            for side, noise in sides
        )
        expected = bicvm._hinge(first, second, batch, config).item() / len(batch)
        assert trainer.step(again)["hinge"] == pytest.approx(expected, rel=1e-5)


def test_the_seed_decides_everything() -> None:
    first, again, other = (fitted(SMALL, seed=seed)[0].table for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
