"""Batches: nothing left out, nothing mixed up, the same again from the same seed."""

import numpy as np
import pytest

from emu_core.methods.emu.batches import EmuBatch, Labelled, draw_rows, epoch_batches, n_pairs, partners

CLASSES = 4


def sentences(count: int, start: int = 0) -> Labelled:
    """`count` sentences, each its own one-token id; class 3 has a single sentence."""
    labels = [3 if i == 0 else i % (CLASSES - 1) for i in range(count)]
    return Labelled([[start + i] for i in range(count)], labels, [f"id-{i}" for i in range(count)])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("count", [2, 15, 16, 17, 32, 33, 34, 100])
def test_an_epoch_has_every_sentence_once_and_no_batch_of_one(count: int) -> None:
    labelled = {"en": sentences(count), "de": sentences(40, start=1000)}
    batches = list(epoch_batches(labelled, 16, rng()))
    for language, own in labelled.items():
        seen = [row for batch in batches if batch.language == language for row in batch.rows]
        assert sorted(seen) == list(range(len(own.ids)))
    sizes = [len(batch.rows) for batch in batches]
    assert min(sizes) >= 2
    assert max(sizes) <= 17
    assert sum(size < 16 for size in sizes) <= len(labelled)  # only a language's last batch is short


def test_a_batch_is_of_one_language_with_its_own_ids_and_labels() -> None:
    labelled = {"en": sentences(50), "de": sentences(50, start=1000)}
    for batch in epoch_batches(labelled, 16, rng()):
        own = labelled[batch.language]
        assert batch.ids == [own.ids[r] for r in batch.rows]
        assert batch.labels == [own.labels[r] for r in batch.rows]


def test_languages_and_sentences_come_in_random_order() -> None:
    batches = list(epoch_batches({"en": sentences(96), "de": sentences(96, start=1000)}, 16, rng()))
    languages = [batch.language for batch in batches]
    assert languages.count("en") == 6
    assert languages not in (sorted(languages), sorted(languages, reverse=True))
    assert any(batch.rows != sorted(batch.rows) for batch in batches)


def test_two_epochs_of_one_generator_differ() -> None:
    generator, labelled = rng(), {"en": sentences(64)}
    first = [batch.rows for batch in epoch_batches(labelled, 16, generator)]
    assert first != [batch.rows for batch in epoch_batches(labelled, 16, generator)]


def test_a_row_is_drawn_twice_only_when_the_pool_is_too_small() -> None:
    generator = rng()
    drawn = [draw_rows(20, 16, generator) for _ in range(30)]
    for rows in drawn:
        assert len(set(rows)) == len(rows) == 16
    assert {row for rows in drawn for row in rows} == set(range(20))
    small = [draw_rows(3, 16, generator) for _ in range(30)]
    assert all(len(rows) == 16 for rows in small)
    assert {row for rows in small for row in rows} == {0, 1, 2}
    assert sorted(draw_rows(20, 20, generator)) == list(range(20))


def test_partners_are_of_the_same_class_for_every_other_sentence() -> None:
    labelled, generator = sentences(30), rng()
    seen: set[int] = set()
    for _ in range(20):
        batch = labelled.batch("en", generator.permutation(30)[:16].tolist())
        partner = partners(batch, labelled, generator)
        assert partner.language == "en"
        assert partner.ids == [labelled.ids[r] for r in partner.rows]
        assert partner.labels == [labelled.labels[r] for r in partner.rows]
        assert all(a != b for a, b in zip(batch.rows, partner.rows, strict=True))
        for i, (a, b) in enumerate(zip(batch.labels, partner.labels, strict=True)):
            if a != CLASSES - 1:
                assert (a == b) == (i % 2 == 0)
        seen |= set(partner.rows)
    assert seen == set(range(30))


def test_a_sentence_alone_in_its_class_gets_a_partner_of_another() -> None:
    labelled = sentences(30)
    partner = partners(labelled.batch("en", [0, 0]), labelled, rng())
    assert all(label != CLASSES - 1 for label in partner.labels)


def test_n_pairs_are_of_different_classes_of_two_sentences_or_more() -> None:
    labelled, generator = sentences(30), rng()
    seen: set[int] = set()
    for count in [2, 3, 16] * 15:
        anchors, positives = n_pairs(labelled, count, generator)
        classes = [labelled.labels[r] for r in anchors]
        assert classes == [labelled.labels[r] for r in positives]
        assert len(set(classes)) == len(classes) == min(count, CLASSES - 1)
        assert all(a != p for a, p in zip(anchors, positives, strict=True))
        seen |= {*anchors, *positives}
    assert seen == set(range(1, 30))  # row 0 is alone in its class


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_draws_and_another_seed_others(seed: int) -> None:
    def draws(seed: int) -> list[object]:
        generator, labelled = rng(seed), {"en": sentences(40), "de": sentences(40, start=1000)}
        batches: list[EmuBatch] = list(epoch_batches(labelled, 16, generator))
        return [
            batches,
            draw_rows(40, 16, generator),
            partners(batches[0], labelled[batches[0].language], generator),
            n_pairs(labelled["en"], 3, generator),
        ]

    assert draws(seed) == draws(seed)
    assert all(a != b for a, b in zip(draws(seed), draws(seed + 2), strict=True))
