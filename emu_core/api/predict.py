"""Predict the intent of sentences by a run or from labelled ones; the nearest of these are the reason that is shown."""

from collections.abc import Callable, Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from emu_core.api.embed import sentence_rows
from emu_core.api.inputs import RUN_SPEC, labelled_set
from emu_core.data.reading import OF_INTENTS, Reading, checked_reading
from emu_core.errors import DataError, Fix
from emu_core.formats.in_memory import Sources
from emu_core.notebook.predictions import Predictions
from emu_core.runs.run import Run

if TYPE_CHECKING:
    from emu_core.api.intent_classifier import IntentClassifier


def predict(
    data: Sources,
    *,
    pool: Sources | None = None,
    encoder: str = "use",
    run: str | Path | Run | None = None,
    n_neighbors: int = 3,
    threshold: float | None = None,
    coverage: float | None = None,
    adapt: bool = False,
    device: str = "auto",
    reading: Reading | None = None,
) -> Predictions:
    """Predict the intent of each sentence by a run's own intent model, or from a labelled pool.

    For many sentences, or several calls with one pool, use an `IntentClassifier`; its `predict_file` writes a file with
    bounded memory.

    Args:
        data: sentences (a list, a Series, an array, a DataFrame with a column of them), or files of them; a string is a
            file if one of that name exists or if it ends like one (.csv, .txt ...). An empty list has no answers.
        pool: labelled sentences, as `read_labelled` takes them: files, "demo", a DataFrame, `(texts, intents)` ... None
            takes those that the run was trained with.
        encoder: what `load_encoder` takes, with a pool.
        run: a finished run, or its folder, to use its intents and its encoder, or with a pool its encoder alone.
        n_neighbors: see `IntentClassifier`.
        threshold: see `IntentClassifier`; it needs a pool.
        coverage: adds a column `intents`: those that each sentence may have, among which the right one is for this
            share of the sentences of each language, such as .9; see `IntentClassifier`.
        adapt: let the sentences also decide, of each language 30 or more, and calibrate it; see
            `IntentClassifier.adapt`. Languages that are not stated are detected. The answer to a sentence then depends
            on the others.
        device: "auto", "cpu", "cuda:0".
        reading: of both, columns with unusual names and the language of files that state none; of the pool, which
            intents are merged, described or stand for "none of these"; see `Reading`.

    Returns:
        See `IntentClassifier.explain`.

    Raises:
        DataError: the data or the pool can't be read.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> import emu_core
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> pool = (texts, ["pool", "pool", "taxi", "taxi"])
        >>> english = emu_core.Reading(language="en")
        >>> table = emu_core.predict(["Wo ist der Pool?"], pool=pool, reading=english, run="runs/hotel")
        >>> table[["intent", "nearest_1"]].values.tolist()
        [['pool', 'Where is the pool?']]
    """
    reading = checked_reading(reading)
    sentences = sentences_of(data, reading.of_sentences())
    parameters = {"n_neighbors": n_neighbors, "threshold": threshold, "coverage": coverage, "device": device}
    classifier = classifier_of(encoder, run, pool, reading, parameters)
    texts, languages = (sentences[name].tolist() for name in ("text", "language"))
    languages, note = classifier.spoken(texts, languages, adapt=adapt)
    table = classifier.explain(texts, languages=languages).set_axis(sentences.index)
    table.attrs["facts"]["notes"] += [note] if note else []
    return table


def classifier_of(
    encoder: str,
    run: str | Path | Run | None,
    pool: Sources | None,
    reading: Reading,
    parameters: Mapping[str, Any],
) -> "IntentClassifier":
    """Return the classifier of a run, or one that is fitted on a pool; see `predict` for the arguments.

    Args:
        encoder: see `predict`.
        run: see `predict`.
        pool: see `predict`.
        reading: see `predict`.
        parameters: others of `IntentClassifier`.

    Raises:
        DataError: the pool can't be read; there is neither a pool nor a run; or a threshold, descriptions, or what
            the reading says of intents are given without a pool.
        RunError: the run has no intent model.
    """
    from emu_core.api.intent_classifier import IntentClassifier  # imports scikit-learn

    if pool is not None:
        labelled, _ = labelled_set(pool, reading, elsewhere=("mapping", "language"))
        spec = encoder if run is None else f"{RUN_SPEC}{Path(run)}"
        return IntentClassifier(spec, **parameters).fit_labelled(labelled)
    if run is None:
        raise DataError(
            "there are no labels to predict from; give some, or a run that has learnt them: ", Fix("pool")
        )
    if reading.intents is not None:
        raise DataError(
            "a run has the descriptions that it was trained with; leave out ",
            Fix("intents"),
            ", or name ",
            Fix("pool"),
        )
    reading.refuse("a run names the intents that it was trained with", *OF_INTENTS)
    return IntentClassifier.from_run(run, **parameters)


def sentences_of(
    data: Sources,
    reading: Reading | None = None,
    *,
    columns: Sequence[str] = ("text", "language"),
    on_note: Callable[[str], object] | None = None,
) -> pd.DataFrame:
    """Return the given sentences in the columns text and language, "" for unknown; rows without one are left out.

    Their index is that of a pandas frame or Series that they are given as, so that predictions fit their rows. An empty
    list or table has no sentences. `columns` names others to return, such as "id", too; for `on_note` see
    `sentence_rows`.

    Raises:
        DataError: a file can't be read or has no sentence, or sentences and files are mixed.
    """
    if isinstance(data, Sized) and not isinstance(data, str) and not len(data):
        index = data.index if isinstance(data, pd.DataFrame | pd.Series) else None
        return pd.DataFrame({name: [] for name in columns}, index, dtype=object)
    rows = sentence_rows(data, reading, on_note)
    sentences = rows[list(columns)]
    if isinstance(data, pd.DataFrame | pd.Series) and rows["row"].is_unique:
        return sentences.set_axis(data.index[rows["row"] - 1])
    return sentences.reset_index(drop=True)
