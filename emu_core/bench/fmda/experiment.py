"""FMDA's experiments: the cells of its tables, how each is trained, and what is measured."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from statistics import mode
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from emu_core.api.inputs import labelled_set
from emu_core.bench.experiment import DataFields, Experiment
from emu_core.bench.papers import FmdaBench, FmdaPart, Preset
from emu_core.bench.pictures import View
from emu_core.bench.results import Cell, CellResult, Draw, Key, cells_of, numbers, pair_names
from emu_core.data.cleaning import normal_form
from emu_core.data.language_pairs import LanguagePair, read_pairs
from emu_core.data.reading import Reading
from emu_core.data.sets import LabelledSet
from emu_core.data.slots.template_pairs import TemplatePairs, template_pairs
from emu_core.data.slots.utterances import SlotPairs, Utterance, slot_pairs, utterances
from emu_core.data.wording import listed, shown
from emu_core.encoders.registry import kinds_of, load_encoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import DataError
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.disentangled import Embedded, PartsOf
from emu_core.evaluation.projection import Projection, project
from emu_core.formats.in_memory import Sources
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.layers import MeaningLanguage
from emu_core.methods.fmda.parts import Part
from emu_core.methods.registry import configure
from emu_core.runs.costs import Took
from emu_core.runs.stored_data import LabelledData
from emu_core.settings import Settings

TEMPLATE_SEED = 0  # draws the slot values in template retrieval, so that every cell has the same queries
FIVE = 5  # targets a source, appendix A
NEW = " new"  # the suffix of measures restricted to queries whose templates no system was given
VIEW_PAIRS = 800  # Figure 4 (a) and (b)
VIEW_TEMPLATES = 4  # Figure 4 (c): of one intent, 5 sentences each


class FmdaSystem(StrEnum):
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
    WITHOUT_UTTERANCE_CROSS = "fmda-without-utterance-cross"
    EQUATION_5 = "fmda-eq-5"
    BASELINE_PAPER = "baseline-paper"
    FMDA_PAPER = "fmda-paper"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The system's embeddings."""
        if self is FmdaSystem.BASE:
            return (Part.CLS, Part.MEAN)
        if self.method == "meaning-language":
            return (Part.LANGUAGE, Part.MEANING)
        return (Part.LANGUAGE, Part.TEMPLATE, Part.RESIDUAL, Part.MEANING)

    @property
    def method(self) -> str:
        """The method that trains it."""
        return "meaning-language" if self in (FmdaSystem.BASELINE, FmdaSystem.BASELINE_PAPER) else "fmda"


_TARGETS = ("utterance", "template", "residual")
_OFF = {  # the weights set to 0 in an ablation
    FmdaSystem.WITHOUT_RECONSTRUCTION: [
        f"{it}_{way}" for it in _TARGETS for way in ("weight", "cross_weight")
    ],
    FmdaSystem.WITHOUT_UTTERANCE: ["utterance_weight", "utterance_cross_weight"],
    FmdaSystem.WITHOUT_TEMPLATE: ["template_weight", "template_cross_weight"],
    FmdaSystem.WITHOUT_RESIDUAL: ["residual_weight", "residual_cross_weight"],
    FmdaSystem.WITHOUT_CONTRAST: ["template_contrast_weight", "meaning_contrast_weight"],
    FmdaSystem.WITHOUT_UTTERANCE_CROSS: ["utterance_cross_weight"],
}
ABLATION = (*_OFF, FmdaSystem.EQUATION_5)
PAPERS_OWN = (FmdaSystem.BASELINE_PAPER, FmdaSystem.FMDA_PAPER)  # trained with the paper's settings


