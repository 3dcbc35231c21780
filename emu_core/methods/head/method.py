"""Embeddings moved towards their probable intents: a head on the encoder as it is, ours."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from emu_core.methods.head.settings import HeadConfig
from emu_core.training.frozen import FitFrozen
from emu_core.training.method import Method, Needs, process_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from emu_core.encoders.base import FloatArray
    from emu_core.evaluation.arrays import Encode
    from emu_core.methods.head.head import IntentHead
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import LabelledData
    from emu_core.training.frozen import FrozenFit
    from emu_core.training.job import Job, Outcome


def _train(job: "Job", config: HeadConfig) -> "Outcome":
    """Fit the head on the base encoder's vectors; each sentence is encoded once."""
    from emu_core.data.repeats import sentence_groups
    from emu_core.evaluation.run_metrics import Metrics, NewIntentMetrics
    from emu_core.intents.regression import sampled_rows
    from emu_core.methods.head import fit as head_fit
    from emu_core.methods.head.encoder import HeadEncoder
    from emu_core.training.fit import Fitted
    from emu_core.training.job import Outcome
    from emu_core.training.labels import labelled_rows

    encode = job.frozen_encode()  # the encoder under the head does not change
    plain = encode if job.encoder.without_head is job.encoder else None
    job.measure_base(encode)
    job.progress.phase("fitting")
    labelled = labelled_rows(job.labelled_data.labelled.train_part(), job.config.train_languages)
    cautions = head_fit.samples(labelled["label"].tolist())
    rows = labelled.iloc[sampled_rows(labelled["label"].tolist())]
    texts, labels, languages = (rows[name].tolist() for name in ("text", "label", "language"))
    groups = sentence_groups(rows)
    reference = {language: encode(sentences) for language, sentences in _reference(config).items()}
    examples = head_fit.Examples(encode(texts), labels, reference, groups)
    if job.snapshots is not None and config.evens_languages:
        evened = partial(head_fit.evened_languages, reference=reference, config=config)
        job.snapshots.take(1, "languages evened out", lambda texts: evened(encode(texts)))
    strength = head_fit.choose_strength(examples, config)
    penalty = head_fit.choose_penalty(examples, strength.settings)
    head = head_fit.fit_head(examples, strength.settings, penalty)
    specialised = HeadEncoder(job.encoder, head)  # moves the head to the encoder's device
    fitted = as_functions(head)
    if job.snapshots is not None:
        step = job.snapshots.last + 1
        job.snapshots.take(step, "after the map", lambda texts: fitted.mapped(encode(texts)))
        # Now, and not at the end: what follows only measures.
        job.snapshots.take(step + 1, "moved towards intents", fitted.encode_with(encode))
    if not job.measures:
        return Outcome(specialised, fitted.encode_with(encode), Fitted(0, cautions), plain=plain)
    job.progress.phase("leaving intents out")
    new = head_fit.new_intents(examples, languages, strength.settings, penalty)
    metrics = Metrics(
        new_intents=None if new is None else NewIntentMetrics(**new.given(), strength=strength.metrics())
    )
    if job.labelled_data.labelled.held_out_part() is None:
        job.progress.phase("cross-validating")
        metrics = replace(metrics, cross_validation=head_fit.cross_validated(examples, languages, config))
    return Outcome(specialised, fitted.encode_with(encode), Fitted(0, cautions), metrics, plain=plain)


def _reference(config: HeadConfig) -> "Mapping[str, list[str]]":
    """Return the sentences from which the differences between languages are learnt; none if they are left in."""
    from emu_core.data.demo import reference_texts

    return reference_texts() if config.evens_languages else {}


def as_functions(head: "IntentHead") -> "FrozenFit":
    """Return the functions of a head, from arrays to arrays."""
    import torch

    from emu_core.training.frozen import FrozenFit

    def on_arrays(function: "Callable[[Tensor], Tensor]") -> "Callable[[FloatArray], FloatArray]":
        @torch.no_grad()
        def compute(vectors: "FloatArray") -> "FloatArray":
            return function(torch.from_numpy(vectors).to(head.bias.device)).cpu().numpy()

        return compute

    return FrozenFit(
        embed=on_arrays(head.in_parts),
        probabilities=on_arrays(lambda vectors: head.in_parts(vectors, head.posterior)),
        mapped=on_arrays(head.mapped),
    )


def _fit_frozen(
    config: HeadConfig,
    encode: "Encode",
    texts: "Sequence[str]",
    labels: "Sequence[int]",
    ids: "Sequence[str]",
) -> "FrozenFit":
    """Fit the head with the given strength, without measuring what it does to new intents."""
    from emu_core.intents.regression import sampled_rows
    from emu_core.methods.head.fit import Examples, fit_head

    reference = {language: encode(sentences) for language, sentences in _reference(config).items()}
    examples = Examples(encode(texts), labels, reference, ids)
    return as_functions(fit_head(examples.take(sampled_rows(labels)), config))


def _check(data: "LabelledData", config: "RunConfig", _settings: HeadConfig) -> None:
    from emu_core.training.labels import labelled_rows

    labelled_rows(data.labelled.train_part(), config.train_languages)  # raises an error for a single intent


def _memory(data: "LabelledData", config: "RunConfig", _settings: HeadConfig) -> int | None:
    """Add what the head is fitted with, of float64 for the most part."""
    from emu_core.intents.regression import sampled_rows
    from emu_core.methods.head.fit import DENSE
    from emu_core.training.labels import labelled_rows

    base_bytes = process_memory(data, config)
    if base_bytes is None:
        return None
    labels = labelled_rows(data.labelled.train_part(), config.train_languages)["label"].tolist()
    n, k = len(sampled_rows(labels)), max(labels) + 1
    return base_bytes + 512 * (56 * n + 16 * k) + 12 * min(n * k, DENSE)


# `use` is trained on translations to have no language directions, and its mean is near zero.
_USE = {
    "whitening": 0.3,
    "whitening_factor": 1.4,
    "share_factor": 2.5,
    "kernel_temperature": 0.04,
    "gate_temperature": 0.1,
    "gate_quantile": 0.02,
    "language_directions": 0,
    "centering": 0.0,
}
METHODS = (
    Method(
        name="head",
        title="Embeddings moved towards intents",
        summary="Without fine-tuning: a map learnt from the labels changes every embedding a little, "
        "and sentences that have one of the labelled intents are moved towards it.",
        settings=HeadConfig,
        needs=Needs.INTENTS,
        train=_train,
        tuned=lambda encoder, _: _USE if encoder == "use" else {},
        check=_check,
        memory=_memory,
        fit_frozen=FitFrozen(_fit_frozen, _reference),
        list_order=0,
        is_default=True,
    ),
)
