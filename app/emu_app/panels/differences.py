"""What differs between the runs or the data sets that are ticked in their table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from emu_app.panels.run_table import method_words
from emu_app.shell.address import linked
from emu_app.shell.model_name import plain_name
from emu_app.shell.state import config_of, data_sha_of, metrics_of
from emu_app.shell.wording import label_of, literal
from emu_core.data.wording import counted
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports import figures
from emu_core.runs.config import Plan
from emu_core.runs.run import Run
from emu_core.settings import value_text

NO_BASELINE = "none"
AGAINST = "Against baseline"
ABSENT = "-"  # in the place of a setting that a run doesn't have
_SHA_LENGTH = 12  # characters that tell two data sets apart


@dataclass(frozen=True, eq=False)
class Differences:
    """The facts of some rows, such as runs: by label, with a column for each."""

    differing: pd.DataFrame  # that all of them have, and not with the same value
    partial: pd.DataFrame  # that not all of them have
    equal: pd.DataFrame

    @property
    def sentence(self) -> str:
        """The line above the tables, as Markdown."""
        labels = ", ".join(literal(str(label).lower(), 40) for label in self.differing.index)
        if labels:
            return f"**Differs in: {labels}**"
        return (
            "**No setting differs.**"
            if self.partial.empty
            else "**Differs only in what not all of them have.**"
        )


def differences(facts: Mapping[str, Mapping[str, str]]) -> Differences:
    """Sort the facts of each name into those that differ, those that not all have, and those that are equal."""
    table = pd.DataFrame(facts, dtype="object")
    complete = table.notna().all(axis=1)
    same = table.eq(table.iloc[:, 0], axis=0).all(axis=1)
    return Differences(table[complete & ~same], table[~complete].fillna(ABSENT), table[complete & same])


def draw_differences(
    facts: Mapping[str, Mapping[str, str]], key: str, results: pd.DataFrame | None = None
) -> None:
    """Draw what differs between two or more names, with what is equal folded away.

    Args:
        facts: by name and label.
        key: of the widgets.
        results: rows to draw above the facts that differ, with the same columns.
    """
    parts = differences(facts)
    st.markdown(parts.sentence)
    first = parts.differing if results is None else pd.concat([results, parts.differing])
    if not first.empty:
        st.dataframe(first, key=f"{key}-differing")
    for name, table in (("Only some of them have", parts.partial), ("The same in all", parts.equal)):
        if not table.empty:
            with st.expander(f"{name}: {counted(len(table), 'setting')}"):
                st.dataframe(table, key=f"{key}-{name.split()[0].lower()}")


def run_facts(run: Run) -> dict[str, str]:
    """Return what determines a run's result, by label; nothing if its folder is damaged."""
    config = config_of(run)
    if config is None:
        return {}
    facts: dict[str, Any] = {
        "Method": method_words(config),
        "Encoder": plain_name(config.encoder) if config.encoder else "from scratch",
        "Data": config.data,
        "Contents of the data": data_sha_of(run)[:_SHA_LENGTH] or None,
        "Labels in": config.train_languages or None,
        "Sentences without labels in": config.unlabelled_languages or None,
        "Languages": config.languages or None,
        "Translations": tuple("-".join(pair) for pair in config.pairs) or None,
    }
    facts |= _settings(config)
    facts |= {
        "Seed": config.seed,
        "Device": config.device,
        "Precision": config.precision,
        "Processes": config.processes,
    }
    facts |= {f"Version of {name}": version for name, version in config.versions.items()}
    return {label: _words(value) for label, value in facts.items() if value is not None}


def run_results(runs: Sequence[Run], baseline: Run | None) -> pd.DataFrame:
    """Return a row of each figure that the runs were measured by, with the changes against the baseline."""
    rows: dict[str, dict[str, str]] = {}
    for column in _numbers():
        numbers = {run.name: column.number(metrics_of(run)) for run in runs}
        if any(value is not None for value in numbers.values()):
            rows[f"{column.head}, %"] = {
                run.name: _with_change(numbers[run.name], gain_against(run, baseline, column.number))
                for run in runs
            }
    return pd.DataFrame.from_dict(rows, orient="index", columns=[run.name for run in runs])


def gain_against(
    run: Run, baseline: Run | None, figure: Callable[[Metrics], float | None] | None = None
) -> float | None:
    """Return by how much a figure is above the baseline's; None unless both runs are of the same data.

    `figure` is that of a column of the table of runs; None takes the first that both runs have.
    """
    if baseline is None or run.name == baseline.name:
        return None
    if (sha := data_sha_of(run)) != data_sha_of(baseline) or not sha:
        return None
    for number in [figure] if figure else [column.number for column in _numbers()]:
        value, reference = number(metrics_of(run)), number(metrics_of(baseline))
        if value is not None and reference is not None:
            return value - reference
    return None


def _numbers() -> list[figures.Column]:
    return [
        column
        for figure in figures.FIGURES
        for column in figure.columns
        if not (column.is_change or column.is_cost)
    ]


def choose_baseline(runs: Sequence[Run], param: str) -> Run | None:
    """Ask for the run that others are compared with, and keep it in the address."""
    by_name = {run.name: run for run in runs}
    name = linked(
        param,
        "Baseline",
        [NO_BASELINE, *by_name],
        width=260,
        format_func=lambda name: "No baseline" if name == NO_BASELINE else name,
        help="The run that others are compared with. It stays at the top of the table until you choose another.",
    )
    return by_name.get(name)


def _settings(config: Plan) -> dict[str, Any]:
    """Return the settings of the method, of each part's, and of the teacher's, by label."""
    facts: dict[str, Any] = {}
    teacher = () if config.teacher is None else config.teacher.by_part()
    for prefix, parts in (("", config.parts), ("Teacher ", teacher)):
        for part in parts:
            name = f"{prefix}{plain_name(part.encoder)}"
            facts[f"{name}: method"] = part.method
            facts |= {
                f"{name}: {label_of(option) or option}": part.hyperparameters[option]
                for option in part.hyperparameters
            }
    return facts | {label_of(option) or option: value for option, value in config.hyperparameters.items()}


def _words(value: Any) -> str:
    return ", ".join(map(value_text, value)) if isinstance(value, list | tuple) else value_text(value)


def _with_change(value: float | None, change: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.1f}" if change is None else f"{value:.1f} ({change:+.1f})"
