"""BiCVM (Hermann and Blunsom 2014), trained from scratch on parallel text."""

from typing import TYPE_CHECKING

from emu_core.methods.bicvm.settings import TUNED_BICVM, BicvmConfig
from emu_core.training.method import WORDS, Method, Needs, scratch_memory

if TYPE_CHECKING:
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import ParallelData
    from emu_core.training.job import Job, Outcome


def _train(job: "Job", config: BicvmConfig) -> "Outcome":
    from emu_core.evaluation.run_metrics import mean_p_at_1
    from emu_core.methods.bicvm.trainer import BicvmTrainer, untrained_encoder
    from emu_core.training.job import Outcome

    data, seed = job.parallel_data, job.config.seed
    encoder = untrained_encoder(data.tasks.translation, config, seed=seed).to(job.config.device)
    score = None if not data.dev else lambda: mean_p_at_1(encoder.encode, data.dev)
    trainer = BicvmTrainer(encoder, data.tasks.translation, config, seed=seed, score=score)
    fitted = job.fit(trainer, encoder.encode)
    return Outcome(encoder, encoder.encode, fitted)


def _memory(data: "ParallelData", _config: "RunConfig", settings: BicvmConfig) -> int:
    """Add four tables (weights, AdaGrad's sums, the best epoch's weights, a step's changes) and the token ids."""
    base_bytes, characters = scratch_memory(data)
    words: dict[str, set[str]] = {}
    for text in data.tasks.translation:
        for language, side in ((text.source, text.first), (text.target, text.second)):
            words.setdefault(language, set()).update(word for sentence in side for word in sentence.split())
    distinct = sum(map(len, words.values()))
    step = settings.batch_size * (1 + settings.noise) * WORDS  # word vectors composed in a step
    return base_bytes + 4 * settings.dim * (4 * distinct + 6 * step) + 20 * characters


_BICVM = Method(
    name="bicvm",
    title="BiCVM",
    summary="Sums of word vectors, trained from scratch so that translations come close; small and quick.",
    settings=BicvmConfig,
    needs=Needs.PARALLEL_TEXT,
    train=_train,
    tuned=lambda *_: TUNED_BICVM,
    encoder="",
    memory=_memory,
    list_order=30,
)
METHODS = (_BICVM,)
