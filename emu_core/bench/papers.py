"""The table of benchmarks: each paper's name, title, summary and settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from emu_core.errors import Fix, RunError, TrainingError
from emu_core.runs.config import Plan, RunTask, versions
from emu_core.settings import Settings, infos, setting
from emu_core.training.method import Needs

if TYPE_CHECKING:
    from emu_core.bench.experiment import Experiment
    from emu_core.bench.report import BenchReport
    from emu_core.bench.results import Results
    from emu_core.runs.run import Storable


class EmuPart(StrEnum):
    """A part of the report on Emu, named by the paper's number if it has one."""

    TABLE_1 = "1"
    TABLE_2 = "2"
    TABLE_3 = "3"
    TABLE_4 = "4"
    TABLE_5 = "5"
    PEERS = "peers"
    FIGURE_2 = "figure2"
    FEW_SHOT = "few-shot"
    NEW_INTENTS = "new-intents"


class Preset(StrEnum):
    """Whose settings the methods are trained with."""

    TUNED = "tuned"
    PAPER = "paper"


class FmdaPart(StrEnum):
    """A part of the report on FMDA, named by the paper's number if it has one."""

    TABLE_2 = "2"
    TABLE_3 = "3"
    TABLE_4 = "4"
    TABLE_5 = "5"
    TABLE_6 = "6"
    TABLE_9 = "9"
    PROBES = "probes"
    FIGURE_4 = "figure4"


_PRESETS = {
    Preset.TUNED: "Those found here",
    Preset.PAPER: "Those found here, and the paper's own beside them",
}
_PRESET_HELP = (
    "The paper's own settings were found for another encoder and other data. With them, each of the paper's methods is "
    "trained once more and gets its own rows."
)
_PARTS_HELP = "Table and figure numbers are the paper's. Cells that several tables need are run only once."
_EMU_PARTS = {
    EmuPart.TABLE_1: "Table 1: sentences and intents",
    EmuPart.TABLE_2: "Table 2: every method",
    EmuPart.PEERS: "Peers: what others do today",
    EmuPart.TABLE_3: "Table 3: training languages",
    EmuPart.TABLE_4: "Table 4: every pair of languages",
    EmuPart.TABLE_5: "Table 5: what each part adds",
    EmuPart.FIGURE_2: "Figure 2: maps of two languages",
    EmuPart.FEW_SHOT: "Few-shot: with two labels an intent, and more",
    EmuPart.NEW_INTENTS: "New intents: labels for half of them",
}
_LONG_EMU_PARTS = (EmuPart.FEW_SHOT, EmuPart.NEW_INTENTS)  # each takes as long as all others
_MEASURED_EMU_PARTS = (part for part in EmuPart if part not in (EmuPart.TABLE_1, *_LONG_EMU_PARTS))
# A form starts with the first, which is to measure something.
USUAL_EMU_PARTS = (*_MEASURED_EMU_PARTS, EmuPart.TABLE_1)
_FMDA_PARTS = {
    FmdaPart.TABLE_2: "Table 2: cross-lingual retrieval",
    FmdaPart.TABLE_3: "Table 3: template retrieval",
    FmdaPart.TABLE_4: "Table 4: what each loss adds",
    FmdaPart.TABLE_5: "Table 5: one stage or two",
    FmdaPart.TABLE_6: "Table 6: template retrieval with five targets",
    FmdaPart.TABLE_9: "Table 9: all language pairs in one model",
    FmdaPart.PROBES: "Language probes of every embedding",
    FmdaPart.FIGURE_4: "Figure 4: maps of the embeddings",
}


@dataclass(frozen=True)
class BenchSettings(Settings):
    """The settings that every benchmark has."""

    seeds: tuple[int, ...] = setting(
        (0,),
        "Each system that draws random numbers is trained once with each seed; of several seeds the report shows the "
        "spread.",
        label="Seeds",
        low=0,
        common=True,
    )
    epochs: int | None = setting(
        None,
        "The largest number of epochs of any system. Empty takes the numbers that were found to work well.",
        label="Epochs",
        low=1,
        common=True,
    )

    def check_together(self) -> None:
        """Raise a TrainingError if there is no seed."""
        object.__setattr__(self, "seeds", tuple(dict.fromkeys(self.seeds)))
        if not self.seeds:
            raise TrainingError(
                "there is no seed; give one or more whole numbers, 0 or more, with ", Fix("seeds")
            )

    @property
    def changes(self) -> dict[str, int]:
        """The changes to the settings of a system that trains in epochs."""
        return {} if self.epochs is None else {"epochs": self.epochs}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read the settings in config.json. Raises RunError if another version wrote them."""
        try:
            return cls(**values)
        except (TypeError, TrainingError):
            raise RunError(
                "the settings of the benchmark were written by another version; run it again"
            ) from None


@dataclass(frozen=True)
class EmuBench(BenchSettings):
    """The settings of Emu's benchmark."""

    parts: tuple[EmuPart, ...] = setting(
        USUAL_EMU_PARTS, _PARTS_HELP, label="Tables", choices=_EMU_PARTS, common=True
    )
    draws: int = setting(
        10,
        "How often the labels of the few-shot table are drawn; its intervals are over the draws.",
        label="Draws of few labels",
        low=1,
    )
    halves: int = setting(
        4,
        "How many halves of the intents have labels in turn, in the table of new intents.",
        label="Halves of the intents",
        low=1,
    )
    preset: Preset = setting(Preset.TUNED, _PRESET_HELP, label="Settings", choices=_PRESETS)


