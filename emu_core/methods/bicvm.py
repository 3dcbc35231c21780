"""BiCVM (Hermann and Blunsom 2014), trained from scratch on parallel text."""

from typing import TYPE_CHECKING

from emu_core.config.bicvm import TUNED_BICVM, BicvmConfig
from emu_core.methods.method import Method, Needs

if TYPE_CHECKING:
    from emu_core.methods.job import Job, Outcome


def _train(job: "Job", config: BicvmConfig) -> "Outcome":
    from emu_core.evaluation.run_metrics import mean_p_at_1
    from emu_core.methods.job import Outcome
    from emu_core.trainers.bicvm import BicvmTrainer, untrained_encoder

    data, seed = job.parallel_data, job.config.seed
    encoder = untrained_encoder(data.tasks.translation, config, seed=seed).to(job.config.device)
    score = None if not data.dev else lambda: mean_p_at_1(encoder.encode, data.dev)
    trainer = BicvmTrainer(encoder, data.tasks.translation, config, seed=seed, score=score)
    fitted = job.fit(trainer, encoder.encode)
    return Outcome(encoder, encoder.encode, fitted)


BICVM = Method(
    name="bicvm",
    title="BiCVM",
    summary="A vector for each word, added up to a sentence's, trained from scratch so that translations come close; "
    "small and quick.",
    settings=BicvmConfig,
    needs=Needs.PARALLEL_TEXT,
    train=_train,
    tuned=lambda *_: TUNED_BICVM,
    encoder="",
)
