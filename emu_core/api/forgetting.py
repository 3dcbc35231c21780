"""`emu forgetting`: similarity and translations, before and after specialising."""

from pathlib import Path
from typing import Any

import numpy as np

from emu_core.data.pairs import ScoredPairs, Translations, read_scored_pairs, read_translations
from emu_core.devices import pick_device
from emu_core.encoders.base import FloatArray
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError, RunError
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.forgetting import Kept, retrieval_kept, similarity_kept
from emu_core.runs.card import model_card
from emu_core.runs.run import Run, RunState

FILE = "forgetting.json"


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
            f"{run.folder} was trained from nothing, so there is nothing that it could have forgotten; specialise its "
            f"encoder with emu train DATA --encoder run:{run.folder}, and measure that run"
        )
    scored = {} if sts is None else read_scored_pairs(Path(sts))
    parallel = [] if translations is None else read_translations(Path(translations))
    place = pick_device(device)
    specs = (run.config().encoder, f"run:{run.folder}")
    texts = _distinct(scored, parallel)
    base, specialised = (_Vectors(texts, load_encoder(spec, device=place).encode(texts)) for spec in specs)

    of_sts = {language: _similarity(pairs, language, base, specialised) for language, pairs in scored.items()}
    of_translations: dict[str, Kept] = {}
    for pairs in parallel:
        there, back = (pairs.sentences, pairs.translations), (pairs.translations, pairs.sentences)
        for name, (queries, pool) in (
            (pair_name(pairs.source, pairs.target), there),
            (pair_name(pairs.target, pairs.source), back),
        ):
            if name in of_translations:
                raise DataError(f"there are two sets of translations {name} in {translations}; leave one")
            of_translations[name] = retrieval_kept(
                (base.of(queries), base.of(pool)), (specialised.of(queries), specialised.of(pool)), pool
            )
    result = {
        "sts": {name: kept.facts() for name, kept in of_sts.items()},
        "translations": {name: kept.facts() for name, kept in of_translations.items()},
        "flagged": [
            f"{what} {name}"
            for what, part in (("STS", of_sts), ("translations", of_translations))
            for name, kept in part.items()
            if kept.flagged
        ],
    }
    run.write(FILE, result)
    card = model_card(run.name, run.config(), run.data(), run.metrics(), result)
    partial = run.folder / ".README.md"
    partial.write_text(card, "utf-8")
    partial.replace(run.folder / "README.md")
    return {"run": str(run.folder), **result}


class _Vectors:
    """One encoder's vectors of the distinct texts."""

    def __init__(self, texts: list[str], vectors: FloatArray) -> None:
        self._rows, self._vectors = {text: row for row, text in enumerate(texts)}, vectors

    def of(self, texts: list[str]) -> FloatArray:
        """(len(texts), dim)."""
        return self._vectors[np.fromiter((self._rows[text] for text in texts), np.int64, len(texts))]


def _distinct(scored: dict[str, ScoredPairs], parallel: list[Translations]) -> list[str]:
    texts = [text for pairs in scored.values() for part in (pairs.first, pairs.second) for text in part]
    texts += [text for pairs in parallel for part in (pairs.sentences, pairs.translations) for text in part]
    return list(dict.fromkeys(texts))


def _similarity(pairs: ScoredPairs, language: str, base: _Vectors, specialised: _Vectors) -> Kept:
    first, second = ((vectors.of(pairs.first), vectors.of(pairs.second)) for vectors in (base, specialised))
    try:
        return similarity_kept(first, second, pairs.scores)
    except DataError as error:
        raise DataError(f"STS of {language}: {error}") from None
