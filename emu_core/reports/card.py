"""The model card that a run writes beside its encoder."""

import pandas as pd

from emu_core.data.wording import TextTable
from emu_core.evaluation.run_metrics import Metrics
from emu_core.files import write_whole
from emu_core.methods.registry import methods
from emu_core.reports.card_header import run_header
from emu_core.reports.figures import told_figures
from emu_core.reports.run_figures_as_text import forgetting_text
from emu_core.reports.templating import render_markdown
from emu_core.reports.verdict import run_verdict
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import DataFacts
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.run import Run

_OTHER_TEXTS = {
    "dialogues": "comments with responses",
    "running_text": "sentences of running text",
    "nli": "NLI pairs",
}


def write_card(run: Run) -> None:
    """Write the card of a run that has its metrics into its folder. Raises RunError if one of its files is damaged."""
    card = model_card(run.name, run.plan(), run.data(), run.metrics(), read_forgetting(run))
    write_whole(run.folder / "README.md", card)


def model_card(
    name: str, config: Plan, data: DataFacts, metrics: Metrics, forgetting: pd.DataFrame | None = None
) -> str:
    """Return the card in Markdown: what was trained on what, what got better and what got worse; with its header.

    `forgetting` is what `read_forgetting` returns.
    """
    known = methods()  # without those whose package is no longer installed
    settings = {
        **_by_part(config),
        **{f"teacher's {name}": value for name, value in _by_part(config.teacher).items()},
        "seed": config.seed,
        "device": config.device,
        "precision": config.precision,
        **config.versions,
    }
    figures = told_figures(metrics)
    if forgetting is not None:
        figures["Forgetting"] = forgetting_text(forgetting)
    return run_header(name, config, data, metrics) + render_markdown(
        "card.md.j2",
        name=name,
        config=config,
        data=data,
        verdict=run_verdict(metrics, forgetting),
        figures=figures,
        unlabelled=config.unlabelled_languages,
        learnt_from=dict.fromkeys(
            other
            for part in config.by_part()
            if part.method in known
            for other in known[part.method].other_encoders(part.hyperparameters)
        ),
        others={what: count for kind, what in _OTHER_TEXTS.items() if (count := getattr(data, kind, 0))},
        settings=TextTable(("setting", "value"), [(key, str(value)) for key, value in settings.items()]),
        example="Where is the pool?" if config.encoder else "A dog runs along the beach.",
    )


def _by_part(config: Plan | None) -> dict[str, str]:
    """Return each hyper-parameter in words, with the part that has it where not all parts have the same."""
    parts = () if config is None else config.by_part()
    values: dict[str, str] = {}
    for name in dict.fromkeys(name for part in parts for name in part.hyperparameters):
        known = {
            part.encoder: str(part.hyperparameters[name]) for part in parts if name in part.hyperparameters
        }
        same = len(known) == len(parts) and len(set(known.values())) == 1
        values[name] = known[parts[0].encoder] if same else "; ".join(map(": ".join, known.items()))
    return values
