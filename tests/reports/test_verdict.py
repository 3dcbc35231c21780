"""The verdict: its words for figures of every kind, and that every face has the same figures, languages and words."""

import argparse
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emu_core.cli.compare import print_comparison
from emu_core.cli.train import next_steps, reported
from emu_core.data.languages import language_name
from emu_core.evaluation.changes import Changes, LeftOut, PairedChange
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.prediction import BeforeAndAfter, RightIntents, Share
from emu_core.evaluation.run_metrics import Metrics, RankingMetrics
from emu_core.notebook.comparison import RunComparison
from emu_core.reports.card import model_card
from emu_core.reports.cells import comparison_cell, run_cell
from emu_core.reports.comparison_page import comparison_page
from emu_core.reports.verdict import (
    RIGHT_INTENTS,
    SIMILAR_SENTENCES,
    RunVerdict,
    changes_table,
    comparison_verdict,
    run_verdict,
)
from emu_core.reports.views import comparison_records
from emu_core.runs.run import RunState, Status
from tests.support.fake_runs import past
from tests.support.verdicts import CONFIG, FACTS, KINDS, LANGUAGES, case, of_many_languages


def change(before: float, after: float, queries: int = 1_000, *, clear: bool = True) -> PairedChange:
    width = abs(after - before) / 2 if clear else 2 * abs(after - before) + 0.5
    return PairedChange(
        before, after, after - before, after - before - width, after - before + width, queries
    )


def intents(overall: PairedChange, **by_language: PairedChange) -> RightIntents:
    shares = BeforeAndAfter(Share(4, 100), Share(3, 100))
    return RightIntents(overall, by_language or {"en": overall}, 72, "both", "both", shares)


