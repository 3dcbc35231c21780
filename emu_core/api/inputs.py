"""Inputs as users name them: labelled data, in any of the forms of `Sources`, runs and encoders."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import pandas as pd

from emu_core.data.languages import language_code
from emu_core.data.reading import Reading, checked_reading
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.data.wording import kind_of, shown
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.estimators import HoldsEncoder, estimator_spec, is_estimator, open_held
from emu_core.encoders.joined import JoinedEncoder
from emu_core.encoders.reading import languages_note, long_texts
from emu_core.encoders.registry import available_encoders, load_encoder, open_tokens
from emu_core.encoders.specs import RUN_SPEC, is_run, joined_spec, parts_of
from emu_core.errors import EncoderError, InputError, RunError
from emu_core.formats.in_memory import Sources
from emu_core.formats.labelled import read_labelled, read_unlabelled, with_descriptions
from emu_core.methods.registry import method_named
from emu_core.runs.config import Plan, RunTask
from emu_core.runs.run import Run


def labelled_set(
    data: Sources,
    reading: Reading | None = None,
    *,
    learns_intents: bool = True,
    elsewhere: Collection[str] = (),
) -> tuple[LabelledSet, tuple[str, ...]]:
    """Return a labelled set, read if it is none yet, and the findings of its audit.

    Args:
        data: the set, or what `read_labelled` takes.
        reading: as of `read_labelled`; of a set, only which intents stand for "none of these" can be said.
        learns_intents: that of `Audit.summary`.
        elsewhere: the options of the reading by which other data is read, so that a set needn't use them.

    Raises:
        DataError: it can't be read.
    """
    reading = checked_reading(reading)
    if isinstance(data, LabelledSet):
        unused = [
            name for name in ("mapping", "language", "merge_intents", "missing") if name not in elsewhere
        ]
        reading.refuse("a labelled set is read already", *unused)
        whole = data.with_no_intents(reading.no_intents, reading.real_intents)
        return with_descriptions(whole, reading), ()
    labelled, audit = read_labelled(data, reading=reading)
    return labelled, tuple(audit.summary(learns_intents=learns_intents))


def is_given(data: Sources | None) -> bool:
    """Return whether there is any data: None and an empty list are none."""
    return data is not None and not (isinstance(data, list | tuple) and not data)


def unlabelled_set(data: Sources, reading: Reading | None = None) -> UnlabelledSet:
    """Return unlabelled sentences, read if they are no set yet. Raises DataError if they can't be read."""
    if isinstance(data, UnlabelledSet):
        return data
    return read_unlabelled(data, reading=reading)


def finished_run(source: Run | str | Path, purpose: str) -> Run:
    """Return a run given itself or its folder. Raises RunError if it is not finished, and so has no encoder yet."""
    run = source if isinstance(source, Run) else Run(Path(source))
    run.check_finished(purpose)
    return run


EncoderSource = Run | str | Path | HoldsEncoder


def open_encoder_of(
    source: EncoderSource, purpose: str, *, device: str = "cpu:fp32"
) -> tuple[Encoder, Run | None]:
    """Open the encoder of a finished run, of a fitted estimator, or of either's folder, or the one that a spec names.

    Args:
        source: the run, the estimator, the folder or the spec.
        purpose: what its encoder is for.
        device: by default in float32, as an export is.

    Returns:
        The encoder, and the run, or None for anything else.

    Raises:
        RunError: the run is not finished.
        InputError: the folder of an estimator is damaged, or the source is none.
        EncoderError: as `load_encoder`.
    """
    if isinstance(source, HoldsEncoder):
        return open_held(source, device), None
    if not isinstance(source, str | Path | Run):
        raise InputError(
            f"{kind_of(source)} has no encoder to {purpose}; give a run, a fitted SpecialisedEncoder or "
            "IntentClassifier, a folder of these, or the name of an encoder"
        )
    spec, run = spec_of(source, purpose)
    return load_encoder(spec, device=device), run


def spec_of(source: Run | str | Path, purpose: str) -> tuple[str, Run | None]:
    """Return the spec of a finished run's encoder with the run, of a saved estimator's, or an encoder's spec as it is.

    Args:
        source: the run, its folder, that of an estimator, or the spec.
        purpose: what the encoder is for.

    Raises:
        RunError: the run is not finished.
        InputError: the estimator's folder is damaged.
    """
    specs = [RUN_SPEC, *(info.spec for info in available_encoders())]
    if isinstance(source, str) and any(
        part.startswith(spec) if spec.endswith(":") else part == spec
        for spec in specs
        for part in parts_of(source)[:1]
    ):
        return source, None
    if is_estimator(folder := Path(source)):
        return estimator_spec(folder.resolve()), None
    run = finished_run(source, purpose)
    return f"{RUN_SPEC}{run.folder}", run


