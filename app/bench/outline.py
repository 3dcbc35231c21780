"""What a benchmark would be, found out before it is started: its cells, what it can't measure, why it can't begin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.fit import problem
from emu_core.bench.cells import Cell, Kind, Peer, label_of
from emu_core.bench.data import BenchData, bench_data
from emu_core.bench.plan import Part, plan
from emu_core.bench.sentence_model import check_packages
from emu_core.bench.setting import Setting
from emu_core.bench.translations import translations_of
from emu_core.config import Method
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.errors import EmuError, TrainingError

# Measured with `use` on two busy CPU cores: 33 to 130 s for five epochs over 701 sentences, 6 to 9 s beside training.
PASS_S, BESIDE_S = 0.03, 8.0
_PACKAGES = {
    "peers of sentence-transformers": ("datasets", "accelerate"),
    label_of(Peer.SETFIT): ("setfit", "datasets"),
}
NOT_THERE = (
    "not every sentence that is measured has a machine translation; a column 'translation' in the data's files "
    "brings them"
)


@dataclass(frozen=True)
class Outline:
    """What a benchmark would be.

    Attributes:
        problem: why it can't begin, in a sentence; "" when it can. All else is then empty.
        split: how the sentences to train on and those to measure are told apart.
        cells: how many there are.
        training: how many of them train the encoder.
        passes: how many sentences these encode with gradients, counting each as often as it comes.
        missing: what will stand in the report as not measured, with the reason, a sentence each.
    """

    problem: str = ""
    split: str = ""
    cells: int = 0
    training: int = 0
    passes: int = 0
    missing: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """About how long it takes with `use` on two CPU cores."""
        return self.passes * PASS_S + self.cells * BESIDE_S


def outline(
    labelled: LabelledSet,
    *,
    parts: Sequence[str],
    train_languages: Sequence[str],
    seeds: Sequence[int],
    encoder: str,
    epochs: int | None,
    translations: Mapping[str, str] = MappingProxyType({}),
) -> Outline:
    """Say what `bench_emu` would do with the same arguments; its own checks are asked."""
    try:
        data = bench_data(labelled)
        if reason := _unfit(data, parts) or _unlabelled(data, train_languages):
            return Outline(reason)
        wanted = [Part(part) for part in parts]
        translated = bool(translations_of(data.test, train_languages[0], translations))
        cells = plan(wanted, data.train.languages, train_languages, seeds, translated=translated)
        setting = Setting(encoder, "cpu", "", "", epochs=epochs)
        passes = [_passes(cell, setting, data) for cell in cells]
        missing = _missing(cells, setting, data, train_languages)
    except EmuError as error:
        return Outline(str(error))
    if Part.TABLE_2 in wanted and not translated:
        missing = (f"MT + {encoder}: {NOT_THERE}", *missing)
    return Outline("", data.note, len(cells), sum(map(bool, passes)), sum(passes), missing)


def _unfit(data: BenchData, parts: Sequence[str]) -> str:
    """Why nothing can be measured on this data."""
    languages = data.train.languages
    if len(languages) < 2:
        return (
            f"only {language_name(languages[0])} has both sentences to train on and sentences to measure, and the "
            "tables compare languages; choose a set with two languages or more on the Data page"
        )
    counts = data.test.frame["language"].value_counts()
    if few := [code for code in data.test.languages if counts[code] < 2]:
        return (
            f"{language_name(few[0])} has one sentence to measure, and measuring needs two or more; add some of split "
            "test, or leave the language out"
        )
    return "" if parts else "choose a table"


def _unlabelled(data: BenchData, train_languages: Sequence[str]) -> str:
    """Why these languages' labels can't be learned from."""
    if not train_languages:
        return "choose a language whose labels are used"
    if unknown := [code for code in train_languages if code not in data.train.languages]:
        return (
            f"{language_name(unknown[0])} has no sentence to measure, or none to train on; choose labels in another "
            "language"
        )
    of_labels = data.train.select(languages=train_languages)
    if len(of_labels.intents) < 2:
        return (
            f"the sentences to train on in {language_name(train_languages[0])} have a single intent; add sentences of "
            "another, or choose another language"
        )
    return ""


def _passes(cell: Cell, setting: Setting, data: BenchData) -> int:
    epochs = setting.hyperparameters(cell).get("epochs", 0)
    return int(epochs * data.train.frame["language"].isin(cell.train_languages).sum())


def _missing(
    cells: Sequence[Cell], setting: Setting, data: BenchData, train_languages: Sequence[str]
) -> tuple[str, ...]:
    """What can't be measured on this data or machine."""
    said = []
    # With labels in several languages each of them is another language to the rest.
    others = [
        code for code in data.train.languages if len(train_languages) > 1 or code not in train_languages
    ]
    for name in dict.fromkeys(cell.name for cell in cells if cell.kind is Kind.METHOD):
        if reason := problem(data.train, train_languages, others, setting.config(Method(name))):
            said.append(f"{label_of(name)}: {reason}")
    if any(cell.kind is Kind.PEER for cell in cells):
        said += _not_installed()
    return tuple(said)


def _not_installed() -> list[str]:
    """The peers whose packages are missing on this machine."""
    said = []
    for name, packages in _PACKAGES.items():
        try:
            check_packages(*packages)
        except TrainingError as error:
            said.append(f"{name}: {error}")
    return said
