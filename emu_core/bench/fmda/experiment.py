"""FMDA's experiments: the cells of its tables, how each is trained, and what is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from emu_core.api.inputs import Data, labelled_set
from emu_core.bench.cells import Cell, Pair, cells_of, pair_names
from emu_core.bench.costs import Took
from emu_core.bench.experiment import Draw, Experiment, bench_config, draw_nothing
from emu_core.bench.fmda.data import FmdaData, fmda_data, read_pairs
from emu_core.bench.results import CellResult, Key, View, numbers
from emu_core.bench.settings import FmdaBench, FmdaPart
from emu_core.config.settings import Settings
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.slots.template_pairs import TemplatePairs
from emu_core.data.slots.utterances import SlotPairs
from emu_core.devices import pick_device
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.registry import encoder_kind, load_encoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.disentangled import Embedded, PartsOf
from emu_core.evaluation.projection import Projection, project
from emu_core.methods.registry import configure
from emu_core.models.fmda import MeaningLanguage
from emu_core.models.parts import Part
from emu_core.runs.config import RunConfig

FIVE = 5  # targets a source, appendix A
VIEW_PAIRS = 800  # Figure 4 (a) and (b)
VIEW_TEMPLATES = 4  # Figure 4 (c): of one intent, 5 sentences each


class System(StrEnum):
    """A system of the tables."""

    BASE = "base"
    BASELINE = "baseline"
    FMDA = "fmda"
    TWO_STAGE = "fmda-two-stage"
    WITHOUT_RECONSTRUCTION = "fmda-without-reconstruction"
    WITHOUT_UTTERANCE = "fmda-without-utterance"
    WITHOUT_TEMPLATE = "fmda-without-template"
    WITHOUT_RESIDUAL = "fmda-without-residual"
    WITHOUT_CONTRAST = "fmda-without-contrast"
    EQUATION_5 = "fmda-equation-5"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The embeddings that are the system's own."""
        if self is System.BASE:
            return (Part.CLS, Part.MEAN)
        if self is System.BASELINE:
            return (Part.LANGUAGE, Part.MEANING)
        return (Part.LANGUAGE, Part.TEMPLATE, Part.RESIDUAL, Part.MEANING)

    @property
    def method(self) -> str:
        """The method that trains it."""
        return "meaning-language" if self is System.BASELINE else "fmda"


ABLATION = (
    System.WITHOUT_RECONSTRUCTION,
    System.WITHOUT_UTTERANCE,
    System.WITHOUT_TEMPLATE,
    System.WITHOUT_RESIDUAL,
    System.WITHOUT_CONTRAST,
    System.EQUATION_5,
)
_RECONSTRUCTIONS = {
    System.WITHOUT_UTTERANCE: ("utterance_weight", "utterance_cross_weight"),
    System.WITHOUT_TEMPLATE: ("template_weight", "template_cross_weight"),
    System.WITHOUT_RESIDUAL: ("residual_weight", "residual_cross_weight"),
}
_CHANGES: Mapping[System, dict[str, Any]] = {
    System.BASELINE: {},
    System.FMDA: {},
    System.TWO_STAGE: {"two_stage": True},
    System.WITHOUT_RECONSTRUCTION: {name: 0.0 for names in _RECONSTRUCTIONS.values() for name in names},
    **{system: dict.fromkeys(names, 0.0) for system, names in _RECONSTRUCTIONS.items()},
    System.WITHOUT_CONTRAST: {"template_contrast_weight": 0.0, "meaning_contrast_weight": 0.0},
    System.EQUATION_5: {"utterance_cross_weight": 0.0},
}


