"""One cell, from its request to its result: train, then measure on the test sentences."""

import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.cells import Kind, Peer
from emu_core.bench.memory import PeakMemory, gpu_megabytes
from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from emu_core.bench.systems import Classify, System
from emu_core.data.labelled import LabelledSet
from emu_core.evaluation.arrays import rows_by_language
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.evaluation.projection import Projection, project, stratified_sample

MAP_SENTENCES = 1000


def run_cell(request: Request) -> CellResult:
    """Train and measure.

    Raises:
        EmuError: what can't be trained or measured, with the mend.
    """
    data = request.data()
    start = time.perf_counter()
    with PeakMemory() as memory, tempfile.TemporaryDirectory() as folder:
        system = _system(request, data.train, Path(folder))
        texts = request.test_texts(data.test)
        frame = data.test.frame
        vectors = np.asarray(system.encode(texts))
        measured = leave_one_out(
            vectors, frame["intent"].tolist(), frame["language"].tolist(), frame["id"].tolist()
        )
        classified = {} if system.classify is None else _classified(system.classify, data.test)
        seconds_whole = time.perf_counter() - start
    rows, points = _map(request, data.test, vectors)
    return CellResult(
        correct=measured.correct,
        classified=classified,
        seconds=round(system.took.seconds, 3),
        cpu_seconds=round(system.took.cpu_seconds, 3),
        seconds_whole=round(seconds_whole, 3),
        peak_mb=round(memory.megabytes, 1),
        gpu_mb=gpu_megabytes(),
        facts=system.facts,
        map_rows=rows,
        map_points=points,
    )


def _system(request: Request, train: LabelledSet, folder: Path) -> System:
    cell, setting = request.cell, request.setting
    if cell.kind is Kind.METHOD:
        from emu_core.bench.methods import trained_method

        return trained_method(request, train, folder)
    peer = Peer(cell.name) if cell.kind is Kind.PEER else None
    if peer is None or peer.is_frozen:
        from emu_core.encoders.registry import load_encoder

        encoder = load_encoder(setting.encoder, device=setting.device)
        if peer is None:
            return System(encoder.encode)
        from emu_core.bench.frozen_peers import frozen_peer

        return frozen_peer(peer, encoder.encode, train.select(languages=cell.train_languages))
    from emu_core.bench.sentence_model import SentenceModel
    from emu_core.bench.setfit_peer import setfit_peer
    from emu_core.bench.tuned_peers import Budget, tuned_peer

    budget = Budget(**setting.hyperparameters(cell), seed=cell.seed, device=setting.device)
    sentences = SentenceModel(setting.encoder, setting.device)
    part = train.select(languages=cell.train_languages)
    if peer is Peer.SETFIT:
        return setfit_peer(sentences, part, budget)
    return tuned_peer(peer, sentences, part, budget)


def _classified(classify: Classify, test: LabelledSet) -> dict[str, NDArray[np.bool_]]:
    frame = test.frame
    right = np.asarray(classify(frame["text"].tolist())) == frame["intent"].to_numpy(dtype=str)
    return {
        language: right[rows] for language, rows in rows_by_language(frame["language"], len(frame)).items()
    }


def _map(
    request: Request, test: LabelledSet, vectors: NDArray[np.floating]
) -> tuple[tuple[int, ...], tuple[tuple[float, float], ...]]:
    """The t-SNE view of two languages' test sentences."""
    if not request.map_languages:
        return (), ()
    rows = np.flatnonzero(test.frame["language"].isin(request.map_languages))
    part = test.frame.iloc[rows]
    drawn = rows[stratified_sample(part["language"].tolist(), part["intent"].tolist(), MAP_SENTENCES)]
    points = project(vectors[drawn], Projection.TSNE).astype(float).round(3)
    return tuple(drawn.tolist()), tuple((x, y) for x, y in points.tolist())
