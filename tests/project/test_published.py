"""The tables of the pages, computed anew from the committed results and the papers' figures."""

import re
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import costs, named, paper_tables
from benchmarks.outcomes import Measured, outcomes_of
from benchmarks.sets import UNTOUCHED
from benchmarks.tables import PAGES, PROTOCOL_ROWS, QUARTERS, difference, figure, tables, written
from emu_core.bench.emu.experiment import OURS, THEIRS
from emu_core.bench.paper import paper_numbers
from emu_core.bench.peers import Peer
from emu_core.data.commands.generate import generate_commands
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

RESULTS = ROOT / "benchmarks" / "results"
SCRATCH = pd.read_csv(RESULTS / "from_scratch.csv", keep_default_na=False)
TRANSFER = pd.read_csv(RESULTS / "transfer.csv", keep_default_na=False)
FMDA = pd.read_csv(RESULTS / "fmda.csv")
DISCRIMINATOR = pd.read_csv(RESULTS / "discriminator.csv")


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def cell_of(table: pd.DataFrame, system: str, on: str, measure: str, where: str) -> "pd.Series[float] | None":
    of = {"system": system, "trained_on": on, "measure": measure, "where": where}
    rows = table[np.logical_and.reduce([table[name] == value for name, value in of.items()])]
    return None if rows.empty else rows.iloc[0]


def percent(table: pd.DataFrame, system: str, on: str, measure: str, *wheres: str) -> str:
    """Right answers, in percent, of one or both directions; empty where nothing was measured."""
    found = [cell_of(table, system, on, measure, where) for where in wheres]
    return " / ".join(
        f"{100 * float(one['value']) / float(one['of']):.1f}" for one in found if one is not None
    )


def from_scratch_table() -> list[str]:
    """Encoders trained from scratch: translation retrieval, similarity across languages, time."""
    systems = {
        "sum-of-words": "sum of word vectors, in-batch ranking",
        "dual-encoder": "dual encoder",
        "dual-encoder-without-layers": "dual encoder without its transformer layer",
        "bicvm": "BiCVM, one pair",
        "bicvm+": "BiCVM+, en-de and en-fr",
    }
    lines = []
    for name, label in systems.items():
        system, both = name.removesuffix("+"), name == "bicvm+"
        cells, alike = [], []
        for on in ("en-de", "en-fr"):
            trained_on = "en-de en-fr" if both else on
            source, target = on.split("-")
            cells.append(percent(SCRATCH, system, trained_on, "right", on, f"{target}-{source}"))
            score = cell_of(SCRATCH, system, trained_on, "pearson", on)
            alike += [] if score is None else [f"{100 * float(score['value']):.1f}"]
        cells.append(percent(SCRATCH, system, "en-de en-fr", "right", "de-fr", "fr-de") if both else "")
        cpu = cell_of(SCRATCH, system, "en-de en-fr" if both else "en-de", "cpu_seconds", "")
        assert cpu is not None
        cells += [", ".join(alike), f"{float(cpu['value']):.0f}"]
        lines.append(re.sub(" +", " ", f"| {label} | {' | '.join(cells)} |"))
    return lines


TRAINED = {
    "use": "`use`",
    "sum-of-words": "sum of word vectors",
    "translation": "translation ranking",
    "translation-nli": "translation and NLI at weight 0.1 (default)",
    "translation-nli-1": "translation and NLI at weight 1, as in the paper",
}


def transfer_table() -> list[str]:
    """A classifier on frozen vectors, and similarity."""
    lines = [
        "| majority class | "
        + " | ".join(percent(TRANSFER, "use", "", "majority", name) for name in ("sib", "home", "demo"))
        + " | |"
    ]
    for system, label in TRAINED.items():
        score = cell_of(TRANSFER, system, "", "pearson", "stsb")
        right = [percent(TRANSFER, system, "", "right", name) for name in ("sib", "home", "demo")]
        alike = "" if score is None else f" {float(score['value']):.3f}"
        lines.append(f"| {label} | {' | '.join(right)} |{alike} |")
    return lines


def inference_table() -> list[str]:
    """The head of inference pairs in the language that it learnt, and in the other one."""
    systems = [name for name in TRAINED if "nli" in name]
    largest = [percent(TRANSFER, systems[0], "", "nli_majority", code) for code in ("en", "de")]
    lines = [f"| majority class | {' | '.join(largest)} |"]
    for name in systems:
        lines.append(
            f"| {TRAINED[name]} | {' | '.join(percent(TRANSFER, name, '', 'nli', code) for code in ('en', 'de'))} |"
        )
    return lines


