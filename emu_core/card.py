"""The model card a run leaves beside its encoder."""

from collections.abc import Mapping
from typing import Any

from emu_core.evaluation.significance import binomial_interval


def model_card(
    name: str, config: Mapping[str, Any], data: Mapping[str, Any], metrics: Mapping[str, Any]
) -> str:
    """Markdown: what was trained on what, what got better and what got worse.

    Args:
        name: the run's name.
        config: config.json.
        data: data.json.
        metrics: metrics.json.
    """
    lines = [
        f"# {name}",
        "",
        f"`{config['encoder']}` specialised with the method `{config['method']}` on {data['name']}: "
        f"{data['labelled']:,} labelled sentences of {data['intents']} intents in "
        f"{', '.join(config['train_languages'])}; {_unlabelled(config)}.",
        "",
        *_results(metrics),
        "## Settings",
        "",
        "| setting | value |",
        "| --- | --- |",
        *(f"| {key} | {value} |" for key, value in config["hyperparameters"].items()),
        f"| seed | {config['seed']} |",
        f"| device | {config['device']} |",
        *(f"| {package} | {number} |" for package, number in config["versions"].items()),
        "",
        "## Use",
        "",
        "```python",
        "from emu_core import load_encoder",
        "",
        f'vectors = load_encoder("run:{name}").encode(["Where is the pool?"])',
        "```",
        "",
    ]
    return "\n".join(lines)


def _unlabelled(config: Mapping[str, Any]) -> str:
    languages = config["unlabelled_languages"]
    if not languages or config["hyperparameters"]["adversary"] == "none":
        return "no unlabelled sentences were used"
    return f"sentences in {', '.join(languages)} without their labels"


def _results(metrics: Mapping[str, Any]) -> list[str]:
    lines = ["## Leave-one-out Acc@1", ""]
    if "base" not in metrics:
        return [*lines, f"Not measured: {metrics['note']}.", ""]
    base, specialised, counts = metrics["base"], metrics["specialised"], metrics["counts"]
    worse = [pair for pair in base if specialised[pair] < base[pair]]
    lines += [
        f"Split {metrics['split']}; the query's own id is left out of the pool. In `s-t` the queries are in s. "
        f"The mean over the {metrics['mean_over']} went from {metrics['mean_base']:.1f} to "
        f"{metrics['mean_specialised']:.1f} %.",
        "",
        f"**Worse than the base in: {', '.join(worse)}.**" if worse else "No direction got worse.",
        "",
        "| direction | base % | specialised % | difference | 95 % interval |",
        "| --- | --- | --- | --- | --- |",
    ]
    for pair in base:
        interval = binomial_interval(round(specialised[pair] * counts[pair] / 100), counts[pair])
        lines.append(
            f"| {pair} | {base[pair]:.1f} | {specialised[pair]:.1f} | {specialised[pair] - base[pair]:+.1f} | "
            f"{interval.low:.1f} to {interval.high:.1f} |"
        )
    return [*lines, "", *(f"- {warning}" for warning in metrics["warnings"]), ""]
