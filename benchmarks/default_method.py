"""Measure the default method on several sets: seen and new intents, other languages, similarity and translations.

Prints one JSON object for each candidate: the base encoder, the method with its default settings, and with each setting
named on the command line, or with `--together` with all of them. English labels; the sentences are encoded once and
their vectors stored, so that a candidate takes seconds. `measure` takes any function that fits a map of vectors. Of
joined encoders (`use+e5-small`), each has a head of its own, as `emu train` fits them; `--weights` are the parts'
shares of the cosine, `--one-head` adds a single head on the joined vectors, and `--cpu` the time to encode a sentence.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from emu_core.api.inputs import labelled_set
from emu_core.data.demo import load_demo, reference_texts
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.specs import parts_of
from emu_core.evaluation.changes import Verdict, language_change
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.head.settings import HeadConfig
from emu_core.methods.registry import configure
from emu_core.settings import Settings, settings_by_part

LABELLED = "en"
HALVES = 4  # random halves of the intents
QUARTERS = 4  # of SIB-200's train split, held out in turn
PAIRS = ("deu", "spa", "fra", "jpn", "cmn")
Vectors = NDArray[np.float32]
Map = Callable[[Vectors], Vectors]
Rows = NDArray[np.intp]


Fit = Callable[[Examples], Map]


class Vault:
    """The data in a folder, and each set's vectors by one encoder, which are stored in another folder."""

    def __init__(self, data: Path, folder: Path, encoder: str, weights: Sequence[float] = ()) -> None:
        self.data, self.folder, self.encoder = data, folder, encoder
        names = parts_of(encoder)
        self.parts = [Vault(data, folder, name) for name in names] if len(names) > 1 else []
        self.weights = weights or [1 / len(names)] * len(names)

    def vectors(self, name: str, texts: Callable[[], Sequence[str]]) -> Vectors:
        """Return the stored vectors of a set, encoding its texts if there are none; of joined encoders, joined."""
        if self.parts:
            return self.joined([part.vectors(name, texts) for part in self.parts])
        path = self.folder / f"{self.encoder}_{name}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, load_encoder(self.encoder).encode(list(texts())))
        found: Vectors = np.load(path)
        return found

    def joined(self, vectors: Sequence[Vectors]) -> Vectors:
        """Join the vectors of the parts."""
        units = zip(map(unit, vectors), self.weights, strict=True)
        return np.concatenate([part * np.float32(np.sqrt(weight)) for part, weight in units], axis=1)

    def split(self, vectors: Vectors) -> list[Vectors]:
        """Return the vectors of each part of joined ones."""
        dims = [part.reference[LABELLED].shape[1] for part in self.parts]
        return list(map(unit, np.split(vectors, np.cumsum(dims)[:-1], axis=1)))

    def labelled(self, name: str, paths: Sequence[Path]) -> tuple[pd.DataFrame, Vectors]:
        """Return a set's rows and their vectors."""
        frame = (labelled_set([str(path) for path in paths])[0] if paths else load_demo()).frame
        return frame, self.vectors(name, frame["text"].tolist)

    @cached_property
    def sib(self) -> tuple[pd.DataFrame, Vectors]:
        """SIB-200."""
        return self.labelled("sib", sorted((self.data / "sib200").glob("*.csv")))

    @cached_property
    def demo(self) -> tuple[pd.DataFrame, Vectors]:
        """The demo set."""
        return self.labelled("demo", [])

    @cached_property
    def home(self) -> tuple[pd.DataFrame, Vectors]:
        """Home Assistant's commands."""
        return self.labelled("home", sorted((self.data / "home_assistant").glob("*.csv")))

    @cached_property
    def reference(self) -> dict[str, Vectors]:
        """The reference sentences."""
        return {
            language: self.vectors(f"reference_{language}", lambda texts=texts: texts)
            for language, texts in reference_texts().items()
        }

    @cached_property
    def similarity(self) -> dict[str, tuple[Vectors, NDArray[np.float64]]]:
        """STS-B's dev pairs by language: the vectors of all first and all second sentences, and the scores."""
        found = {}
        for path in sorted((self.data / "stsb").glob("*.dev.csv")):
            frame = pd.read_csv(path, header=None)
            language = path.name.split(".")[0]
            texts = [*frame[0], *frame[1]]
            found[language] = (
                self.vectors(f"sts_{language}", lambda texts=texts: texts),
                frame[2].to_numpy(),
            )
        return found

    @cached_property
    def translations(self) -> list[tuple[Vectors, Vectors]]:
        """Tatoeba's pairs of languages."""

        def side(pair: str, language: str) -> Vectors:
            path = self.data / "tatoeba" / f"tatoeba.{pair}-eng.{language}"
            return self.vectors(f"tatoeba_{pair}_{language}", lambda: path.read_text("utf-8").splitlines())

        return [(side(pair, pair), side(pair, "eng")) for pair in PAIRS]


