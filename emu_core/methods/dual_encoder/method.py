"""The multi-task dual encoder (Chidambaram et al. 2019), trained from scratch on parallel text and other tasks."""

from dataclasses import replace
from typing import TYPE_CHECKING

from emu_core.methods.dual_encoder.settings import TUNED_DUAL_ENCODER, DualEncoderConfig, Optimizer
from emu_core.training.method import WORDS, Method, Needs, scratch_memory

if TYPE_CHECKING:
    from emu_core.data.texts.tasks import Tasks
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import ParallelData
    from emu_core.training.job import Job, Outcome


def _train(job: "Job", config: DualEncoderConfig) -> "Outcome":
    from emu_core.evaluation.run_metrics import mean_p_at_1
    from emu_core.methods.dual_encoder.encoder import DualEncoder
    from emu_core.methods.dual_encoder.trainer import DualEncoderTrainer
    from emu_core.training.job import Outcome

    data, seed = job.parallel_data, job.config.seed
    encoder = DualEncoder.random(config, job.config.languages, seed=seed).to(job.config.device)
    score = None if not data.dev else lambda: mean_p_at_1(encoder.encode, data.dev)
    trainer = DualEncoderTrainer(encoder, data.tasks, config, seed=seed, score=score)
    fitted = job.fit(trainer, encoder.encode)
    return Outcome(
        encoder, encoder.encode, replace(fitted, warnings=(*fitted.warnings, *_advice(data.tasks)))
    )


def _advice(tasks: "Tasks") -> list[str]:
    """Return a sentence on the kinds of data that are missing and what they would add; none if all are present."""
    missing = [
        (tasks.running_text, "running text teaches what a sentence is about"),
        (tasks.dialogues, "comments with responses (dialogues) teach what a sentence is meant to do"),
        (tasks.nli, "inference pairs (NLI) teach which sentences contradict each other"),
    ]
    advice = [sentence for texts, sentence in missing if not texts]
    if not advice:
        return []
    return [
        "trained on translation ranking"
        + (" alone" if len(advice) == len(missing) else " and other tasks")
        + ", which is enough to find translations; for similarity and classification the paper adds more: "
        + ", ".join(advice)
    ]


def _memory(data: "ParallelData", _config: "RunConfig", settings: DualEncoderConfig) -> int:
    """Add the tables (weights, moments, the best epoch's weights), the states of a step, and the token ids."""
    base_bytes, characters = scratch_memory(data)
    table = 4 * (settings.word_buckets + settings.ngram_buckets) * settings.embedding_dim
    moments = 2 if settings.optimizer is Optimizer.ADAM else 0
    sentences = settings.batch_size * (2 + settings.hard_negatives)
    widths = (
        settings.embedding_dim + settings.dim + settings.layers * (8 * settings.dim + 2 * settings.filter_dim)
    )
    return base_bytes + table * (3 + moments) + 4 * sentences * WORDS * 3 * widths + 50 * characters


_DUAL_ENCODER = Method(
    name="dual-encoder",
    title="Multi-task dual encoder",
    summary="A transformer over hashed words and character n-grams, trained from scratch so that a sentence finds its "
    "translation among others; dialogues, running text and NLI pairs may be added as tasks.",
    settings=DualEncoderConfig,
    needs=Needs.PARALLEL_TEXT,
    train=_train,
    tuned=lambda *_: TUNED_DUAL_ENCODER,
    encoder="",
    memory=_memory,
    reads_tasks=True,
    list_order=31,
    is_default=True,
)
METHODS = (_DUAL_ENCODER,)
