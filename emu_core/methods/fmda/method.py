"""FMDA (Wu et al. 2022) and its baseline, which split the vectors of a frozen encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from emu_core.errors import DataError
from emu_core.methods.fmda.settings import FmdaConfig, MeaningLanguageConfig
from emu_core.training.method import Method, Needs, process_memory

if TYPE_CHECKING:
    from emu_core.data.sets import LabelledSet
    from emu_core.data.slots.utterances import SlotPairs
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import LabelledData
    from emu_core.training.job import Job, Outcome

DEV_SHARE = 10  # without a split dev, every tenth id chooses the epoch


def _train(job: "Job", config: FmdaConfig | MeaningLanguageConfig) -> "Outcome":
    """Encode every sentence once and train the layers."""
    from emu_core.encoders.transformer.token_states import require_transformer
    from emu_core.evaluation.disentangled import disentangled_metrics
    from emu_core.evaluation.run_metrics import Metrics
    from emu_core.methods.fmda.batches import prepare_disentangling
    from emu_core.methods.fmda.encoder import DisentangledEncoder
    from emu_core.methods.fmda.trainer import DisentangleTrainer
    from emu_core.training.job import Outcome

    base, labelled = require_transformer(job.encoder), job.labelled_data.labelled
    train, dev = training_pairs(labelled, job.config.pairs)
    job.measure_base(job.encode_with(base))
    job.progress.phase("encoding")
    seed = job.config.seed
    data = prepare_disentangling(
        base, train, dev, config, seed=seed, cache=job.cache, on_progress=job.progress.counted
    )
    trainer = DisentangleTrainer(base, data, config, seed=seed)
    specialised = DisentangledEncoder(base, trainer.model)
    encode = job.encode_with(specialised)
    fitted = job.fit(trainer, encode)
    held_out = labelled.held_out_part()
    parts = None
    if held_out is not None:
        job.progress.phase("measuring the parts")
        embed = partial(specialised.parts, on_progress=job.progress.counted)
        parts = disentangled_metrics(embed, specialised.part_names, held_out, job.config.pairs)
    fitted = replace(fitted, warnings=(*data.warnings, *fitted.warnings))
    return Outcome(specialised, encode, fitted, Metrics(parts=parts))


def training_pairs(
    labelled: "LabelledSet", pairs: Sequence[tuple[str, str]]
) -> "tuple[list[SlotPairs], list[SlotPairs]]":
    """Return pairs to train on, and pairs that choose the epoch: split dev, or else every tenth training id.

    Raises:
        DataError: what `slot_pairs` raises.
    """
    from emu_core.data.slots.utterances import slot_pairs

    dev = labelled.dev_part()
    train = slot_pairs(labelled.train_part(), pairs)
    languages = {code for pair in pairs for code in pair}
    if dev is not None and languages <= set(dev.languages):
        return train, slot_pairs(dev, pairs)
    return [_part(pair, dev=False) for pair in train], [_part(pair, dev=True) for pair in train]


def _part(pair: "SlotPairs", *, dev: bool) -> "SlotPairs":
    rows = [row for row in range(len(pair)) if (row % DEV_SHARE == DEV_SHARE - 1) is dev]
    first, second = (tuple(side[row] for row in rows) for side in (pair.first, pair.second))
    return replace(pair, first=first, second=second)


def _check(data: "LabelledData", config: "RunConfig", settings: FmdaConfig | MeaningLanguageConfig) -> None:
    from emu_core.data.slots.template_pairs import template_pairs

    if not config.pairs:
        raise DataError(
            "the method learns from translations, and there are none; add the same sentences, with the same ids, in "
            "another language, or choose two languages"
        )
    train, _ = training_pairs(data.labelled, config.pairs)
    if isinstance(settings, FmdaConfig) and settings.two_stage:
        template_pairs([utterance for pair in train for utterance in (*pair.first, *pair.second)])


def _memory(
    data: "LabelledData", config: "RunConfig", settings: FmdaConfig | MeaningLanguageConfig
) -> int | None:
    """Add the states of all tokens in half precision, twice while they are joined, and FMDA's targets."""
    base_bytes = process_memory(data, config)
    if base_bytes is None:
        return None
    texts = data.labelled.select(languages=config.train_languages).frame["text"]
    tokens = int(texts.str.encode("utf-8").str.len().sum()) // 3 + _PROMPT * len(texts)
    sentences = len(texts)
    if isinstance(settings, FmdaConfig) and settings.two_stage:
        tokens, sentences = 2 * tokens, 2 * sentences  # each sentence gets a second one of its template
    targets = 8 * sentences if isinstance(settings, FmdaConfig) else 0
    return base_bytes + _STATE * (4 * tokens + targets)


_STATE, _PROMPT = 384, 8  # size of a token's state; tokens added to each sentence


# Measured on generated commands (benchmarks/README.md). The baseline gets those that help it, too.
_FMDA: dict[str, Any] = {
    "standardised": True,
    "language_hidden": 4,
    "utterance_cross_weight": 1.0,
    "template_weight": 0.03,
    "template_cross_weight": 0.03,
    "residual_weight": 3.0,  # the residual keeps its language, so the template keeps what the residual lacks
    "residual_cross_weight": 0.003,
    "template_contrast_weight": 0.3,
    "meaning_contrast_weight": 0.03,
    "learning_rate": 3e-3,
}
# In two stages, the template losses are trained on their own, and higher weights retrieve templates best.
_TWO_STAGE = {"template_weight": 0.1, "template_cross_weight": 0.1}


def _tuned_fmda(_encoder: str, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    return _FMDA | _TWO_STAGE if changes.get("two_stage") else _FMDA


_WHOLE = Method(
    name="fmda",
    title="FMDA: template, meaning and language",
    summary="Layers on the frozen encoder split each sentence into its language, its template (the sentence without "
    "its slots), the residual (the slots) and its meaning. Learns from translations with annotated slots; reads no "
    "intents.",
    settings=FmdaConfig,
    needs=Needs.SLOTS,
    train=_train,
    tuned=_tuned_fmda,
    encoder="e5-small",
    reads_tokens=True,
    check=_check,
    memory=_memory,
    list_order=20,
    is_default=True,
)
_BASELINE = replace(
    _WHOLE,
    name="meaning-language",
    title="Meaning and language (FMDA's baseline)",
    summary="Three layers on the frozen encoder split each sentence into its meaning and its language. Learns from the "
    "same translations as FMDA, to be compared with it.",
    settings=MeaningLanguageConfig,
    tuned=lambda *_: {"standardised": True, "learning_rate": 3e-3},
    is_default=False,
)
METHODS = (_WHOLE, _BASELINE)
