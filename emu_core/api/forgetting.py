"""`emu forgetting`: similarity and translations, before and after specialising."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from emu_core.data.parallel.files import read_translations
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.scored_pairs import ScoredPairs, read_scored_pairs
from emu_core.devices import pick_device
from emu_core.encoders.base import FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError, RunError
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.forgetting import MeasureChange, retrieval_change, similarity_change
from emu_core.files import write_whole
from emu_core.runs.card import model_card
from emu_core.runs.run import Run, RunState

FILE = "forgetting.json"
FORGETTING_COLUMNS = [
    "part", "name", "base", "specialised", "difference", "low", "high", "count", "flagged",
]  # fmt: skip


def forgetting(
    folder: str | Path,
    *,
    sts: str | Path | None = None,
    translations: str | Path | None = None,
    device: str = "auto",
) -> dict[str, Any]:
    """Measure what a run's encoder has forgotten, and write forgetting.json and the card into the run's folder.

    Args:
        folder: a finished run's.
        sts: folder of files such as de.dev.csv: two sentences and a score a row, no header.
        translations: folder of files such as tatoeba.deu-eng.deu and tatoeba.deu-eng.eng, one sentence a line.
        device: "auto", "cpu", "cuda:0".

    Returns:
        `sts` by language (Spearman's correlation) and `translations` by "s-t" (percent of sentences in s whose nearest
        neighbour in t is their translation), each with `base`, `specialised`, `difference`, `low`, `high` (95 %),
        `count` and `flagged`; `flagged`, what fell by more than 0.02 or 1 point, such as "STS de". A part that was not
        asked for is empty.

    Raises:
        DataError: no data was named, or a file can't be read, with its row.
        RunError: the run is not finished.
        EncoderError: an encoder can't be opened.
    """
    if sts is None and translations is None:
        raise DataError(
            "there is nothing to measure on; name a folder with --sts, with --translations, or both"
        )
    run = Run(Path(folder))
    if (state := run.status().state) is not RunState.FINISHED:
        raise RunError(f"{run.folder} is {state}; only a finished run has an encoder to measure")
    if not run.config().encoder:
        raise RunError(
            f"{run.folder} was trained from scratch, so there is nothing that it could have forgotten; specialise its "
            f"encoder with emu train DATA --encoder run:{run.folder}, and measure that run"
        )
    scored = {} if sts is None else read_scored_pairs(Path(sts))
    parallel = [] if translations is None else read_translations(Path(translations))
    place = pick_device(device)
    specs = (run.config().encoder, f"run:{run.folder}")
    texts = _distinct(scored, parallel)
    base, specialised = (_Vectors(texts, load_encoder(spec, device=place).encode(texts)) for spec in specs)

    of_sts = {language: _similarity(pairs, language, base, specialised) for language, pairs in scored.items()}
    of_translations: dict[str, MeasureChange] = {}
    for pairs in parallel:
        there, back = (list(pairs.first), list(pairs.second)), (list(pairs.second), list(pairs.first))
        for name, (queries, pool) in (
            (pair_name(pairs.source, pairs.target), there),
            (pair_name(pairs.target, pairs.source), back),
        ):
            if name in of_translations:
                raise DataError(f"there are two sets of translations {name} in {translations}; leave one")
            of_translations[name] = retrieval_change(
                (base.of(queries), base.of(pool)), (specialised.of(queries), specialised.of(pool)), pool
            )
    result = {
        "sts": {name: found.facts() for name, found in of_sts.items()},
        "translations": {name: found.facts() for name, found in of_translations.items()},
        "flagged": [
            f"{what} {name}"
            for what, part in (("STS", of_sts), ("translations", of_translations))
            for name, found in part.items()
            if found.flagged
        ],
    }
    run.write(FILE, result)
    card = model_card(run.name, run.config(), run.data(), run.metrics(), result)
    write_whole(run.folder / "README.md", card)
    return {"run": str(run.folder), **result}


def read_forgetting(run: Run) -> pd.DataFrame | None:
    """Return a row for each measure of a run's forgetting.json; None where there is none.

    Its columns: `part` ("sts" or "translations"), `name` (a language, or two such as "de-en"), `base`, `specialised`,
    `difference`, `low`, `high`, `count`, `flagged`.

    Raises:
        RunError: the file is damaged.
    """
    path = run.folder / FILE
    try:
        found = json.loads(path.read_text("utf-8"))
        rows = [
            {"part": part, "name": name}
            | {
                number: float(measured[number])
                for number in ("base", "specialised", "difference", "low", "high")
            }
            | {"count": int(measured["count"]), "flagged": bool(measured["flagged"])}
            for part in ("sts", "translations")
            for name, measured in found[part].items()
        ]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise RunError(f"{path} can't be read; make it again with emu forgetting") from None
    return pd.DataFrame(rows, columns=FORGETTING_COLUMNS)


class _Vectors:
    """One encoder's vectors of the distinct texts."""

    def __init__(self, texts: list[str], vectors: FloatArray) -> None:
        self._rows, self._vectors = {text: row for row, text in enumerate(texts)}, vectors

    def of(self, texts: list[str]) -> FloatArray:
        """(len(texts), dim)."""
        return self._vectors[np.fromiter((self._rows[text] for text in texts), np.int64, len(texts))]


def _distinct(scored: dict[str, ScoredPairs], parallel: list[ParallelText]) -> list[str]:
    texts = [text for pairs in scored.values() for part in (pairs.first, pairs.second) for text in part]
    texts += [text for pairs in parallel for part in (pairs.first, pairs.second) for text in part]
    return list(dict.fromkeys(texts))


def _similarity(pairs: ScoredPairs, language: str, base: _Vectors, specialised: _Vectors) -> MeasureChange:
    first, second = ((vectors.of(pairs.first), vectors.of(pairs.second)) for vectors in (base, specialised))
    try:
        return similarity_change(first, second, pairs.scores)
    except DataError as error:
        raise DataError(f"STS of {language}: {error}") from None
