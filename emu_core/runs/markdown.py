"""What model cards share: tables, the settings of a run, and how to load its encoder."""

from collections.abc import Mapping, Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def settings_section(config: Mapping[str, Any]) -> list[str]:
    """The lines that tell a run's settings, of its config.json."""
    rows = [
        *config["hyperparameters"].items(),
        ("seed", config["seed"]),
        ("device", config["device"]),
        *config["versions"].items(),
    ]
    return ["## Settings", "", *table(("setting", "value"), [(key, str(value)) for key, value in rows]), ""]


def use_section(name: str, sentence: str) -> list[str]:
    """The lines that show how a run's encoder is loaded and used on a sentence."""
    return [
        "## Use",
        "",
        "```python",
        "from emu_core import load_encoder",
        "",
        f'vectors = load_encoder("run:{name}").encode(["{sentence}"])',
        "```",
        "",
    ]
