"""Measure the fine-tuned systems that README.md and docs/evidence.md quote: Emu, its variants and its peers.

Adds to benchmarks/results/outcomes, which `benchmarks.published` begins, which queries each system has right, by seed
and direction with English on one side. English labels and the cells of `emu bench emu`. A system, seed and rate in the
file is not measured again, so a stopped measurement goes on where it was. Tests compute the pages' tables from it.

On "dev", "test" and "all" (see `benchmarks.sets`) and with few labels, a peer is trained with both of its learning
rates. Quarters and new intents take the rate that is better on "dev" or "test" over the seeds measured: they choose
nothing. Trained systems are measured on the first three of SIB-200's 35 halves. MultipleNegativesRanking has no
classifier: on "all" it gets a regression on its vectors.

    python -m benchmarks.fine_tuned DATA --sets xsid faq lu --labels 0 1 8 --draws 5 --systems setfit --seeds 0

trains on so many English labels an intent instead, or the names alone in a template, in the draws of
`benchmarks.intents`, whose parts it adds to.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.default_method import Vectors

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.intents import asked_of, drawn, part_of
from benchmarks.outcomes import FOLDER, Measured, Outcomes, Right
from benchmarks.sets import FOLDERS, LABELLED, POOLED, UNTOUCHED, Part, frame_of, known_part, parts_of
from emu_core.bench.emu.experiment import (
    OURS,
    THEIRS,
    EmuExperiment,
    benchmarked_methods,
    compared_with_peers,
    peer_system,
)
from emu_core.bench.job import experiment_of
from emu_core.bench.papers import paper_named
from emu_core.bench.peers import Peer
from emu_core.bench.results import Cell, CellResult
from emu_core.data.repeats import group_numbers
from emu_core.data.sets import LabelledSet
from emu_core.errors import EmuError
from emu_core.evaluation.classifier import logistic_regression
from emu_core.evaluation.leave_one_out import pool_accuracy
from emu_core.intents.names import name_texts

FROZEN = "head"  # measured by benchmarks/published.py
SYSTEMS = (
    *(name for name in dict.fromkeys([*benchmarked_methods(), *compared_with_peers()]) if name != FROZEN),
    *(peer.value for peer in Peer if not peer.is_frozen),
)
SECONDS = FOLDER.parent / "training_seconds.csv"  # of CPU time
HALVES = {"sib": 3, "demo": 4}  # of the intents


def divided(frame: pd.DataFrame, part: Part, name: str) -> LabelledSet:
    """Return the rows of a part, in splits train and test.

    A benchmark trains on the languages that it measures, so the English pool is also measured, and not counted.
    """
    pool = part.train & (frame["language"] == LABELLED).to_numpy() & part.is_pooled
    rows = frame[part.train].assign(split="train"), frame[part.asked | pool].assign(split="test")
    return LabelledSet(pd.concat(rows, ignore_index=True), name)


def rates_of(name: str, part: Part, measured: Measured, outcomes: Outcomes) -> tuple[str, ...]:
    """Return the learning rates that a system is trained with on a part; "" is its own."""
    if measured.system not in set(Peer):
        return ("",)
    if Peer(measured.system).has_own_budget:
        return (THEIRS,)
    known = known_part(name)
    has_both = part.is_pooled or part.name == known or part.has_few_labels
    return (THEIRS, OURS) if has_both else (better_rate(outcomes, measured._replace(part=known)),)


def better_rate(outcomes: Outcomes, known: Measured) -> str:
    """Return the learning rate of a peer that is better on known intents. Raises KeyError if one was not measured."""
    means = {
        rate: outcomes.accuracies(known._replace(rate=rate), [known.part]).mean() for rate in (THEIRS, OURS)
    }
    return max(means, key=means.__getitem__)


def trained(frame: pd.DataFrame, part: Part, measured: Measured, name: str) -> tuple[Right, Right, float]:
    """Train a system. Return the nearest neighbours' answers, its classifier's, and the CPU seconds of training."""
    labelled = divided(frame, part, name)
    paper, seed = paper_named("emu"), measured.seed + part.draw
    config, data = paper.plan(labelled, encoder=measured.encoder, seeds=[seed], device="cpu")
    is_peer = measured.system in set(Peer)
    system_name = peer_system(Peer(measured.system)) if is_peer else measured.system
    cell = Cell(system_name, (LABELLED,), seed, measured.rate)
    with TemporaryDirectory() as folder:
        experiment = experiment_of(config, data, folder)
        if not isinstance(experiment, EmuExperiment):
            raise TypeError(name)
        if not part.is_pooled:
            result = experiment.measure(cell, Path(folder))
            return answers(result, "correct"), answers(result, "classified"), result.cpu_seconds
        system = experiment.system(cell, Path(folder))
    asked, pool = frame[part.asked], frame[part.train & (frame["language"] == LABELLED).to_numpy()]

    def of(rows: pd.DataFrame) -> tuple[Vectors, list[str], list[str]]:
        vectors = np.asarray(system.encode(rows["text"].tolist()), dtype=np.float32)
        return vectors, rows["intent"].tolist(), rows["language"].tolist()

    nearest = pool_accuracy(*of(asked), *of(pool)).correct
    classified, classify = dict[str, NDArray[np.bool_]](), system.classify
    if measured.system == Peer.RANKING:
        regression = logistic_regression(*of(pool)[:2])
        classify = lambda texts: regression.predict(system.encode(texts)).tolist()  # noqa: E731
    if classify is not None:
        right = np.asarray(classify(asked["text"].tolist())) == asked["intent"].to_numpy(dtype=str)
        languages = asked["language"].to_numpy(dtype=str)
        classified = {code: right[languages == code] for code in np.unique(languages).tolist()}
    return nearest, classified, system.took.cpu_seconds


def answers(result: CellResult, measure: str) -> Right:
    """Return the answers of a cell: by language, or in the directions with English."""
    return {
        where: right.astype(bool)
        for (name, _, where), right in result.values.items()
        if name == measure and ("-" not in where or LABELLED in where.split("-"))
    }


def parts_with_labels(
    name: str, frame: pd.DataFrame, counts: list[int], draws: int
) -> Iterator[tuple[pd.DataFrame, Part]]:
    """Yield the parts of a set that are measured, and their rows: of few labels if counts are given.

    Without labels, sentences such as "This sentence is book flight" are added, the template of the SetFit package.
    """
    for part in parts_of(name, frame):
        if not counts:
            yield frame, part
        elif part.name == POOLED:
            is_english = (frame["language"] == LABELLED).to_numpy()
            rows, intents = np.flatnonzero(part.train & is_english), frame["intent"].to_numpy(object)
            for count in counts:
                for draw in range(draws if count else 1):
                    labelled = drawn(rows, intents, count, draw)
                    train = part.train & (np.isin(np.arange(len(frame)), labelled) | ~is_english)
                    asked = asked_of(labelled, np.flatnonzero(part.asked), intents)
                    texts = name_texts(sorted(set(intents[asked]))) if not count else {}
                    added = pd.DataFrame(
                        [(f"This sentence is {text}", intent, LABELLED) for intent, text in texts.items()],
                        columns=["text", "intent", "language"],
                    )
                    yield (
                        pd.concat([frame, added], ignore_index=True).fillna(""),
                        Part(
                            part_of(count, draw, POOLED),
                            np.append(train, np.ones(len(added), dtype=bool)),
                            np.isin(np.arange(len(frame) + len(added)), asked),
                            draw,
                        ),
                    )


def keep_seconds(name: str, measured: Measured, cpu_s: float) -> None:
    """Add the CPU seconds of a training to results/training_seconds.csv."""
    one = measured._replace(measure="")
    row = pd.DataFrame([{"set": name, **one._asdict(), "cpu_s": round(cpu_s)}]).drop(columns="measure")
    there = pd.read_csv(SECONDS, keep_default_na=False) if SECONDS.exists() else row[:0]
    keys = ["set", "part", "encoder", "system", "seed", "rate"]
    pd.concat([there, row]).drop_duplicates(keys, keep="last").sort_values(keys).to_csv(SECONDS, index=False)


def main() -> None:
    """Measure, and write each finished training at once."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a folder with sib200, home_assistant and native")
    sets = (*FOLDERS, *UNTOUCHED)
    parser.add_argument("--sets", nargs="+", default=tuple(FOLDERS), choices=sets, metavar="SET")
    about = "beginnings of the names of parts, such as dev, quarter or 'new 0'"
    parser.add_argument("--parts", nargs="+", default=("",), metavar="PART", help=about)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--labels", type=int, nargs="+", default=[], help="English ones an intent")
    parser.add_argument("--draws", type=int, default=3, help="of so many labels")
    options = parser.parse_args()
    for name in options.sets:
        measure(name, options)


