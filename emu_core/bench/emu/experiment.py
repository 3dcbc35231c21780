"""Emu's experiments: the cells of its tables, how each is trained, and what is measured."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.api.inputs import labelled_set
from emu_core.api.train import plan_training
from emu_core.bench.emu.atis import ATIS, read_atis
from emu_core.bench.emu.few_shot import drawn_labels, numbers_of_labels
from emu_core.bench.emu.new_intents import LEAST_INTENTS, halves_of_intents, with_intents
from emu_core.bench.emu.quora import QUORA, read_quora
from emu_core.bench.experiment import DataFields, Experiment, Outlook
from emu_core.bench.papers import EmuBench, EmuPart, Preset
from emu_core.bench.peers import PACKAGES, Peer, System, check_packages, peer_settings, trained_peer
from emu_core.bench.pictures import View
from emu_core.bench.results import PAPER, Cell, CellResult, Key, cells_of, numbers
from emu_core.data.demo import DEMO, reference_texts
from emu_core.data.languages import language_code, language_name, ordered
from emu_core.data.reading import Reading
from emu_core.data.repeats import group_numbers, sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.encoders.registry import kinds_of, load_encoder
from emu_core.errors import DataError, EmuError, Fix, TrainingError, in_words
from emu_core.evaluation.arrays import pair_name, rows_by_language
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.evaluation.projection import Projection, project, stratified_sample
from emu_core.formats.in_memory import Sources
from emu_core.formats.labelled import read_machine_translations
from emu_core.methods.head.fit import evened_languages
from emu_core.methods.head.settings import HeadConfig
from emu_core.methods.registry import configure, default_method, method_named, methods_that_need
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.stored_data import LabelledData
from emu_core.settings import Settings, infos, settings_by_part
from emu_core.training.method import Needs

BASE, TRANSLATION = "base", "translation"
EVENED = "base-evened"  # the base encoder after the default method's first step
FIGURE_METHODS = ("softmax", "emu-without-ld", "emu")  # Figure 2 (b) to (d)
# In the order of Table 2; methods that are not in the paper follow.
PAPER_ORDER = (
    "contrastive",
    "n-pair",
    "softmax",
    "emu",
    "emu-without-ld",
    "emu-without-ld-cl",
    "emu-parallel",
)
THEIRS, OURS = "theirs", "ours"  # whose learning rate a tuned peer is trained with
MAP_SENTENCES = 1000
_PEER = "peer."
FEW_SHOT_PEERS = (Peer.LOGISTIC, Peer.PROTOTYPES, Peer.SETFIT, Peer.RANKING)
_ABLATION = ("emu", "emu-without-ld", "emu-without-ld-cl")
_TABLE_3 = ("en", "de", "fr")
_TEST_SHARE = 0.3
_TRANSLATIONS, _NOTE = "translations.parquet", "note.json"
FEW_INTENTS = "new intents need four intents or more, and there are"
NOT_TRANSLATED = (
    "not every test sentence has a machine translation; add a column 'translation' to the data's files"
)


@dataclass(frozen=True)
class TranslatedFacts(LabelledFacts):
    """The facts of sentences with machine translations."""

    translations_sha256: str = ""  # "" without any


@dataclass(frozen=True, eq=False)
class BenchData(LabelledData):
    """Rows of split train followed by rows of split test, in the same languages."""

    note: str = ""  # how they were divided, as a sentence
    translations: Mapping[int, str] = field(default_factory=dict)  # by machine, by row of the test part
    file = "sentences.parquet"

    @cached_property
    def train(self) -> LabelledSet:
        """The rows to train on."""
        return self.labelled.select(splits=["train"])

    @cached_property
    def test(self) -> LabelledSet:
        """The rows to measure."""
        return self.labelled.select(splits=["test"])

    @cached_property
    def test_sentences(self) -> NDArray[np.int64]:
        """The number of each test row's sentence (N,), the same for translations and repeats."""
        return group_numbers(self.test.frame).astype(np.int64)

    def facts(self, config: RunConfig) -> TranslatedFacts:
        """Return checksums and counts, as in data.json."""
        texts = json.dumps(sorted(self.translations.items())).encode()
        translated = hashlib.sha256(texts).hexdigest() if self.translations else ""
        return TranslatedFacts(**vars(super().facts(config)), translations_sha256=translated)

    def store(self, folder: Path) -> None:
        """Write the data into an empty folder."""
        super().store(folder)
        rows = {"row": list(self.translations), "text": list(self.translations.values())}
        pd.DataFrame(rows).to_parquet(folder / _TRANSLATIONS)
        (folder / _NOTE).write_text(json.dumps(self.note), "utf-8")

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read what `store` wrote."""
        rows = pd.read_parquet(folder / _TRANSLATIONS)
        return replace(
            super().load(folder, name),
            note=str(json.loads((folder / _NOTE).read_text("utf-8"))),
            translations=dict(zip(rows["row"].tolist(), rows["text"].tolist(), strict=True)),
        )

    def translated(self, language: str, of_text: Mapping[str, str]) -> Self:
        """Return the data with translations, by text, of all test sentences that are not in `language`.

        If any sentence has none, all are left out: a baseline that translates only some sentences is not one.
        """
        frame = self.test.frame
        rows = frame.index[frame["language"] != language]
        texts = {int(row): of_text.get(str(frame.at[row, "text"]), "") for row in rows}
        return replace(self, translations=texts if texts and all(texts.values()) else {})


def bench_data(labelled: LabelledSet) -> BenchData:
    """Divide a labelled set into training and test rows.

    The test rows are split test, or dev if there is no test; no system needs dev to choose its epoch. A set without
    splits is divided by id, so that translations stay together, with a share `_TEST_SHARE` of every intent for testing.

    Raises:
        DataError: a set with splits has none to train on or none to measure.
    """
    if labelled.splits:
        divided, measured = labelled, labelled.held_out_part()
        if measured is None or "train" not in labelled.splits:
            raise DataError(
                f"a benchmark trains on split train and measures split test or dev, and there are: "
                f"{', '.join(labelled.splits)}; name them so, or leave the column out"
            )
        note = f"trained on split train, measured on split {measured.splits[0]}"
    else:
        divided = labelled.hold_out(_TEST_SHARE)
        measured = divided.held_out_part()
        if measured is None:
            raise DataError("no intent has two sentences, one of which could be measured; add some")
        note = (
            f"the set has no splits: {_TEST_SHARE:.0%} of every intent, translations together, drawn with seed 0, "
            "are measured and the rest is trained on"
        )
    train, test = divided.train_part().frame.assign(split="train"), measured.frame.assign(split="test")
    shared_languages = set(train["language"]) & set(test["language"])
    if not shared_languages:
        raise DataError("no language has both sentences to train on and sentences to measure; add some")
    cut = pd.concat(
        [part[part["language"].isin(shared_languages)] for part in (train, test)], ignore_index=True
    )
    return BenchData(LabelledSet(cut, labelled.name), note=note)


def benchmarked_methods() -> tuple[str, ...]:
    """Return every method that learns from intents, the paper's first, in its order."""
    known = methods_that_need(Needs.INTENTS)
    return (*PAPER_ORDER, *(name for name in known if name not in PAPER_ORDER))


