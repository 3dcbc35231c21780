"""Compare encoders on labelled sentences: a run with its base encoder, several runs, or any encoders."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.api.inputs import encoder_title, labelled_set, run_of, runs_of, spec_of, without_heads
from emu_core.data.reading import Reading
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder, precision_notes
from emu_core.encoders.specs import joined_spec, parts_of
from emu_core.errors import DataError
from emu_core.evaluation.arrays import DistinctTexts, Vectors
from emu_core.evaluation.prediction import Predicted, RightIntents, right_intents
from emu_core.evaluation.projection import stratified_sample
from emu_core.formats.in_memory import Sources
from emu_core.intents.labelled import fit_intents, predicted
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.intents import StoredIntents, has_intents, load_intents
from emu_core.runs.run import Run
from emu_core.runs.trained_on import trained_rows

if TYPE_CHECKING:
    from emu_core.notebook.comparison import RunComparison
    from emu_core.notebook.comparisons import RunComparisons

Comparable = Run | str | Path
ALL = "all"  # rows of every split
MOST_COMPARED = 20_000  # sentences; each is compared with every other


@overload
def compare(
    data: Sources,
    run: Comparable | None = None,
    other: Comparable | None = None,
    *,
    encoder: str | Sequence[str] | None = None,
    split: str | None = None,
    languages: Sequence[str] | None = None,
    device: str = "auto",
    reading: Reading | None = None,
) -> "RunComparison": ...


@overload
def compare(
    data: Sources,
    run: Comparable,
    other: Comparable,
    third: Comparable,
    /,
    *others: Comparable,
    encoder: str | Sequence[str] | None = None,
    split: str | None = None,
    languages: Sequence[str] | None = None,
    device: str = "auto",
    reading: Reading | None = None,
) -> "RunComparisons": ...


def compare(
    data: Sources,
    run: Comparable | None = None,
    other: Comparable | None = None,
    *others: Comparable,
    encoder: str | Sequence[str] | None = None,
    split: str | None = None,
    languages: Sequence[str] | None = None,
    device: str = "auto",
    reading: Reading | None = None,
) -> "RunComparison | RunComparisons":
    """Compare encoders on the same labelled sentences.

    Args:
        data: labelled sentences.
        run: a finished run, its folder, or what `load_encoder` takes; alone, a run is compared with its base encoder.
        other: a second one, whose gain over the first is measured.
        *others: any number of further ones, whose gains over the first are measured, too.
        encoder: what `load_encoder` takes: encoders before all runs, so that one is compared with `run` instead of its
            base encoder, or is the reference of several runs.
        split: rows of this split, or "all"; None takes test, else dev, else all rows.
        languages: only these languages; None takes all.
        device: "auto", "cpu", "cuda:0".
        reading: columns with unusual names, the language of files that state none, and more; see `Reading`.

    Returns:
        The comparison, which shows itself in a notebook; of three encoders or more, `RunComparisons`. Its `notes` tell
        which sentences a run was trained on, and whether only a sample was measured.

    Raises:
        DataError: the data can't be read or measured, or there are fewer than two encoders to compare.
        RunError: a run is damaged or not finished.
        EncoderError: an encoder can't be opened.

    Examples:
        >>> import emu_core
        >>> comparison = emu_core.compare("demo", "runs/hotel", languages=["en", "de"])
        >>> comparison.means["over"].tolist()
        ['3 language pairs with English on a side']
        >>> bool((comparison.means["difference"] > 10).all())
        True
        >>> several = emu_core.compare("demo", "use", "runs/hotel", "e5-small", languages=["en", "de"])
        >>> several.by_language["encoder"].unique().tolist()
        ['use', 'hotel', 'e5-small']
        >>> several.intents["language"].unique().tolist()
        ['en', 'de']
    """
    from emu_core.notebook.comparisons import Compared, RunComparisons, pair_of  # imports Plotly

    specs = _specs(
        [encoder] if isinstance(encoder, str) else list(encoder or ()),
        [spec_of(source, "compare") for source in (run, other, *others) if source is not None],
    )
    labelled = labelled_set(data, reading)[0]
    labelled = divided_as([run for spec in specs for run in runs_of(spec)], labelled)
    part, notes = choose_rows(labelled, split, languages)
    measured = labelled.selected(languages=languages, splits=splits_of(labelled, split))
    chosen_device, texts = pick_device(device), part.frame["text"].tolist()
    distinct = DistinctTexts(texts)
    rows = distinct.rows(texts)
    encoders = []
    for spec, name in zip(specs, _names(specs), strict=True):
        remarks = [*precision_notes(spec, chosen_device)]
        if runs_of(spec):
            seen, unknown = trained_rows(spec, labelled)
            remarks = [*training_notes(spec, seen[measured], unknown), *remarks]
        vectors = load_encoder(spec, device=chosen_device).encode(distinct.texts)[rows]
        encoders.append(Compared(spec, name, vectors, run_of(spec), tuple(remarks)))
    vectors_of = {encoder.spec: encoder.vectors for encoder in encoders}
    if len(encoders) > 2:
        answers = asked_answers(specs, part, vectors_of, chosen_device)
        return RunComparisons(part.frame, tuple(encoders), tuple(notes), tuple(answers))
    base, new = encoders
    intents = None
    if new.run is not None and new.is_of(base):
        intents = held_out_intents(new.run, labelled, split, part.languages)
    if intents is None:
        intents = asked_intents(specs, part, vectors_of, chosen_device)
    return pair_of(part.frame, base, new, notes, intents)


def held_out_intents(
    run: Run, labelled: LabelledSet, split: str | None, languages: Sequence[str]
) -> RightIntents | None:
    """Return the right intents that a run has measured, if these are the sentences that it held out, else None.

    Raises RunError if the run is damaged.
    """
    metrics = run.metrics()
    are_held_out = (
        splits_of(labelled, split) == [metrics.split]
        and tuple(languages) == metrics.languages
        and run.data().sha256 == labelled.sha256()
    )
    return metrics.right_intents if are_held_out else None


def asked_intents(
    specs: Sequence[str], part: LabelledSet, vectors: Mapping[str, Vectors], device: str
) -> RightIntents | None:
    """Return how many intents two encoders name right, as `asked_answers` asks them; None if they can't be asked."""
    before, after = asked_answers(specs, part, vectors, device) or (None, None)
    return right_intents(before, after)


