"""Embeddings moved towards their probable intents: a head on the encoder as it is, ours."""

from typing import TYPE_CHECKING

from emu_core.config.posterior import PosteriorConfig
from emu_core.methods.method import Method, Needs, process_memory

if TYPE_CHECKING:
    from emu_core.methods.job import Job, Outcome
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import LabelledData


def _train(job: "Job", config: PosteriorConfig) -> "Outcome":
    """Fit the head on the base encoder's vectors; each sentence is encoded once."""
    import torch

    from emu_core.data.demo import reference_texts
    from emu_core.encoders.encode import head_after, once
    from emu_core.encoders.posterior import PosteriorEncoder
    from emu_core.methods.job import Outcome
    from emu_core.trainers import posterior
    from emu_core.trainers.emu_data import labelled_rows
    from emu_core.trainers.fit import Fitted
    from emu_core.trainers.intent_regression import sampled_rows

    encode = once(job.encode_with(job.encoder))  # the encoder under the head does not change
    job.measure_base(encode)
    job.progress.phase("fitting")
    every = labelled_rows(job.labelled_data.labelled.train_part(), job.config.train_languages)
    warnings = posterior.samples(every["label"].tolist())
    rows = every.iloc[sampled_rows(every["label"].tolist())]
    texts, labels, ids, languages = (rows[name].tolist() for name in ("text", "label", "id", "language"))
    reference = (
        {language: encode(some) for language, some in reference_texts().items()}
        if config.language_directions or config.centering
        else {}
    )
    examples = posterior.Examples(encode(texts), labels, reference, ids)
    strength = posterior.choose_strength(examples, config)
    penalty = posterior.choose_penalty(examples, strength.settings)
    head = posterior.fit_head(examples, strength.settings, penalty)
    specialised = PosteriorEncoder(job.encoder, head)
    if job.snapshots is not None:
        job.snapshots.take(
            1,
            "after the map",
            lambda texts: head.mapped(torch.from_numpy(encode(texts)).to(head.bias.device)).cpu().numpy(),
        )
    job.progress.phase("leaving intents out")
    new = posterior.new_intents(examples, languages, strength.settings, penalty)
    metrics = {"new_intents": None if new is None else new.facts() | {"strength": strength.facts()}}
    if job.labelled_data.labelled.held_out_part() is None:
        job.progress.phase("cross-validating")
        validated = posterior.cross_validated(examples, languages, config)
        if validated is not None:
            metrics["cross_validation"] = validated.facts()
    return Outcome(specialised, head_after(encode, specialised.head), Fitted(0, warnings), metrics)


def _check(data: "LabelledData", config: "RunConfig", _settings: PosteriorConfig) -> None:
    from emu_core.trainers.emu_data import labelled_rows

    labelled_rows(data.labelled.train_part(), config.train_languages)  # raises an error for a single intent


def _memory(data: "LabelledData", config: "RunConfig", _settings: PosteriorConfig) -> int | None:
    """Add what the head is fitted with, of float64 for the most part."""
    from emu_core.trainers.emu_data import labelled_rows
    from emu_core.trainers.intent_regression import sampled_rows
    from emu_core.trainers.posterior import DENSE

    own = process_memory(data, config)
    if own is None:
        return None
    labels = labelled_rows(data.labelled.train_part(), config.train_languages)["label"].tolist()
    n, k = len(sampled_rows(labels)), max(labels) + 1
    return own + 512 * (56 * n + 16 * k) + 12 * min(n * k, DENSE)


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
POSTERIOR = Method(
    name="posterior",
    title="Embeddings moved towards intents",
    summary="Done in seconds, without fine-tuning: a map learnt from the labels changes every embedding a little, and "
    "sentences that have one of the labelled intents are moved towards it.",
    settings=PosteriorConfig,
    needs=Needs.INTENTS,
    train=_train,
    tuned=lambda encoder, _: _USE if encoder == "use" else {},
    check=_check,
    memory=_memory,
)