@dataclass(frozen=True)
class FmdaBench(BenchSettings):
    """The settings of FMDA's benchmark."""

    parts: tuple[FmdaPart, ...] = setting(
        tuple(FmdaPart), _PARTS_HELP, label="Tables", choices=_FMDA_PARTS, common=True
    )
    preset: Preset = setting(Preset.TUNED, _PRESET_HELP, label="Settings", choices=_PRESETS)


@dataclass(frozen=True)
class ParallelBench(BenchSettings):
    """The settings of a benchmark of encoders trained from scratch."""

    quick: bool = setting(
        False,
        "Train on 3,000 pairs of each language pair for a few epochs, to check that everything works.",
        label="Quick",
        common=True,
    )


@dataclass(frozen=True)
class DualBench(ParallelBench):
    """The settings of the dual encoder's benchmark."""

    preset: Preset = setting(Preset.TUNED, _PRESET_HELP, label="Settings", choices=_PRESETS)


@dataclass(frozen=True)
class Paper:
    """A benchmark."""

    name: str  # on the command line and in config.json
    title: str  # on pages
    summary: str  # what it runs, in help texts and forms
    settings: type[BenchSettings]
    experiment: str  # the class of its experiment, as "module:name"; its import is slow
    needs: Needs
    encoder: str = ""  # the default encoder; "" if encoders are trained from scratch
    reads_tasks: bool = False  # whether it also trains on dialogues, running text and NLI pairs

    def load(self) -> "type[Experiment]":
        """Import the class of its experiment."""
        return resolve_name(f"emu_core.bench.{self.experiment}")

    def plan(
        self,
        data: Any,
        *,
        encoder: str = "",
        seeds: Sequence[int] = (0,),
        epochs: int | None = None,
        device: str = "auto",
        **options: Any,
    ) -> "tuple[Plan, Storable]":
        """Return the configuration and the data that `create_bench` takes. Raises EmuError if the data is unsuitable.

        `data` is what the experiment's `gather` takes; `encoder` "" takes the benchmark's default; `options` are other
        settings, such as `parts`, and options of `gather`.
        """
        from emu_core.devices import pick_device, pick_precision, split_device

        chosen = pick_device(device)
        changed = {info.name: options.pop(info.name) for info in infos(self.settings) if info.name in options}
        if "parts" in changed:
            changed["parts"] = tuple(changed["parts"])
        settings = self.settings(seeds=tuple(seeds), epochs=epochs, **changed)
        stored, decided = self.load().gather(data, settings, **options)
        values = asdict(settings).items()
        config = Plan(
            method=self.name,
            hyperparameters={
                name: list(value) if isinstance(value, tuple) else value for name, value in values
            },
            task=RunTask.BENCH,
            encoder=encoder or self.encoder,
            seed=settings.seeds[0],
            device=split_device(chosen)[0],
            precision=pick_precision(None, chosen).value,
            versions=versions("transformers", "sentence-transformers", "scikit-learn", "sacrebleu"),
            **decided,
        )
        return config, stored

    def load_report(self) -> "Callable[[Experiment, Results], BenchReport]":
        """Import the function that makes its report."""
        return resolve_name(f"emu_core.bench.{self.name.replace('-', '_')}.report:report_of")


_ROWS = (
    Paper(
        "emu",
        "Emu",
        "run the paper's experiments and today's peers on a labelled set",
        EmuBench,
        "emu.experiment:EmuExperiment",
        Needs.INTENTS,
        "use",
    ),
    Paper(
        "fmda",
        "FMDA",
        "run the experiments of FMDA on translations with annotated slots",
        FmdaBench,
        "fmda.experiment:FmdaExperiment",
        Needs.SLOTS,
        "e5-small",
    ),
    Paper(
        "bicvm",
        "BiCVM",
        "run the experiments of BiCVM on parallel text",
        ParallelBench,
        "bicvm.experiment:BicvmExperiment",
        Needs.PARALLEL_TEXT,
    ),
    Paper(
        "dual-encoder",
        "Multi-task dual encoder",
        "run the experiments of the multi-task dual encoder on parallel text",
        DualBench,
        "dual_encoder.experiment:DualExperiment",
        Needs.PARALLEL_TEXT,
        reads_tasks=True,
    ),
)
PAPERS: Mapping[str, Paper] = MappingProxyType({paper.name: paper for paper in _ROWS})


def paper_named(name: str) -> Paper:
    """Return a benchmark. Raises RunError for an unknown name."""
    if name not in PAPERS:
        raise RunError(f"no benchmark '{name}'; there are: {', '.join(PAPERS)}")
    return PAPERS[name]
