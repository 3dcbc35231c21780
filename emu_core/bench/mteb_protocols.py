"""MTEB's protocols on a user's data: `mteb` encodes and measures, and gets the sentences from here.

Classification is that of MassiveIntentClassification: in each language, a logistic regression on the vectors of 8
sentences an intent, drawn ten times, predicts the held-out sentences. Bitext mining is that of Tatoeba: in each
language, the nearest of all translations by cosine is to be the sentence's own.
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from emu_core.api.export import is_export
from emu_core.api.inputs import labelled_set, open_encoder_of
from emu_core.data.languages import tag_of
from emu_core.data.reading import Reading
from emu_core.data.sets import LabelledSet
from emu_core.data.texts.labelled_pairs import labelled_pairs
from emu_core.data.texts.parallel import ParallelText
from emu_core.devices import Precision, pick_device, split_device, with_precision
from emu_core.encoders.transformer.opening import quietly
from emu_core.errors import DataError, EncoderError, Fix
from emu_core.exporting.writers import MODULES
from emu_core.formats.labelled import Sources
from emu_core.formats.parallel.files import check_pairs, read_parallel
from emu_core.runs.run import Run

if TYPE_CHECKING:  # seconds to import
    from mteb.abstasks import AbsTask
    from sentence_transformers import SentenceTransformer

HELD_OUT = 0.2  # of each intent, where the data has no splits
CLASSIFICATION, BITEXT = "LocalIntentClassification", "LocalBitextMining"
METRICS = ("accuracy", "f1", "precision", "recall")
_Columns = dict[str, list[Any]]
_Pair = tuple[str, str]


def mteb_scores(
    source: Run | str | Path,
    data: Sources = "demo",
    *,
    parallel: Sources = (),
    reading: Reading | None = None,
    device: str = "auto",
    out: str | Path | None = None,
) -> pd.DataFrame:
    """Measure an encoder as MTEB does, on a labelled set and on translations.

    Args:
        source: an export's folder, a finished run's, or what `load_encoder` takes.
        data: what `read_labelled` takes. Each language needs sentences to learn from; without splits, a fifth of each
            intent is held out. Sentences that share an id are translations.
        parallel: what `read_parallel` takes, for more translations.
        reading: as in `read_labelled`.
        device: "auto", "cpu" or such as "cuda:0".
        out: a folder for the results as MTEB writes them.

    Returns:
        A row for each task and subset, with MTEB's scores, from 0 to 1, and the number of sentences that were scored.

    Raises:
        EncoderError: `mteb` is not installed, or no encoder is in `source`.
        DataError: the data can't be read, or has neither held-out sentences nor translations.
    """
    if find_spec("mteb") is None:
        raise EncoderError('MTEB\'s protocols need its package: pip install "emu-core[mteb]"')
    labelled, _ = labelled_set(data, reading)
    if not labelled.splits:
        labelled = labelled.hold_out(HELD_OUT)
    asked = labelled.held_out_part()
    texts = [*(labelled_pairs(asked) if asked else ()), *(read_parallel(parallel) if parallel else ())]
    known, pairs = _labelled_rows(labelled, asked), _translations(texts)
    if not known and not pairs:
        raise DataError(
            f"{labelled.name} has no language with sentences to learn from and sentences held out, and no translations "
            "that share an id; give data that has"
        )
    model = _open(source, split_device(pick_device(device))[0])

    import mteb

    tasks = [*([_classification(known)] if known else ()), *([_bitext_mining(pairs)] if pairs else ())]
    # The package shows a bar for each subset, and scikit-learn warns of intents that were never predicted.
    with quietly(), warnings.catch_warnings(action="ignore"), redirect_stderr(StringIO()):
        results = mteb.evaluate(model, tasks, cache=None, co2_tracker=False, show_progress_bar=False)
    counts = {CLASSIFICATION: {code: len(rows["test"]["text"]) for code, rows in known.items()}}
    counts[BITEXT] = {"-".join(pair): len(rows["sentence1"]) for pair, rows in pairs.items()}
    rows = []
    for result in results.task_results:
        if out is not None:
            Path(out).mkdir(parents=True, exist_ok=True)
            result.to_disk(Path(out) / f"{result.task_name}.json")
        for scores in result.scores["test"]:
            subset = scores["hf_subset"]
            facts = {"task": result.task_name, "subset": subset}
            numbers = {name: scores[name] for name in ("main_score", *METRICS)}
            rows.append({**facts, "sentences": counts[result.task_name][subset], **numbers})
    return pd.DataFrame(rows)


def _open(source: Run | str | Path, device: str) -> "SentenceTransformer":
    """Open an export, or else a run's encoder or a spec's."""
    from emu_core.encoders.sentence_transformers_module import open_export, to_sentence_transformers

    if is_export(source):
        if not (Path(source) / MODULES).is_file():
            raise EncoderError(
                f"{source} is an ONNX graph, which MTEB's package does not open; name the run, or export it again: ",
                Fix("format", "sentence-transformers"),
            )
        return open_export(Path(source), device)
    encoder, _ = open_encoder_of(source, "measure", device=with_precision(device, Precision.FP32))
    return to_sentence_transformers(encoder)


def _labelled_rows(labelled: LabelledSet, asked: LabelledSet | None) -> dict[str, dict[str, _Columns]]:
    """Return the texts and labels of the splits train and test by language, of those that have both."""
    if asked is None or not labelled.has_train_part:
        return {}
    number = {intent: row for row, intent in enumerate(labelled.intents)}
    parts = {"train": labelled.train_part().frame, "test": asked.frame}
    rows_by_language = {}
    for code in labelled.languages:
        rows = {split: frame[frame["language"] == code] for split, frame in parts.items()}
        if len(rows["test"]) and rows["train"]["intent"].nunique() > 1:
            rows_by_language[code] = {
                split: {"text": list(frame["text"]), "label": list(frame["intent"].map(number))}
                for split, frame in rows.items()
            }
    return rows_by_language


def _translations(texts: Sequence[ParallelText]) -> dict[_Pair, _Columns]:
    """Return the sentences and their translations by pair, as in Tatoeba those of other languages before English."""
    pairs: dict[_Pair, _Columns] = {}
    for text in texts:
        sides = {text.source: text.first, text.target: text.second}
        first, second = sorted(sides, key=lambda code: code == "en")
        columns = pairs.setdefault((first, second), {"sentence1": [], "sentence2": []})
        columns["sentence1"] += sides[first]
        columns["sentence2"] += sides[second]
    for pair, columns in pairs.items():
        check_pairs(len(columns["sentence1"]), "-".join(pair))
    return pairs


def _classification(rows_by_language: Mapping[str, Mapping[str, _Columns]]) -> "AbsTask":
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskClassification

    languages = {code: [tag_of(code)] for code in rows_by_language}
    task = _task(AbsTaskClassification, CLASSIFICATION, "Classification", "t2c", "accuracy", languages)
    task.dataset = {
        code: DatasetDict({split: Dataset.from_dict(columns) for split, columns in rows.items()})
        for code, rows in rows_by_language.items()
    }
    return task


def _bitext_mining(pairs: Mapping[_Pair, _Columns]) -> "AbsTask":
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskBitextMining

    languages = {"-".join(pair): [tag_of(code) for code in pair] for pair in pairs}
    task = _task(AbsTaskBitextMining, BITEXT, "BitextMining", "t2t", "f1", languages)
    task.dataset = {
        "-".join(pair): DatasetDict({"test": Dataset.from_dict(columns)}) for pair, columns in pairs.items()
    }
    return task


def _task(
    kind: type["AbsTask"],
    name: str,
    task_type: str,
    category: str,
    score: str,
    languages: dict[str, list[str]],
) -> "AbsTask":
    """Return a task of MTEB that has its data already; its subsets are the keys of `languages`."""
    from mteb.abstasks.task_metadata import TaskMetadata

    facts: dict[str, Any] = {"type": task_type, "category": category, "main_score": score}
    about = TaskMetadata(
        name=name,
        description="Sentences of a user's own.",
        dataset={"path": "local", "revision": "local"},
        eval_splits=["test"],
        eval_langs=languages,
        is_public=False,
        **facts,
    )
    task: AbsTask = type(name, (kind,), {"metadata": about})()
    task.data_loaded = True
    return task
