"""Predict the intent of sentences from labelled sentences, the nearest of which are the reason that is shown."""

from pathlib import Path

import pandas as pd

from emu_core.api.embed import sentence_rows
from emu_core.api.inputs import RUN_SPEC, labelled_set
from emu_core.data.reading import Reading, checked_reading
from emu_core.formats.in_memory import Sources
from emu_core.notebook.predictions import Predictions
from emu_core.runs.run import Run


def predict(
    data: Sources,
    *,
    pool: Sources,
    encoder: str = "use",
    run: str | Path | Run | None = None,
    n_neighbors: int = 3,
    threshold: float | None = None,
    device: str = "auto",
    reading: Reading | None = None,
) -> Predictions:
    """Predict the intent of each sentence from the nearest sentences of a labelled pool.

    For many sentences, or several calls with one pool, use an `IntentClassifier`; its `predict_file` writes a file with
    bounded memory.

    Args:
        data: sentences (a list, a Series, an array, a DataFrame with a column of them), or files of them; a string is a
            file if one of that name exists or if it ends like one (.csv, .txt ...).
        pool: labelled sentences, as `read_labelled` takes them: files, "demo", a DataFrame, `(texts, intents)` ...
        encoder: what `load_encoder` takes.
        run: a finished run, or its folder, to use its encoder.
        n_neighbors: see `IntentClassifier`.
        threshold: see `IntentClassifier`.
        device: "auto", "cpu", "cuda:0".
        reading: of both, columns with unusual names and the language of files that state none; of the pool, which
            intents are merged or stand for "none of these"; see `Reading`.

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
    from emu_core.api.intent_classifier import IntentClassifier  # imports scikit-learn

    classifier = IntentClassifier(
        encoder if run is None else f"{RUN_SPEC}{Path(run)}",
        n_neighbors=n_neighbors,
        threshold=threshold,
        device=device,
    )
    reading = checked_reading(reading)
    sentences = sentences_of(data, reading.of_sentences())
    labelled, _ = labelled_set(pool, reading, elsewhere=("mapping", "language"))
    classifier.fit_labelled(labelled)
    table = classifier.explain(sentences["text"].tolist(), languages=sentences["language"].tolist())
    return table.set_axis(sentences.index)


def sentences_of(data: Sources, reading: Reading | None = None) -> pd.DataFrame:
    """Return the given sentences in the columns text and language, "" for unknown; rows without one are left out.

    Their index is that of a pandas frame or Series that they are given as, so that predictions fit their rows.

    Raises:
        DataError: a file can't be read, sentences and files are mixed, or there are none.
    """
    rows = sentence_rows(data, reading)
    sentences = rows[["text", "language"]]
    if isinstance(data, pd.DataFrame | pd.Series) and rows["row"].is_unique:
        return sentences.set_axis(data.index[rows["row"] - 1])
    return sentences.reset_index(drop=True)
