"""Experiments on encoders trained from scratch: how they are trained, and the tables that their reports share."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from emu_core.api.pretrain import Texts
from emu_core.bench.experiment import DataFields, Experiment
from emu_core.bench.papers import ParallelBench
from emu_core.bench.parallel.texts import BenchTexts, read_bench_texts
from emu_core.bench.results import Cell, CellResult, Key, OverSeeds, Results, numbers, pair_names
from emu_core.bench.specs import Column, Line, TableSpec, costs_table
from emu_core.bench.tables import Table
from emu_core.data.texts.held_out import hold_out, usual_count, with_language
from emu_core.data.texts.parallel import ParallelText, languages_of, names_of
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.base import Encoder, FloatArray, encode_in
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.run_metrics import mean_p_at_1
from emu_core.evaluation.translation_ranking import ranking_by
from emu_core.methods.bicvm.settings import BicvmConfig
from emu_core.methods.bicvm.trainer import BicvmTrainer, untrained_encoder
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.settings import DualEncoderConfig
from emu_core.methods.dual_encoder.trainer import DualEncoderTrainer
from emu_core.runs.costs import Pace, Took, now, since
from emu_core.training.fit import Fitted, Trainer, fit

QUICK_EPOCHS = 5


@dataclass(frozen=True)
class Recipe:
    """How a system is trained: its settings, whose class determines the method, and the other tasks it learns from."""

    config: DualEncoderConfig | BicvmConfig
    dialogues: bool = False
    running: bool = False
    nli: bool = False

    def fit(
        self,
        train: Sequence[ParallelText],
        dev: Sequence[ParallelText],
        others: Tasks,
        *,
        seed: int,
        device: str,
        pace: Pace,
    ) -> tuple[Encoder, Fitted]:
        """Train an encoder on parallel text and on the recipe's tasks among `others`; `dev` chooses the epoch."""
        config = self.config
        encoder: Encoder
        make: Callable[..., Trainer[Any]]
        if isinstance(config, BicvmConfig):
            encoder = bicvm = untrained_encoder(train, config, seed=seed).to(device)
            make = partial(BicvmTrainer, bicvm, train, config)
        else:
            tasks = Tasks(
                train,
                others.dialogues if self.dialogues else (),
                others.running_text if self.running else (),
                others.nli if self.nli else (),
            )
            encoder = dual = DualEncoder.random(config, languages_of(train), seed=seed).to(device)
            make = partial(DualEncoderTrainer, dual, tasks, config)
        trainer: Trainer[Any] = make(seed=seed, score=lambda: mean_p_at_1(encoder.encode, dev))
        return encoder, fit(trainer, on_record=pace, should_stop=lambda: False)


class ParallelExperiment(Experiment):
    """Experiments on parallel text."""

    data: BenchTexts
    data_class = BenchTexts
    settings_class = ParallelBench
    plain: ClassVar[str]  # the system that the speed of the others is compared with
    first: ClassVar[str] = "the plain sum of words"

    @staticmethod
    def gather(files: Texts, settings: ParallelBench, **others: Any) -> tuple[BenchTexts, DataFields]:
        """Return the texts and the configuration's fields that follow from them; `others`: see `read_bench_texts`."""
        texts = read_bench_texts(files, quick=settings.quick, **others)
        return texts, {"data": names_of(texts.train), "pairs": texts.pairs}

    @abstractmethod
    def recipe(self, system: str) -> Recipe | None:
        """Return how a system is trained; None if it is not."""

    @abstractmethod
    def evaluate(self, cell: Cell, encoder: Encoder | None) -> CellResult:
        """Measure a trained encoder, None for a system that is not trained."""

    def epochs_of(self, default: int | None) -> dict[str, Any]:
        """Return the change to settings whose number of epochs is `default`."""
        if self.settings.epochs is not None:
            return {"epochs": self.settings.epochs}
        return {"epochs": min(default or QUICK_EPOCHS, QUICK_EPOCHS)} if self.settings.quick else {}

    def hyperparameters(self, cell: Cell) -> dict[str, object]:
        """Return the settings that a cell is trained with."""
        recipe = self.recipe(cell.system)
        return {} if recipe is None else asdict(recipe)

    def measure(self, cell: Cell, folder: Path) -> CellResult:
        """Train a cell, and measure its encoder."""
        recipe, encoder, took = self.recipe(cell.system), None, Took()
        facts, speed = dict[str, object](), dict[Key, Any]()
        if recipe is not None:
            whole, _ = self.data.of_pairs(cell.on)
            train, dev = hold_out(whole, usual_count(whole), cell.seed)
            start, pace, device = now(), Pace(), self.config.device
            encoder, fitted = recipe.fit(
                train, dev, self.data.tasks, seed=cell.seed, device=device, pace=pace
            )
            took = since(start)
            speed = {
                ("speed", name, ""): value for name, value in pace.speed(recipe.config.batch_size).items()
            }
            facts = {"selected_epoch": fitted.selected_epoch, "pairs": sum(map(len, train))}
            if fitted.warnings:
                facts["warnings"] = list(fitted.warnings)
        measured = self.evaluate(cell, encoder)
        values = {**measured.values, **numbers(speed)}
        return replace(measured, values=values, facts={**facts, **measured.facts}, **took.costs())

    def shared_facts(self) -> dict[str, object]:
        """Return the facts that all reports on parallel text show."""
        texts, names = self.data, pair_names(self.pairs)
        return {
            **super().shared_facts(),
            "pairs_trained_on": dict(zip(names, (f"{len(text):,}" for text in texts.train), strict=True)),
            "pairs_measured": dict(zip(names, (f"{len(text):,}" for text in texts.test), strict=True)),
            "pairs_trained_on_that_share_a_sentence_with_those_measured": f"{_shared(texts):,}",
            "chosen_epoch": "of the pairs trained on, up to 1,000 (a tenth at most) choose the epoch",
        }

    @property
    def sizes(self) -> str:
        """The number of training pairs of each language pair, in words."""
        return ", ".join(f"{len(text):,} {pair_name(*text.languages)} pairs" for text in self.data.train)

    def documents_facts(self, part: int) -> dict[str, str]:
        """Return the number of documents by language: of part 0, to train on, or 1, to test on."""
        return {
            code: f"{len(train_and_test[part].texts):,}"
            for code, train_and_test in self.data.documents.items()
        }


