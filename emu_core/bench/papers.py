"""The table of benchmarks: each paper's name, title, summary and settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING

from emu_core.bench.settings import BenchSettings, EmuBench, FmdaBench, ParallelBench
from emu_core.errors import RunError
from emu_core.methods.method import Needs

if TYPE_CHECKING:
    from emu_core.bench.experiment import Experiment


@dataclass(frozen=True)
class Paper:
    """A benchmark.

    Attributes:
        name: on the command line and in config.json.
        title: on pages.
        summary: what it runs, for people who choose a benchmark.
        settings: the class of its settings.
        experiment: where the class of its experiment is, which imports everything that trains.
        needs: the data that it runs on.
        encoder: the spec taken where none is named; "" where encoders are trained from scratch.
        reads_tasks: whether dialogues, running text and NLI pairs are trained on, too, where there are any.
    """

    name: str
    title: str
    summary: str
    settings: type[BenchSettings]
    experiment: str
    needs: Needs
    encoder: str = ""
    reads_tasks: bool = False

    def load(self) -> "type[Experiment]":
        """Import the class of its experiment."""
        found: type[Experiment] = resolve_name(f"emu_core.bench.{self.experiment}")
        return found


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
        ParallelBench,
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
