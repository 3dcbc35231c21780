"""Training by the posterior method: a head on the encoder as it is."""

from collections.abc import Sequence

from emu_core.api.job import Job, Outcome
from emu_core.config import PosteriorConfig
from emu_core.data.demo import reference_texts
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.base import Encoder
from emu_core.encoders.encode import Encode, head_after, once, shared_encode
from emu_core.encoders.posterior import PosteriorEncoder
from emu_core.trainers.loop import Fitted
from emu_core.trainers.posterior import check_rows, fit_head
from emu_core.trainers.prepare import labelled_rows


def train_posterior(job: Job, config: PosteriorConfig) -> Outcome:
    """Fit the head; each sentence is encoded once, before and after being the same encoder."""
    languages = job.said["train_languages"]
    check_rows(labelled_rows(job.labelled.train_part(), languages)[1])
    encode = once(shared_encode(job.encoder, job.processes))  # what is under the head stays as it is
    job.before(encode)
    job.progress.phase("fitting")
    specialised = _with_head(job.encoder, encode, job.labelled, languages, config)
    return Outcome(specialised, head_after(encode, specialised.head), Fitted(0, ()))


def _with_head(
    encoder: Encoder,
    encode: Encode,
    labelled: LabelledSet,
    train_languages: Sequence[str],
    config: PosteriorConfig,
) -> PosteriorEncoder:
    """The encoder as it is, with a head fitted on its vectors of the training sentences."""
    texts, labels, ids = labelled_rows(labelled.train_part(), train_languages)
    reference = (
        {language: encode(some) for language, some in reference_texts().items()}
        if config.language_directions or config.centering
        else {}
    )
    return PosteriorEncoder(encoder, fit_head(encode(texts), labels, reference, config, ids))
