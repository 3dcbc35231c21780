"""Distillation: an encoder learns the similarities of another, its teacher, from sentences without labels."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from emu_core.errors import Fix, TrainingError
from emu_core.methods.distil.settings import DistilConfig
from emu_core.training.method import Method, Needs
from emu_core.training.weight_settings import Trained

if TYPE_CHECKING:
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import LabelledData
    from emu_core.training.job import Job, Outcome


def _train(job: "Job", config: DistilConfig) -> "Outcome":
    """Encode every sentence with the teacher once, and train the student in place."""
    from emu_core.encoders.registry import load_encoder
    from emu_core.methods.distil.teacher import check_teacher, teacher_vectors
    from emu_core.methods.distil.trainer import DistilTrainer
    from emu_core.training.job import Outcome

    check_teacher(config.teacher, job.config.encoder)  # which may be gone since the run was planned
    texts = _sentences(job.labelled_data)
    encode = job.encode_with(job.encoder)
    job.measure_base(encode)
    job.progress.phase("encoding")
    vectors = teacher_vectors(
        load_encoder(str(config.teacher), device=job.config.encoder_device),
        texts,
        job.processes,
        cache=job.cache,
        on_progress=job.progress.counted,
    )
    trainer = DistilTrainer(
        job.encoder,
        job.encoder.ids_of(texts),
        vectors,
        config,
        seed=job.config.seed,
        precision=job.config.step_precision,
        processes=job.processes,
    )
    return Outcome(job.encoder, encode, job.fit(trainer, encode))


def _sentences(data: "LabelledData") -> list[str]:
    unlabelled = data.unlabelled
    texts: list[str] = [] if unlabelled is None else unlabelled.frame["text"].tolist()
    return texts


def _check(data: "LabelledData", config: "RunConfig", settings: DistilConfig) -> None:
    from emu_core.methods.distil.teacher import check_teacher

    check_teacher(settings.teacher, config.encoder)
    if (count := len(_sentences(data))) < settings.batch_size:
        raise TrainingError(
            f"{count} sentences are fewer than one batch of {settings.batch_size}, too few to learn similarities from; "
            "add sentences, which need no labels (",
            Fix("unlabelled"),
            "), or lower ",
            Fix("batch_size"),
        )


# As Emu's: nothing was gained by training the first layer of `use`, nor the first eight of the twelve of `e5-small`.
_TUNED_FOR: Mapping[str, Mapping[str, Any]] = {
    "use": {"trained": Trained.LAST_LAYERS, "last_layers": 5},
    "e5-small": {"trained": Trained.LAST_LAYERS, "last_layers": 4, "learning_rate": 1e-4},
    "hf": {"learning_rate": 1e-4},
}
METHODS = (
    Method(
        name="distil",
        title="Distillation from a teacher",
        summary="The encoder learns the similarities of another one, its teacher, from sentences in any languages; "
        "labels are not read. What a slow encoder or a joined one has learnt then comes at the speed of a fast one.",
        settings=DistilConfig,
        needs=Needs.SENTENCES,
        train=_train,
        tuned=lambda encoder, _: _TUNED_FOR.get("hf" if encoder.startswith("hf") else encoder, {}),
        check=_check,
        list_order=10,
        is_default=True,
    ),
)
