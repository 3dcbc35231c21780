"""When does Emu's language discriminator matter? Train with and without it, changing one condition at a time.

    python -m benchmarks.discriminator DATA [--seeds 0 1 2] [--conditions NAME ...]

DATA is a folder with sib200 and multi30k. English labels, split dev as the test, the last epoch's weights. The weak
encoder is a dual encoder trained on Multi30k's captions (en, de and fr) and measured in those languages. Writes
benchmarks/results/discriminator.csv, a row for each training, and draws docs/discriminator.png. Finished rows are not
repeated, so that a stopped benchmark can be continued. One thread.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import emu_core  # first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import pandas as pd
import torch

from emu_core import configure, pretrain, read_labelled, train
from emu_core.data.sets import LabelledSet
from emu_core.evaluation.arrays import pair_name
from emu_core.methods.emu.settings import Adversary

ROOT = Path(emu_core.__file__).parent.parent
OUT = ROOT / "benchmarks" / "results" / "discriminator.csv"
PICTURE = ROOT / "docs" / "discriminator.png"
COLUMNS = [
    "condition",
    "seed",
    "discriminator",
    "other_languages",
    "labelled_language",
    "probe",
    "right_intents",
]
METHODS = {True: "emu", False: "emu-without-ld"}
SCRATCH = ("en", "de", "fr")


@dataclass(frozen=True)
class Condition:
    """A condition: its differences from the defaults."""

    encoder: str = "use"  # or "scratch"
    share: int = 1  # every n-th of the English training sentences is labelled
    settings: Mapping[str, Any] = field(default_factory=dict)  # hyper-parameters of both trainings
    adversary: Mapping[str, Any] = field(default_factory=dict)  # hyper-parameters of the discriminator
    preset: str | None = "use"  # the encoder whose defaults they differ from; None for the paper's settings


RATE = {"use": configure("emu", "use").learning_rate, "scratch": 1e-3}  # type: ignore[attr-defined]
EVERY_STEP = {"adversary_every": 1, "critic_steps": 5}  # as in the paper
CONDITIONS = {
    "use, defaults": Condition(),
    "a quarter of the labels": Condition(share=4),
    "a sixteenth of the labels": Condition(share=16),
    "learning rate / 3": Condition(settings={"learning_rate": RATE["use"] / 3}),
    "learning rate x 3": Condition(settings={"learning_rate": 3 * RATE["use"]}),
    "20 epochs": Condition(settings={"epochs": 20}),
    "the paper's alpha, 50": Condition(settings={"alpha": 50.0}),
    "discriminator 10 times as heavy": Condition(adversary={"adversary_weight": 1.0}),
    "every step, five critic updates": Condition(adversary=EVERY_STEP),
    "the same, cross-entropy (eq. 3)": Condition(
        adversary={**EVERY_STEP, "adversary": Adversary.CROSS_ENTROPY}
    ),
    "the same, gamma 1e-4": Condition(adversary={**EVERY_STEP, "adversary_weight": 1e-4}),
    "the same, gamma 1e-2": Condition(adversary={**EVERY_STEP, "adversary_weight": 1e-2}),
    "the paper's settings": Condition(preset=None),
    "a weak encoder": Condition("scratch", settings={"learning_rate": RATE["scratch"]}),
    "a weak encoder, learning rate x 3": Condition(
        "scratch", settings={"learning_rate": 3 * RATE["scratch"]}
    ),
}


def labelled(data: Path, condition: Condition) -> LabelledSet:
    """Return SIB-200 with dev as the test, and a share of the labelled English sentences."""
    whole, _ = read_labelled(sorted((data / "sib200").glob("*.csv")))
    frame = whole.select(languages=None if condition.encoder == "use" else SCRATCH).frame
    frame = frame.assign(split=frame["split"].replace("dev", "test"))
    english = frame.index[(frame["language"] == "en") & (frame["split"] == "train")]
    dropped = english.difference(english[:: condition.share])
    return LabelledSet(frame.drop(index=dropped).reset_index(drop=True), whole.name)


def scratch(data: Path, folder: Path) -> str:
    """Train the weak encoder and return its name for `train`."""
    files = [data / "multi30k" / f"train.{code}.gz" for code in SCRATCH]
    config = configure("dual-encoder", "", layers=0, epochs=3)
    return f"run:{pretrain(files, out=folder / 'scratch', config=config).folder}"


def measured(run: Any) -> tuple[float, float, float, float]:
    """Return Acc@1 between English and other languages, within English, of the probe, and right intents in percent.

    Right intents are those that the run's intent model names, the mean of the languages other than English.
    """
    metrics = run.metrics()
    of, languages = metrics.specialised, metrics.languages
    others = [
        of[pair_name(*way)] for code in languages if code != "en" for way in (("en", code), (code, "en"))
    ]
    of_language = metrics.right_intents.by_language.items()
    named = [change.specialised for code, change in of_language if code != "en"]
    return (
        sum(others) / len(others),
        of["en-en"],
        metrics.leakage.specialised.probe,
        sum(named) / len(named),
    )


def rows(data: Path, names: list[str], seeds: list[int], done: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Run the missing trainings and yield their rows."""
    known = set(zip(done["condition"], done["seed"], done["discriminator"], strict=True))
    with TemporaryDirectory() as folder:
        weak, alike = "", {}  # what differs in the discriminator alone is the same training without it
        for name, seed, (has_it, method) in product(names, seeds, METHODS.items()):
            condition = CONDITIONS[name]
            if (name, seed, has_it) in known:
                continue
            if condition.encoder == "scratch" and not weak:
                weak = scratch(data, Path(folder))
            changes = {**condition.settings, **(condition.adversary if has_it else {})}
            training = (
                seed,
                method,
                repr(replace(condition, adversary=condition.adversary if has_it else {})),
            )
            if training in alike:
                yield name, seed, has_it, *alike[training]
                continue
            run = train(
                labelled(data, condition),
                out=Path(folder) / f"{list(CONDITIONS).index(name)}-{seed}-{method}",
                method=method,
                encoder="use" if condition.encoder == "use" else weak,
                seed=seed,
                config=configure(method, condition.preset, **changes),
            )
            alike[training] = tuple(round(value, 3) for value in measured(run))
            yield name, seed, has_it, *alike[training]