def measure(name: str, options: argparse.Namespace) -> None:
    """Measure what is missing on a set."""
    frame, outcomes = frame_of(name, options.data), Outcomes.read(name)
    numbers, languages = group_numbers(frame), frame["language"].to_numpy(dtype=str)
    few = {f"new {number}" for number in range(HALVES.get(name, 0))}
    for rows, part in parts_with_labels(name, frame, options.labels, options.draws):
        if not part.name.startswith(tuple(options.parts)):
            continue
        if part.has_new_intents and part.name not in few:
            continue
        asked = np.flatnonzero(part.asked)
        outcomes.ask(part.name, languages[asked], numbers[asked])
        for system in options.systems:
            if system == "emu-parallel" and part.is_pooled and name != "xsid":  # not translations
                continue
            any_seed = Measured(part.name, options.encoder, system)
            for rate in rates_of(name, part, any_seed, outcomes):
                for seed in options.seeds:
                    measured = any_seed._replace(seed=seed, rate=rate)
                    if measured in outcomes.bits:
                        continue
                    try:
                        nearest, classified, cpu_s = trained(rows, part, measured, name)
                    except EmuError as error:  # such as Emu on a set of one language
                        print(f"{name} {' '.join(map(str, measured))}: {error}", flush=True)
                        continue
                    outcomes.add(measured, nearest)
                    if classified and not part.has_new_intents:
                        outcomes.add(measured._replace(measure="classifier"), classified)
                    outcomes.write()
                    keep_seconds(name, measured, cpu_s)
                    mean = 100 * np.mean([way.mean() for way in nearest.values()])
                    print(f"{name} {' '.join(map(str, measured))}: {mean:.1f}, {cpu_s:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
