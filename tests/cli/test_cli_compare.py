"""`emu compare` and `emu_core.compare`, on runs that were really trained on a small set."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from emu_core import compare, train
from emu_core.api import compare as module
from emu_core.cli import main
from emu_core.data.sets import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError, RunError
from emu_core.evaluation.leave_one_out import leave_one_out
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run
from tests.support.raises import raises
from tests.support.small import small_set

HOSTILE = "<script>alert('x')</script> </script><img src=http://evil/x.png>"


@pytest.fixture(scope="module")
def data() -> LabelledSet:
    frame = small_set(("en", "de")).frame
    frame = frame[frame["intent"].isin(["pool", "gym", "taxi"])].reset_index(drop=True)
    test = frame.index[frame["split"] == "test"]
    frame.loc[test[0], "text"] = HOSTILE
    frame["intent"] = frame["intent"].replace({"pool": "<b>pool</b>"})
    return LabelledSet(frame, "<i>small</i>")


@pytest.fixture(scope="module")
def file(data: LabelledSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "small.csv"
    data.frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def runs(file: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        train(
            str(file),
            out=folder / name,
            method="head",
            seed=seed,
            device="cpu",
            train_languages=[language],
        )
        for seed, (name, language) in enumerate((("first", "en"), ("second", "de")))
    ]


class Tags(HTMLParser):
    """The tags of a page, their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._within = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within = tag

    def handle_data(self, data: str) -> None:
        if self._within not in ("script", "style"):
            self.text.append(data)


@pytest.mark.slow
def test_a_run_is_compared_with_its_base(
    runs: list[Run], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(file), "--run", str(runs[0].folder), "--json", "--device", "cpu"]) == 0
    facts = json.loads(capsys.readouterr().out)
    metrics = runs[0].metrics()
    assert (facts["base"], facts["other"], facts["notes"]) == ("use", "first", [])
    for name, side in (("base", "base"), ("specialised", "other")):
        assert {row["pair"]: row[side] for row in facts["accuracy"]} == pytest.approx(getattr(metrics, name))
    for gain in facts["gains"]:
        measured = metrics.similar_sentences.by_language[gain["language"]]
        assert gain["difference"] == pytest.approx(measured.difference)
    assert [gain["language"] for gain in facts["gains"]] == list(metrics.similar_sentences.by_language)
    told = run_verdict(metrics).to_json()
    assert facts["verdict"] == json.loads(json.dumps(told))
    assert facts["forgetting"] is None


