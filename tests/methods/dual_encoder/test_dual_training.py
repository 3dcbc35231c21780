"""Training of the dual encoder: turns, updates, hard negatives, going on after a stop, and that it learns."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from emu_core.data.texts.nli import Nli
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.saved import check_files, write_checksums
from emu_core.errors import EncoderError, TrainingError
from emu_core.losses.ranking import ranking_loss
from emu_core.methods.dual_encoder import trainer as training
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.relations import RELATIONS_FILE, Relations
from emu_core.methods.dual_encoder.settings import DualEncoderConfig, Optimizer
from emu_core.methods.dual_encoder.tasks import Translation, mine, nearest_in_pool, prepare_tasks
from emu_core.methods.dual_encoder.trainer import DualEncoderTrainer, TaskPlan, rate_factor
from emu_core.runs.log import Record
from emu_core.training.fit import fit as fit_trainer
from tests.support.raises import raises
from tests.support.toy_tasks import (
    ALL,
    EN_DE,
    ENGLISH,
    GERMAN,
    PREMISES,
    TALK,
    TEXT,
    TINY,
    dual_encoder,
)


def fit(model: DualEncoder, tasks: Tasks, config: DualEncoderConfig = TINY, **more: Any) -> list[Record]:
    records: list[Record] = []
    trainer = DualEncoderTrainer(model, tasks, config, **({"seed": 0} | more))
    fit_trainer(trainer, on_record=records.append, should_stop=lambda: False)
    assert not model.sparse and not model.training
    return records


def same(a: DualEncoder, b: DualEncoder) -> bool:
    return all(torch.equal(tensor, b.state_dict()[name]) for name, tensor in a.state_dict().items())


def test_one_task_a_step_in_turn_after_translation_alone() -> None:
    records = fit(dual_encoder(), ALL)
    names = [record.texts["task"] for record in records if record.is_step]
    assert len(names) == 2 * 4 * 4  # epochs, batches of the 16 pairs, tasks
    assert names[:8] == ["en-de"] * 8  # a quarter of the training, then hard negatives are mined
    assert names[8:] == ["en-de", "conversation en", "quick-thought de", "nli en"] * 6
    epochs = [record for record in records if not record.is_step]
    assert [(record.epoch, record.step) for record in epochs] == [(1, 16), (2, 32)]
    steps = [record for record in records if record.is_step and record.epoch == 2]
    nli = [record.loss for record in steps if record.texts["task"] == "nli en"]
    assert epochs[1].figures["loss nli en"] == pytest.approx(np.mean(nli))
    assert epochs[1].loss == pytest.approx(np.mean([record.loss for record in steps]))


def test_without_hard_negatives_turns_begin_at_once() -> None:
    french = ParallelText("en", "fr", ENGLISH, GERMAN[::-1], "other")
    records = fit(
        dual_encoder(), replace(ALL, translation=[EN_DE, french]), replace(TINY, hard_negatives=0, steps=7)
    )
    names = [record.texts["task"] for record in records if record.is_step]
    assert names == ["en-de", "en-fr", "conversation en", "quick-thought de", "nli en", "en-de", "en-fr"]


def test_any_task_can_be_the_only_one() -> None:
    for part, tasks in {
        "conversation": Tasks(dialogues=[TALK]),
        "quick-thought": Tasks(running_text=[TEXT]),
        "nli": Tasks(nli=[PREMISES]),
    }.items():
        before, model = dual_encoder(), dual_encoder()
        records = fit(model, tasks)
        assert {record.texts["task"].split()[0] for record in records if record.is_step} == {part}
        assert not same(before, model)


def test_a_pass_takes_every_pair_once_in_an_order_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    loss = Translation.loss

    def watched(self: Translation, vectors: Any, rows: Any, *rest: Any) -> Any:
        seen.append(rows.tolist())
        return loss(self, vectors, rows, *rest)

    monkeypatch.setattr(Translation, "loss", watched)
    fit(dual_encoder(), Tasks([EN_DE]))
    first, second = (list(chain(*seen[i : i + 4])) for i in (0, 4))
    assert sorted(first) == sorted(second) == list(range(16))
    assert first != second


def test_sgd_moves_tables_by_a_hundred_times_their_gradient() -> None:
    config = replace(
        TINY, dropout=0, word_dropout=0, hard_negatives=0, batch_size=16, steps=1, learning_rate=0.002
    )
    assert (config.optimizer, config.embedding_multiplier) == (Optimizer.SGD, 100)
    model, before = dual_encoder(config), dual_encoder(config)
    english, german = (before(before.tokenize(side)) for side in (ENGLISH, GERMAN))
    ranking_loss(german, english).backward()  # P(source | target)
    fit(model, Tasks([EN_DE]), config)
    moved = dict(model.named_parameters())
    tables = {id(table) for table in before.embeddings()}
    for name, weight in before.named_parameters():
        factor = 100 if id(weight) in tables else 1
        assert weight.grad is not None
        torch.testing.assert_close(
            moved[name] - weight, -0.002 * factor * weight.grad, rtol=1e-3, atol=2e-6, msg=name
        )
        assert weight.grad.any()


def test_adam_leaves_rows_alone_that_a_step_does_not_read() -> None:
    config = replace(TINY, optimizer=Optimizer.ADAM, embedding_multiplier=2.0, learning_rate=0.01, steps=3)
    model, before = dual_encoder(config), dual_encoder(config)
    fit(model, Tasks([EN_DE]), config)
    read = {i for text in (*ENGLISH, *GERMAN) for i in model.hashing.token_ids(text, 9)}
    for shift, (old, new) in zip(
        (0, 300), zip(before.embeddings(), model.embeddings(), strict=True), strict=True
    ):
        changed = {row + shift for row in (old != new).any(dim=1).nonzero().squeeze(1).tolist()}
        assert changed
        assert changed <= read


def test_the_learning_rate_rises_and_falls() -> None:
    plain = replace(TINY, warmup=0.0, decay=False)
    assert {rate_factor(step, 10, plain) for step in range(10)} == {1.0}
    both = replace(TINY, warmup=0.3, decay=True)
    factors = [rate_factor(step, 10, both) for step in range(10)]
    assert factors == pytest.approx([1 / 4, 2 / 4, 3 / 4, *(k / 7 for k in range(7, 0, -1))])


def test_translation_is_ranked_towards_the_source_or_both_ways() -> None:
    model = dual_encoder()
    (task,) = prepare_tasks(model, Tasks([EN_DE]))
    torch.manual_seed(0)
    first, second, hard, other = (torch.randn(n, 8) for n in (4, 4, 8, 8))
    heads, rows = None, np.arange(4)
    one = task.loss([first, second, hard], rows, heads, TINY)  # type: ignore[arg-type]
    torch.testing.assert_close(one, ranking_loss(second, first, hard.view(4, 2, 8)))
    wide = replace(TINY, bidirectional=True, scale=3.0)
    both = task.loss([first, second, hard, other], rows, heads, wide)  # type: ignore[arg-type]
    expected = (
        ranking_loss(second, first, hard.view(4, 2, 8), scale=3.0)
        + ranking_loss(first, second, other.view(4, 2, 8), scale=3.0)
    ) / 2
    torch.testing.assert_close(both, expected)


def test_quick_thought_keeps_to_documents() -> None:
    model = dual_encoder()
    (task,) = prepare_tasks(model, Tasks(running_text=[TEXT]))
    lines = model.token_ids(GERMAN)
    before, own, after = (part.ids.tolist() for part in task.sides(np.arange(task.size)))
    middle = [*range(1, 6), 8, *range(11, 15)]  # of documents of 7, 3 and 6 sentences
    assert before == list(chain(*(lines[i - 1] for i in middle)))
    assert own == list(chain(*(lines[i] for i in middle)))
    assert after == list(chain(*(lines[i + 1] for i in middle)))


def test_hard_negatives_are_the_nearest_that_are_not_equal() -> None:
    vectors = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    texts, others = np.arange(12) // 2, np.array([0, *range(1, 11), 0])
    pool = np.array([0, 1, 2, 3, 5, 6, 8, 9, 11])
    found = nearest_in_pool(vectors, pool, [texts, others], 3)
    units = vectors / vectors.norm(dim=1, keepdim=True)
    for row in range(12):
        wrong = [j for j in pool if texts[j] != texts[row] and others[j] != others[row]]
        assert found[row].tolist() == sorted(wrong, key=lambda j: -float(units[row] @ units[j]))[:3]
    assert nearest_in_pool(vectors, pool[:3], [texts, others], 3).shape == (
        12,
        1,
    )  # rows 0 and 1 have only row 2 left


def test_a_true_translation_is_never_a_hard_negative() -> None:
    doubled = ParallelText(
        "en", "de", (*ENGLISH, "A  DOG runs", "the bird"), (*GERMAN, "der hund rennt", GERMAN[3]), "d"
    )
    model = dual_encoder()
    (task,) = prepare_tasks(model, Tasks([doubled]))
    config = replace(TINY, bidirectional=True, hard_negatives=5, mining_pool=1000)
    sources, targets = mine(model, task.columns, config, np.random.default_rng(0))
    for mined in (sources, targets):
        assert mined.shape == (18, 5)
        for row, wrong in enumerate(mined):
            assert row not in wrong
        assert 16 not in mined[0]  # the same source, in other words on the other side
        assert 0 not in mined[16]
        assert 17 not in mined[3]  # the same target
        assert 3 not in mined[17]


def test_hard_negatives_are_mined_once_and_used_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    mined: list[int] = []
    counts: list[int] = []
    real, sides = training.mine, Translation.sides

    def watched_mine(*args: Any) -> Any:
        mined.append(len(counts))
        return real(*args)

    def watched_sides(self: Translation, rows: Any) -> Any:
        found = sides(self, rows)
        counts.append(sum(map(len, found)))
        return found

    monkeypatch.setattr(training, "mine", watched_mine)
    monkeypatch.setattr(Translation, "sides", watched_sides)
    fit(dual_encoder(), Tasks([EN_DE]), replace(TINY, bidirectional=True))
    assert mined == [2]
    assert counts == [8] * 2 + [8 + 2 * 4 * 2] * 6


def test_the_seed_decides() -> None:
    models = [dual_encoder(), dual_encoder(), dual_encoder()]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        fit(model, ALL, seed=seed)
    assert same(models[0], models[1])
    assert not same(models[0], models[2])


@pytest.mark.slow
def test_it_learns() -> None:
    base = replace(TINY, dropout=0.0, word_dropout=0.0, bidirectional=True)
    for config in (
        replace(base, optimizer=Optimizer.ADAM, learning_rate=0.01, embedding_multiplier=1.0, normalised=True,
                scale=10.0, epochs=15),
        replace(base, learning_rate=0.008, embedding_multiplier=100.0, dim=16, embedding_dim=16, epochs=40),
    ):  # fmt: skip
        model = dual_encoder(config)
        fit(model, Tasks([EN_DE]), config)
        english, german = model.encode(ENGLISH), model.encode(GERMAN)
        assert ((english @ german.T).argmax(axis=1) == np.arange(16)).mean() >= 0.9


def test_what_can_not_be_trained_on_is_refused() -> None:
    short = RunningText("en", (ENGLISH[:3],), "short")
    for tasks, message in (
        (Tasks(), "has no task"),
        (Tasks([EN_DE], running_text=[short]), "quick-thought en has 1 example"),
        (Tasks([EN_DE.take([0])]), "en-de has 1 example"),
    ):
        with pytest.raises(TrainingError, match=message):
            fit(dual_encoder(), tasks)
    with raises(TrainingError, fix="learning_rate"):
        fit(dual_encoder(), Tasks([EN_DE]), replace(TINY, learning_rate=1e30, epochs=5))


def test_the_turns_of_each_task_are_counted() -> None:
    for plan in (
        TaskPlan(40, 12, 7, 2, 5),
        TaskPlan(40, 12, 0, 0, 3),
        TaskPlan(40, 12, 0, 2, 2),
        TaskPlan(9, 9, 9, 1, 1),
    ):
        had = [0] * plan.tasks
        for step in range(plan.steps):
            assert plan.turns(step) == had[plan.task(step)]
            had[plan.task(step)] += 1


def test_an_epoch_without_translation_is_a_pass_over_the_largest_set() -> None:
    tasks = Tasks(dialogues=[TALK], nli=[PREMISES])
    assert tasks.sizes == [task.size for task in prepare_tasks(dual_encoder(), tasks)]
    assert TaskPlan.of(tasks, TINY) == TaskPlan(steps=8, epoch=4, alone=0, translations=0, tasks=2)


def test_other_tasks_weigh_less_beside_translation_only() -> None:
    config = replace(TINY, dropout=0, word_dropout=0, hard_negatives=0, embedding_multiplier=1.0, steps=2)
    light = replace(config, task_weight=0.25)
    moves = []
    for tasks in (Tasks([EN_DE], [TALK]), Tasks(dialogues=[TALK])):
        for one in (config, light):
            middle, end = dual_encoder(one), dual_encoder(one)
            fit(middle, tasks, replace(one, steps=1))
            records = fit(end, tasks, one)
            assert records[1].texts["task"] == "conversation en"
            moves.append(end.words.detach() - middle.words.detach())
    torch.testing.assert_close(moves[1], 0.25 * moves[0], rtol=1e-2, atol=1e-7)
    assert torch.equal(moves[2], moves[3])
    assert moves[0].any()


@torch.no_grad()
def logits(model: DualEncoder, heads: Any, pairs: Nli) -> torch.Tensor:
    first, second = (model(model.tokenize(side)) for side in (pairs.premises, pairs.hypotheses))
    features = torch.cat([first, second, abs(first - second), first * second], dim=1)
    gain = heads.gain  # the products' is its square
    scale = torch.tensor([gain, gain, gain, gain**2]).repeat_interleave(first.shape[1])
    weights = dict(heads.nli.named_parameters())
    inner = torch.tanh(features * scale @ weights["0.weight"].T + weights["0.bias"])
    return inner @ weights["2.weight"].T + weights["2.bias"]


def trained_on_inference(scores: list[float] | None = None, epochs: int = 2) -> tuple[DualEncoder, Any]:
    model, left = dual_encoder(), iter(scores or [])
    trainer = DualEncoderTrainer(
        model, ALL, replace(TINY, epochs=epochs), seed=0, score=(lambda: next(left)) if scores else None
    )
    fit_trainer(trainer, on_record=lambda _: None, should_stop=lambda: False)
    return model, trainer


def test_the_head_of_inference_pairs_is_kept_beside_the_encoder(tmp_path: Path) -> None:
    model, trainer = trained_on_inference()
    model.save(tmp_path)
    head, again = Relations.open(tmp_path), DualEncoder.open(tmp_path)
    assert same(model, again) and again.relations is None  # it would not fit what is trained further
    first, second = again.encode(PREMISES.premises), again.encode(PREMISES.hypotheses)
    found = head.predict(first, second)
    assert found.tolist() == logits(model, trainer.heads, PREMISES).argmax(dim=1).tolist()
    assert not {id(weight) for weight in model.parameters()} & {id(w) for w in head.layers.parameters()}
    write_checksums(tmp_path)
    check_files(tmp_path)
    spoilt = bytearray((tmp_path / RELATIONS_FILE).read_bytes())
    spoilt[-1] ^= 1
    (tmp_path / RELATIONS_FILE).write_bytes(spoilt)
    with raises(EncoderError, fix=None, match=RELATIONS_FILE):
        check_files(tmp_path)


def test_the_head_is_that_of_the_chosen_epoch() -> None:
    whole, _ = trained_on_inference([1.0, 2.0, 0.0], epochs=3)
    last, _ = trained_on_inference([1.0, 2.0, 3.0], epochs=3)
    first, _ = trained_on_inference([2.0, 1.0, 0.0], epochs=3)
    of = [one.relations.layers[0].weight for one in (first, whole, last) if one.relations is not None]
    assert len(of) == 3
    assert not torch.equal(of[0], of[1]) and not torch.equal(of[1], of[2]) and not same(whole, last)


def test_without_inference_pairs_there_is_no_head(tmp_path: Path) -> None:
    model = dual_encoder()
    fit(model, replace(ALL, nli=[]))
    model.save(tmp_path)
    assert model.relations is None and not (tmp_path / RELATIONS_FILE).exists()
    with raises(EncoderError, fix="nli", match=RELATIONS_FILE):
        Relations.open(tmp_path)
    for wrong in ({"0.weight": torch.zeros(2, 8)}, {"0.weight": torch.zeros(2), "gain": torch.zeros(1)}):
        save_file(wrong, tmp_path / RELATIONS_FILE)
        with raises(EncoderError, fix=None, match="of inference pairs"):
            Relations.open(tmp_path)


def test_a_checkpoint_of_an_earlier_version_has_the_encoders_weights_alone() -> None:
    _, trainer = trained_on_inference()
    other, _ = trained_on_inference(epochs=1)
    kept = trainer.heads.nli[0].weight.clone()
    trainer.load_weights(dict(other.state_dict()))
    assert same(trainer.encoder, other) and torch.equal(trainer.heads.nli[0].weight, kept)
