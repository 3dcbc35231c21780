"""Training by FMDA or its baseline: layers over the frozen encoder's token states."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from emu_core.api.disentangled_metrics import disentangled_metrics
from emu_core.api.job import Job, Outcome
from emu_core.config import FmdaConfig, MeaningLanguageConfig
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_code
from emu_core.data.slots.utterances import SlotPairs, slot_pairs
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.shared import shared_encode
from emu_core.encoders.token_states import require_transformer
from emu_core.errors import DataError
from emu_core.models.fmda import Fmda
from emu_core.models.meaning_language import MeaningLanguage
from emu_core.trainers.disentangle import Stage, fit_stages
from emu_core.trainers.disentangle_data import prepare_disentangling
from emu_core.trainers.fmda import fmda_stages
from emu_core.trainers.meaning_language import meaning_language_stages

DEV_SHARE = 10  # one id of so many chooses the epoch, where there is no split dev


def train_disentangled(job: Job, config: FmdaConfig | MeaningLanguageConfig) -> Outcome:
    """Encode every sentence once and train the layers, from their checkpoint if there is one."""
    base = require_transformer(job.encoder)
    train, dev = training_pairs(job.labelled, [(a, b) for a, b in job.said["pairs"]])
    job.before(shared_encode(base, job.processes))
    seed = job.said["seed"]
    job.progress.phase("encoding")
    data = prepare_disentangling(
        base, train, dev, config, seed=seed, cache=job.cache, on_progress=job.progress.counted
    )
    torch.manual_seed(seed)
    model: Fmda | MeaningLanguage
    stages: list[Stage]
    if isinstance(config, FmdaConfig):
        model = Fmda(base.state_dim, data.languages, config.hidden, config.language_hidden).to(base.device)
        stages = fmda_stages(model, data, config)
    else:
        model = MeaningLanguage(base.state_dim, data.languages).to(base.device)
        stages = meaning_language_stages(model, data, config)
    if config.standardised:
        model.standard.fit(data.sentences.cls)
    at = job.checkpoint.facts()
    steps = sum(-(-len(stage.pairs) // config.batch_size) for stage in stages) * config.epochs
    with job.progress.training(steps, at.get("epochs", 0) + 1, at.get("step", 0)) as record:
        fitted = fit_stages(
            model,
            stages,
            data.sentences.negatives,
            config,
            seed=seed,
            on_record=record,
            should_stop=job.should_stop,
            checkpoint=job.checkpoint,
        )
    specialised = DisentangledEncoder(base, model)
    held_out = job.labelled.held_out_part()
    measured = (
        {} if held_out is None else {"parts": disentangled_metrics(specialised, held_out, job.said["pairs"])}
    )
    fitted = replace(fitted, warnings=(*data.warnings, *fitted.warnings))
    return Outcome(specialised, shared_encode(specialised, job.processes), fitted, measured)


def chosen_pairs(
    labelled: LabelledSet, pairs: Sequence[tuple[str, str]] | None, pivot: str
) -> list[tuple[str, str]]:
    """The language pairs to train on; by default the pivot with every other language of the training rows.

    Raises:
        DataError: a language is not there, or there is no other.
    """
    there = labelled.train_part().languages
    if pairs is None:
        pairs = [(pivot, code) for code in there if code != pivot]
    found = list(dict.fromkeys((language_code(a) or a, language_code(b) or b) for a, b in pairs))
    named = (
        [pivot, *(code for pair in found for code in pair)] if not found else [c for p in found for c in p]
    )
    if missing := [code for code in named if code not in there]:
        raise DataError(
            f"no sentence to train on in {missing[0]}; there are: {', '.join(there)}. Choose others with --pair"
        )
    if not found:
        raise DataError(
            f"all sentences are in {', '.join(there)}, and translations are what is learnt from; add another language"
        )
    return found


def training_pairs(
    labelled: LabelledSet, pairs: Sequence[tuple[str, str]]
) -> tuple[list[SlotPairs], list[SlotPairs]]:
    """Pairs to train on, and others that choose the epoch: split dev, or else every tenth id of the training rows.

    Raises:
        DataError: what `slot_pairs` raises.
    """
    dev = labelled.dev_part()
    train = slot_pairs(labelled.train_part(), pairs)
    languages = {code for pair in pairs for code in pair}
    if dev is not None and languages <= set(dev.languages):
        return train, slot_pairs(dev, pairs)
    kept = [_part(pair, dev=False) for pair in train]
    return kept, [_part(pair, dev=True) for pair in train]


def _part(pair: SlotPairs, *, dev: bool) -> SlotPairs:
    rows = [row for row in range(len(pair)) if (row % DEV_SHARE == DEV_SHARE - 1) is dev]
    return SlotPairs(
        pair.source,
        pair.target,
        tuple(pair.first[row] for row in rows),
        tuple(pair.second[row] for row in rows),
    )
