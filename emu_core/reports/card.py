"""The model card that a run writes beside its encoder."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from emu_core.api.forgetting import read_forgetting
from emu_core.evaluation.guard import Verdict
from emu_core.evaluation.significance import binomial_interval
from emu_core.files import write_whole
from emu_core.reports import figures_as_text as metric_rows
from emu_core.reports.figures_as_text import named, text_rows
from emu_core.runs.config import RunConfig
from emu_core.runs.data_facts import DataFacts, LabelledFacts, ParallelFacts
from emu_core.runs.run import Run

Facts = Mapping[str, Any]


def write_card(run: Run) -> None:
    """Write the card of a run that has its metrics into its folder. Raises RunError if one of its files is damaged."""
    card = model_card(run.name, run.config(), run.data(), run.metrics(), read_forgetting(run))
    write_whole(run.folder / "README.md", card)


def model_card(
    name: str, config: RunConfig, data: DataFacts, metrics: Facts, forgetting: pd.DataFrame | None = None
) -> str:
    """Return the card in Markdown: what was trained on what, what got better and what got worse.

    `metrics` is the content of the run's metrics.json, and `forgetting` what `read_forgetting` returns.
    """
    if config.encoder:
        sections = [_results(metrics), _guard(metrics), _new_intents(metrics), _leakage(metrics)]
        sections += [_forgetting(forgetting)]
        about, sentence = _specialised(config, data), "Where is the pool?"
    else:
        sections = [_translations(metrics), _eigen(metrics), _warnings(metrics)]
        about, sentence = _from_scratch(config, data), "A dog runs along the beach."
    settings = {**config.hyperparameters, "seed": config.seed, "device": config.device, **config.versions}
    parts = [f"# {_literal(name)}", about, *(part for section in sections for part in section)]
    parts += ["## Settings", _table(("setting", "value"), [(key, str(settings[key])) for key in settings])]
    code = f"""## Use

