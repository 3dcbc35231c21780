"""The model card that a run leaves with its encoder, and the card that it shows in a notebook."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emu_core.charts.curves import small_curves
from emu_core.charts.markup import block, cards, escaped, html_table, new_intent_verdict, paragraph
from emu_core.evaluation.guard import Verdict
from emu_core.evaluation.metric_rows import (
    FORGETTING_HEAD,
    GUARD_HEAD,
    LEAKAGE_HEAD,
    TextTable,
    cross_validation_sentence,
    forgetting_rows,
    guard_rows,
    guard_sentences,
    leakage_rows,
    new_intent_sentence,
)
from emu_core.evaluation.significance import binomial_interval
from emu_core.runs.config import RunConfig

Facts = Mapping[str, Any]


def model_card(
    name: str, config: RunConfig, data: Facts, metrics: Facts, forgetting: Facts | None = None
) -> str:
    """Return the card in Markdown: what was trained on what, what got better and what got worse.

    Args:
        name: the run's name.
        config: config.json.
        data: data.json.
        metrics: metrics.json.
        forgetting: forgetting.json, where `emu forgetting` was run.
    """
    if config.encoder:
        body = [
            _specialised(config, data),
            "",
            *_results(metrics),
            *_guard(metrics),
            *_new_intents(metrics),
            *_leakage(metrics),
            *_forgetting(forgetting),
        ]
    else:
        body = [
            _from_scratch(config, data),
            "",
            *_translations(metrics),
            *_eigen(metrics),
            *_warnings(metrics),
        ]
    sentence = "Where is the pool?" if config.encoder else "A dog runs along the beach."
    return "\n".join([f"# {_literal(name)}", "", *body, *_settings(config), *_use(name, sentence)])


def html_card(
    name: str, config: RunConfig, metrics: Facts, history: Sequence[dict[str, Any]], unfinished: str
) -> str:
    """Return a run as HTML for a notebook: what it is, what came of it, its guards and its curves.

    Args:
        name: the run's name.
        config: config.json.
        metrics: metrics.json.
        history: its log so far.
        unfinished: how far it is; "" where it is finished.
    """
    what = f"{config.method} on {config.data}" + (f", from {config.encoder}" if config.encoder else "")
    parts = [f"<h3>{escaped(name)}</h3>", paragraph(what, "note")]
    if unfinished:
        parts.append(paragraph(unfinished, "worse"))
    return block([*parts, *_figures(metrics), small_curves(history)])


def _figures(metrics: Facts) -> Iterator[str]:
    if "mean_base" in metrics:
        yield cards(
            [
                ("Base encoder", f"{metrics['mean_base']:.1f} %", f"mean of {metrics['mean_over']}"),
                (
                    "Specialised",
                    f"{metrics['mean_specialised']:.1f} %",
                    f"{metrics['mean_specialised'] - metrics['mean_base']:+.1f} points",
                ),
            ]
        )
    elif note := metrics.get("note"):
        yield paragraph(note, "note")
        if "cross_validation" in metrics:
            yield paragraph(cross_validation_sentence(metrics["cross_validation"]))
    if guard := metrics.get("guard"):
        sentences = guard_sentences(guard).values()
        yield from (paragraph(one, "worse") for one in sentences)
        if not sentences:
            yield paragraph("No language is seen to lose.", "better")
        yield html_table(TextTable(GUARD_HEAD, guard_rows(guard)))
    if "new_intents" in metrics:
        yield new_intent_verdict(metrics["new_intents"])
    yield from (paragraph(warning, "worse") for warning in metrics.get("warnings", ()))
    if translation := metrics.get("translation"):
        rows = [
            (way, f"{found['p_at_1']:.1f}", f"{found['candidates']:,}") for way, found in translation.items()
        ]
        yield html_table(TextTable(("direction", "P@1 %", "among"), rows))


def _specialised(config: RunConfig, data: Facts) -> str:
    return (
        f"`{config.encoder}` specialised with the method `{config.method}` on {_literal(data['name'])}: "
        f"{data['labelled']:,} labelled sentences of {data['intents']} intents in "
        f"{', '.join(config.train_languages)}; {_unlabelled(config)}."
    )


def _unlabelled(config: RunConfig) -> str:
    languages = config.unlabelled_languages
    if not languages or config.hyperparameters.get("adversary", "none") == "none":
        return "no unlabelled sentences were used"
    return f"sentences in {', '.join(languages)} without their labels"


def _from_scratch(config: RunConfig, data: Facts) -> str:
    pairs = ", ".join(f"{count:,} of {pair}" for pair, count in data["pairs"].items())
    more = "".join(
        f"; {data[kind]:,} {what}"
        for kind, what in (
            ("dialogues", "comments with responses"),
            ("running_text", "sentences of running text"),
            ("nli", "NLI pairs"),
        )
        if data[kind]
    )
    return (
        f"A sentence encoder for {', '.join(config.languages)}, trained from scratch with the method "
        f"`{config.method}` on {_literal(data['name'])}: {pairs} sentence pairs{more}."
    )


def _results(metrics: Facts) -> list[str]:
    lines = ["## Leave-one-out Acc@1", ""]
    if "base" not in metrics:
        lines += [f"Not measured: {metrics['note']}.", ""]
        if "cross_validation" in metrics:
            lines += [cross_validation_sentence(metrics["cross_validation"]), ""]
        return [*lines, *_warnings(metrics)]
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


def _warnings(metrics: Facts) -> list[str]:
    return [*(f"- {warning}" for warning in metrics["warnings"]), ""] if metrics["warnings"] else []


def _guard(metrics: Facts) -> list[str]:
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
        *([f"**{sentence}**" for sentence in sentences.values()] or ["No language is seen to lose."]),
        "",
        *_table(GUARD_HEAD, guard_rows(guard)),
        "",
    ]


def _new_intents(metrics: Facts) -> list[str]:
    if "new_intents" not in metrics:  # of a method that trains for minutes, and of earlier runs
        return []
    sentence = new_intent_sentence(metrics["new_intents"])
    flagged = metrics["new_intents"] is not None and Verdict(metrics["new_intents"]["verdict"]).is_flagged
    return [
        "## New-intent guard",
        "",
        "Half of the intents were left out in turn, the method was fitted on the others, and labelled sentences of "
        "those left out were compared with each other in their own language.",
        "",
        f"**{sentence}**" if flagged else sentence,
        "",
    ]


def _leakage(metrics: Facts) -> list[str]:
    leakage = metrics.get("leakage")
    if not leakage:
        return []
    return [
        "## Language leakage",
        "",
        f"How well the vectors of {leakage['base']['sentences']:,} held-out sentences tell which of "
        f"{leakage['base']['languages']} languages each is in; at chance they do not.",
        "",
        *_table(LEAKAGE_HEAD, leakage_rows(leakage)),
        "",
    ]


def _forgetting(forgetting: Facts | None) -> list[str]:
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
        *_table(FORGETTING_HEAD, forgetting_rows(forgetting)),
        "",
        *([f"Measured on {where}.", ""] if (where := forgetting.get("measured_on")) else []),
    ]


def _translations(metrics: Facts) -> list[str]:
    return [
        "## Translation retrieval",
        "",
        f"Measured on {metrics['measured_on']}, by cosine among all of them. In `s-t` the queries are in s.",
        "",
        *_table(
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
    ]


def _eigen(metrics: Facts) -> list[str]:
    found = metrics["eigen_similarity"]
    if not found:
        return []
    return [
        "## Eigen-similarity",
        "",
        "How differently two languages arrange the same sentences (0: alike), over samples of ten pairs.",
        "",
        *_table(
            ("pair", "mean", "standard error", "variance between samples"),
            [
                (pair, f"{one['mean']:.3f}", f"{one['standard_error']:.3f}", f"{one['variance']:.3f}")
                for pair, one in found.items()
            ],
        ),
        "",
    ]


def _settings(config: RunConfig) -> list[str]:
    rows = [
        *config.hyperparameters.items(),
        ("seed", config.seed),
        ("device", config.device),
        *config.versions.items(),
    ]
    return ["## Settings", "", *_table(("setting", "value"), [(key, str(value)) for key, value in rows]), ""]


def _use(name: str, sentence: str) -> list[str]:
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


def _literal(name: str) -> str:
    """Return a file's name as Markdown that shows it and does nothing: it may be anybody's."""
    return re.sub(r"([\\`*\[\]|~!])", r"\\\1", html.escape(" ".join(str(name).split()), quote=False))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