def encode_pairs(encoder: Encoder, text: ParallelText) -> tuple[FloatArray, FloatArray]:
    """Return the vectors (N, d) of both sides."""
    return encode_in(encoder, text.first, text.source), encode_in(encoder, text.second, text.target)


def rank_values(
    text: ParallelText,
    first: FloatArray,
    second: FloatArray,
    measures: Sequence[str],
    distractors: int | None = None,
) -> dict[Key, Any]:
    """Return the ranks of translations and the numbers of candidates, both ways; for the arguments see `ranking_by`."""
    values: dict[Key, Any] = {}
    for way, sources, other in ((text, first, second), (text.turned(), second, first)):
        name = pair_name(way.source, way.target)
        for by in measures:
            ranked = ranking_by(by, sources, other, way.second, distractors)
            values["rank", by, name] = ranked.ranks
            values["candidates", "", name] = ranked.candidates
    return values


def candidates_of(results: Results) -> dict[str, int]:
    """Return the number of targets that each source was compared with, by direction."""
    candidates = results.of_measure("candidates").groupby("where", sort=False)["value"].last()
    return {str(where): int(count) for where, count in candidates.items()}


_SPEED = TableSpec(
    "parallel",
    "speed",
    ("model", "trained on"),
    (
        Column("seconds", "pairs a second", "{:,.0f}"),
        Column("ratio_seconds", "ratio", "{:.2f}"),
        Column("cpu_seconds", "pairs a CPU second", "{:,.0f}"),
        Column("ratio_cpu_seconds", "ratio (CPU)", "{:.2f}"),
    ),
)


def speed_table(
    results: Results, systems: Sequence[str], plain: str, labels: Mapping[str, str], first: str
) -> Table:
    """Return the sentence pairs a second of each system, and their ratio to the plain system's.

    The plain system is the one trained on the same pairs, or else the one trained on the pair `first`.
    """
    lines = []
    first_speed = _speed(results.of(plain, [first]))
    for system, on, row in results.trained(systems):
        speed, names = _speed(row), ", ".join(on)
        base = _speed(results.of(plain, on)) or first_speed
        ratios = {f"ratio_{name}": speed[name] / base[name] for name in speed} if base else {}
        if speed:
            lines.append(Line((labels[system], names), f"{system} on {names}", figures={**speed, **ratios}))
    return _SPEED.table(lines)


def parallel_costs(results: Results, systems: Sequence[str], labels: Mapping[str, str]) -> Table:
    """Return time and memory of each system on each set of pairs it is trained on."""
    lines = [
        ((labels[system], ", ".join(on)), f"{system} on {', '.join(on)}", row)
        for system, on, row in results.trained(systems)
    ]
    return costs_table("parallel", results, lines)


def _speed(row: OverSeeds) -> dict[str, float]:
    numbers = {name: row.numbers("speed", name) for name in ("seconds", "cpu_seconds")}
    return {name: float(np.mean(measured)) for name, measured in numbers.items() if measured}


def _shared(texts: BenchTexts) -> int:
    """Return how many training pairs share a sentence with the test pairs."""
    measured = {side for text in texts.test for pair in with_language(text) for side in pair}
    return sum(not measured.isdisjoint(pair) for text in texts.train for pair in with_language(text))
