"""The dual encoder's experiments: its systems, how each is trained, and what is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from emu_core.api.inputs import Data
from emu_core.bench.cells import Cell, cells_of, pair_names
from emu_core.bench.experiment import Draw, RunCell, draw_nothing
from emu_core.bench.job import bench_config, create_bench, run_bench
from emu_core.bench.papers import ParallelBench
from emu_core.bench.parallel.experiment import ParallelExperiment
from emu_core.bench.parallel.ranking import DOT, encode_in, ranking
from emu_core.bench.parallel.read import File, Parallel, read_texts
from emu_core.bench.parallel.texts import BenchTexts, Documents
from emu_core.bench.parallel.training import Recipe
from emu_core.bench.report import Report
from emu_core.bench.results import Key, Results
from emu_core.config.dual_encoder import SUM_OF_WORDS, TUNED_DUAL_ENCODER, DualEncoderConfig
from emu_core.data.parallel.text import ParallelText, names_of
from emu_core.devices import pick_device
from emu_core.encoders.base import Encoder
from emu_core.errors import DataError
from emu_core.evaluation.angular_similarity import Correlation, scores_of, sts, sts_across
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.evaluation.transfer import LabelledVectors, TransferSettings, few_shot, zero_shot
from emu_core.evaluation.translation_ranking import PAPER_DISTRACTORS
from emu_core.runs.config import RunConfig
from emu_core.runs.progress import OnProgress

HARD_NEGATIVES = 5  # section 2.2
# The paper's network is 512 wide, trained on batches of 16 for 20 epochs: minutes for what is a check here.
CLASSIFIER = TransferSettings(hidden=128, learning_rate=0.002, batch_size=32, epochs=10)
MOST_SENTENCES = 6_000  # of a language, to train the classifier on, as the paper has
LEAST_FOR_EIGEN = 10  # pairs, the paper's sample


class System(StrEnum):
    """A system of the tables."""

    SUM_OF_WORDS = "sum-of-words"
    TRANSLATION = "translation"
    HARD_NEGATIVES = "hard-negatives"
    QUICK_THOUGHT = "quick-thought"
    DIALOGUES = "dialogues"
    NLI = "nli"
    MULTI_TASK = "multi-task"


def systems_for(texts: BenchTexts) -> tuple[System, ...]:
    """Return the systems that there is text for; all tasks together are one of their own where there are two others."""
    given = (
        (System.QUICK_THOUGHT, texts.tasks.running_text),
        (System.DIALOGUES, texts.tasks.dialogues),
        (System.NLI, texts.tasks.nli),
    )
    others = [system for system, there in given if there]
    together = [System.MULTI_TASK] if len(others) > 1 else []
    return System.SUM_OF_WORDS, System.TRANSLATION, System.HARD_NEGATIVES, *others, *together


class DualExperiment(ParallelExperiment):
    """The dual encoder's experiments on parallel text and other tasks."""

    plain: ClassVar[str] = System.SUM_OF_WORDS

    @property
    def systems(self) -> tuple[System, ...]:
        """The systems that there is text for."""
        return systems_for(self.data)

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell, the plain sum of words of the first pair first: as in the paper, a model a pair."""
        return tuple(cells_of(self.systems, [pair_names([pair]) for pair in self.pairs], self.seeds))

    def recipe(self, system: str) -> Recipe:
        """Return how a system is trained."""
        own = System(system)
        base = SUM_OF_WORDS if own is System.SUM_OF_WORDS else TUNED_DUAL_ENCODER
        values = {**base, **self.epochs_of(base["epochs"])}
        if own is System.HARD_NEGATIVES:
            values["hard_negatives"] = HARD_NEGATIVES
        every = own is System.MULTI_TASK
        return Recipe(
            DualEncoderConfig(**values),
            dialogues=every or own is System.DIALOGUES,
            running=every or own is System.QUICK_THOUGHT,
            nli=every or own is System.NLI,
        )

    def values(self, cell: Cell, encoder: Encoder | None) -> tuple[dict[Key, Any], dict[str, Any], Draw]:
        """Measure the ranking of translations, similarity, classification, and how alike the languages lie."""
        if encoder is None:
            raise TypeError("every system of this benchmark has an encoder")
        (text,) = self.data.of_pairs(cell.on)[1]
        found, warning = _sts(encoder, self.data, text.languages)
        values = {
            **_translations(encoder, text),
            **found,
            **_classified(encoder, self.data, text.languages, cell.seed),
        }
        return values, {"warnings": [warning]} if warning else {}, draw_nothing

    def report(self, results: Results) -> Report:
        """Return the report of finished cells."""
        from emu_core.bench.dual_encoder.report import dual_report

        return dual_report(self, results)


def _translations(encoder: Encoder, text: ParallelText) -> dict[Key, Any]:
    """Measure section 3.4, and section 5's eigen-similarity of the same sentences."""
    first, second = (
        encode_in(encoder, side, code)
        for code, side in zip(text.languages, (text.first, text.second), strict=True)
    )
    distractors = min(PAPER_DISTRACTORS, len(text) - 1) or None
    there = ranking(DOT, first, second, text.second, distractors)
    back = ranking(DOT, second, first, text.first, distractors)
    name, turned = pair_name(text.source, text.target), pair_name(text.target, text.source)
    values: dict[Key, Any] = {
        ("rank", DOT, name): there.ranks,
        ("rank", DOT, turned): back.ranks,
        ("candidates", "", name): there.candidates,
        ("candidates", "", turned): there.candidates,
    }
    if len(text) >= LEAST_FOR_EIGEN:
        found = eigen_similarity(first, second)
        for field in ("mean", "variance", "standard_error"):
            values["eigen", field, name] = getattr(found, field)
    return values