def draw(table: pd.DataFrame) -> None:
    """Draw the effect of the discriminator: a point for each seed, and their mean."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    wide = table.pivot(
        index=["condition", "seed"], columns="discriminator", values=["other_languages", "probe"]
    )
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    titles = {
        "other_languages": "Acc@1 with other languages, points",
        "probe": "a linear probe of the language, points",
    }
    names = list(CONDITIONS)
    for axes, (measure, title) in zip(panels, titles.items(), strict=True):
        change = (wide[measure][True] - wide[measure][False]).rename("change").reset_index()
        axes.axvline(0, color="#888", linewidth=1)
        axes.scatter(change["change"], change["condition"].map(names.index), color="#9ecae1", s=30)
        means = change.groupby("condition")["change"].mean()
        axes.scatter(means, means.index.map(names.index), color="#08519c", marker="|", s=200)
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    figure.suptitle("What the language discriminator adds", fontsize=11)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    """Train, write and draw; each finished training is written at once."""
    parser = argparse.ArgumentParser(description="With and without the language discriminator.")
    parser.add_argument("data", type=Path, help="a folder with sib200 and multi30k")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS), choices=list(CONDITIONS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = pd.read_csv(OUT) if OUT.exists() else pd.DataFrame(columns=COLUMNS)
    for row in rows(options.data, options.conditions, options.seeds, table):
        table = pd.concat([table, pd.DataFrame([row], columns=COLUMNS)], ignore_index=True)
        table.to_csv(OUT, index=False)
    draw(table)


if __name__ == "__main__":
    main()