def run_of(spec: str) -> Run | None:
    """Return the run that an encoder's spec names, if it names one."""
    return Run(Path(spec.removeprefix(RUN_SPEC))) if is_run(spec) else None


def runs_of(spec: str) -> list[Run]:
    """Return the runs that an encoder's spec names, of a joined one several."""
    return [run for part in parts_of(spec) if (run := run_of(part)) is not None]


def load_base(spec: str, *, device: str) -> Encoder | None:
    """Open the encoder that a run specialised; of a joined encoder, each run's is joined instead of the run.

    Returns:
        None if a run was trained from scratch.

    Raises:
        EncoderError: an encoder can't be opened.
        RunError: a run's folder is damaged.
    """
    bases = [part if (run := run_of(part)) is None else run.config().encoder for part in parts_of(spec)]
    if not all(bases):
        return None
    encoders = [load_encoder(base, device=device) for base in bases]
    return encoders[0] if len(encoders) == 1 else JoinedEncoder(encoders)


def encoder_title(spec: str) -> str:
    """Return the name of an encoder at the start of a sentence: "The run hotel", "The encoder use"."""
    run = run_of(spec)
    return f"The encoder {shown(spec)}" if run is None else f"The run {run.name}"


def languages_of(spec: str) -> tuple[str, ...]:
    """Return the languages that an encoder knows, of a joined one those in common; () if they are unknown.

    Raises:
        RunError: the run's folder is damaged.
    """
    if (run := run_of(spec)) is not None:
        config = run.config()
        return config.languages or languages_of(config.encoder)
    if len(parts := parts_of(spec)) > 1:
        known = [languages for part in parts if (languages := languages_of(part))]
        return tuple(code for code in known[0] if all(code in of for of in known)) if known else ()
    return next((info.languages for info in available_encoders() if info.spec == spec), ())


def reading_notes(spec: str, sentences: pd.DataFrame, title: str = "") -> tuple[str, ...]:
    """Return notes on languages that an encoder does not know, and on sentences that it does not read to the end.

    Args:
        spec: what `load_encoder` takes. Its weights are not loaded if its tokenizer is separate.
        sentences: with the columns text and language, "" for an unknown one.
        title: the encoder's name at the start of a sentence; "" takes that of `encoder_title`.
    """
    if len(parts := parts_of(spec)) > 1:
        of_parts = (reading_notes(part, sentences) for part in parts)
        return tuple(dict.fromkeys(note for notes in of_parts for note in notes))
    title, notes = title or encoder_title(spec), []
    with suppress(RunError):  # the folder has only an encoder
        languages = [code for code in sentences["language"].unique() if language_code(code)]
        notes.append(languages_note(title, languages_of(spec), languages))
    with suppress(EncoderError):  # what opens the encoder says why it can't be opened
        cut = [long_texts(tokens, sentences["text"]) for tokens in open_tokens(spec)]
        notes.append(max(cut, key=lambda texts: texts.count).note(title))
    return tuple(filter(None, notes))


def lazy_encode(spec: str, device: str) -> Callable[[Sequence[str]], FloatArray]:
    """Return the `encode` of an encoder that is loaded by the first call."""
    model = cache(lambda: load_encoder(spec, device=pick_device(device)))
    return lambda texts: model().encode(texts)


def without_heads(spec: str) -> str:
    """Return the spec of an encoder that has learnt what the vectors of `Encoder.without_head` have."""
    bare = []
    for part in parts_of(spec):
        plans: Sequence[Plan] = ()
        if part.startswith(RUN_SPEC):
            with suppress(RunError):  # the folder has only an encoder
                plan = Run(Path(part.removeprefix(RUN_SPEC))).plan()
                plans = plan.by_part() if plan.teacher is None else ()
        has_heads = plans and all(
            plan.task is RunTask.TRAIN and method_named(plan.method).fit_frozen for plan in plans
        )
        bare += [without_heads(plan.encoder) for plan in plans] if has_heads else [part]
    return joined_spec(bare)
