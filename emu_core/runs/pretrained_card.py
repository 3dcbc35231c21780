"""The model card of an encoder that was trained from nothing."""

from collections.abc import Mapping
from typing import Any

from emu_core.runs.markdown import settings_section, table, use_section


def pretrained_card(
    name: str, config: Mapping[str, Any], data: Mapping[str, Any], metrics: Mapping[str, Any]
) -> str:
    """Markdown: what was trained on what, and what it finds.

    Args:
        name: the run's name.
        config: config.json.
        data: data.json.
        metrics: metrics.json.
    """
    pairs = ", ".join(f"{count:,} of {pair}" for pair, count in data["pairs"].items())
    more = [
        f"{data[kind]:,} {what}"
        for kind, what in (
            ("dialogues", "comments with responses"),
            ("running_text", "sentences of running text"),
            ("nli", "NLI pairs"),
        )
        if data[kind]
    ]
    lines = [
        f"# {name}",
        "",
        f"A sentence encoder for {', '.join(config['languages'])}, trained from random weights with the method "
        f"`{config['method']}` on {data['name']}: {pairs} sentence pairs{''.join(f'; {one}' for one in more)}.",
        "",
        "## Translation retrieval",
        "",
        f"Measured on {metrics['measured_on']}, by cosine among all of them. In `s-t` the queries are in s.",
        "",
        *table(
            ("direction", "P@1 %", "95 % interval", "P@3 %", "P@10 %", "among", "trained on such pairs"),
            [
                (
                    way,
                    f"{found['p_at_1']:.1f}",
                    f"{found['low']:.1f} to {found['high']:.1f}",
                    f"{found['p_at_3']:.1f}",
                    f"{found['p_at_10']:.1f}",
                    f"{found['candidates']:,}",
                    "yes" if found["trained"] else "no",
                )
                for way, found in metrics["translation"].items()
            ],
        ),
        "",
        *_eigen(metrics["eigen_similarity"]),
        *([*(f"- {warning}" for warning in metrics["warnings"]), ""] if metrics["warnings"] else []),
        *settings_section(config),
        *use_section(name, "A dog runs along the beach."),
    ]
    return "\n".join(lines)


def _eigen(found: Mapping[str, Any]) -> list[str]:
    if not found:
        return []
    return [
        "## Eigen-similarity",
        "",
        "How differently the same sentences are arranged in two languages (0: alike), over samples of ten pairs.",
        "",
        *table(
            ("pair", "mean", "standard error", "variance between samples"),
            [
                (pair, f"{one['mean']:.3f}", f"{one['standard_error']:.3f}", f"{one['variance']:.3f}")
                for pair, one in found.items()
            ],
        ),
        "",
    ]