def discriminator_table() -> list[str]:
    """Emu with and without its discriminator: other languages against English, the probe, and right intents."""
    measures = ["other_languages", "probe", "right_intents"]
    wide = DISCRIMINATOR.pivot(index=["condition", "seed"], columns="discriminator", values=measures)
    lines = []
    for condition in DISCRIMINATOR["condition"].unique():
        of = wide.loc[condition]
        means = of.mean()
        change = of["other_languages"][True] - of["other_languages"][False]
        cells = [f"{means['other_languages', has_it]:.1f}" for has_it in (False, True)] + [
            f"{change.mean():+.1f} ({change.min():+.1f} to {change.max():+.1f})"
        ]
        for measure in ("probe", "right_intents"):  # the latter of some conditions alone
            values = [means[measure, has_it] for has_it in (False, True)]
            cells += ["" if pd.isna(value) else f"{value:.1f}" for value in values]
        lines.append(f"| {condition} | {' | '.join(cells)} |")
    return lines


def new_templates_table() -> list[str]:
    """FMDA on all queries, and on those whose template no system was given."""
    labels = {
        ("base", "cls"): "[CLS]",
        ("base", "mean"): "mean pooling",
        ("baseline", "meaning"): "baseline, meaning",
        ("fmda", "meaning"): "FMDA, meaning",
        ("fmda", "template"): "FMDA, template",
        ("fmda", "residual"): "FMDA, residual",
        ("fmda-two-stage", "template"): "two-stage, template",
        ("fmda-two-stage", "meaning"): "two-stage, meaning",
    }
    percent = (100 * FMDA["right"] / FMDA["queries"]).set_axis(pd.MultiIndex.from_frame(FMDA.iloc[:, :4]))
    columns = [
        (f"{measure}{of}", where)
        for measure, where in (("translation", ("en-de", "de-en")), ("template", ("en", "de")))
        for of in ("", " new")
    ]
    lines = []
    for place, label in labels.items():
        cells = [
            " / ".join(f"{percent[(*place, name, one)]:.1f}" for one in where) for name, where in columns
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def emus_paper() -> list[str]:
    """Means over the directions of the paper's Table 2."""
    labels = {
        "base": "LASER, not fine-tuned",
        "emu-without-ld": "Emu without the discriminator",
        "emu": "Emu",
    }
    lines = []
    for name, label in labels.items():
        sets = [one[name]["accuracy"] for one in paper_numbers("emu")["table2"]["datasets"].values()]
        lines.append(f"| {label} | {' | '.join(f'{np.mean(one):.1f}' for one in sets)} |")
    return lines


def fmdas_paper() -> list[str]:
    """The paper's Tables 2 and 3, and two stages of its Table 5."""
    tables = {name: paper_numbers("fmda")[name] for name in ("table2", "table3", "table5")}

    def figures(row: str, columns: tuple[str, ...]) -> str:
        for table in tables.values():
            if row in table["rows"] and set(columns) <= set(table["columns"]):
                at = [table["columns"].index(name) for name in columns]
                return " / ".join(f"{100 * table['rows'][row][place]:.1f}" for place in at)
        return ""

    labels = {
        "base cls": "XLM-R's [CLS]",
        "baseline meaning": "baseline, meaning",
        "fmda meaning": "FMDA, meaning",
        "fmda template": "FMDA, template",
        "fmda residual": "FMDA, residual",
        "fmda-two-stage template": "two-stage, template",
        "fmda-two-stage meaning": "two-stage, meaning",
    }
    columns = ("en-de", "de-en"), ("en-es", "es-en"), ("en (en-de)", "de (en-de)")
    return [
        re.sub(" +", " ", f"| {label} | {' | '.join(figures(row, one) for one in columns)} |")
        for row, label in labels.items()
    ]


@cache
def computed() -> dict[str, list[str]]:
    """Every table of the evidence page and the archive, computed when a test asks for one."""
    return {
        **{name: lines for name, lines in tables().items() if name != "commands"},
        "discriminator": discriminator_table(),
        "from scratch": from_scratch_table(),
        "transfer": transfer_table(),
        "inference": inference_table(),
        "new templates": new_templates_table(),
        "Emu's paper": emus_paper(),
        "FMDA's paper": fmdas_paper(),
    }


FIGURE = re.compile(r"\d\.\d")


def test_the_tables_of_evidence_papers_reviewer_and_archive_are_those_of_the_results() -> None:
    pages = "".join(
        map(page, ("docs/evidence.md", "docs/papers.md", "docs/reviewer.md", "benchmarks/ARCHIVE.md"))
    )
    assert len(computed()) > 7 and all(computed().values())
    assert not [name for name, lines in computed().items() if "\n".join(lines) not in pages]


def test_every_table_of_figures_on_the_evidence_page_is_computed_here() -> None:
    known = {line for lines in computed().values() for line in lines}
    figures = [
        line for line in page("docs/evidence.md").splitlines() if line[:1] == "|" and FIGURE.search(line)
    ]
    assert figures and not [line for line in figures if line not in known]


def test_the_evidence_page_can_be_read_in_one_go() -> None:
    assert len(page("docs/evidence.md")) <= 26_000


@pytest.mark.parametrize("table", [SCRATCH, TRANSFER], ids=["from scratch", "transfer"])
def test_shares_are_of_what_was_asked(table: pd.DataFrame) -> None:
    counts = table[~table["measure"].isin(["pearson", "cpu_seconds"])]
    assert len(counts) and (counts["value"].astype(float) <= counts["of"].astype(float)).all()
    assert counts["value"].astype(float).mod(1).eq(0).all()
    assert table[table["measure"] == "pearson"]["value"].astype(float).between(-1, 1).all()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_has_the_tables_of_the_results(path: Path) -> None:
    text = path.read_text("utf-8")
    named = re.findall("<!-- table: (.+) -->", text)
    assert written(text) == text and named
    assert not [name for name in named if "\n".join({**computed(), **tables()}[name]) not in text]


def test_the_five_sentences_quote_the_tables() -> None:
    beginning = page("README.md").split("## Results")[1].split("![Right")[1].split("## Learn more")[0]
    assert [line[:2] for line in beginning.splitlines() if re.match(r"\d\.", line)] == [
        "1.",
        "2.",
        "3.",
        "4.",
        "5.",
    ]
    known = set(re.findall(r"\d+\.\d", "\n".join(line for lines in tables().values() for line in lines)))
    figures = set(re.findall(r"\d+\.\d", beginning))
    assert len(figures) > 7 and figures <= known


def raw(data: str) -> dict[str, np.ndarray]:
    """The arrays of an outcome file, read without the code that wrote it."""
    with np.load(RESULTS / "outcomes" / f"{data}.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


def accuracy_of(data: str, part: str, encoder: str, system: str) -> float:
    """The mean over directions of the share of right answers, from the bits."""
    arrays = raw(data)
    prefix = f"right|{part}|{encoder}|{system}|0||nearest|"
    (name,) = [name for name in arrays if name.startswith(prefix)]
    ways = name.removeprefix(prefix).split()
    lengths = [len(arrays[f"sentences|{part}|{way.split('-')[0]}"]) for way in ways]
    bits = "".join(f"{byte:08b}" for byte in arrays[name])
    shares, start = [], 0
    for length in lengths:
        shares.append(bits[start : start + length].count("1") / length)
        start += length
    return 100 * sum(shares) / len(shares)


def test_figures_of_the_pages_are_the_means_of_the_bits() -> None:
    evidence = page("docs/evidence.md") + page("benchmarks/ARCHIVE.md")
    by_encoder = {encoder: accuracy_of("sib", "dev", encoder, "head") for encoder in ("use", "e5-small")}
    for encoder, expected in by_encoder.items():
        row = next(line for line in computed()["sets"] if f"`{encoder}`" in line and line in evidence)
        assert row.startswith("| ")
        assert f"{expected:.1f}" in next(
            line for line in computed()[f"peers {encoder}"] if line.startswith("| `head`")
        )
    quarters = [accuracy_of("sib", f"quarter {number}", "use", "head") for number in range(4)]
    protocol = next(
        line for line in computed()["protocol"] if line.startswith("| SIB-200 (en de") and "quarters" in line
    )
    assert protocol in evidence and protocol.split("|")[4].strip().strip("*") == f"{sum(quarters) / 4:.1f}"


@pytest.mark.parametrize("data", ["demo", "sib"])
def test_few_shot_figures_are_means_over_ten_draws_of_the_better_rate(data: str) -> None:
    draws = pd.read_csv(RESULTS / "few_shot.csv", keep_default_na=False).query(
        "data == @data and system == 'peer.setfit' and labels == 8"
    )
    rates = [of["accuracy"].to_numpy() for _, of in draws.groupby("rate")]
    assert [len(values) for values in rates] == [10, 10]
    best = max(rates, key=np.mean)
    half = 2.2622 * np.sqrt(
        ((best - best.mean()) ** 2).sum() / 9 / 10
    )  # Student's t with nine degrees of freedom
    [line] = [line for line in tables()[f"few-shot curve {data}"] if line.startswith("| SetFit |")]
    assert line.endswith(f"| {best.mean():.1f} ±{half:.1f} |")


@pytest.mark.parametrize("data", ["demo", "sib"])
def test_draws_of_eight_labels_are_those_of_the_benchmark(data: str) -> None:
    """The outcomes were measured apart from the curve, by other code around the same trainings."""
    draws = pd.read_csv(RESULTS / "few_shot.csv", keep_default_na=False).query(
        "data == @data and labels == 8"
    )
    outcomes, compared = outcomes_of(data), set()
    for row in draws.itertuples():
        system = str(row.system).removeprefix("peer.")
        measured = Measured(f"8 labels {row.draw}", "use", system, 0, str(row.rate))
        [accuracy] = outcomes.accuracies(measured, [measured.part])
        assert accuracy == pytest.approx(row.accuracy, abs=1e-4), measured
        compared.add(system)
    assert compared >= {"emu", "head", "logistic-regression", "setfit", "st-multiple-negatives"}


def test_an_interval_of_the_protocol_is_that_of_a_bootstrap_over_sentences() -> None:
    """Recomputed with other random numbers and other code: the ends agree within the noise of the draws."""
    where = next(where for where in PROTOCOL_ROWS if (where.data, where.parts) == ("sib", QUARTERS))
    base, ours = (figure(where, "use", system) for system in ("base", "head"))
    assert base is not None and ours is not None
    stated = difference(where, ours, base)
    assert stated is not None
    outcomes, rng = outcomes_of("sib"), np.random.default_rng(7)
    right = {
        (system, part): outcomes.right(Measured(part, "use", system))
        for system in ("base", "head")
        for part in where.names
    }
    sentences = np.unique(np.concatenate([outcomes.sentences[part, "en"] for part in where.names]))
    means = []
    for _ in range(300):
        drawn = np.bincount(rng.choice(sentences, len(sentences)), minlength=sentences.max() + 1)
        gains = []
        for part in where.names:
            for way in right["base", part]:
                weights = drawn[outcomes.sentences[part, way[:2]]]
                gain = right["head", part][way].astype(int) - right["base", part][way]
                gains.append((weights * gain).sum() / weights.sum())
        means.append(100 * np.mean(gains))
    low, high = np.quantile(means, [0.025, 0.975])
    assert stated.low == pytest.approx(low, abs=0.7) and stated.high == pytest.approx(high, abs=0.7)


def test_translations_have_one_number_and_trained_systems_their_rate() -> None:
    outcomes = outcomes_of("sib")
    numbers = {code: outcomes.sentences["dev", code].tolist() for code in ("en", "de", "zh")}
    assert sorted(numbers["de"]) == sorted(numbers["en"]) == sorted(numbers["zh"])
    for name in ("sib", "demo", "home"):
        for measured in outcomes_of(name).bits:
            is_tuned_peer = measured.system in set(Peer) and not Peer(measured.system).is_frozen
            assert (measured.rate in (THEIRS, OURS)) == is_tuned_peer


def right_by_part(data: str, encoder: str, count: str, system: str) -> dict[str, dict[str, np.ndarray]]:
    """Whether each sentence is named right, by part and language, read without the code that wrote it."""
    arrays, found = raw(data), dict[str, dict[str, np.ndarray]]()
    for name, bits in arrays.items():
        kind, part, *rest = name.split("|")
        if kind == "right" and part.startswith(f"named {count} ") and rest[:2] == [encoder, system]:
            codes = rest[-1].split()
            lengths = [len(arrays[f"sentences|{part}|{code}"]) for code in codes]
            ends = np.cumsum(lengths)
            answers = np.unpackbits(bits, count=int(ends[-1]))
            found[part] = dict(zip(codes, np.split(answers, ends[:-1]), strict=True))
    return found


@pytest.mark.parametrize(("data", "draws"), [("xsid", 5), ("clinc150", 3)])
def test_right_intents_of_the_readme_are_means_of_the_bits(data: str, draws: int) -> None:
    found = right_by_part(data, "use", "1", named.ADAPTED)
    assert len(found) == draws
    mean = 100 * np.mean([[right.mean() for right in by_code.values()] for by_code in found.values()])
    [line] = [line for line in tables()["named"] if line.startswith(f"| {named.SETS[data]} ")]
    assert line.split("|")[4].strip() == f"{mean:.1f}"


def test_an_interval_of_the_readme_draws_sentences_and_labels() -> None:
    """Recomputed with other random numbers and other code, on the lead with one label."""
    ours, other = (right_by_part("faq", "use", "1", system) for system in (named.OURS, "regression"))
    arrays, rng, means = raw("faq"), np.random.default_rng(7), []
    numbers = {
        (part, code): arrays[f"sentences|{part}|{code}"] for part, by_code in ours.items() for code in by_code
    }
    sentences = np.unique(np.concatenate(list(numbers.values())))
    for _ in range(400):
        drawn = np.bincount(rng.choice(sentences, len(sentences)), minlength=sentences.max() + 1)
        leads = []
        for part in rng.choice(list(ours), len(ours)).tolist():
            by_code = []
            for code, right in ours[part].items():
                weights = drawn[numbers[part, code]]
                by_code.append(np.average(right.astype(int) - other[part][code], weights=weights))
            leads.append(np.mean(by_code))
        means.append(100 * np.mean(leads))
    one, best = (named.named("faq", "use", "1", system) for system in (named.OURS, "regression"))
    assert one is not None and best is not None
    assert named.interval(one, best).ends() == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.8)


def test_what_trains_an_encoder_is_asked_the_sentences_of_labelled_intents() -> None:
    """Of xSID, a few sentences have an intent that no English label has."""
    [one, *_] = named.trained("xsid", ["use"])
    asked = {code: len(right) for code, right in one.answers[0].items()}
    whole = {
        key.split("|")[2]: len(of) for key, of in raw("xsid").items() if key.startswith("sentences|all|")
    }
    assert set(asked) == set(whole) and sum(asked.values()) < sum(whole.values())
    ours = named.named("xsid", "use", "all", named.OURS)
    assert ours is not None and {code: len(of) for code, of in ours.answers[0].items()} == asked


def test_what_the_figure_of_costs_shows_was_measured() -> None:
    """Its accuracies are those of the bits, and no training has a time without answers."""
    seconds = pd.read_csv(RESULTS / "training_seconds.csv", keep_default_na=False)
    for row in seconds.itertuples():
        measured = Measured(row.part, row.encoder, row.system, row.seed, row.rate)
        assert measured in outcomes_of(row.set).bits
    for data in UNTOUCHED:
        shown = {(one.encoder, one.system): one.right for one in costs.frozen_costs(data)}
        assert len(shown) == 8
        for (encoder, system), right in shown.items():
            [by_code] = right_by_part(data, encoder, "all", system).values()
            assert right == pytest.approx(100 * np.mean([of.mean() for of in by_code.values()]), abs=0.01)
        assert {one.system for one in costs.trained_costs(data)} >= {"emu", "setfit", "st-softmax"}


def test_the_leads_on_the_mean_of_the_sets_are_those_of_the_outcomes() -> None:
    text = " ".join((ROOT / "docs" / "evidence.md").read_text("utf-8").split())
    [found] = re.findall(r"the nearest other system is (.+?) points behind .+?, and (.+?) with both\.", text)
    for encoder, said in zip(named.ENCODERS, found, strict=True):
        leads = [f"{named.least_lead(encoder, count):.1f}" for count in named.COUNTS]
        assert said == f"{', '.join(leads[:-1])} and {leads[-1]}"
    [found] = re.findall(r"without adapting, ([^`]+?) with `use` and ([^`]+?) with both\.", text)
    for encoder, said in zip(named.ENCODERS, found, strict=True):
        leads = [f"{named.least_lead(encoder, count, adapts=False):.1f}" for count in named.COUNTS[1:]]
        assert said == ", ".join(leads)


def test_a_lead_on_the_mean_is_over_the_sets_on_which_the_other_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(name: str, right: int) -> named.Asked:
        return named.Asked(name, ({"de": np.repeat([1.0, 0.0], [right, 10 - right])},), ())

    given = {
        "one": [asked("a", 5), asked("SetFit on `use`", 2), asked("SetFit, its own budget", 4)],
        "two": [asked("a", 3), asked("a", 6)],  # by two rates
    }
    monkeypatch.setattr(named, "SETS", dict.fromkeys(given, ""))
    monkeypatch.setattr(named, "named", lambda *_: asked("ours", 7))  # with `ours`, too
    monkeypatch.setattr(named, "others", lambda data, *_: given[data])
    assert named.least_lead("use", "8") == pytest.approx(15)  # of a: 70 - 50 and 70 - 60; of SetFit 30


OF_EMU = (named.OURS, named.ADAPTED)


def test_the_best_other_with_few_labels_is_the_best_of_all_that_was_measured() -> None:
    """As a classifier or by the nearest sentence, at either learning rate; not what was measured on some draws."""
    by_system = dict[tuple[str, ...], list[float]]()
    for name, bits in raw("faq").items():
        kind, part, *rest = name.split("|")
        if kind == "right" and part.startswith("named 8 ") and rest[0] == "use" and rest[1] not in OF_EMU:
            lengths = [len(raw("faq")[f"sentences|{part}|{way.split('-')[0]}"]) for way in rest[-1].split()]
            ends = np.cumsum(lengths)
            ways = np.split(np.unpackbits(bits, count=int(ends[-1])), ends[:-1])
            by_system.setdefault((rest[1], *rest[3:5]), []).append(
                100 * np.mean([way.mean() for way in ways])
            )
    assert {system for system, *_ in by_system} >= {"regression", "setfit", "st-multiple-negatives"}
    best = named.best_other("faq", "use", "8")
    assert best is not None
    assert best.mean == pytest.approx(max(np.mean(of) for of in by_system.values() if len(of) == 5))


def test_what_the_page_says_of_the_weights_of_equation_5_was_measured() -> None:
    table = pd.read_csv(RESULTS / "fmda_weights.csv").set_index(["system", "part", "measure", "where"])
    shares = (100 * table["right"] / table["queries"]).round(1)
    text = " ".join(page("docs/evidence.md").split())
    for system, part, measure, ways in (
        ("fmda-eq-5", "template", "template", ("en", "de")),
        ("fmda", "template", "template", ("en", "de")),
        ("base", "mean", "template", ("en", "de")),
        ("fmda-eq-5", "meaning", "translation", ("en-de", "de-en")),
        ("fmda", "meaning", "translation", ("en-de", "de-en")),
    ):
        assert " and ".join(str(shares[system, part, measure, way]) for way in ways) in text


def test_what_the_page_says_of_the_papers_tables_was_measured() -> None:
    table = pd.read_csv(RESULTS / "paper_tables.csv", keep_default_na=False)
    right = {(row.cell, row.where): row.total for row in table.itertuples() if row.measure == "correct"}
    assert set(table[table["measure"] == "correct"]["count"]) == {99}  # sentences of a language

    def gain(languages: str, way: str) -> float:
        return 100 * (right[f"emu-without-ld.{languages}.s0", way] / right["base.s0", way] - 1)

    text = page("docs/papers.md")
    assert f"| fr | {gain('en', 'fr-en'):+.0f} (+12) |" in text  # the first of its row in Table 4
    assert f"| en + de + fr | {gain('en+de+fr', 'en-en'):+.0f} (+41) |" in text
    ways = ["-".join(way) for way in product(("en", "de", "fr"), repeat=2)]
    mean = {
        languages: np.mean([gain(languages, way) for way in ways])
        for languages in ("en", "de", "fr", "en+de", "en+fr", "de+fr", "en+de+fr")
    }
    for pair in ("en+de", "en+fr", "de+fr"):
        assert max(mean[language] for language in pair.split("+")) < mean[pair] < mean["en+de+fr"]
    assert min(gain("en", f"{asked}-{pool}") for asked, pool in product(paper_tables.LANGUAGES, repeat=2)) > 0
    shares = {
        (row.cell, row.measure, row.part, row.where): 100 * row.total / row.count
        for row in table[table["bench"] == "fmda"].itertuples(index=False)
    }
    assert f"| [CLS] | {shares['base.s0', 'precision', 'cls', 'en']:.0f} (37) |" in text
    for way in ("en-de", "de-en"):
        lost = {
            loss: shares["fmda.en-de.s0", "translation", "meaning", way]
            - shares[f"fmda-without-{loss}.en-de.s0", "translation", "meaning", way]
            for loss in ("utterance", "template", "residual", "contrast")
        }
        assert lost.pop("utterance") > 60 and max(lost.values()) <= 2
    for language in ("en", "de"):
        order = [("base", "mean"), ("fmda.en-de", "template"), ("base", "cls"), ("fmda.en-de", "meaning")]
        found = [shares[f"{cell}.s0", "precision", part, language] for cell, part in order]
        assert found == sorted(found, reverse=True)


def of_several_pairs() -> dict[tuple[str, str, str, str], tuple[float, int]]:
    """The right answers and their number, by cell, measure, embedding and direction or language."""
    table = pd.read_csv(RESULTS / "paper_tables.csv", keep_default_na=False)
    return {
        (row.cell.removesuffix(".s0"), row.measure, row.part, row.where): (row.total, row.count)
        for row in table[table["bench"] == paper_tables.SEVERAL].itertuples(index=False)
    }


def test_what_the_page_says_of_one_model_for_several_pairs_was_measured() -> None:
    counts, lines = of_several_pairs(), tables()["several pairs"]
    shares = {key: 100 * right / of for key, (right, of) in counts.items()}
    assert {of for (_, measure, *_), (_, of) in counts.items() if measure == "translation"} == {271}
    whole, codes = "fmda.en-de+en-es+en-ru", ("de", "es", "ru")
    for code, said in zip(codes, ((57, 60, 57), (60, 65, 62), (36, 38, 40)), strict=True):
        systems = (f"baseline.en-{code}", f"fmda.en-{code}", whole)
        baseline, one, several = (shares[of, "translation", "meaning", f"{code}-en"] for of in systems)
        cells = " | ".join(
            f"{ours:.0f} ({of})" for ours, of in zip((baseline, one, several), said, strict=True)
        )
        assert [line for line in lines if line.startswith(f"| {code}-en ") and line.endswith(f"| {cells} |")]
        assert 2 <= round(one - several) <= 4 and several < baseline
    single = {code: shares[f"fmda.en-{code}", "template", "template", code] for code in codes}
    single["en"] = np.mean([shares[f"fmda.en-{code}", "template", "template", "en"] for code in codes])
    for code, one in single.items():
        several = shares[whole, "template", "template", code]
        assert 6 <= round(several - one) <= 11 and several < shares["base", "template", "mean", code]
        assert [line for line in lines if line.startswith(f"| {code} ") and f"| {one:.0f} (" in line]


def test_cases_are_test_commands_in_their_order_and_as_many_as_the_accuracies_differ_by() -> None:
    """The commands are generated anew."""
    commands = generate_commands(["en", "de", "es", "ru"], 3000, seed=0).frame
    commands = commands[commands["split"] == "test"]
    texts = {code: of.set_index("id")["text"] for code, of in commands.groupby("language")}
    place = {text: number for number, text in enumerate(texts["en"])}
    german = {english: texts["de"][key] for key, english in texts["en"].items()}
    cases = pd.read_csv(RESULTS / "fmda_cases.csv")
    for _, of in cases.groupby(["table", "right"], sort=False):
        places = [place[query] for query in of["query"]]
        assert places == sorted(set(places)) and len(places) == min(paper_tables.CASES, of["of"].iloc[0])
    for row in cases.itertuples():
        for which, text, english in (
            ("meaning", row.meaning, row.meaning_english),
            ("other", row.other, row.other_english),
        ):
            assert german[english] == text
            assert (text == german[row.query]) == (row.right == which)
    counts = of_several_pairs()
    for table, (system, part) in paper_tables.OTHERS.items():
        ours, other = (
            counts[f"{name}.en-de", "translation", of, "en-de"][0]
            for name, of in (("fmda", "meaning"), (system, part))
        )
        by_way = cases[cases["table"] == int(table)].groupby("right")["of"].first()
        assert by_way["meaning"] - by_way["other"] == ours - other