def test_two_runs_are_compared_as_tables(
    runs: list[Run], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "compare",
        str(file),
        "--run",
        str(runs[0].folder),
        "--run",
        str(runs[1].folder),
        "--languages",
        "en",
    ]
    assert main([*asked, "--device", "cpu"]) == 0
    brief = capsys.readouterr().out
    assert len(brief.splitlines()) <= 40 and "language pair" not in brief.partition("mean of")[0]
    assert main([*asked, "--device", "cpu", "--full"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("second compared with first, on ")
    assert re.search(r"^language pair +sentences +first % +95 % +second %", printed, re.MULTILINE)
    frame = pd.read_csv(file)
    part = frame[(frame["split"] == "test") & (frame["language"] == "en")]
    columns = [part[column].astype(str).tolist() for column in ("intent", "language", "id")]
    first, second = (
        leave_one_out(load_encoder(f"run:{run.folder}").encode(part["text"].tolist()), *columns).mean
        for run in runs
    )
    section = printed.partition("\nSimilar sentences\n")[2]
    line = next(line for line in section.splitlines() if line.startswith("English"))
    counts = [f"{round(mean * len(part) / 100)}" for mean in (first, second)]
    assert [line.split()[2], line.split()[5]] == counts


@pytest.mark.slow
def test_the_page_holds_everything_and_fetches_nothing(runs: list[Run], file: Path, tmp_path: Path) -> None:
    forgetting = {
        "base": 0.7,
        "specialised": 0.6,
        "difference": -0.1,
        "low": -0.2,
        "high": 0.0,
        "count": 9,
        "flagged": True,
    }
    runs[0].write("forgetting.json", {"sts": {"de": forgetting}, "translations": {}, "flagged": ["STS de"]})
    page = tmp_path / "new" / "page.html"
    assert (
        main(["compare", str(file), "--run", str(runs[0].folder), "--html", str(page), "--device", "cpu"])
        == 0
    )
    content = page.read_text("utf-8")
    assert sorted(path.name for path in page.parent.iterdir()) == ["page.html"]
    assert content.count("plotly.js v") == 1
    tags = Tags(content)
    assert not [attrs for tag, attrs in tags.tags if "src" in attrs or "href" in attrs or tag == "link"]
    policy = next(attrs for tag, attrs in tags.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in str(policy["content"]) and "http" not in str(policy["content"])
    assert "<script>alert" not in content and "<b>pool" not in content
    headings = (
        "Right intents",
        "Similar sentences",
        "Similar sentences by language pair",
        "Sentence triples",
        "Changed neighbours",
        "Forgetting",
    )
    assert all(f"<h2>{heading}</h2>" in content for heading in headings)
    drawn = [
        attrs for tag, attrs in tags.tags if tag == "div" and "plotly-graph-div" in (attrs.get("class") or "")
    ]
    assert len(drawn) >= 6
    words = " ".join(tags.text)
    assert "first compared with use" in words and "STS de fell too far." in words
    for row in compare(str(file), runs[0], device="cpu").accuracy.to_dict("records"):
        assert f"<td>{row['pair']}</td>" in content and f"<td>{row['other']:.1f}</td>" in content


@pytest.mark.slow
def test_a_page_that_cannot_be_written_leaves_nothing(
    runs: list[Run], file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    asked = ["compare", str(file), "--run", str(runs[0].folder), "--device", "cpu", "--html"]
    assert main([*asked, str(tmp_path / "file" / "page.html")]) == 2
    assert "page.html" in capsys.readouterr().err
    (tmp_path / "taken").mkdir()
    assert main([*asked, str(tmp_path / "taken")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


def test_each_sentence_is_encoded_once_by_each_encoder(
    data: LabelledSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[list[str]] = []

    class Counting:
        def encode(self, texts: list[str]) -> np.ndarray:
            encoded.append(texts)
            return np.random.default_rng(len(encoded)).normal(size=(len(texts), 4))

    monkeypatch.setattr(module, "load_encoder", lambda spec, device: Counting())
    twice = LabelledSet(pd.concat([data.frame, data.frame.assign(id="")], ignore_index=True), "twice")
    found = compare(twice, encoder=["hf:some/model", "hf:other/model"], device="cpu")
    assert found.names == ("hf:some/model", "hf:other/model")  # their last parts are alike
    texts = twice.select(splits=["test"]).frame["text"]
    assert [sorted(part) for part in encoded] == [sorted(set(texts))] * 2
    same = texts[texts == texts.iloc[0]].index
    assert (found.base[same[0]] == found.base[same[1]]).all()


def test_rows_that_were_trained_on_and_other_data_are_noted(
    data: LabelledSet, file: Path, runs: list[Run]
) -> None:
    own = compare(str(file), runs[0], split="all", languages=["en"], device="cpu")
    assert len(own.sentences) == (data.frame["language"] == "en").sum()
    assert "was trained on 36 of these 54 sentences" in own.notes[0]
    other = LabelledSet(data.frame.iloc[1:].reset_index(drop=True), "other")
    assert not compare(other, runs[0], device="cpu").notes  # of split test
    (note,) = compare(other, runs[0], split="train", device="cpu").notes
    assert "was trained on 70 of these 71 sentences" in note  # one row lacks its translation


def test_a_large_set_is_measured_on_a_sample(data: LabelledSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_COMPARED", 12)
    part, notes = module.choose_rows(data, None, None)
    assert len(part) == 12 and part.splits == ("test",)
    assert notes[0].startswith("Measured on 12 of ")


def test_any_number_of_runs_and_encoders_is_compared(file: Path, runs: list[Run], data: LabelledSet) -> None:
    asked = {"languages": ["en"], "split": "train", "device": "cpu"}
    compared = compare(str(file), *runs, "use", **asked)
    assert compared.names == ("first", "second", "use")
    frame = data.select(languages=["en"], splits=["train"]).frame
    columns = [frame[column].astype(str).tolist() for column in ("intent", "language", "id")]
    expected = [
        leave_one_out(load_encoder(spec).encode(frame["text"].tolist()), *columns).mean
        for spec in (*(f"run:{run.folder}" for run in runs), "use")
    ]
    assert compared.means["accuracy"].tolist() == pytest.approx(expected)
    assert [any("was trained on these" in note for note in encoder.notes) for encoder in compared.encoders] == [
        True, True, False,
    ]  # fmt: skip
    assert compared.between(runs[1], "use").names == ("second", "use")
    assert compared.between("use", "first").run is not None  # its base encoder, as when it is compared alone
    measured = compared.table.rows
    assert [row[0] for row in measured] == ["first", "second", "use"]
    referred = compare(str(file), *runs, encoder="use", **asked)
    assert referred.names == ("use", "first", "second")


@pytest.mark.slow
def test_the_command_compares_any_number_of_runs(
    file: Path, runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = [word for run in runs for word in ("--run", str(run.folder))]
    asked = ["compare", str(file), *named, "--encoder", "use", "--device", "cpu"]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    compared = compare(str(file), *runs, encoder="use", device="cpu")
    assert printed.startswith("2 encoders compared with use, on ") and len(printed.splitlines()) <= 40
    for measure in ("Right intents: ", "Similar sentences: "):
        assert measure in printed
    for row in compared.table.rows:
        assert all(cell in printed for cell in row)
    # A run's own right intents are those of its verdict.
    of_run = runs[0].metrics().right_intents
    assert compared.between("use", runs[0]).intents.overall.specialised == of_run.overall.specialised
    assert main([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["encoders"] == ["use", "first", "second"]
    assert [pair["other"] for pair in told["comparisons"]] == ["first", "second"]
    assert main([*asked, "--html", str(tmp_path / "page.html")]) == 2
    assert "--html draws two encoders" in capsys.readouterr().err


def test_an_encoder_that_is_a_run_says_what_it_was_trained_on(file: Path, runs: list[Run]) -> None:
    named = compare(str(file), encoder=["use", f"run:{runs[0].folder}"], split="train", device="cpu")
    (note,) = named.notes
    assert note.startswith("The run first was trained on these sentences")


def test_what_cannot_be_compared_is_said(file: Path, runs: list[Run], tmp_path: Path) -> None:
    folder = str(runs[0].folder)
    for arguments, words in (
        ({}, "0 encoders"),
        ({"encoder": "use"}, "1 encoder "),
        ({"run": folder, "other": folder}, f"run:{folder} "),
        ({"run": folder, "encoder": ["use", "e5-small", "use"]}, "use "),
    ):
        with raises(DataError, fix=None, match=words):
            compare(str(file), device="cpu", **arguments)
    with raises(RunError, fix=None, match=r"none .*status\.json"):
        compare(str(file), tmp_path / "none", device="cpu")
    with raises(DataError, fix=None, match="split"):
        compare(str(file), folder, split="dev", device="cpu")
    assert main(["compare", str(file), *["--run", folder] * 3]) == 2
