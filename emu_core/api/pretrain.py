"""`emu pretrain`: train an encoder from random weights on parallel text, and leave a run folder."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from emu_core.api.kept_texts import keep_texts
from emu_core.api.pretraining import CHECKPOINT_S, pretrain_run
from emu_core.api.progress import OnProgress
from emu_core.api.versions import versions
from emu_core.config.pretraining import (
    SETTINGS_OF,
    Pretraining,
    PretrainingSettings,
    configure_pretraining,
    pretraining_named,
)
from emu_core.data.parallel.files import read_parallel
from emu_core.data.parallel.held_out import hold_out, usual_count
from emu_core.data.parallel.text import ParallelText, names_of
from emu_core.data.texts.dialogues import read_dialogues
from emu_core.data.texts.nli import read_nli
from emu_core.data.texts.running_text import read_running_text
from emu_core.devices import pick_device
from emu_core.errors import TrainingError
from emu_core.runs.run import Run, create_run
from emu_core.trainers.dual_tasks import Tasks

File = str | Path


def pretrain(
    files: Sequence[File] | Sequence[ParallelText],
    *,
    out: str | Path,
    method: str = Pretraining.DUAL_ENCODER.value,
    languages: Sequence[str] | None = None,
    drop_empty: bool = False,
    dialogues: Sequence[File] = (),
    running_text: Sequence[File] = (),
    nli: Sequence[File] = (),
    dev: Sequence[File] | Sequence[ParallelText] = (),
    test: Sequence[File] | Sequence[ParallelText] = (),
    seed: int = 0,
    device: str = "auto",
    config: PretrainingSettings | None = None,
    checkpoint_s: float = CHECKPOINT_S,
    on_progress: OnProgress | None = None,
) -> Run:
    """Train an encoder from random weights.

    The pairs held out (at most 1,000 of each language pair, or those of `dev`) choose the epoch by P@1 of translation
    retrieval, both ways. They, or those of `test`, measure the encoder at the end.

    Args:
        files: parallel text, as `read_parallel` takes it.
        out: the run's folder; must be new.
        method: a `Pretraining`: "dual-encoder" (Chidambaram et al. 2019) or "bicvm" (Hermann and Blunsom 2014).
        languages: of files that do not say theirs, in the order of the files or of a file's columns.
        drop_empty: leave out pairs with an empty side, which are an error otherwise.
        dialogues: comments with their responses, for the dual encoder.
        running_text: sentences in their order, for the dual encoder's quick thought.
        nli: SNLI's or MultiNLI's JSON lines, for the dual encoder.
        dev: parallel text that chooses the epoch; without it, some pairs of `files` do.
        test: parallel text that the encoder is measured on; without it, the pairs that chose the epoch.
        seed: the same seed on the same CPU gives the same weights.
        device: "auto", "cpu", "cuda:0".
        config: hyper-parameters; None takes the method's defaults.
        checkpoint_s: seconds between two checkpoints, from which `resume` goes on.
        on_progress: called with the run's status as it moves.

    Returns:
        The finished run, whose encoder `load_encoder("run:DIR")` opens.

    Raises:
        EmuError: what can't be read or trained on, with the mend; the run folder then says so too.
    """
    chosen = pretraining_named(method)
    settings = config if config is not None else configure_pretraining(chosen)
    if not isinstance(settings, SETTINGS_OF[chosen]):
        raise TrainingError(
            f"the settings are a {type(settings).__name__}, which is not what the method {chosen} takes: name the "
            f"method too, or make them with configure_pretraining(Pretraining.{chosen.name})"
        )
    if chosen is Pretraining.BICVM and (dialogues or running_text or nli):
        raise TrainingError(
            "BiCVM learns from parallel text alone; leave dialogues, running text and NLI out, or train a dual-encoder"
        )
    texts, checked, measured = (_parallel(given, languages, drop_empty) for given in (files, dev, test))
    train = texts
    if not checked:
        train, checked = hold_out(texts, usual_count(texts), seed)
    tasks = Tasks(
        tuple(train),
        tuple(text for file in dialogues for text in read_dialogues([file])),
        tuple(text for file in running_text for text in read_running_text([file])),
        tuple(text for file in nli for text in read_nli([file])),
    )
    place = pick_device(device)
    spoken = list(dict.fromkeys(code for text in texts for code in text.languages))
    said = {
        "method": chosen.value,
        "encoder": "",
        "languages": spoken,
        "pairs": [list(text.languages) for text in texts],
        "seed": seed,
        "device": place,
        "data": names_of(texts),
        "hyperparameters": asdict(settings),
        "versions": versions(),
    }
    run = create_run(Path(out), said)
    run.write("data.json", _facts(tasks, checked, measured))
    keep_texts(run, tasks, checked, measured)
    return pretrain_run(run, tasks, checked, measured, checkpoint_s=checkpoint_s, on_progress=on_progress)


def _parallel(
    files: Sequence[File] | Sequence[ParallelText], languages: Sequence[str] | None, drop_empty: bool
) -> list[ParallelText]:
    """Texts that were given, and files that are read."""
    texts = [one for one in files if isinstance(one, ParallelText)]
    named = [one for one in files if not isinstance(one, ParallelText)]
    return [*texts, *(read_parallel(named, languages, drop_empty=drop_empty) if named else [])]


def _facts(tasks: Tasks, dev: Sequence[ParallelText], test: Sequence[ParallelText]) -> dict[str, Any]:
    """What data.json says of the texts."""
    digest = hashlib.sha256()
    for text in tasks.translation:
        for side in (text.first, text.second):
            digest.update("\n".join(side).encode())
    return {
        "name": names_of(tasks.translation),
        "sha256": digest.hexdigest(),
        "pairs": {"-".join(text.languages): len(text) for text in tasks.translation},
        "dev": {"-".join(text.languages): len(text) for text in dev},
        "test": {"-".join(text.languages): len(text) for text in test},
        "dialogues": sum(map(len, tasks.dialogues)),
        "running_text": sum(map(len, tasks.running_text)),
        "nli": sum(map(len, tasks.nli)),
    }