class Labelled:
    """Rows of a labelled set with their vectors."""

    def __init__(self, frame: pd.DataFrame, vectors: Vectors) -> None:
        self.vectors = vectors
        self.intents = frame["intent"].to_numpy(dtype=str)
        self.languages = frame["language"].to_numpy(dtype=str)
        self.ids = frame["id"].to_numpy(dtype=str)
        self.splits = frame["split"].to_numpy(dtype=str)

    def labels(self, rows: NDArray[np.bool_], reference: Mapping[str, Vectors]) -> Examples:
        """Return the English rows among some rows."""
        rows = rows & (self.languages == LABELLED)
        classes = np.unique(self.intents[rows], return_inverse=True)[1].tolist()
        return Examples(self.vectors[rows], classes, reference, self.ids[rows].tolist())

    def accuracy(self, rows: NDArray[np.bool_], apply: Map) -> float:
        """Return the mean Acc@1 of the directions with English; a row's own id is no answer."""
        rows = np.flatnonzero(rows)
        units = unit(apply(self.vectors[rows]))
        languages, ids, intents = self.languages[rows], self.ids[rows], self.intents[rows]
        found = []
        for other in np.unique(languages):
            for source, target in {(LABELLED, other), (other, LABELLED)}:
                a, b = np.flatnonzero(languages == source), np.flatnonzero(languages == target)
                cosines = units[a] @ units[b].T
                cosines[ids[a][:, None] == ids[b]] = -2
                found.append((intents[a] == intents[b][cosines.argmax(axis=1)]).mean())
        return 100 * float(np.mean(found))

    def halves(self, seed: int = 0) -> list[NDArray[np.bool_]]:
        """Return the rows of each random half of the intents, drawn with this seed and the next ones."""
        names = np.unique(self.intents)
        draws = [np.random.default_rng(seed + number).permutation(names) for number in range(HALVES)]
        return [np.isin(self.intents, order[: len(order) // 2]) for order in draws]


def unit(vectors: NDArray[np.floating]) -> Vectors:
    """Return vectors (N, d) scaled to length 1."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def measure(fit: Fit, vault: Vault, seed: int = 0) -> dict[str, float]:
    """Return every figure of a candidate: Acc@1 in percent, Spearman's correlation, P@1 in percent.

    The seed is that of the quarters and halves.
    """
    found: dict[str, float] = {}
    sib, demo, home = (Labelled(*of) for of in (vault.sib, vault.demo, vault.home))
    of_sib = fit(sib.labels(sib.splits == "train", vault.reference))
    found["sib dev"] = sib.accuracy(sib.splits == "dev", of_sib)
    train = sib.splits == "train"
    found["sib quarters"] = quarters(sib, train, fit, vault, seed)
    found["sib new"] = new_intents(sib, train, np.ones_like(train), fit, vault, seed)
    train = demo.splits == "train"
    of_demo = fit(demo.labels(train, vault.reference))
    found["demo test"] = demo.accuracy(demo.splits == "test", of_demo)
    found["demo quarters"] = quarters(demo, train, fit, vault, seed)
    found["demo new"] = new_intents(demo, train, demo.splits == "test", fit, vault, seed)
    found["demo new train"] = new_intents(demo, train, train, fit, vault, seed)
    of_home = fit(home.labels(np.ones(len(home.ids), dtype=bool), vault.reference))
    found |= commands(home, of_home)
    for name, apply in (("", of_sib), (" demo", of_demo), (" home", of_home)):
        found[f"sts{name}"] = float(np.mean([spearman(apply(v), s) for v, s in vault.similarity.values()]))
        found[f"translations{name}"] = float(
            np.mean([precision(unit(apply(a)), unit(apply(b))) for a, b in vault.translations])
        )
    return found


def quarters(data: Labelled, train: NDArray[np.bool_], fit: Fit, vault: Vault, seed: int) -> float:
    """Return the mean Acc@1 of quarters of the training sentences, each held out in turn."""
    ids = np.random.default_rng(seed).permutation(np.unique(data.ids[train]))
    held = [np.isin(data.ids, part) for part in np.array_split(ids, QUARTERS)]
    found = [data.accuracy(part, fit(data.labels(train & ~part, vault.reference))) for part in held]
    return float(np.mean(found))


def new_intents(
    data: Labelled, train: NDArray[np.bool_], asked: NDArray[np.bool_], fit: Fit, vault: Vault, seed: int
) -> float:
    """Return the mean Acc@1 among sentences of intents without labels, over random halves of the intents."""
    halves = data.halves(seed)
    found = [data.accuracy(asked & ~half, fit(data.labels(train & half, vault.reference))) for half in halves]
    return float(np.mean(found))


def commands(home: Labelled, apply: Map) -> dict[str, float]:
    """Return the mean Acc@1 of queries in other languages against the English pool, and its changes by language."""

    def right(of: Map) -> dict[str, NDArray[np.bool_]]:
        units = unit(of(home.vectors))
        english = np.flatnonzero(home.languages == LABELLED)
        return {
            other: home.intents[rows]
            == home.intents[english][(units[rows] @ units[english].T).argmax(axis=1)]
            for other in np.unique(home.languages)
            if other != LABELLED
            for rows in [np.flatnonzero(home.languages == other)]
        }

    before, after = right(lambda vectors: vectors), right(apply)
    changes = {other: language_change([before[other]], [after[other]]) for other in before}
    return {
        "home mean": 100 * float(np.mean([one.mean() for one in after.values()])),
        "home change": float(np.mean([change.difference for change in changes.values()])),
        "home worst": min(change.difference for change in changes.values()),
        "home loses": sum(change.verdict == Verdict.WORSE for change in changes.values()),
    } | {f"home {other}": change.difference for other, change in changes.items()}


def spearman(vectors: Vectors, scores: NDArray[np.float64]) -> float:
    """Return Spearman's correlation of scores with the cosines of the first and the second half of some vectors."""
    first, second = np.split(unit(vectors), 2)
    return float(spearmanr((first * second).sum(axis=1), scores).statistic)


def precision(a: Vectors, b: Vectors) -> float:
    """Return P@1 in percent, mean of both ways."""
    cosines, rows = a @ b.T, np.arange(len(a))
    return 50 * float((cosines.argmax(axis=1) == rows).mean() + (cosines.argmax(axis=0) == rows).mean())


def base(_: Examples) -> Map:
    """Leave the encoder's vectors unchanged."""
    return lambda vectors: vectors


def one_head(config: HeadConfig) -> Fit:
    """Return a function that fits the method with these settings."""

    def fit(examples: Examples) -> Map:
        head = fit_head(examples, config)

        def apply(vectors: Vectors) -> Vectors:
            with torch.no_grad():
                found: Vectors = head.in_parts(torch.from_numpy(vectors)).numpy()
            return found

        return apply

    return fit


def of_each_part(fits: Sequence[Fit], vault: Vault) -> Fit:
    """Return a function that fits each part of joined encoders by itself, and joins the results."""

    def fit(examples: Examples) -> Map:
        vectors = vault.split(examples.vectors)
        reference = [dict[str, Vectors]() for _ in fits]
        for language, of_all in examples.reference.items():
            for part, of_part in zip(reference, vault.split(of_all), strict=True):
                part[language] = of_part
        parts = zip(fits, vectors, reference, strict=True)
        maps = [fit(replace(examples, vectors=part, reference=known)) for fit, part, known in parts]

        def apply(asked: Vectors) -> Vectors:
            of_parts = zip(maps, vault.split(asked), strict=True)
            return vault.joined([of_part(part) for of_part, part in of_parts])

        return apply

    return fit


def cpu_ms(vault: Vault, sentences: int = 200) -> float:
    """Return the CPU milliseconds to encode a sentence of SIB-200, the encoder being loaded."""
    texts = vault.sib[0]["text"].sample(sentences, random_state=0).tolist()
    encoder = load_encoder(vault.encoder)
    encoder.encode(texts[:10])
    began = time.process_time()
    encoder.encode(texts)
    return 1000 * (time.process_time() - began) / sentences


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with sib200, home_assistant, stsb and tatoeba")
    parser.add_argument("--vectors", type=Path, required=True, help="folder to store vectors in")
    parser.add_argument("--encoder", default="use")
    parser.add_argument(
        "--seed", type=int, default=0, help="of quarters and halves; settings were chosen with 0"
    )
    parser.add_argument(
        "--weights", type=float, nargs="+", default=(), help="of the parts of joined encoders"
    )
    parser.add_argument("--one-head", action="store_true", help="also on the joined vectors")
    parser.add_argument("--cpu", action="store_true", help="measure the time to encode a sentence")
    add_settings(parser)
    options = parser.parse_args()
    vault = Vault(options.data, options.vectors, options.encoder, options.weights)
    candidates = [("base", base)] + [
        (json.dumps(changes), heads(vault, configure("head", options.encoder, **changes)))
        for changes in ({}, *changed_settings(options))
    ]
    if options.one_head:
        candidates.append(("one head", one_head(configure("head", "joined"))))
    cpu = {"cpu ms": cpu_ms(vault)} if options.cpu else {}
    for name, fit in candidates:
        found = {
            part: round(value, 3) for part, value in {**measure(fit, vault, options.seed), **cpu}.items()
        }
        print(json.dumps({"encoder": options.encoder, "candidate": name} | found), flush=True)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for each setting of the method, and `--together`."""
    for field in fields(HeadConfig):
        kind = type(getattr(HeadConfig(), field.name))
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, nargs="+", help="one or several")
    parser.add_argument("--together", action="store_true", help="change the named settings together")


def changed_settings(options: argparse.Namespace) -> list[dict[str, float]]:
    """Return the settings named on the command line: each value by itself, or the first of each together."""
    named: dict[str, list[float]] = {
        field.name: values for field in fields(HeadConfig) if (values := getattr(options, field.name))
    }
    if options.together:
        return [{name: values[0] for name, values in named.items()}]
    return [{name: value} for name, values in named.items() for value in values]


def heads(vault: Vault, settings: Settings) -> Fit:
    """Return a function that fits the method on the encoder, or on each part of joined ones, with its settings."""
    fits = [one_head(part) for part in settings_by_part(settings) if isinstance(part, HeadConfig)]
    return of_each_part(fits, vault) if vault.parts else fits[0]


if __name__ == "__main__":
    main()