class FmdaExperiment(Experiment):
    """FMDA's experiments on a parallel set with slots."""

    data: FmdaData
    load_data = staticmethod(FmdaData.load)
    settings_class = FmdaBench
    first: ClassVar[str] = "the frozen encoder"

    @staticmethod
    def plan(
        data: Data,
        *,
        encoder: str = "e5-small",
        pairs: Sequence[Pair | str] | None = None,
        seeds: Sequence[int] = (0,),
        parts: Sequence[FmdaPart | str] = tuple(FmdaPart),
        epochs: int | None = None,
        device: str = "auto",
        mapping: ColumnMapping | None = None,
        language: str | None = None,
    ) -> tuple[RunConfig, FmdaData]:
        """Return what `create_bench` takes.

        Args:
            data: labelled set, files, a folder of files, or "demo"; with ids, splits train, dev and test, and
                annotations.
            encoder: what `load_encoder` takes; a transformer.
            pairs: language pairs, as ("en", "de") or "en-de"; None pairs the first language of the set (English, where
                it is there) with each other one. The ablation and Figure 4 are of the first.
            seeds: of all that draws.
            parts: what the report holds.
            epochs: at most, of every system; None takes the methods' defaults.
            device: "auto", "cpu", "cuda:0".
            mapping: columns of the files, where their names are unusual.
            language: language of files that do not say it.

        Raises:
            EmuError: the data can't be read, or does not do.
        """
        settings = FmdaBench(seeds=tuple(seeds), epochs=epochs, parts=tuple(parts))  # type: ignore[arg-type]
        labelled = labelled_set(data, mapping=mapping, language=language)[0]
        chosen = read_pairs(pairs, labelled.languages)
        place, name = pick_device(device), labelled.name
        config = bench_config("fmda", settings, data=name, device=place, encoder=encoder, pairs=chosen)
        return config, fmda_data(labelled, chosen)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The language pairs; the ablation and the figure are of the first."""
        return self.config.pairs

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell that the parts need, each once, the frozen encoder first."""
        parts, each = set(self.settings.parts), [pair_names([pair]) for pair in self.pairs]
        cells = [Cell(System.BASE)]
        compared = {FmdaPart.TABLE_2, FmdaPart.TABLE_3, FmdaPart.TABLE_6, FmdaPart.TABLE_9, FmdaPart.PROBES}
        if parts & compared:
            cells += cells_of((System.BASELINE, System.FMDA), each, self.seeds)
        if FmdaPart.TABLE_5 in parts:
            cells += cells_of((System.FMDA, System.TWO_STAGE), each, self.seeds)
        if FmdaPart.TABLE_4 in parts:
            cells += cells_of((System.BASELINE, System.FMDA, *ABLATION), each[:1], self.seeds)
        if FmdaPart.TABLE_9 in parts and len(self.pairs) > 1:
            cells += cells_of([System.FMDA], [pair_names(self.pairs)], self.seeds)
        if FmdaPart.FIGURE_4 in parts:
            cells += cells_of((System.FMDA, System.TWO_STAGE), each[:1], self.seeds[:1])
        return tuple(dict.fromkeys(cells))

    def settings_of(self, system: System) -> Settings:
        """Return the hyper-parameters of a system that is trained."""
        kind = encoder_kind(self.config.encoder)
        return configure(system.method, kind, **self.settings.changes, **_CHANGES[system])

    def hyperparameters(self, cell: Cell) -> dict[str, Any]:
        """Return the settings that a cell is trained with."""
        system = System(cell.system)
        return {} if system is System.BASE else asdict(self.settings_of(system))

    def pairs_of(self, cell: Cell) -> tuple[Pair, ...]:
        """Return the pairs that a cell is measured on: those it is trained on; of the frozen encoder all."""
        return tuple(pair for pair in self.pairs if not cell.on or pair_name(*pair) in cell.on)

    def measure(self, cell: Cell, folder: Path) -> tuple[CellResult, Draw]:
        """Train a cell, and measure each of its embeddings on the test split."""
        embed, took, facts = self._trained(cell, folder)
        result, draw = measured(self.data, self.pairs_of(cell), embed, System(cell.system).parts)
        figure = {
            Cell(system, pair_names(self.pairs[:1]), self.seeds[0])
            for system in (System.FMDA, System.TWO_STAGE)
        }
        whole = CellResult(result, **took.costs(), facts=facts)
        return whole, draw if cell in figure else draw_nothing

    def _trained(self, cell: Cell, folder: Path) -> tuple[PartsOf, Took, dict[str, Any]]:
        """Return the embeddings of a system: the frozen encoder as it is, or a method trained as any user would."""
        config, system = self.config, System(cell.system)
        if system is System.BASE:
            base = require_transformer(load_encoder(config.encoder, device=config.device))
            # The layers are not trained and not read: [CLS] and the mean are the frozen encoder's own.
            layers = MeaningLanguage(base.state_dim, self.pairs[0])
            return DisentangledEncoder(base, layers).parts, Took(), {}
        encoder, took, facts = self.train(
            self.data.learnt,
            cell,
            folder,
            method=system.method,
            pairs=self.pairs_of(cell),
            config=self.settings_of(system),
            cache=self.folder
            / "training"
            / "cache",  # stays after a kill, so that the rest is not encoded again
        )
        if not isinstance(encoder, DisentangledEncoder):
            raise TypeError(f"{system} left an encoder of another kind: {type(encoder).__name__}")
        return encoder.parts, took, facts


