"""Embed and classify folders of Parquet files on the machines of a Ray cluster, with the results of a single process.

Ray Data reads the files, calls `emu_core.batches.Embed` or an `IntentClassifier` on the workers, and writes a folder of
Parquet files in the order of the rows. It computes the parts of a lost worker again. Ray is imported when it is used.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from emu_core.api.embed import PART, TEXT_COLUMNS
from emu_core.api.intent_classifier import IntentClassifier
from emu_core.batches import Embed
from emu_core.data.cleaning import stripped
from emu_core.data.languages import UNDETERMINED, checked_language
from emu_core.data.reading import ABOUT_INTENTS, ColumnMapping, Reading, checked_reading
from emu_core.data.wording import shown
from emu_core.devices import encoding_precision, on_every_machine, pick_device, with_precision
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.specs import RUN_SPEC, joined_spec, parts_of
from emu_core.errors import DataError, Fix
from emu_core.files import disk_fault, whole_folder
from emu_core.formats.file_names import Statement, statements
from emu_core.formats.source_files import SourceFile, source_files
from emu_core.formats.source_tables import read_tables
from emu_core.formats.tables.columns import apply_columns, guess_columns
from emu_core.formats.tables.formats import PARQUET
from emu_core.formats.tables.parquet import cells_of, kept_columns

_GUESSED_FROM = 1_000  # rows of the first file
_WATCHING_S = 0.5
_OUR_ERROR = re.compile(r"^emu_core\.errors\.\w+: (.+)$", re.MULTILINE)
_ANY_ERROR = re.compile(r"^[\w.]+(?:Error|Exception): .+$", re.MULTILINE)
_PATH = "path"  # the column in which Ray names the file of a row


def embed_on_cluster(
    data: Sequence[str | Path],
    *,
    out: str | Path,
    address: str | None = None,
    encoder: str = "use",
    device: str = "auto",
    reading: Reading | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write the rows that `emu_core.embed` writes, as a folder of Parquet files, by the workers of a Ray cluster.

    Args:
        data: Parquet files, or folders of them, which every machine can read under the same name.
        out: the folder to write, on a disk that all machines share; it appears when it is complete.
        address: of the cluster, such as "auto" or "head:6379"; None starts one on this machine.
        encoder: what `load_encoder` takes; a run's folder must be one that every machine can read.
        device: "auto", "cpu", "cuda:0"; with "auto" and GPUs in the cluster, each worker has one of them. Vectors are
            computed in float32 unless a precision is named: "auto:bf16".
        reading: columns with unusual names, and the language of rows for which neither a column nor the name of a
            file states one; see `Reading`.
        on_progress: called with (rows done, total), from another thread.

    Returns:
        Number of sentences written.

    Raises:
        DataError: the data can't be read, `out` can't be written, or there is no Ray or no such cluster.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> from emu_core.cluster import embed_on_cluster
        >>> embed_on_cluster(["mails"], out="vectors", address="auto")  # doctest: +SKIP
        1000000
    """
    spec = joined_spec(map(_absolute, parts_of(encoder)))
    sentences = _sentences_of(data, checked_reading(reading))
    dim = load_encoder(spec, device=pick_device(device)).dim  # a wrong one is reported before workers start
    embed = _EmbedSentences(sentences, Embed(spec, device=on_every_machine(device)), dim)
    return _write(embed, out, address, device, on_progress)