@dataclass(frozen=True, eq=False)
class FmdaData(LabelledData):
    """Rows of splits train, dev (if there is one) and test, in the languages of the pairs."""

    file = "sentences.parquet"

    @property
    def learnt(self) -> LabelledSet:
        """The rows that a system is given: train, and dev to choose its epoch."""
        return self.labelled.select(splits=sorted({"train", "dev"} & set(self.labelled.splits)))

    @property
    def test(self) -> LabelledSet:
        """The rows to measure on."""
        return self.labelled.select(splits=["test"])

    def test_pairs(self, pairs: Sequence[LanguagePair]) -> list[SlotPairs]:
        """Return the parallel test utterances of language pairs."""
        codes = dict.fromkeys(code for pair in pairs for code in pair)
        by_id = {
            code: {utterance.id: utterance for utterance in utterances(self.test, code)} for code in codes
        }
        # `slot_pairs` checked the ids when the set was read.
        return [
            SlotPairs(a, b, tuple(by_id[a].values()), tuple(by_id[b][key] for key in by_id[a]))
            for a, b in pairs
        ]

    def templates(self, language: str, targets: int) -> TemplatePairs:
        """Return each template of the test split once, with `each` targets. Raises DataError for too few values."""
        try:
            return template_pairs(
                utterances(self.test, language),
                target_count=targets,
                seed=TEMPLATE_SEED,
                distinct_templates=True,
            )
        except DataError as error:
            raise DataError(f"template retrieval in {language}: ", error) from None

    def is_new(self, spoken: Sequence[Utterance]) -> NDArray[np.bool_]:
        """Return (N,) whether the template of each utterance is new to the systems."""
        learnt = {
            (code, normal_form(utterance.template))
            for code in self.labelled.languages
            for utterance in utterances(self.learnt, code)
        }
        return np.array(
            [(utterance.language, normal_form(utterance.template)) not in learnt for utterance in spoken]
        )

    @property
    def note(self) -> str:
        """A sentence on how the splits are used."""
        has_dev = "dev" in self.labelled.splits
        chosen = "on split dev" if has_dev else "on a tenth of train's ids, for there is no split dev"
        return f"a system learns from split train, its best epoch is chosen {chosen}, and is measured on split test"


def fmda_data(labelled: LabelledSet, pairs: Sequence[LanguagePair]) -> FmdaData:
    """Return the rows that the benchmark uses. Raises DataError if a split or a translation is missing or misplaced."""
    codes = list(dict.fromkeys(code for pair in pairs for code in pair))
    part = labelled.with_every_row().select(languages=codes)
    if not {"train", "test"} <= set(part.splits):
        raise DataError(
            "the benchmark trains on split train, chooses the epoch on dev and measures on test, and "
            f"{shown(labelled.name)} has {listed(part.splits) if part.splits else 'no splits'}; add a column 'split' "
            "with train, dev and test, the same for translations of each other"
        )
    used = part.frame[part.frame["split"].isin(("train", "dev", "test"))].reset_index(drop=True)
    splits = used[used["id"] != ""].groupby("id", sort=False)["split"].nunique()
    if len(torn := splits[splits > 1]):
        raise DataError(
            f"the id '{shown(torn.index[0])}' is in two splits, so that its meaning would be seen in training before "
            "it is measured; give translations of each other the same split"
        )
    data = FmdaData(LabelledSet(used, labelled.name))
    slot_pairs(data.labelled, pairs)
    return data


