"""The model card a run leaves beside its encoder."""

from collections.abc import Mapping
from typing import Any

from emu_core.evaluation.metric_rows import (
    FORGETTING_HEAD,
    GUARD_HEAD,
    LEAKAGE_HEAD,
    forgetting_rows,
    guard_rows,
    guard_sentences,
    leakage_rows,
)
from emu_core.evaluation.significance import binomial_interval
from emu_core.runs.markdown import settings_section, table, use_section


def model_card(
    name: str,
    config: Mapping[str, Any],
    data: Mapping[str, Any],
    metrics: Mapping[str, Any],
    forgetting: Mapping[str, Any] | None = None,
) -> str:
    """Markdown: what was trained on what, what got better and what got worse.

    Args:
        name: the run's name.
        config: config.json.
        data: data.json.
        metrics: metrics.json.
        forgetting: forgetting.json, where `emu forgetting` was run.
    """
    lines = [
        f"# {name}",
        "",
        f"`{config['encoder']}` specialised with the method `{config['method']}` on {data['name']}: "
        f"{data['labelled']:,} labelled sentences of {data['intents']} intents in "
        f"{', '.join(config['train_languages'])}; {_unlabelled(config)}.",
        "",
        *_results(metrics),
        *_guard(metrics),
        *_leakage(metrics),
        *_forgetting(forgetting),
        *settings_section(config),
        *use_section(name, "Where is the pool?"),
    ]
    return "\n".join(lines)


def _unlabelled(config: Mapping[str, Any]) -> str:
    languages = config["unlabelled_languages"]
    if not languages or config["hyperparameters"].get("adversary", "none") == "none":
        return "no unlabelled sentences were used"
    return f"sentences in {', '.join(languages)} without their labels"


def _results(metrics: Mapping[str, Any]) -> list[str]:
    lines = ["## Leave-one-out Acc@1", ""]
    if "base" not in metrics:
        return [*lines, f"Not measured: {metrics['note']}.", "", *_warnings(metrics)]
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
    return [*lines, "", *_warnings(metrics)]


def _warnings(metrics: Mapping[str, Any]) -> list[str]:
    return [*(f"- {warning}" for warning in metrics["warnings"]), ""] if metrics["warnings"] else []


def _guard(metrics: Mapping[str, Any]) -> list[str]:
    lines = ["## Language guard", ""]
    guard = metrics.get("guard")
    if not guard:
        reason = (
            "the run was measured before there was a guard; `emu evaluate FILE --run DIR` has one"
            if "base" in metrics
            else "no sentences were held out, so a language may have lost and nobody would know"
        )
        return [*lines, f"**Not guarded:** {reason}.", ""]
    sentences = guard_sentences(guard)
    return [
        *lines,
        "What queries in each language gained or lost, in points of Acc@1 over all its directions, with a 95 % "
        "interval over the queries.",
        "",
        *([f"**{said}**" for said in sentences.values()] or ["No language is seen to lose."]),
        "",
        *table(GUARD_HEAD, guard_rows(guard)),
        "",
    ]


def _leakage(metrics: Mapping[str, Any]) -> list[str]:
    leakage = metrics.get("leakage")
    if not leakage:
        return []
    return [
        "## Language leakage",
        "",
        f"How well the vectors of {leakage['base']['sentences']:,} held-out sentences tell which of "
        f"{leakage['base']['languages']} languages each is in; at chance they do not.",
        "",
        *table(LEAKAGE_HEAD, leakage_rows(leakage)),
        "",
    ]


def _forgetting(forgetting: Mapping[str, Any] | None) -> list[str]:
    if forgetting is None:
        return []
    fallen = forgetting["flagged"]
    return [
        "## Forgetting",
        "",
        "What the encoder could do before and still can: the rank correlation of cosines with people's similarity "
        "scores, and how often a sentence's translation is its nearest neighbour. 95 % intervals of the difference.",
        "",
        f"**Fell by more than 0.02 or 1 point: {', '.join(fallen)}.**"
        if fallen
        else "Nothing fell by more than 0.02 or 1 point.",
        "",
        *table(FORGETTING_HEAD, forgetting_rows(forgetting)),
        "",
    ]