def predict_on_cluster(
    classifier: IntentClassifier,
    data: Sequence[str | Path],
    *,
    out: str | Path,
    address: str | None = None,
    reading: Reading | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write what `IntentClassifier.predict_file` writes, as a folder of Parquet files, by the workers of a Ray cluster.

    The classifier is sent with its vectors once to each machine, where the workers share them.

    Args:
        classifier: fitted; its encoder's spec names what every machine can open.
        data: see `embed_on_cluster`.
        out: see `embed_on_cluster`.
        address: see `embed_on_cluster`.
        reading: columns with unusual names, and the language of rows for which neither a column nor the name of a
            file states one; see `Reading`.
        on_progress: called with (rows done, total), from another thread.

    Returns:
        Number of sentences written.

    Raises:
        DataError: see `embed_on_cluster`.

    Examples:
        >>> from emu_core import IntentClassifier
        >>> from emu_core.cluster import predict_on_cluster
        >>> classifier = IntentClassifier.from_run("/shared/runs/hotel")  # doctest: +SKIP
        >>> predict_on_cluster(classifier, ["mails"], out="intents", address="auto")  # doctest: +SKIP
        1000000
    """
    if isinstance(classifier.encoder, str):
        classifier = copy(classifier)
        # Workers encode in the precision of the vectors that this process fitted it on.
        fitted_in = encoding_precision(pick_device(classifier.device))
        classifier.device = with_precision(classifier.device, fitted_in)
        classifier.encoder = joined_spec(map(_absolute, parts_of(classifier.encoder)))
    reading = checked_reading(reading)
    if reading.mapping is not None:
        reading = replace(reading, mapping=replace(reading.mapping, intent=None, split=None))
    sentences = _sentences_of(data, reading)
    step = _PredictSentences(sentences, classifier)
    return _write(step, out, address, classifier.device, on_progress)


@dataclass(frozen=True)
class _Sentences:
    """The Parquet files to read, and how their rows become sentences.

    Attributes:
        files: their paths, in the order of the rows.
        columns: the column of each role.
        language: that of rows for which nothing else states one.
        reading: which words stand for missing values.
        stated: what the names of files state, by path, if it counts.
    """

    files: tuple[str, ...]
    columns: ColumnMapping
    language: str | None
    reading: Reading
    stated: Mapping[str, Statement]

    @property
    def count(self) -> int:
        """The number of rows in all files."""
        return sum(map(_row_count, self.files))

    @property
    def column_names(self) -> list[str]:
        """The columns of the files that are read."""
        return [name for name in vars(self.columns).values() if name]

    def rows(self, batch: pa.Table) -> pd.DataFrame:
        """Return the six columns of a batch, as `emu_core.embed` reads them from files."""
        if not self.stated:
            return self._of_file(batch, None)
        paths = batch[_PATH].to_pandas().reset_index(drop=True)
        parts = [
            self._of_file(batch.take(pa.array(rows.index)), path).set_axis(rows.index)
            for path, rows in paths.groupby(paths, sort=False)
        ]
        return pd.concat(parts).sort_index()

    def _of_file(self, batch: pa.Table, path: str | None) -> pd.DataFrame:
        states = Statement() if path is None else self.stated[path]
        name = "a part of the data" if path is None else path
        frame = cells_of(batch.select(self.column_names), name).frame(name)
        language = states.language(self.language)
        rows = apply_columns(
            frame, self.columns, language=language, name=name, required=("text",), reading=self.reading
        )
        return rows if self.columns.split else rows.assign(split=states.split)


@dataclass(frozen=True)
class _EmbedSentences:
    """Makes the rows that `emu_core.embed` writes of a batch of the files' rows."""

    sentences: _Sentences
    embed: Embed
    dim: int

    def __call__(self, batch: pa.Table) -> pa.Table:
        rows = self.sentences.rows(batch)
        rows["language"] = rows["language"].replace("", UNDETERMINED)
        schema = pa.schema([(name, pa.string()) for name in TEXT_COLUMNS])
        embedded = self.embed(pa.Table.from_pandas(rows[list(TEXT_COLUMNS)], schema, preserve_index=False))
        return embedded.cast(schema.append(pa.field("vector", pa.list_(pa.float32(), self.dim))))


@dataclass(frozen=True)
class _PredictSentences:
    """Makes the rows that `IntentClassifier.predict_file` writes of a batch of the files' rows."""

    sentences: _Sentences
    classifier: IntentClassifier

    def __call__(self, batch: pa.Table) -> pa.Table:
        rows = self.sentences.rows(batch)
        rows = rows.assign(text=stripped(rows["text"]))
        rows = self.classifier.file_rows(rows[rows["text"] != ""])
        return pa.Table.from_pandas(rows, self.classifier.file_schema, preserve_index=False)


_Step = _EmbedSentences | _PredictSentences


class _Worker:
    """A process of the cluster that holds an open encoder."""

    def __init__(self, step: Any) -> None:
        import ray

        self._step: _Step = ray.get(step)

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._step(batch)


def _sentences_of(data: Sequence[str | Path], reading: Reading) -> _Sentences:
    """Return the Parquet files among what is named, and their columns, guessed from the first rows."""
    reading.refuse("these sentences are read as they are labelled", *ABOUT_INTENTS)
    files = [
        file
        for file in source_files([Path(name).absolute() for name in data])
        if file.is_named or file.name.lower().endswith(PARQUET.endings)
    ]
    if not files:
        raise DataError(f"{shown(str(data[0]))} holds no Parquet file; convert the data")
    files = [file for file in files if _holds_rows(file)] or files[:1]
    first = files[0]
    [table], _ = read_tables([SourceFile(first.path, cells_of(_head(first), first.path))])
    columns = guess_columns(table.frame, reading.mapping)
    if table.recognised:
        raise DataError(
            f"{shown(first.path)} is {table.recognised}; give the cluster tables with a sentence a row"
        )
    apply_columns(table.frame, columns, language=None, name=first.path, required=("text",))
    code = None if reading.language is None else checked_language(reading.language)
    states = statements([file.path for file in files], [file.around for file in files])
    says_more = any(state.language(code) != code for state in states)
    says_split = columns.split is None and any(state.split for state in states)
    stated = {str(file.source): state for file, state in zip(files, states, strict=True)}
    return _Sentences(tuple(stated), columns, code, reading, stated if says_more or says_split else {})


def _holds_rows(file: SourceFile) -> bool:
    try:
        return _row_count(str(file.source)) > 0
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(file) from error


def _unreadable(file: SourceFile) -> DataError:
    return DataError(
        f"{shown(file.path)} can't be read as Parquet, which a cluster needs; convert it, or use no cluster"
    )


def _head(file: SourceFile) -> pa.Table:
    try:
        with pq.ParquetFile(file.source) as opened:
            kept = kept_columns(opened.schema_arrow, file.path)
            batches = opened.iter_batches(_GUESSED_FROM, columns=kept)
            return pa.Table.from_batches([next(batches)])
    except StopIteration:
        raise DataError(f"{shown(file.path)} has no rows; leave it out") from None
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(file) from error


def _write(
    step: _Step,
    out: str | Path,
    address: str | None,
    device: str,
    on_progress: Callable[[int, int], None] | None,
) -> int:
    """Run a step on all rows, write the folder, and return the number of rows in it."""
    folder = Path(out).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{out} exists; choose another folder (", Fix("out"), ")")
    with _connected(address) as ray:
        try:
            with whole_folder(folder) as partial:
                with _watched(partial, step.sentences.count, on_progress):
                    _run(ray, step, partial, device)
                return sum(map(_row_count, partial.glob("*.parquet")))
        except ray.exceptions.RayError as error:
            raise _reason(error) from error
        except OSError as error:
            raise DataError(
                f"can't write {out}: {disk_fault(error)}; choose another folder (", Fix("out"), ")"
            ) from None


@contextmanager
def _watched(folder: Path, total: int, on_progress: Callable[[int, int], None] | None) -> Iterator[None]:
    """Report the rows of the files that appear in a folder during the block, and all of them at its end.

    Rows that a lost worker had computed count once, since the file of their repetition replaces the first.
    """
    if on_progress is None:
        yield
        return
    is_over = Event()

    def watch() -> None:
        done: dict[Path, int] = {}
        while not is_over.wait(_WATCHING_S):
            before = len(done)
            for file in folder.glob("*.parquet"):
                if file not in done:
                    with suppress(OSError, pa.ArrowException):  # it is being written
                        done[file] = _row_count(file)
            if len(done) > before and (rows := sum(done.values())) < total:
                on_progress(rows, total)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        is_over.set()
        watcher.join()
        on_progress(total, total)
    finally:
        is_over.set()


def _row_count(file: str | Path) -> int:
    return int(pq.read_metadata(file).num_rows)


def _run(ray: Any, step: _Step, folder: Path, device: str) -> None:
    resources = ray.cluster_resources()
    gpus = 0 if device.startswith("cpu") else int(resources.get("GPU", 0))
    workers = gpus or int(resources.get("CPU", 1)) - 1  # a core reads
    sentences, sent = step.sentences, ray.put(step)  # held until the end, for workers that start late
    rows = ray.data.read_parquet(
        list(sentences.files), partitioning=None, include_paths=bool(sentences.stated), file_extensions=None
    )
    rows = rows.select_columns([*sentences.column_names, *([_PATH] if sentences.stated else [])])
    rows.repartition(target_num_rows_per_block=PART).map_batches(
        _Worker,
        fn_constructor_args=(sent,),
        batch_size=PART,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(
            min_size=1,  # a cluster that lost machines goes on
            # Ray adds workers late, or never: without this, one of them did all of it.
            initial_size=max(1, min(workers, -(-sentences.count // PART))),
        ),
        **({"num_gpus": 1} if gpus else {"num_cpus": 1}),
    ).write_parquet(str(folder))


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Yield Ray, connected to a cluster; a connection that exists is used, and any other is closed at the end.

    Raises:
        DataError: Ray is not installed, or there is no such cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    try:
        import ray
        import ray.data
        import ray.exceptions
    except ModuleNotFoundError as error:
        raise DataError('the engine needs Ray: pip install "emu-core[ray]"') from error
    with _in_order(ray.data.DataContext.get_current()):
        if ray.is_initialized():
            yield ray
            return
        logging.getLogger("ray.data").setLevel(logging.ERROR)  # it logs each step
        try:
            ray.init(address or "local", logging_level=logging.WARNING)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise DataError(
                f"no Ray cluster answers at {address}; start one, or leave out ",
                Fix("address"),
            ) from error
        try:
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def _in_order(context: Any) -> Iterator[None]:
    """Keep the order of rows within the block, without Ray's own progress bars, which count blocks of each step."""
    options, before = context.execution_options, context.enable_progress_bars
    order = options.preserve_order
    options.preserve_order, context.enable_progress_bars = True, False
    try:
        yield
    finally:
        options.preserve_order, context.enable_progress_bars = order, before


def _reason(error: BaseException) -> DataError:
    """Return why workers failed: the sentence of an error of ours, which comes back as text, or the last error."""
    sentence = _OUR_ERROR.search(str(error))
    if sentence is not None:
        return DataError(sentence[1])
    # Ray's advice on its own settings can follow the error.
    lines = _ANY_ERROR.findall(str(error)) or str(error).strip().splitlines()
    return DataError(f"Ray failed: {lines[-1]}")


def _absolute(part: str) -> str:
    """Return a part of an encoder's spec as workers in other folders understand it."""
    kind, separator, folder = part.partition(":")
    is_folder = separator and (part.startswith(RUN_SPEC) or Path(folder).is_dir())
    return f"{kind}:{Path(folder).absolute()}" if is_folder else part
