"""Emu and the other methods of its Table 2 (Hirota et al. 2020), which fine-tune the encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from emu_core.methods.emu.settings import Adversary, EmuConfig, Objective, has_adversary, has_classifier
from emu_core.training.method import Method, Needs, process_memory
from emu_core.training.weight_settings import Trained

if TYPE_CHECKING:
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import LabelledData
    from emu_core.training.job import Job, Outcome

CHOSEN_ON_MEASURED = (
    "The epoch was chosen on sentences of split dev on which the run is evaluated too, so the figures are a little too "
    "good; name rows of a split test to evaluate on those."
)


def _train(job: "Job", config: EmuConfig) -> "Outcome":
    """Fine-tune the encoder in place; dev rows in the training languages choose the epoch."""
    from emu_core.evaluation.run_metrics import measure_accuracy
    from emu_core.methods.emu.batches import prepare_batches
    from emu_core.methods.emu.trainer import EmuTrainer
    from emu_core.training.job import Outcome

    labelled, languages = job.labelled_data.labelled, job.config.train_languages
    encode = job.encode_with(job.encoder)
    unlabelled = job.labelled_data.unlabelled
    data = prepare_batches(job.encoder.ids_of, labelled.train_part(), unlabelled, languages, config)
    job.measure_base(encode)
    dev = labelled.dev_part()
    chooses = (
        None if dev is None or not set(languages) <= set(dev.languages) else dev.select(languages=languages)
    )
    trainer = EmuTrainer(
        job.encoder,
        data,
        config,
        seed=job.config.seed,
        score=None if chooses is None else lambda: measure_accuracy(chooses, encode).mean,
        precision=job.config.step_precision,
        processes=job.processes,
    )
    fitted = job.fit(trainer, encode)
    if job.snapshots is not None and config.interpolation < 1:
        job.snapshots.take(job.snapshots.last + 1, "between base and trained", encode)
    if chooses is not None and config.epochs > 1 and "test" not in labelled.splits:
        fitted = replace(fitted, warnings=(*fitted.warnings, CHOSEN_ON_MEASURED))
    # An earlier epoch's weights, or an average with the base's, are not those that the classifier was trained with.
    is_of_last = chooses is None and config.interpolation == 1
    classify = trainer.own_classifier() if has_classifier(config) and is_of_last else None
    return Outcome(job.encoder, encode, fitted, classify=classify)


def _check(data: "LabelledData", config: "RunConfig", settings: EmuConfig) -> None:
    from emu_core.methods.emu.batches import prepare_batches

    def no_tokens(texts: Sequence[str]) -> list[list[int]]:  # only the numbers of sentences are checked
        return [[] for _ in texts]

    prepare_batches(no_tokens, data.labelled.train_part(), data.unlabelled, config.train_languages, settings)


def _memory(data: "LabelledData", config: "RunConfig", settings: EmuConfig) -> int | None:
    """Add the token ids; None for settings that train more weights or larger batches than were measured."""
    from emu_core.intents.regression import REGRESSION_MAX_SENTENCES

    base_bytes = process_memory(data, config)
    if (
        base_bytes is None
        or settings.trained not in _MEASURED_WEIGHTS
        or settings.batch_size > _MEASURED_BATCH
    ):
        return None
    numbers = 1000 * (len(data.labelled) + (0 if data.unlabelled is None else len(data.unlabelled.frame)))
    probed = min(len(data.labelled), REGRESSION_MAX_SENTENCES) if settings.linear_probe else 0
    return (
        base_bytes + _TRAINED.get(config.encoder, 0) + numbers + 16_000 * probed
    )  # embeddings in float64, three times


_MEASURED_BATCH = 16  # sentences in a step
_MEASURED_WEIGHTS = (Trained.ALL_BUT_EMBEDDINGS, Trained.LAST_LAYERS)
# Gradients, moments, the best epoch's weights and a step; for "use", `process_memory` includes them.
_TRAINED = {"e5-small": 1150 * 2**20}


# Measured on a topic set and on the demo set (benchmarks/README.md). At alpha = 50 the classifier fits the labels by
# itself and the encoder hardly changes, unlike at 10. At gamma = 1e-4 the discriminator's gradient is a thousandth of
# the classifier's; 0.1 is the largest weight tried that did no harm. One critic update per step was as good as five,
# and the discriminator in every eighth step (every 16th with "use") as good as in each, in half the time. Nothing was
# gained by training the first layer of "use", which depends on the word piece alone, like the frozen embeddings, nor
# the first eight of the twelve layers of "e5-small".
_TUNED = {
    "alpha": 10.0,
    "epochs": 5,
    "adversary_weight": 0.1,
    "critic_steps": 1,
}
_TRANSFORMER = {"learning_rate": 1e-4, "adversary_every": 8}
_TUNED_FOR: Mapping[str, Mapping[str, Any]] = {
    "use": {
        "trained": Trained.LAST_LAYERS,
        "last_layers": 5,
        "learning_rate": 3e-4,
        "adversary_every": 16,
    },
    "e5-small": {"trained": Trained.LAST_LAYERS, "last_layers": 4, **_TRANSFORMER},
    "hf": _TRANSFORMER,  # a transformer with any number of layers
}


def _tuned(encoder: str, _changes: Mapping[str, Any]) -> Mapping[str, Any]:
    # LASER takes the paper's own settings, which were found for it.
    kind = "hf" if encoder.startswith("hf") else encoder
    return {**_TUNED, **_TUNED_FOR[kind]} if kind in _TUNED_FOR else {}


_WITHOUT_LD = {"adversary": Adversary.NONE}
_WITHOUT_LD_CL = {**_WITHOUT_LD, "center_weight": 0.0}
_ROWS: Sequence[tuple[str, str, str, Mapping[str, Any]]] = (
    (
        "emu",
        "Emu",
        "The full method: sentences of one intent are pulled together, and a language discriminator keeps the "
        "languages aligned.",
        {},
    ),
    (
        "emu-without-ld",
        "Emu without the language discriminator",
        "Sentences of one intent are pulled together; nothing keeps the languages aligned.",
        _WITHOUT_LD,
    ),
    (
        "emu-without-ld-cl",
        "Emu without discriminator and center loss",
        "Only the L2-constrained softmax, which separates sentences by intent.",
        _WITHOUT_LD_CL,
    ),
    (
        "emu-parallel",
        "Emu with parallel sentences",
        "Emu with a discriminator that compares each sentence with its translation; needs ids that join translations.",
        {"parallel": True},
    ),
    (
        "emu-anchored",
        "Emu, anchored to the base encoder",
        "Emu whose classifier starts from a linear probe, then an average with the base encoder's weights: it often "
        "gains less on the labelled intents, and keeps more of what the encoder can do in other languages.",
        {"linear_probe": 1.0, "interpolation": 0.5},
    ),
    (
        "softmax",
        "Softmax",
        "A baseline: a plain classifier, trained together with the encoder.",
        {**_WITHOUT_LD_CL, "objective": Objective.SOFTMAX},
    ),
    (
        "contrastive",
        "Contrastive",
        "A baseline: pairs of one intent are pulled together, other pairs are pushed apart.",
        {**_WITHOUT_LD_CL, "objective": Objective.CONTRASTIVE},
    ),
    (
        "n-pair",
        "N-pair",
        "A baseline: each sentence has to identify its partner among sentences of other intents.",
        {**_WITHOUT_LD_CL, "objective": Objective.N_PAIR},
    ),
)
METHODS = tuple(
    Method(
        name=name,
        title=title,
        summary=summary,
        settings=EmuConfig,
        needs=Needs.INTENTS,
        train=_train,
        variant=variant,
        tuned=_tuned,
        reads_unlabelled=has_adversary,
        check=_check,
        memory=_memory,
        list_order=1,
    )
    for name, title, summary, variant in _ROWS
)