def asked_answers(
    specs: Sequence[str], part: LabelledSet, vectors: Mapping[str, Vectors], device: str
) -> list[Predicted | None]:
    """Ask the intent models on encoders for the intents of the same sentences; none if one of them has none.

    A run has its own. Any other encoder has one that is fitted on the labelled sentences of the first run that keeps
    them. Sentences that none of the models has learnt are asked, of intents that all know.

    Args:
        specs: of the encoders.
        part: N sentences.
        vectors: (N, dim) by each of them.
        device: where to encode.

    Raises:
        RunError: a run is damaged.
        EncoderError: an encoder can't be opened.
    """
    runs = {spec: run for spec in specs if (run := run_of(spec)) is not None}
    stored = {spec: load_intents(run) for spec, run in runs.items() if has_intents(run)}
    if not stored:
        return []
    plain = {spec: without_heads(spec) for spec in specs}
    owner = {plain[spec]: of_run for spec, of_run in stored.items()}
    kept = [of_run.labelled for spec, of_run in stored.items() if runs[spec].config().keep_examples]

    @cache
    def encoder_of(spec: str) -> Encoder:
        return load_encoder(spec, device=device).without_head

    asked = []
    for spec in specs:
        answering = stored.get(spec) or owner.get(spec)
        if answering is None and not kept:
            return []
        if answering is None:
            bare = encoder_of(spec)
            model = fit_intents(
                kept[0],
                bare.encode,
                dims=bare.part_dims,
                part_languages=bare.part_languages,
                languages=bare.languages,
                compact=True,
            )
            answering = StoredIntents(model, kept[0])
        of_part = vectors[spec] if plain[spec] == spec else vectors.get(plain[spec])
        if of_part is None:
            of_part = encoder_of(spec).encode(part.frame["text"].tolist())
        asked.append((answering, of_part))
    known = pd.concat([answering.labelled.frame for answering, _ in asked], ignore_index=True)
    intents = set.intersection(*(set(answering.model.intents_) for answering, _ in asked))
    return [
        predicted(LabelledSet(known, ""), part, answering.model, of_part, intents)
        for answering, of_part in asked
    ]


