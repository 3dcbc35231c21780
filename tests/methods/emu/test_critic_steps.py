"""The updates of the language discriminator in a step of Emu."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from emu_core.methods.emu.settings import Adversary
from tests.support.emu_steps import (
    SIZE,
    batch_of,
    copies,
    critic_batches,
    language_loss,
    language_of,
    rows_of,
    same,
    trainer_of,
    watch,
)
from tests.support.tiny_encoder import TinyEncoder, sentences


def test_all_critic_batches_are_encoded_in_one_pass_and_given_in_turn() -> None:
    trainer, encoder = trainer_of(critic_steps=5)
    seen = watch(trainer, encoder)
    trainer.step(batch_of(trainer))
    assert len(encoder.encoded_at_once) == 1
    assert len(encoder.encoded_at_once[0]) == 5 * 2 * SIZE
    assert len(seen.inputs) == 5 + 1  # the last is the update of E and C
    before = TinyEncoder()
    before.load_state_dict(dict(zip(encoder.state_dict(), seen.encoder[0], strict=True)))
    for (own, other), given in zip(critic_batches(encoder), seen.inputs[:-1], strict=True):
        assert not given.requires_grad
        exact = torch.from_numpy(before.encode_ids([*own, *other]))  # (2B, dim)
        # What D is shown may be rounded to bfloat16; two sentences here lie much farther apart than that.
        assert torch.pdist(exact).min() > 0.1
        torch.testing.assert_close(given, exact, rtol=0, atol=0.02)


def test_each_critic_update_has_fresh_sentences_and_a_fresh_language() -> None:
    trainer, encoder = trainer_of(critic_steps=5)
    drawn: list[str] = []
    for _ in range(30):
        batch = batch_of(trainer)
        trainer.step(batch)
        own_rows, other_rows, languages = [], [], []
        for own, other in critic_batches(encoder):
            assert {language_of(i) for i in own} == {"en"}
            (language,) = {language_of(i) for i in other}
            assert language != "en"  # although English is among the unlabelled languages
            assert len(set(rows_of(own))) == len(set(rows_of(other))) == SIZE
            own_rows.append(sorted(rows_of(own)))
            other_rows.append(sorted(rows_of(other)))
            languages.append(language)
        for rows in (own_rows, other_rows):
            assert len({tuple(r) for r in rows}) == 5
        assert any(rows != batch.rows for rows in own_rows)
        drawn += languages
    step_draws = [set(drawn[i : i + 5]) for i in range(0, len(drawn), 5)]
    assert sum(len(languages) > 1 for languages in step_draws) > 20  # l is drawn k times a step, not once
    for language in ("de", "fr", "ja"):
        assert drawn.count(language) > 0.2 * len(drawn)


def test_the_last_update_draws_its_own_language_and_sentences() -> None:
    trainer, encoder = trainer_of(critic_steps=1)
    drawn, repeated = set(), 0
    for _ in range(20):
        batch = batch_of(trainer)
        trainer.step(batch)
        assert encoder.collated[-1][:SIZE] == batch.ids
        other = encoder.collated[-1][SIZE:]
        assert len(other) == SIZE
        (language,) = {language_of(i) for i in other}
        assert language != "en"
        drawn.add(language)
        repeated += other == next(critic_batches(encoder))[1]
    assert drawn == {"de", "fr", "ja"}
    assert repeated == 0


def test_a_language_smaller_than_a_batch_is_drawn_with_replacement() -> None:
    trainer, encoder = trainer_of()
    trainer.data = replace(
        trainer.data,
        labelled={"en": sentences("en", 3)},
        unlabelled={"de": dict(enumerate(sentences("de", 2).ids))},
    )
    trainer.step(trainer.data.labelled["en"].batch("en", range(3)))
    for own, other in critic_batches(encoder):
        assert set(rows_of(own)) <= set(range(3))
        assert set(rows_of(other)) <= set(range(2))
        assert len(own) == len(other) == SIZE


@pytest.mark.parametrize("adversary", [Adversary.CROSS_ENTROPY, Adversary.WASSERSTEIN])
def test_d_is_clipped_after_every_update_and_e_and_c_never(adversary: Adversary) -> None:
    trainer, encoder = trainer_of(
        critic_steps=4, critic_clip=0.01, critic_learning_rate=0.1, adversary=adversary
    )
    seen = watch(trainer, encoder)
    trainer.step(batch_of(trainer))
    largest = [max(float(p.abs().max()) for p in weights) for weights in seen.critic]
    assert largest[0] > 0.1  # not yet updated
    assert largest[1:] == pytest.approx([0.01] * 4)
    for module in (encoder, trainer.classifier):
        assert max(float(p.abs().max()) for p in copies(module)) > 0.1
        assert all(float(p.abs().max()) > 0.01 for p in copies(module))


def test_e_and_c_stand_still_while_d_trains_and_d_while_they_do() -> None:
    trainer, encoder = trainer_of(critic_steps=5)
    start = copies(encoder), copies(trainer.classifier)
    seen = watch(trainer, encoder)
    trainer.step(batch_of(trainer))
    assert all(same(weights, start[0]) for weights in seen.encoder)
    for earlier, later in zip(seen.critic, seen.critic[1:], strict=False):
        assert not same(earlier, later)
    assert same(seen.critic[-1], copies(trainer.critics["en"]))
    assert seen.trains == [True] * 5 + [False]
    assert not same(copies(encoder), start[0])
    assert not same(copies(trainer.classifier), start[1])
    trainer.step(batch_of(trainer, start=SIZE))  # and D trains again in the next step
    assert not same(seen.critic[-1], seen.critic[5])


def test_the_discriminator_is_in_every_third_step_and_weighs_three_times_as_much() -> None:
    trainer, encoder = trainer_of(adversary_every=3, critic_steps=2, critic_dropout=0.0)
    always, _ = trainer_of(critic_steps=2, critic_dropout=0.0)
    for number in range(7):
        before = copies(trainer.critics["en"])
        encoder.collated.clear()
        encoder.encoded_at_once.clear()
        parts = trainer.step(batch_of(trainer))
        assert ("critic" in parts) == ("adversarial" in parts) == (number % 3 == 0)
        assert same(before, copies(trainer.critics["en"])) == (number % 3 != 0)
        assert len(encoder.collated[-1]) == (2 * SIZE if number % 3 == 0 else SIZE)
        assert len(encoder.encoded_at_once) == (number % 3 == 0)
        if number == 0:
            alone = always.step(batch_of(always))
            assert parts["critic"] == alone["critic"]
            assert parts["adversarial"] == pytest.approx(3 * alone["adversarial"], rel=1e-6)
            assert parts["loss"] == pytest.approx(alone["loss"] + 2 * alone["adversarial"], rel=1e-6)


@pytest.mark.parametrize("adversary", [Adversary.CROSS_ENTROPY, Adversary.WASSERSTEIN])
def test_each_critic_update_is_adam_on_its_own_batch_then_the_clip(adversary: Adversary) -> None:
    trainer, encoder = trainer_of(critic_steps=4, critic_dropout=0.0, critic_clip=0.2, adversary=adversary)
    critic = deepcopy(trainer.critics["en"])
    seen = watch(trainer, encoder)
    optimizer = torch.optim.Adam(critic.parameters(), lr=trainer.config.critic_learning_rate)
    for step in range(2):  # Adam's moments go on from step to step
        trainer.step(batch_of(trainer, start=SIZE * step))
        for given, expected in zip(seen.inputs[:-1], seen.critic[1:], strict=True):
            optimizer.zero_grad()
            language_loss(critic, adversary, *given.split(SIZE)).backward()
            optimizer.step()
            with torch.no_grad():
                for p in critic.parameters():
                    p.clamp_(-0.2, 0.2)
            for ours, theirs in zip(critic.parameters(), expected, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)
        seen.inputs.clear()
        seen.critic.clear()


def test_the_reported_critic_loss_is_the_last_updates() -> None:
    trainer, encoder = trainer_of(critic_steps=3, critic_dropout=0.0)
    seen = watch(trainer, encoder)
    parts = trainer.step(batch_of(trainer))
    critic = deepcopy(trainer.critics["en"])
    critic.load_state_dict(dict(zip(critic.state_dict(), seen.critic[2], strict=True)))
    u, v = seen.inputs[2].split(SIZE)
    assert parts["critic"] == pytest.approx(
        language_loss(critic, Adversary.WASSERSTEIN, u, v).item(), abs=1e-6
    )


def test_one_discriminator_a_training_language_and_only_its_own_trains() -> None:
    trainer, encoder = trainer_of(train=("en", "de"))
    assert set(trainer.critics) == {"en", "de"}
    start = {t: copies(critic) for t, critic in trainer.critics.items()}
    assert not same(start["en"], start["de"])
    trainer.step(batch_of(trainer, "de"))
    for own, other in critic_batches(encoder):
        assert {language_of(i) for i in own} == {"de"}
        assert "de" not in {language_of(i) for i in other}
    assert same(copies(trainer.critics["en"]), start["en"])
    assert not same(copies(trainer.critics["de"]), start["de"])


def test_another_training_language_may_be_the_other_language() -> None:
    trainer, encoder = trainer_of(train=("en", "de"), unlabelled=("en", "de"))
    for t, other in (("en", "de"), ("de", "en")):
        trainer.step(batch_of(trainer, t))
        assert {language_of(i) for _, ids in critic_batches(encoder) for i in ids} == {other}
        assert {language_of(i) for i in encoder.collated[-1][SIZE:]} == {other}