def compared_with_peers() -> tuple[str, ...]:
    """Return Emu and every method that is not in the paper."""
    return tuple(name for name in benchmarked_methods() if name == "emu" or name not in PAPER_ORDER)


def few_shot_systems() -> dict[str, tuple[str, ...]]:
    """Return the systems of the few-shot table, each with the learning rates it is trained with; "" is its own."""
    rates = {peer_system(peer): ("",) if peer.is_frozen else (THEIRS, OURS) for peer in FEW_SHOT_PEERS}
    return {default_method(): ("",), "emu": ("",), **rates}


def new_intents_systems() -> dict[str, tuple[str, ...]]:
    """Return the systems of the table of new intents, each with the learning rates it is trained with.

    The class scores of frozen classifiers are left out: they are of the intents with labels, and say nothing of others.
    """
    trained = (peer for peer in Peer if not (peer.is_frozen or peer.has_own_budget))
    peers = {peer_system(peer): (THEIRS, OURS) for peer in trained}
    return {**dict.fromkeys((default_method(), *compared_with_peers()), ("",)), **peers}


def peer_system(peer: Peer) -> str:
    """Return the name of a peer's cells."""
    return f"{_PEER}{peer.value}"


def training_sets(languages: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the training mixes of Table 3: of English, German and French, or else of the set's first three."""
    three = _TABLE_3 if set(_TABLE_3) <= set(languages) else ordered(languages)[:3]
    return [mix for size in (1, 2, 3) for mix in combinations(three, size)]


class EmuExperiment(Experiment):
    """Emu's experiments on a labelled set, with today's peers."""

    data: BenchData
    data_class = BenchData
    settings_class = EmuBench
    first: ClassVar[str] = "the base encoder"

    @staticmethod
    def gather(
        data: Sources,
        settings: EmuBench,
        *,
        train_languages: Sequence[str] = ("en",),
        reading: Reading | None = None,
    ) -> tuple[BenchData, DataFields]:
        """Return the data and the fields of the configuration that follow from them.

        Args:
            data: labelled set, files, a folder of files, "demo", or "atis:FOLDER" or "quora:FILE" for the paper's
                selection of ATIS or of Quora's question pairs.
            settings: of the benchmark.
            train_languages: languages whose labels are used.
            reading: of files; see `Reading`.
        """
        codes = tuple(dict.fromkeys(language_code(code) or code for code in train_languages))
        if not codes:
            raise TrainingError("no training language is named; name one: ", Fix("train_languages", ("en",)))
        [first, *others] = data if isinstance(data, list | tuple) and data else [data]
        name = str(first) if isinstance(first, str | Path) and not others else ""
        readers = {ATIS: read_atis, QUORA: read_quora}
        if prefix := next((prefix for prefix in readers if name.startswith(prefix)), ""):
            divided = bench_data(readers[prefix](Path(name.removeprefix(prefix))))
        else:
            divided = bench_data(labelled_set(data, reading)[0])
            if not isinstance(data, LabelledSet) and name != DEMO:
                divided = divided.translated(codes[0], read_machine_translations(data, reading))
        return divided, {"data": divided.train.name, "train_languages": codes}

    @property
    def languages(self) -> tuple[str, ...]:
        """The test languages, English first."""
        return self.data.test.languages

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions with the first training language on one side, in Table 2's order: 11 of 6 languages."""
        centre = self.config.train_languages[0]
        others = [code for code in self.languages if code != centre]
        pairs = [(centre, centre), *((centre, o) for o in others), *((o, centre) for o in others)]
        return tuple(pair_name(*pair) for pair in pairs)

    @cached_property
    def halves(self) -> tuple[frozenset[str], ...]:
        """The halves of the intents that have labels in turn; none if there are too few intents."""
        intents = self.data.train.intents
        if len(intents) < LEAST_INTENTS:
            return ()
        return tuple(halves_of_intents(intents, self.settings.halves))

    @property
    def shown(self) -> tuple[str, ...]:
        """The two languages of Figure 2: the training language, and German or else the first other language."""
        first = self.config.train_languages[0]
        others = [code for code in self.languages if code != first]
        return (first, *(["de"] if "de" in others else others[:1]))

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell that the parts need, base encoder first. Raises DataError if a language is not there."""
        parts, train_on = set(self.settings.parts), self.config.train_languages
        languages = self.data.train.languages
        if missing := [code for code in train_on if code not in languages]:
            raise DataError(
                f"no sentence in {missing[0]}; there are: {', '.join(languages)}. Choose one: ",
                Fix("train_languages", languages[:1]),
            )
        of_parts = {
            EmuPart.TABLE_2: cells_of(benchmarked_methods(), [train_on], self.seeds),
            EmuPart.TABLE_3: cells_of(["emu-without-ld"], training_sets(languages), self.seeds),
            EmuPart.TABLE_4: cells_of(["emu-without-ld"], [train_on], self.seeds),
            EmuPart.TABLE_5: cells_of(_ABLATION, [train_on], self.seeds),
            EmuPart.FIGURE_2: cells_of(FIGURE_METHODS, [train_on], self.seeds[:1]),
        }
        cells = [Cell(BASE)]
        if self._evens_languages is not None and {EmuPart.PEERS, EmuPart.NEW_INTENTS} & parts:
            cells.append(Cell(EVENED))
        if EmuPart.TABLE_2 in parts and self.data.translations:
            cells.append(Cell(TRANSLATION))
        cells += [cell for part, part_cells in of_parts.items() if part in parts for cell in part_cells]
        if self.settings.preset is Preset.PAPER:
            asked = {EmuPart.TABLE_2: PAPER_ORDER, EmuPart.TABLE_5: _ABLATION}
            papers = next((names for part, names in asked.items() if part in parts), ())
            cells += [Cell(name, train_on, seed, PAPER) for name in papers for seed in self.seeds]
        if EmuPart.PEERS in parts:
            cells += cells_of(compared_with_peers(), [train_on], self.seeds)
            cells += self._peer_cells(tuple(Peer))
        if EmuPart.FEW_SHOT in parts:
            cells += self._few_shot_cells()
        if EmuPart.NEW_INTENTS in parts:
            cells += self._new_intents_cells()
        return tuple(dict.fromkeys(cells))

    def _peer_cells(self, peers: Sequence[Peer]) -> list[Cell]:
        on, cells = self.config.train_languages, list[Cell]()
        for peer in peers:
            if peer.is_frozen:
                drawn = [(0, "")]
            elif peer.has_own_budget:  # which takes as long as all others together, and is not cut short
                drawn = [] if self.settings.changes else [(self.seeds[0], THEIRS)]
            else:
                drawn = list(product(self.seeds, (THEIRS, OURS)))
            cells += [Cell(peer_system(peer), on, seed, rate) for seed, rate in drawn]
        return cells

    def _new_intents_cells(self) -> list[Cell]:
        """Return the cells of each half, and those of all intents, where a peer's learning rate is chosen."""
        on, systems = self.config.train_languages, new_intents_systems()
        names = [name for name in systems if not name.startswith(_PEER)]
        known = cells_of(names, [on], self.seeds)
        known += self._peer_cells([peer for peer in Peer if peer_system(peer) in systems])
        untrained = [BASE] if self._evens_languages is None else [BASE, EVENED]
        halves = range(len(self.halves))
        return [
            *known,
            *(Cell(name, half=half) for half in halves for name in untrained),
            *(
                Cell(system, on, seed, rate, half=half)
                for half in halves
                for system, rates in systems.items()
                for rate in rates
                for seed in self.seeds
            ),
        ]

    def _few_shot_cells(self) -> list[Cell]:
        on, draws = self.config.train_languages, range(self.settings.draws)
        return [
            Cell(system, on, draw, rate, labels)
            for labels in numbers_of_labels(self.data.train, on)
            for system, rates in few_shot_systems().items()
            for rate in rates
            for draw in draws
        ]

    def outlook(self) -> Outlook:
        """Estimate the benchmark. Raises DataError if the data is unsuitable."""
        self._check()
        cells = self.cells()
        counts = self.data.train.frame.groupby(["language", "intent"]).size()
        passes = []
        for cell in cells:
            labelled = counts[counts.index.get_level_values("language").isin(cell.on)]
            if cell.half is not None:
                labelled = labelled[labelled.index.get_level_values("intent").isin(self.halves[cell.half])]
            sentences = labelled.clip(upper=cell.labels) if cell.labels else labelled
            passes.append(int(_epochs(self.hyperparameters(cell)) * sentences.sum()))
        return Outlook(len(cells), sum(map(bool, passes)), sum(passes), self.data.note, self._missing(cells))

    def _check(self) -> None:
        languages, train_on = self.data.train.languages, self.config.train_languages
        if len(languages) < 2:
            raise DataError(
                f"only {language_name(languages[0])} has both sentences to train on and sentences to measure, and the "
                "tables compare languages; use a set with two languages or more"
            )
        counts = self.data.test.frame["language"].value_counts()
        if few := [code for code in self.languages if counts[code] < 2]:
            raise DataError(
                f"{language_name(few[0])} has one sentence to measure, and measuring needs two or more; add some of "
                "split test, or leave the language out"
            )
        if unknown := [code for code in train_on if code not in languages]:
            raise DataError(
                f"{language_name(unknown[0])} has no sentence to measure, or none to train on; use labels in another "
                "language"
            )
        if len(self.data.train.select(languages=train_on).intents) < 2:
            raise DataError(
                f"the sentences to train on in {language_name(train_on[0])} have a single intent; add sentences of "
                "another, or use labels in another language"
            )

    def _missing(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """Return what can't be measured with this data or on this machine."""
        parts, known, config = self.settings.parts, methods_that_need(Needs.INTENTS), self.config
        sentences = []
        if EmuPart.TABLE_2 in parts and not self.data.translations:
            sentences.append(f"MT + {config.encoder}: {NOT_TRANSLATED}")
        if EmuPart.NEW_INTENTS in parts and not self.halves:
            sentences.append(f"New intents: {FEW_INTENTS} {len(self.data.train.intents)}; add some")
        checks: dict[str, Callable[[], object]] = {
            known[name].title: partial(
                plan_training,
                self.data.train,
                method=name,
                encoder=config.encoder,
                train_languages=config.train_languages,
                config=self._settings_of(name),
            )
            for name in (cell.system for cell in cells if cell.system in known)
        }
        if {EmuPart.PEERS, EmuPart.FEW_SHOT, EmuPart.NEW_INTENTS} & set(parts):
            checks |= {name: partial(check_packages, *packages) for name, packages in PACKAGES.items()}
        for title, check in checks.items():
            try:
                check()
            except EmuError as error:
                sentences.append(f"{title}: {error.message.worded(in_words)}")
        return tuple(sentences)

    @property
    def budget(self) -> Any:
        """Emu's hyper-parameters, whose epochs, batch size and learning rate the peers share.

        Of a joined encoder, which the peers train as a whole, they are those of the first part.
        """
        return settings_by_part(self._settings_of("emu"))[0]

    @cached_property
    def _evens_languages(self) -> HeadConfig | None:
        """The settings with which the default method evens out languages first; None if it does not."""
        config = self._settings_of("head")
        return config if isinstance(config, HeadConfig) and config.evens_languages else None

    def _settings_of(self, method: str, variant: str = "") -> Settings:
        trains_in_epochs = any(info.name == "epochs" for info in infos(method_named(method).settings))
        changes = self.settings.changes if trains_in_epochs else {}
        encoder = None if variant == PAPER else kinds_of(self.config.encoder)
        return configure(method, encoder, **changes)

    def hyperparameters(self, cell: Cell) -> dict[str, object]:
        """Return the settings that a cell is trained with."""
        if cell.system in (BASE, TRANSLATION):
            return {}
        if cell.system == EVENED and (config := self._evens_languages) is not None:
            return {name: getattr(config, name) for name in ("language_directions", "centering")}
        if not cell.system.startswith(_PEER):
            return asdict(self._settings_of(cell.system, cell.variant))
        return peer_settings(Peer(cell.system.removeprefix(_PEER)), self.budget, cell.variant == OURS)

    def measure(self, cell: Cell, folder: Path) -> CellResult:
        """Train a cell, and measure its retrieval and its classifier on the test sentences."""
        system = self.system(cell, folder)
        asked = self._asked(cell)
        frame = self.data.test.frame[asked].reset_index(drop=True)
        texts: list[str] = frame["text"].tolist()
        if cell.system == TRANSLATION:
            for row, text in self.data.translations.items():
                texts[row] = text
        vectors = np.asarray(system.encode(texts))
        intents, languages = frame["intent"].tolist(), frame["language"].tolist()
        accuracies = leave_one_out(vectors, intents, languages, sentence_groups(frame))
        values: dict[Key, Any] = {("correct", "", way): right for way, right in accuracies.correct.items()}
        for code, rows in rows_by_language(languages, len(frame)).items() if cell.system == BASE else ():
            values["sentence", "", code] = self.data.test_sentences[asked][rows]
        if system.classify is not None and cell.half is None:
            right = np.asarray(system.classify(frame["text"].tolist())) == np.asarray(intents)
            for code, rows in rows_by_language(languages, len(frame)).items():
                values["classified", "", code] = right[rows]
        is_whole = not (cell.variant or cell.labels) and cell.half is None
        is_drawn = cell == Cell(BASE) or (cell.system in FIGURE_METHODS and is_whole)
        draw = partial(self._views, vectors) if is_drawn else None
        return CellResult(numbers(values), **system.took.costs(), facts=system.facts, draw=draw)

    def _asked(self, cell: Cell) -> NDArray[np.bool_]:
        """Return whether a cell measures each test row: of a half of the intents, those of the other half."""
        intents = self.data.test.frame["intent"]
        if cell.half is None:
            return np.ones(len(intents), dtype=bool)
        return ~intents.isin(self.halves[cell.half]).to_numpy()

    def system(self, cell: Cell, folder: Path) -> System:
        """Return the trained system of a cell, which writes its run into the folder."""
        encoder, device = self.config.encoder, self.config.encoder_device
        if cell.system in (BASE, TRANSLATION):
            return System(load_encoder(encoder, device=device).encode)
        if cell.system == EVENED:
            return System(self._evened(load_encoder(encoder, device=device).encode))
        labelled = self.data.train
        if cell.labels:
            labelled = drawn_labels(labelled, cell.on, cell.labels, cell.seed)
        if cell.half is not None:
            labelled = with_intents(labelled, self.halves[cell.half])
        if not cell.system.startswith(_PEER):
            settings = self._settings_of(cell.system, cell.variant)
            trained, classify, took, facts = self.train(
                labelled, cell, folder, method=cell.system, train_languages=cell.on, config=settings
            )
            by_layer = None if classify is None else lambda texts: classify(trained.encode(texts))
            return System(trained.encode, by_layer, took, facts)
        peer, part = Peer(cell.system.removeprefix(_PEER)), labelled.select(languages=cell.on)
        return trained_peer(peer, encoder, part, self.hyperparameters(cell), seed=cell.seed, device=device)

    def _evened(self, encode: Callable[..., Any]) -> Callable[[Sequence[str]], NDArray[np.floating]]:
        config = self._evens_languages
        if config is None:
            raise TrainingError("nothing is evened out for this encoder")
        reference = {language: encode(texts) for language, texts in reference_texts().items()}
        return lambda texts: evened_languages(encode(texts), reference, config)

    def _views(self, vectors: NDArray[np.floating]) -> dict[str, View]:
        """Lay out the test sentences of two languages by t-SNE."""
        rows = np.flatnonzero(self.data.test.frame["language"].isin(self.shown))
        part = self.data.test.frame.iloc[rows]
        languages, intents = part["language"].tolist(), part["intent"].tolist()
        drawn = np.asarray(stratified_sample(languages, intents, MAP_SENTENCES))
        points = project(vectors[rows[drawn]], Projection.TSNE)
        return {"map": View.of(points, [intents[i] for i in drawn], [languages[i] for i in drawn])}


def _epochs(hyperparameters: Mapping[str, Any]) -> int:
    """Return the epochs of a training, of a joined encoder those of all parts."""
    return sum(part.get("epochs", 0) for part in hyperparameters.get("parts", [hyperparameters]))