def divided_as(runs: Sequence[Run], labelled: LabelledSet) -> LabelledSet:
    """Return a set with the splits of the first run that held out a share; unchanged if it has splits already."""
    for run in runs:
        if not labelled.splits and (share := run.data(LabelledFacts).hold_out):
            return labelled.hold_out(share, run.config().seed)
    return labelled


def usual_split(labelled: LabelledSet) -> str:
    """Return the split that encoders are compared on by default: test, else dev, else all rows."""
    return next((split for split in ("test", "dev") if split in labelled.splits), ALL)


def splits_of(labelled: LabelledSet, split: str | None) -> list[str] | None:
    """Return the splits that `split` stands for, as `compare` takes it; None for all rows."""
    split = split or usual_split(labelled)
    return None if split == ALL else [split]


def choose_rows(
    labelled: LabelledSet, split: str | None, languages: Sequence[str] | None
) -> tuple[LabelledSet, list[str]]:
    """Return the sentences to compare on, at most `MOST_COMPARED`, and a note if they are a sample.

    The split and the languages are those of `compare`.

    Raises:
        DataError: there is no such split or language.
    """
    part = labelled.select(languages=languages or None, splits=splits_of(labelled, split))
    if len(part) <= MOST_COMPARED:
        return part, []
    frame = part.frame
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_COMPARED)
    note = (
        f"Measured on {MOST_COMPARED:,} of {counted(len(part), 'sentence')}, drawn evenly from every intent in every "
        "language, since each is compared with every other."
    )
    return replace(part, frame=frame.iloc[rows].reset_index(drop=True)), [note]


def training_notes(spec: str, seen: NDArray[np.bool_], unknown: str) -> list[str]:
    """Return a note if an encoder was trained on some of the sentences that it is measured on, and if that is unknown.

    Args:
        spec: the encoder, as `load_encoder` takes it.
        seen: (N,), whether it was trained on each of these sentences, and
        unknown: an encoder of which that is unknown, as `trained_rows` returns both.
    """
    notes = []
    if seen.any():
        which = "these sentences" if seen.all() else f"{int(seen.sum()):,} of these {len(seen):,} sentences"
        notes.append(
            f"{encoder_title(spec)} was trained on {which}, or on translations of them, so the accuracy in its "
            "training languages says little about new sentences."
        )
    if unknown:
        notes.append(
            f"{encoder_title(unknown)} does not say which sentences it was trained on: if these are among them, they "
            "are measured like new ones."
        )
    return notes


def _specs(encoders: Sequence[str], sources: Sequence[tuple[str, Run | None]]) -> list[str]:
    """Return the specs of the encoders, the reference first, and then those of runs or others."""
    specs = [*encoders, *(spec for spec, _ in sources)]
    if len(specs) == 1 and (run := run_of(specs[0])) is not None:
        base = run.config().encoder
        if not base:
            raise DataError(
                f"{run.folder} was trained from scratch and has no base encoder; name one to compare it with, such as "
                "use"
            )
        specs.insert(0, base)
    if len(specs) < 2:
        raise DataError(
            f"{counted(len(specs), 'encoder')} can't be compared; name a run, two or more runs or encoders, or a run "
            "and an encoder"
        )
    if repeated := next((spec for row, spec in enumerate(specs) if spec in specs[:row]), ""):
        raise DataError(f"{repeated} can't be compared with itself; name another encoder")
    return specs


def _names(specs: Sequence[str]) -> list[str]:
    """Return short names of encoders, or their specs if two names are equal."""
    names = [
        joined_spec(Path(part.partition(":")[2] or part).name for part in parts_of(spec)) for spec in specs
    ]
    return names if len(set(names)) == len(names) else list(specs)
