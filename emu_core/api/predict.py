"""Predict the intent of sentences from labelled sentences, the nearest of which are the reason that is shown."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from emu_core.api.embed import sentence_rows
from emu_core.api.inputs import RUN_SPEC, labelled_set
from emu_core.data.reading import ColumnMapping
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
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    merge_intents: Sequence[str] = (),
    no_intents: Sequence[str] = (),
    real_intents: Sequence[str] = (),
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
        mapping: columns of the files, if their names are unusual.
        language: language of files without a language column.
        merge_intents: of the pool, see `read_labelled`.
        no_intents: see `read_labelled`.
        real_intents: see `read_labelled`.

    Returns:
        See `IntentClassifier.explain`.

    Raises:
        DataError: the data or the pool can't be read.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> import emu_core
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> pool = (texts, ["pool", "pool", "taxi", "taxi"])
        >>> table = emu_core.predict(["Wo ist der Pool?"], pool=pool, language="en", run="runs/hotel")
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
    sentences = sentences_of(data, mapping=mapping, language=language)
    labelled, _ = labelled_set(
        pool,
        mapping=mapping,
        language=language,
        merge_intents=merge_intents,
        no_intents=no_intents,
        real_intents=real_intents,
    )
    classifier.fit_labelled(labelled)
    table = classifier.explain(sentences["text"].tolist(), languages=sentences["language"].tolist())
    return table.set_axis(sentences.index)


def sentences_of(
    data: Sources, *, mapping: ColumnMapping | None = None, language: str | None = None
) -> pd.DataFrame:
    """Return the given sentences in the columns text and language, "" for unknown; rows without one are left out.

    Their index is that of a pandas frame or Series that they are given as, so that predictions fit their rows.

    Raises:
        DataError: a file can't be read, sentences and files are mixed, or there are none.
    """
    rows = sentence_rows(data, mapping, language)
    sentences = rows[["text", "language"]]
    if isinstance(data, pd.DataFrame | pd.Series) and rows["row"].is_unique:
        return sentences.set_axis(data.index[rows["row"] - 1])
    return sentences.reset_index(drop=True)