def measured(
    data: FmdaData, pairs: Sequence[Pair], embed: PartsOf, parts: Sequence[Part]
) -> tuple[dict[Key, Any], Draw]:
    """Measure embeddings on the test split: retrieval of translations and of templates, and language probes.

    Args:
        data: with a test split.
        pairs: the language pairs to measure.
        embed: gives the embeddings of sentences.
        parts: the embeddings of the system; that of the language is probed alone.
    """
    tested = data.test_pairs(pairs)
    languages = dict.fromkeys(code for pair in pairs for code in pair)
    one, five = ({code: data.templates(code, each) for code in languages} for each in (1, FIVE))
    texts = [said.text for pair in tested for said in (*pair.first, *pair.second)]
    for made in (*one.values(), *five.values()):
        texts += [*made.source_texts, *made.target_texts]
    embedded = Embedded(embed, parts, texts)
    values: dict[Key, Any] = {}
    for part in parts:
        for pair in tested:
            if part is not Part.LANGUAGE:
                for way, right in embedded.translations(part, pair).items():
                    values["translation", part, way] = right.correct
            leakage, name = (
                embedded.leakage(part, (*pair.first, *pair.second)),
                pair_name(pair.source, pair.target),
            )
            values["probe", part, name] = leakage.probe
            values["neighbours", part, name] = leakage.neighbours
        for code in languages if part is not Part.LANGUAGE else ():
            values["template", part, code] = embedded.templates(part, one[code]).correct
            precision = embedded.templates(part, five[code]).average_precision
            values["precision", part, code] = precision
    return numbers(values), lambda: _views(embedded, tested[0], five[pairs[0][0]])


def _views(embedded: Embedded, pair: SlotPairs, five: TemplatePairs) -> dict[str, View]:
    """Return Figure 4's panels: language and meaning embeddings of one pair, and templates of one intent."""
    drawn = np.sort(np.random.default_rng(0).permutation(len(pair))[:VIEW_PAIRS])
    both = [side[row] for side in (pair.first, pair.second) for row in drawn]
    texts, languages = [one.text for one in both], [one.language for one in both]
    found = {
        letter: View.of(project(embedded.of(part, texts), Projection.TSNE), languages)
        for letter, part in (("a", Part.LANGUAGE), ("b", Part.MEANING))
    }
    sentences = [
        (five.sources[row].template, text)
        for row in _of_one_intent(five)
        for text in (five.sources[row].text, *(one.text for one in five.targets[row][: FIVE - 1]))
    ]
    vectors = embedded.of(Part.TEMPLATE, [text for _, text in sentences])
    found["c"] = View.of(project(vectors, Projection.TSNE), [template for template, _ in sentences])
    return found


def _of_one_intent(made: TemplatePairs) -> list[int]:
    """Return rows of up to `VIEW_TEMPLATES` sources, far apart in the set, of the intent that has most."""
    rows: dict[str, list[int]] = {}
    for row, one in enumerate(made.sources):
        rows.setdefault(one.intent, []).append(row)
    most = max(rows.values(), key=len)
    count = min(VIEW_TEMPLATES, len(most))
    return [most[i * len(most) // count] for i in range(count)]