class FmdaExperiment(Experiment):
    """FMDA's experiments on a parallel set with slots."""

    data: FmdaData
    data_class = FmdaData
    settings_class = FmdaBench
    first: ClassVar[str] = "the frozen encoder"

    @staticmethod
    def gather(
        data: Sources,
        settings: FmdaBench,
        *,
        pairs: Sequence[LanguagePair | str] | None = None,
        reading: Reading | None = None,
    ) -> tuple[FmdaData, DataFields]:
        """Return the data and the fields of the configuration that follow from them; for the files see Emu's `gather`.

        The data needs ids, splits and annotations. `pairs` are such as ("en", "de") or "en-de"; None pairs the first
        language of the set, if possible English, with every other. The ablation and Figure 4 are of the first pair.
        """
        labelled = labelled_set(data, reading)[0]
        chosen = read_pairs(pairs, labelled.languages)
        return fmda_data(labelled, chosen), {"data": labelled.name, "pairs": chosen}

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell that the parts need, the frozen encoder first."""
        parts, single_pairs = set(self.settings.parts), [pair_names([pair]) for pair in self.pairs]
        cells = [Cell(FmdaSystem.BASE)]
        compared = {FmdaPart.TABLE_2, FmdaPart.TABLE_3, FmdaPart.TABLE_6, FmdaPart.TABLE_9, FmdaPart.PROBES}
        if parts & compared:
            papers_systems = PAPERS_OWN if self.settings.preset is Preset.PAPER else ()
            cells += cells_of(
                (FmdaSystem.BASELINE, FmdaSystem.FMDA, *papers_systems), single_pairs, self.seeds
            )
        if FmdaPart.TABLE_5 in parts:
            cells += cells_of((FmdaSystem.FMDA, FmdaSystem.TWO_STAGE), single_pairs, self.seeds)
        if FmdaPart.TABLE_4 in parts:
            cells += cells_of((FmdaSystem.BASELINE, FmdaSystem.FMDA, *ABLATION), single_pairs[:1], self.seeds)
        if FmdaPart.TABLE_9 in parts and len(self.pairs) > 1:
            cells += cells_of([FmdaSystem.FMDA], [pair_names(self.pairs)], self.seeds)
        if FmdaPart.FIGURE_4 in parts:
            cells += cells_of((FmdaSystem.FMDA, FmdaSystem.TWO_STAGE), single_pairs[:1], self.seeds[:1])
        return tuple(dict.fromkeys(cells))

    def settings_of(self, system: FmdaSystem) -> Settings:
        """Return the hyper-parameters of a system that is trained."""
        changes = {**self.settings.changes, **dict.fromkeys(_OFF.get(system, ()), 0.0)}
        if system is FmdaSystem.TWO_STAGE:
            changes["two_stage"] = True
        if system is FmdaSystem.EQUATION_5:  # the plain sum of the paper's losses
            printed = asdict(configure(system.method))
            changes |= {name: weight for name, weight in printed.items() if name.endswith("_weight")}
        encoder = None if system in PAPERS_OWN else kinds_of(self.config.encoder)
        return configure(system.method, encoder, **changes)

    def hyperparameters(self, cell: Cell) -> dict[str, object]:
        """Return the settings that a cell is trained with."""
        system = FmdaSystem(cell.system)
        return {} if system is FmdaSystem.BASE else asdict(self.settings_of(system))

    def pairs_of(self, cell: Cell) -> tuple[LanguagePair, ...]:
        """Return the pairs that a cell is measured on: those it is trained on, or all for the frozen encoder."""
        return tuple(pair for pair in self.pairs if not cell.on or pair_name(*pair) in cell.on)

    def measure(self, cell: Cell, folder: Path) -> CellResult:
        """Train a cell, and measure each of its embeddings on the test split."""
        embed, took, facts = self._trained(cell, folder)
        values, draw = measured(self.data, self.pairs_of(cell), embed, FmdaSystem(cell.system).parts)
        figure = cells_of(
            (FmdaSystem.FMDA, FmdaSystem.TWO_STAGE), [pair_names(self.pairs[:1])], self.seeds[:1]
        )
        return CellResult(values, **took.costs(), facts=facts, draw=draw if cell in figure else None)

    def _trained(self, cell: Cell, folder: Path) -> tuple[PartsOf, Took, dict[str, object]]:
        """Return the embeddings of a system: of the frozen encoder, or of a trained method."""
        config, system = self.config, FmdaSystem(cell.system)
        if system is FmdaSystem.BASE:
            base = require_transformer(load_encoder(config.encoder, device=config.encoder_device))
            # The layers are neither trained nor used: [CLS] and the mean are the frozen encoder's.
            layers = MeaningLanguage(base.state_dim, self.pairs[0])
            return DisentangledEncoder(base, layers).parts, Took(), {}
        encoder, _, took, facts = self.train(
            self.data.learnt,
            cell,
            folder,
            method=system.method,
            pairs=self.pairs_of(cell),
            config=self.settings_of(system),
            # Kept after a kill, so that resuming does not encode the sentences again.
            cache=self.folder / "training" / "cache",
        )
        if not isinstance(encoder, DisentangledEncoder):
            raise TypeError(f"{system} left an encoder of another kind: {type(encoder).__name__}")
        return encoder.parts, took, facts


def measured(
    data: FmdaData, pairs: Sequence[LanguagePair], embed: PartsOf, parts: Sequence[Part]
) -> tuple[dict[Key, Any], Draw]:
    """Measure embeddings on the test split: retrieval of translations and of templates, and language probes.

    The language embedding is only probed. `NEW` measures have only queries whose template, in both languages, no
    system was given; the candidates are the same. "retrieved" is the number of the translation that a query finds,
    for the cases of Tables 7 and 8.
    """
    tested = data.test_pairs(pairs)
    languages = dict.fromkeys(code for pair in pairs for code in pair)
    single, five = ({code: data.templates(code, targets) for code in languages} for targets in (1, FIVE))
    texts = [utterance.text for pair in tested for utterance in (*pair.first, *pair.second)]
    for made in (*single.values(), *five.values()):
        texts += [*made.source_texts, *made.target_texts]
    embedded = Embedded(embed, parts, texts)
    values: dict[Key, Any] = {}
    new_pairs = [data.is_new(pair.first) & data.is_new(pair.second) for pair in tested]
    new_sources = {code: data.is_new(made.sources) for code, made in single.items()}
    for part in parts:
        for pair, is_new in zip(tested, new_pairs, strict=True):
            if part is not Part.LANGUAGE:
                for way, right in embedded.translations(part, pair).items():
                    values["translation", part, way] = right.correct
                    values["retrieved", part, way] = right.nearest
                    if is_new.any():
                        values[f"translation{NEW}", part, way] = right.correct[is_new]
            name = pair_name(pair.source, pair.target)
            leakage = embedded.leakage(part, (*pair.first, *pair.second))
            values["probe", part, name] = leakage.probe
            values["neighbours", part, name] = leakage.neighbours
        for code in languages if part is not Part.LANGUAGE else ():
            values["template", part, code] = correct = embedded.templates(part, single[code]).correct
            if new_sources[code].any():
                values[f"template{NEW}", part, code] = correct[new_sources[code]]
            values["precision", part, code] = embedded.templates(part, five[code]).average_precision
    return numbers(values), lambda: _views(embedded, tested[0], five[pairs[0][0]])


def _views(embedded: Embedded, pair: SlotPairs, five: TemplatePairs) -> dict[str, View]:
    """Return the panels of Figure 4: language and meaning embeddings of one pair, and templates of one intent."""
    drawn = np.sort(np.random.default_rng(0).permutation(len(pair))[:VIEW_PAIRS])
    shown = [side[row] for side in (pair.first, pair.second) for row in drawn]
    texts, languages = [utterance.text for utterance in shown], [utterance.language for utterance in shown]
    views = {
        letter: View.of(project(embedded.of(part, texts), Projection.TSNE), languages)
        for letter, part in (("a", Part.LANGUAGE), ("b", Part.MEANING))
    }
    # Up to `VIEW_TEMPLATES` sources of the most frequent intent, far apart in the set.
    intents = [utterance.intent for utterance in five.sources]
    commonest = mode(intents)
    most = [row for row, intent in enumerate(intents) if intent == commonest]
    count = min(VIEW_TEMPLATES, len(most))
    sentences = [
        (five.sources[row].template, text)
        for row in (most[i * len(most) // count] for i in range(count))
        for text in (five.sources[row].text, *(utterance.text for utterance in five.targets[row][: FIVE - 1]))
    ]
    vectors = embedded.of(Part.TEMPLATE, [text for _, text in sentences])
    views["c"] = View.of(project(vectors, Projection.TSNE), [template for template, _ in sentences])
    return views