def _sts(
    encoder: Encoder, texts: BenchTexts, languages: Sequence[str]
) -> tuple[dict[Key, Any], str]:
    """Measure Pearson's and Spearman's correlations in each language and across; and say why there are none across."""
    own = {code: texts.sts[code] for code in languages if code in texts.sts}
    vectors = {
        code: (encode_in(encoder, pairs.first, code), encode_in(encoder, pairs.second, code))
        for code, pairs in own.items()
    }
    scores, warning = scores_of(own), ""
    found: Mapping[str, Correlation] = sts(vectors, scores) if own else {}
    if len(own) > 1:
        try:
            found = {**found, **sts_across(vectors, scores)}
        except DataError as error:
            warning = str(error)
    values = {
        ("sts", field, where): value for where, one in found.items() for field, value in asdict(one).items()
    }
    return values, warning


def _classified(
    encoder: Encoder, texts: BenchTexts, languages: tuple[str, str], seed: int
) -> dict[Key, Any]:
    """Measure zero-shot both ways, and few-shot in the pair's second language (section 4.2)."""
    if any(code not in texts.documents for code in languages):
        return {}
    train, test = (
        {code: _labelled(encoder, texts.documents[code][part], code) for code in languages} for part in (0, 1)
    )
    values: dict[Key, Any] = {
        ("zero_shot", "", pair_name(source, target)): right
        for source in languages
        for target, right in zero_shot(train[source], test, CLASSIFIER, seed=seed).items()
    }
    source, target = languages
    for one in few_shot(train[source], train[target], test[target], settings=CLASSIFIER, seed=seed):
        for kind in ("few_shot", "monolingual"):
            if getattr(one, kind) is not None:
                values[kind, f"{one.share:g}", pair_name(source, target)] = getattr(one, kind)
    return values


def _labelled(encoder: Encoder, documents: Documents, language: str) -> LabelledVectors:
    texts, labels = documents.texts[:MOST_SENTENCES], documents.labels[:MOST_SENTENCES]
    return LabelledVectors(encode_in(encoder, texts, language), labels)


def plan_dual_encoder(
    texts: BenchTexts, settings: ParallelBench | None = None, *, device: str = "auto"
) -> tuple[RunConfig, BenchTexts]:
    """Return what `create_bench` takes for the dual encoder's benchmark.

    Args:
        texts: see `read_texts`; with the `quick` of the settings.
        settings: of the benchmark.
        device: "auto", "cpu", "cuda:0".
    """
    name, chosen = names_of(texts.train), settings or ParallelBench()
    return bench_config(
        "dual-encoder", chosen, data=name, device=pick_device(device), pairs=texts.pairs
    ), texts


def bench_dual_encoder(
    files: Parallel,
    *,
    out: str | Path,
    test: Parallel = (),
    languages: Sequence[str] | None = None,
    drop_empty: bool = False,
    labelled: Data | None = None,
    sts: File | None = None,
    dialogues: Sequence[File] = (),
    running_text: Sequence[File] = (),
    nli: Sequence[File] = (),
    seeds: Sequence[int] = (0,),
    epochs: int | None = None,
    quick: bool = False,
    device: str = "auto",
    on_progress: OnProgress | None = None,
    run_cell: RunCell | None = None,
) -> Report:
    """Run the paper's experiments on parallel text.

    Each cell runs in a process of its own and is written to a file. The same call after a kill goes on where it
    stopped; more seeds add cells. A cell that can't be measured is shown with the reason, and tried again by the next
    call.

    Args:
        files: parallel text, as `pretrain` takes it; a model is trained on each language pair.
        out: the folder of the benchmark's run.
        test: parallel text of the same pairs to measure on; without it, up to 1,000 pairs are held out.
        languages: of files that do not say theirs.
        drop_empty: leave out pairs with an empty side, which are an error otherwise.
        labelled: a labelled set whose sentences are classified across languages (zero-shot and few-shot).
        sts: folder of files such as de.dev.csv: two sentences and a score a row.
        dialogues: comments with their responses, for a model that learns from them, too.
        running_text: sentences in their order, for one that learns quick thought.
        nli: SNLI's or MultiNLI's JSON lines, for one that learns NLI.
        seeds: of all that draws.
        epochs: of every system; None takes the settings' own.
        quick: 3,000 pairs and a few epochs, to see that all works.
        device: "auto", "cpu", "cuda:0".
        on_progress: called with the run's status as it moves; its steps are the cells.
        run_cell: runs a cell; None runs it in a process of its own.

    Returns:
        The report, whose files are in `out`.

    Raises:
        EmuError: what can't be read, or a folder that holds cells of other data or settings.
    """
    settings = ParallelBench(seeds=tuple(seeds), epochs=epochs, quick=quick)
    texts = read_texts(
        files,
        test=test,
        languages=languages,
        drop_empty=drop_empty,
        labelled=labelled,
        sts=sts,
        dialogues=dialogues,
        running_text=running_text,
        nli=nli,
        quick=quick,
    )
    config, texts = plan_dual_encoder(texts, settings, device=device)
    return run_bench(create_bench(out, config, texts), on_progress, run_cell=run_cell)