def verdict(of_intents: RightIntents | None, similar: PairedChange, **others: Any) -> RunVerdict:
    return run_verdict(
        Metrics(
            mean_base=1.0, mean_over="1 direction", right_intents=of_intents,
            similar_sentences=Changes(similar, {"en": similar}), **others,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("named", "found", "sentence", "kind"),
    [
        (
            change(59, 60, clear=False), change(26, 44),
            "Finds similar sentences better (26 → 44 of 100); names the intents as well as before (59 → 60 of 100).",
            "better",
        ),
        (
            change(52, 59), change(26, 44),
            "Names the intents better (52 → 59 of 100); finds similar sentences better (26 → 44 of 100).",
            "better",
        ),
        (
            change(59, 55), change(26, 44),
            "Names the intents worse (59 → 55 of 100); finds similar sentences better (26 → 44 of 100).",
            "worse",
        ),
        (
            change(59, 54, clear=False), change(44, 44, clear=False),
            "Names the intents neither clearly better nor worse (59 → 54 of 100); finds similar sentences as well as "
            "before (44 → 44 of 100).",
            "note",
        ),
        (
            change(59.1, 59.4), change(44, 26),
            "Names the intents better (59.1 → 59.4 of 100); finds similar sentences worse (44 → 26 of 100).",
            "worse",
        ),
        (
            change(100 * 9 / 22, 100 * 12 / 22, 22, clear=False), change(50, 50, 22, clear=False),
            "Names the intents neither clearly better nor worse (9 → 12 of 22); finds similar sentences as well as "
            "before (11 → 11 of 22).",
            "note",
        ),
    ],
)  # fmt: skip
def test_the_verdict_is_a_sentence(
    named: PairedChange, found: PairedChange, sentence: str, kind: str
) -> None:
    made = verdict(intents(named), found)
    assert (made.sentence, made.kind) == (sentence, kind)


@pytest.mark.parametrize(
    ("named", "found", "first"),
    [
        (change(59, 60, clear=False), change(26, 44), SIMILAR_SENTENCES),
        (change(59, 60, clear=False), change(26, 28, clear=False), RIGHT_INTENTS),
        (change(52, 59), change(26, 44), RIGHT_INTENTS),
        (change(52, 59), change(26, 28, clear=False), RIGHT_INTENTS),
    ],
)
def test_the_measures_are_told_in_the_order_of_the_sentence(
    named: PairedChange, found: PairedChange, first: str
) -> None:
    told = verdict(intents(named), found)
    assert [measure.title for measure in told.measures] == [RIGHT_INTENTS, SIMILAR_SENTENCES]
    assert told.told[0].title == first and len(told.told) == len(told.measures)
    places = [told.sentence.casefold().index(measure.clause) for measure in told.told]
    assert places == sorted(places)


def test_two_encoders_are_called_by_their_names() -> None:
    of_run = case("better").comparison
    assert of_run is not None
    made = comparison_verdict(replace(of_run, trained=None))
    assert made.sentence.startswith(
        "better names the intents better than use (30 → 60 of 100); finds similar"
    )
    assert made.intents.table().head[2:4] == ("use", "better") and not made.took
    alike = comparison_verdict(replace(of_run, trained=None, other=of_run.base, intents=None))
    assert alike.sentence.startswith("better finds similar sentences as well as use (")
    assert alike.intents.missing == "Right intents: not measured on these sentences."
    assert of_run.trained is not None
    assert comparison_verdict(of_run).sentence == run_verdict(case("better").metrics).sentence


def test_the_languages_that_changed_most_are_named_first_and_few_of_many() -> None:
    same, better, worse = change(40, 40.5, clear=False), change(40, 50), change(50, 30)

    def languages(**by_language: PairedChange) -> str:
        return verdict(intents(better, **by_language), better).intents.languages

    assert languages(en=better, de=worse, ja=same) == (
        "Right intents: worse in German; better in English; not clear in the other."
    )
    assert languages(en=better, de=change(40, 60), ja=same, fr=same) == (
        "Right intents: better in German and English; not clear in the other two."
    )
    assert languages(en=better, de=better) == "Right intents: better in all two languages."
    assert languages(en=same, de=same) == "Right intents: no language is clearly better or worse."
    none = change(40, 40, clear=False)
    assert languages(en=none, de=none) == "Right intents: the same in every language."
    assert languages(en=better) == ""
    many = {f"x{number:02}": better for number in range(11)} | {"en": same}
    assert languages(**many).endswith(", x05 and five more; not clear in the other.")
    assert verdict(intents(better, en=better, de=worse), better).kind == "worse"


def test_a_table_has_counts_of_few_sentences_and_the_largest_changes_of_many_languages() -> None:
    few = case("tiny").metrics
    head, rows = run_verdict(few).intents.table()
    assert head == ("language", "sentences", "before", "after", "change", "95 % interval", "verdict")
    assert [row[0] for row in rows] == ["English", "German", "Japanese", "all 3 languages"]
    assert rows[0][1:4] == ("12", "4 of 12", "7 of 12") and "%" not in "".join(" ".join(row) for row in rows)
    for column in (2, 3):  # each sentence counts once, as in the sentence above
        counts = [int(row[column].split()[0]) for row in rows]
        assert sum(counts[:3]) == counts[3]
    assert f"({rows[3][2].split()[0]} → {rows[3][3]})" in run_verdict(few).intents.clause
    # A sentence that is looked up in several languages counts by a share, as the change of its points does.
    shared = changes_table({"en": change(100 * 1.5 / 18, 100 * 2 / 18, 18)}).rows[0]
    assert shared[2:5] == ("1.5 of 18", "2 of 18", "+2.8")
    many = run_verdict(of_many_languages(30)).intents.table(9)
    assert len(many.rows) == 11 and many.rows[-2][0] == "21 more languages changed less"


def test_what_becomes_of_unknown_intents_is_always_said() -> None:
    assert run_verdict(case("better").metrics).unknown == (
        "Sentences of unknown intents (labelled intents, left out in turn) found as such: 60 → 59 of 100.",
        "Right intents rejected as unknown: 10 → 9 of 100.",
    )
    held_out = replace(
        intents(change(40, 50)), unknown=BeforeAndAfter(Share(7, 12), Share(5, 12)), are_left_out=False
    )
    assert verdict(held_out, change(1, 2)).unknown == (
        "Sentences of unknown intents (held out) found as such: 7 → 5 of 12.",
        "Right intents rejected as unknown: 4 → 3 of 100.",
    )


@pytest.mark.parametrize(
    ("before", "after", "of", "clause"),
    [
        (120, 90, 200, "finds fewer sentences of unknown intents (60 → 45 of 100)"),
        (90, 120, 200, "finds more sentences of unknown intents (45 → 60 of 100)"),
        (120, 105, 200, ""),
        (18, 2, 30, "finds fewer sentences of unknown intents (18 → 2 of 30)"),
        (18, 13, 30, ""),
        (0, 0, 30, ""),
        (0, 0, 0, ""),
    ],
)
def test_the_headline_says_if_clearly_fewer_unknown_intents_are_found(
    before: int, after: int, of: int, clause: str
) -> None:
    found = BeforeAndAfter(Share(before, of), Share(after, of))
    better = change(40, 50)
    made = verdict(replace(intents(better), unknown=found), better)
    assert made.sentence.endswith(f"; {clause}." if clause else "better (40 → 50 of 100).")
    assert made.kind == ("worse" if clause.startswith("finds fewer") else "better")


def test_what_it_costs_is_the_last_card() -> None:
    fallen = pd.DataFrame({"part": ["sts"], "name": ["de"], "flagged": [True]})
    made = run_verdict(case("better").metrics, fallen)
    assert made.cards[-1] == ("What it costs", "12 s, 640 MB", "Other tasks: STS de fell too far.")
    assert made.costs == "Trained in 12 s with 640 MB of memory." and made.to_json()["memory"] == "640 MB"
    assert run_verdict(Metrics(seconds=1_234.0)).costs == "Trained in 21 minutes."
    assert run_verdict(Metrics(peak_memory_mb=1_640.0)).costs == "Trained with 1.6 GB of memory."
    assert run_verdict(Metrics()).costs == run_verdict(Metrics()).took == ""
    assert run_verdict(Metrics(), fallen.assign(flagged=False)).other_tasks.kind == "better"


def test_what_was_not_held_out_is_not_judged() -> None:
    metrics = case("nothing").metrics
    plain = "No sentence was held out, so whether new ones are answered better is not known."
    assert run_verdict(metrics).sentence == plain and not run_verdict(metrics).measures
    validated = LeftOut(50.0, 60.0, 10.0, 5.0, 15.0, 300, 5)
    assert run_verdict(replace(metrics, cross_validation=validated)).sentence == (
        f"{plain} In cross-validation, 5 folds: similar sentences 50 → 60 of 100 (+10.0 points, 95 %: +5.0 to +15.0): "
        "better."
    )
    assert run_verdict(Metrics()).sentence == "Nothing is measured yet."
    assert "earlier version" in run_verdict(Metrics(mean_base=1.0, mean_specialised=2.0)).sentence


def test_an_encoder_from_scratch_finds_translations() -> None:
    ranking = RankingMetrics(75.0, 90.0, 95.0, 70.0, 80.0, 1_000, trained=True)
    found = {
        "en-de": ranking,
        "de-en": replace(ranking, p_at_1=65.0),
        "de-fr": replace(ranking, trained=False),
    }
    assert run_verdict(Metrics(translation=found)).sentence == (
        "Finds 70 of 100 translations, the mean over the 2 language pairs trained on."
    )
    few = {"en-de": replace(ranking, candidates=8)}
    assert "Finds 6 of 8 translations" in run_verdict(Metrics(translation=few)).sentence


# The faces of one run. Each takes the kind of the run, and returns all that it shows as text.


def plain(markup: str) -> str:
    """Text without tags and marks, on one line."""
    return re.sub(
        r"\s+",
        " ",
        unescape(re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]*>", " ", markup, flags=re.S)),
    )


def compared(kind: str) -> Comparison:
    made = case(kind).comparison
    assert made is not None
    return made


def command(kind: str, root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    reported(case(kind).stored(root, kind), argparse.Namespace(json=False, full=False))
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 25
    return printed


def test_the_last_screen_says_what_was_learnt_from_what_and_what_to_do_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = command("better", tmp_path, capsys).splitlines()
    assert lines[0].startswith("use, specialised with the method emu on tiny.")
    assert "Measured on 360 sentences that were held out, in three languages." in " ".join(lines[:3])
    steps = lines[len(lines) - lines[::-1].index("") :]
    assert [step.split()[1] for step in steps] == ["compare", "resume"]  # there is no intent model to ask


@pytest.mark.parametrize(
    ("shares", "learnt", "step"),
    [
        ({"en": 80, "de": 70, "fr": 60}, ("en",), "--train-language en --train-language fr"),
        ({"en": 80, "de": 78}, ("en",), ""),  # near enough
        ({"en": 60, "de": 80}, ("en",), ""),  # it is learnt already
        ({"en": 80, "de": 60}, (), ""),  # no labels are
    ],
)
def test_labels_of_the_language_with_the_fewest_right_intents_are_next(
    shares: dict[str, float], learnt: tuple[str, ...], step: str, tmp_path: Path
) -> None:
    of_languages = {code: change(share, share, clear=False) for code, share in shares.items()}
    metrics = Metrics(right_intents=intents(change(70, 70, clear=False), **of_languages))
    status = Status(state=RunState.FINISHED, started_at=1.0)
    run = past(
        tmp_path, "of-languages", status, json.loads(json.dumps(metrics.to_json())), train_languages=learnt
    )
    assert [line.split("  ")[0] for line in next_steps(run) if "emu train" in line] == (
        [f"emu train DATA {step}"] if step else []
    )


def test_a_screen_has_room_for_any_number_of_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = Status(state=RunState.FINISHED, started_at=1.0)
    run = past(tmp_path, "many", status, json.loads(json.dumps(of_many_languages(30).to_json())))
    reported(run, argparse.Namespace(json=False, full=False))
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 25 and re.search(r"2\d more languages changed less", printed)


def comparing_command(kind: str, root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    print_comparison(compared(kind))
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 40
    return printed


def card(kind: str, root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    return model_card(kind, CONFIG, FACTS, case(kind).metrics).replace("**", "")


def page(kind: str, root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    return comparison_page(compared(kind))


def notebook(kind: str, root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    return run_cell(case(kind).stored(root, kind))


def comparing_notebook(kind: str, root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    made = compared(kind)
    return comparison_cell(RunComparison(**{name: getattr(made, name) for name in made.__dataclass_fields__}))


OF_RUN, OF_COMPARISON = (command, card, notebook), (comparing_command, page, comparing_notebook)


def expected_words(kind: str) -> list[str]:
    """What every face says of a run."""
    made = run_verdict(case(kind).metrics)
    return [line.text for line in made.lines]


@pytest.mark.parametrize(
    ("face", "kind"),
    [
        *((face, kind) for face in OF_RUN for kind in KINDS),
        *((face, kind) for face in OF_COMPARISON for kind in KINDS if kind != "nothing"),
    ],
)
def test_every_face_has_the_same_figures_languages_and_words(
    face: Callable[[str, Path, pytest.CaptureFixture[str]], str],
    kind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = plain(face(kind, tmp_path / "runs", capsys))
    for words in expected_words(kind):
        assert words in shown
    made = run_verdict(case(kind).metrics)
    for measure in made.measures[:1]:  # a command has room for one
        for row in measure.table().rows:
            assert all(cell in shown for cell in row), row
    # Whatever is said of so many of 100, or of few, is said by the verdict.
    told = {
        amount for words in expected_words(kind) for amount in re.findall(r"[\d.]+ → [\d.]+ of \d+", words)
    }
    assert set(re.findall(r"[\d.]+ → [\d.]+ of \d+", shown)) <= told


@pytest.mark.parametrize("kind", KINDS)
def test_json_has_them_too(kind: str, tmp_path: Path) -> None:
    measured = case(kind)
    run = measured.stored(tmp_path / "runs", kind)
    printed = json.loads(json.dumps(reported(run, argparse.Namespace(json=True, full=False))))
    made = run_verdict(measured.metrics)
    told = printed["verdict"]
    assert (told["sentence"], told["unknown_intents"]) == (made.sentence, list(made.unknown))
    for name, measure in (("right_intents", made.intents), ("similar_sentences", made.similar)):
        assert told[name]["languages"] == measure.languages
        if measure.changes is None:
            assert told[name]["overall"] is None
            continue
        by_language = {code: values["specialised"] for code, values in told[name]["by_language"].items()}
        assert by_language == {code: one.specialised for code, one in measure.changes.by_language.items()}
        assert printed[name]["overall"]["difference"] == told[name]["overall"]["difference"]
    if measured.comparison is not None:
        assert json.loads(json.dumps(comparison_records(measured.comparison)))["verdict"] == told


def test_the_cases_are_what_they_are_called() -> None:
    kinds = {kind: run_verdict(case(kind).metrics) for kind in KINDS}
    assert {kind: made.kind for kind, made in kinds.items()} == {
        "better": "better", "worse": "worse", "mixed": "worse", "tiny": "note", "nothing": "note",
    }  # fmt: skip
    assert kinds["mixed"].intents.languages.startswith("Right intents: ")
    assert {"German", "English"} <= {
        language_name(code) for code in LANGUAGES if language_name(code) in kinds["mixed"].intents.languages
    }
    assert kinds["tiny"].intents.amounts.endswith(" of 22")
    assert np.isfinite(case("better").metrics.mean_base)
