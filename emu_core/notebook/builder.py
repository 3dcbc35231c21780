"""A notebook of a run: it reads the same data, trains or opens the run, and draws what the app shows."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from emu_core.data.demo import DEMO
from emu_core.encoders.registry import kinds_of
from emu_core.methods.presets import preset_of
from emu_core.methods.registry import method_named
from emu_core.reports import views
from emu_core.runs.config import Plan


def make_notebook(
    config: Plan,
    folder: str | Path,
    *,
    is_demo: bool = False,
    data: str | Path | None = None,
    split: str | None = None,
    languages: Sequence[str] = (),
    layout: str = "tsne",
    colour_by: str = "intent",
) -> str:
    """Return a notebook, the contents of an .ipynb file, that runs from top to bottom.

    Args:
        config: of a run that learns from a labelled set.
        folder: the run's; if it does not exist, the notebook trains the run.
        is_demo: whether the data is the demo set.
        data: the file of the data; None writes the name in `config`, which the user replaces by the path.
        split: the rows to compare on, as `compare` takes it.
        languages: the languages to compare on; none takes all.
        layout: of the maps: "tsne", "umap" or "pca".
        colour_by: what the colours of the maps show.
    """
    where = DEMO if is_demo else str(data or config.data)
    hint = "" if is_demo or data is not None else "  # the path of the file that was uploaded"
    chosen = {"split": split, "languages": list(languages) or None}
    options = "".join(f", {name}={value!r}" for name, value in chosen.items() if value is not None)
    titled = [
        (
            f"# {config.method} on {config.data}\n\nMade by Emu. Needs `pip install 'emu-core[notebook]'`.",
            f"from pathlib import Path\n\nimport emu_core\n\nDATA = {where!r}{hint}\nRUN = Path({str(folder)!r})",
        ),
        (
            "## The run\n\nIt is opened where it is there already, and trained where it is not.",
            _training(config),
        ),
        ("## What it changed", f"comparison = emu_core.compare(DATA, run{options})\ncomparison"),
        *((f"### {view.title}", f"comparison.view({view.name!r})") for view in views.VIEWS),
        (
            "### Maps\n\nHover over a point of one map, or draw around some, to see them on the other.",
            f"comparison.explore({layout!r}, {colour_by!r})",
        ),
    ]
    cells: list[dict[str, object]] = []
    for title, code in titled:
        if title:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": title})
        cells.append(
            {"cell_type": "code", "metadata": {}, "source": code, "execution_count": None, "outputs": []}
        )
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel},
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)],
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def _training(config: Plan) -> str:
    """Return the code that opens or trains the run, with those settings that differ from the defaults."""
    preset = preset_of(config)
    if preset is None:
        kinds = kinds_of(config.encoder)
        settings = [_settings(part, kind) for part, kind in zip(config.by_part(), kinds, strict=True)]
        joined = f"emu_core.settings.JoinedSettings(({', '.join(settings)}))"
        made = f"        config={settings[0] if len(settings) == 1 else joined},\n"
    else:
        made = ""
    arguments = {
        "preset": preset,
        "method": config.method if preset is None else None,
        "encoder": config.encoder if preset is None else None,
        "train_languages": list(config.train_languages),
        "unlabelled_languages": list(config.unlabelled_languages),
        "pairs": [tuple(pair) for pair in config.pairs] or None,
        "seed": config.seed,
        "device": "cpu" if config.device == "cpu" else "auto",
    }
    given = "".join(f"        {name}={value!r},\n" for name, value in arguments.items() if value is not None)
    return f"""\
if RUN.exists():
    run = emu_core.resume(RUN)  # a finished run is opened, one that was stopped goes on
else:
    run = emu_core.train(
        DATA,
        out=RUN,
{given}{made}    )
run"""


def _settings(config: Plan, kind: str) -> str:
    """Return the code for a run's settings, which names those that differ from the defaults for the kind of encoder."""
    usual = json.loads(json.dumps(asdict(method_named(config.method).configure(kind))))
    values = json.loads(json.dumps(dict(config.hyperparameters)))
    changes = "".join(f", {name}={value!r}" for name, value in values.items() if usual[name] != value)
    return f"emu_core.configure({config.method!r}, {kind!r}{changes})"