```python
from emu_core import load_encoder

vectors = load_encoder("run:{name}").encode(["{sentence}"])
```
"""
    return "\n\n".join([*parts, code])


def _specialised(config: RunConfig, data: DataFacts) -> str:
    unlabelled = ", ".join(config.unlabelled_languages)
    if config.hyperparameters.get("adversary", "none") == "none":
        unlabelled = ""
    size = (
        f"{data.labelled:,} labelled sentences of {data.intents} intents"
        if isinstance(data, LabelledFacts)
        else ""
    )
    return (
        f"`{config.encoder}` specialised with the method `{config.method}` on {_literal(data.name)}: {size} in "
        f"{', '.join(config.train_languages)}; "
        f"{f'sentences in {unlabelled} without their labels' if unlabelled else 'no unlabelled sentences were used'}."
    )


def _from_scratch(config: RunConfig, data: DataFacts) -> str:
    texts = data if isinstance(data, ParallelFacts) else ParallelFacts()
    pairs = ", ".join(f"{count:,} of {pair}" for pair, count in texts.pairs.items())
    more = "".join(
        f"; {count:,} {what}"
        for count, what in (
            (texts.dialogues, "comments with responses"),
            (texts.running_text, "sentences of running text"),
            (texts.nli, "NLI pairs"),
        )
        if count
    )
    return (
        f"A sentence encoder for {', '.join(config.languages)}, trained from scratch with the method "
        f"`{config.method}` on {_literal(data.name)}: {pairs} sentence pairs{more}."
    )


# Each of the following yields the parts of a section, which blank lines divide; none where it was not measured.


def _results(metrics: Facts) -> Iterator[str]:
    yield "## Leave-one-out Acc@1"
    if "base" in metrics:
        found = metric_rows.directions(metrics)
        worse = [one["pair"] for one in found if one["gain"] < 0]
        for one in found:
            count = metrics["counts"][one["pair"]]
            one["interval"] = binomial_interval(round(one["new"] * count / 100), count)
        rows = text_rows(
            found, "{pair} | {base:.1f} | {new:.1f} | {gain:+.1f} | {interval.low:.1f} to {interval.high:.1f}"
        )
        yield (
            f"Split {metrics['split']}; the query's own id is left out of the pool. In `s-t` the queries are in s. "
            f"The mean over the {metrics['mean_over']} went from {metrics['mean_base']:.1f} to "
            f"{metrics['mean_specialised']:.1f} %."
        )
        yield f"**Worse than the base in: {', '.join(worse)}.**" if worse else "No direction got worse."
        yield _table(("direction", "base %", "specialised %", "difference", "95 % interval"), rows)
    else:
        yield f"Not measured: {metrics['note']}."
        if "cross_validation" in metrics:
            yield metric_rows.cross_validation_sentence(metrics["cross_validation"])
    yield from _warnings(metrics)


def _warnings(metrics: Facts) -> Iterator[str]:
    if metrics["warnings"]:
        yield "\n".join(f"- {warning}" for warning in metrics["warnings"])


def _guard(metrics: Facts) -> Iterator[str]:
    yield "## Language guard"
    if guard := metrics.get("guard"):
        yield (
            "The gain or loss of the queries in each language, in points of Acc@1 over all its directions, with a 95 % "
            "interval over the queries."
        )
        sentences = metric_rows.guard_sentences(guard).values()
        yield from (f"**{one}**" for one in sentences)
        if not sentences:
            yield "No language is seen to lose."
        yield _table(*metric_rows.guard_table(guard))
    else:
        yield "**Not guarded:** no sentences were held out, so a loss in some language would go unnoticed."


def _new_intents(metrics: Facts) -> Iterator[str]:
    if "new_intents" in metrics:  # not of a method that trains for minutes
        found = metrics["new_intents"]
        sentence = metric_rows.new_intent_sentence(found)
        yield "## New-intent guard"
        yield (
            "Each half of the intents was left out in turn, the method was fitted on the other half, and the labelled "
            "sentences left out were compared with each other in their own language."
        )
        yield f"**{sentence}**" if found is not None and Verdict(found["verdict"]).is_flagged else sentence


def _leakage(metrics: Facts) -> Iterator[str]:
    if leakage := metrics.get("leakage"):
        yield "## Language leakage"
        yield (
            f"How well the vectors of {leakage['base']['sentences']:,} held-out sentences predict which of "
            f"{leakage['base']['languages']} languages each is in; at chance level they carry no language identity."
        )
        yield _table(*metric_rows.leakage_table(leakage))


def _forgetting(forgetting: pd.DataFrame | None) -> Iterator[str]:
    if forgetting is not None:
        fallen = ", ".join(metric_rows.fallen_measures(forgetting))
        yield "## Forgetting"
        yield (
            "Whether the encoder is still as good as its base at other tasks: the rank correlation of cosines with "
            "human similarity scores, and how often a sentence's translation is its nearest neighbour. 95 % intervals "
            "of the difference."
        )
        far = "by more than 0.02 or 1 point"
        yield f"**Fell {far}: {fallen}.**" if fallen else f"Nothing fell {far}."
        yield _table(*metric_rows.forgetting_table(forgetting))
        if where := forgetting.attrs["measured_on"]:
            yield f"Measured on {where}."


def _translations(metrics: Facts) -> Iterator[str]:
    rows = text_rows(
        (found | {"trained": "yes" if found["trained"] else "no"} for found in named(metrics["translation"])),
        "{name} | {p_at_1:.1f} | {low:.1f} to {high:.1f} | {p_at_3:.1f} | {p_at_10:.1f} | {candidates:,} | {trained}",
    )
    head = ("direction", "P@1 %", "95 % interval", "P@3 %", "P@10 %", "among", "trained on such pairs")
    yield "## Translation retrieval"
    yield f"Measured on {metrics['measured_on']}, by cosine among all of them. In `s-t` the queries are in s."
    yield _table(head, rows)


def _eigen(metrics: Facts) -> Iterator[str]:
    if found := metrics["eigen_similarity"]:
        rows = text_rows(named(found), "{name} | {mean:.3f} | {standard_error:.3f} | {variance:.3f}")
        yield "## Eigen-similarity"
        yield "How differently two languages arrange the same sentences (0: alike), over samples of ten pairs."
        yield _table(("pair", "mean", "standard error", "variance between samples"), rows)


def _literal(name: str) -> str:
    """Return an untrusted file name as Markdown without any markup."""
    return re.sub(r"([\\`*\[\]|~!])", r"\\\1", html.escape(" ".join(str(name).split()), quote=False))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
