"""A file goes in, a run is trained, left, found again and stopped: in a real browser, on the real app."""

import csv
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from emu_core.runs.run import Run, RunState, Status
from tests.support.browser import go_to, pick_option, see, see_address, settle, visit
from tests.support.fake_runs import past
from tests.support.small import small_set
from tests.support.stored_set import stored_set

pytestmark = pytest.mark.browser

SENTENCES = {
    "en": {
        "pool": "when does the pool open",
        "shop": "when does the shop open",
        "taxi": "please call me a taxi",
    },
    "de": {
        "pool": "wann öffnet das Schwimmbad",
        "shop": "wann öffnet der Laden",
        "taxi": "bitte ein Taxi rufen",
    },
}
IN_DETAIL = "Compare the two in detail"  # what the link of a finished run says
RUNNING = re.compile(r"Training: step [\d,]+ of [\d,]+, epoch")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """72 sentences, 3 intents, 2 languages, a third of them for testing."""
    path = tmp_path / "guests.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["utterance", "label", "lang", "id", "split"])
        for language, intents in SENTENCES.items():
            for intent, text in intents.items():
                for i in range(12):
                    split = "test" if i % 3 == 0 else "train"
                    writer.writerow([f"{text}, {i}", intent, language, f"{intent}{i}", split])
    return path


def upload(page: Page, file: Path) -> None:
    settle(page)
    box = page.locator('input[type="file"]')
    expect(box).to_have_count(1)  # the one of the upload before has gone
    box.set_input_files(file)


def start_training(page: Page, name: str, epochs: int) -> None:
    page.get_by_text("Another method, for research").click()
    pick_option(page.get_by_role("combobox", name=re.compile("Research method")), "Emu")
    see_address(page, method="emu")  # the run of the page that draws its settings has begun
    settle(page)
    page.get_by_label("Epochs", exact=True).fill(str(epochs))
    page.get_by_label("Epochs", exact=True).press("Enter")
    settle(page)
    expect(page.get_by_label("Name of the run")).to_have_count(1)  # the one of before is gone
    page.get_by_label("Name of the run").fill(name)
    page.get_by_label("Name of the run").press("Enter")
    settle(page)
    page.get_by_role("button", name="Start the run").click()


def test_a_csv_goes_in_and_a_trained_run_comes_out(
    page: Page, app_url: str, runs_folder: Path, table: Path
) -> None:
    visit(page, app_url, "data")
    expect(page.get_by_role("heading", name="Demo set", level=2).first).to_be_visible()
    upload(page, table)
    expect(page.get_by_role("heading", name="guests.csv", level=2).first).to_be_visible()
    settle(page)
    page.reload()  # the upload and its page are there again
    expect(page.get_by_role("heading", name="guests.csv", level=2).first).to_be_visible()
    sizes = page.get_by_test_id("stMetricValue")
    expect(sizes).to_have_text(["72", "3", "2", "24"])
    see(page, "The audit found nothing to fix.")
    see(page.get_by_test_id("stPlotlyChart"), "taxi")
    see_address(page, data="guests")
    another = page.context.new_page()  # a session of its own, which a link begins
    another.goto(page.url)
    expect(another.get_by_role("heading", name="guests.csv", level=2).first).to_be_visible()
    another.close()

    go_to(page, "Train")
    see(page, "guests.csv: 72 sentences, 3 intents, en, de")
    start_training(page, "short", epochs=1)
    see_address(page, watched="short")
    settle(page)  # another test's finished run may be on the page until this one is
    see(page, "Similar sentences")  # it ended, and nobody reloaded the page
    see(page.get_by_test_id("stPlotlyChart"), "Loss: all parts")
    assert (Run(runs_folder / "short").encoder_folder / "model.safetensors").is_file()
    expect(page.get_by_role("link", name=IN_DETAIL)).to_be_visible()
    go_to(page, "Compare")  # by a link of before the run ended, or began
    see_address(page, b="run:short")
    expect(page.get_by_role("combobox", name=re.compile("^B"))).to_have_value(re.compile("short"))


@pytest.mark.slow
def test_compare_opens_the_run_that_ended_last_whatever_was_seen_or_chosen_before(
    page: Page, app_url: str, table: Path, tmp_path: Path
) -> None:
    untrained = tmp_path / "visitors.csv"
    untrained.write_text(table.read_text("utf-8").replace("taxi", "tram"), "utf-8")
    visit(page, app_url, "data")
    upload(page, untrained)
    see_address(page, data="visitors")
    b = page.get_by_role("combobox", name=re.compile("^B"))
    go_to(page, "Compare")
    expect(b).to_have_value("no encoder")
    go_to(page, "Train")
    page.reload()  # whose address is that of a link from a page where B was no encoder
    settle(page)
    start_training(page, "first", epochs=1)
    see_address(page, watched="first")
    settle(page)  # another test's finished run may be on the page until this one is
    expect(page.get_by_role("link", name=IN_DETAIL)).to_be_visible()
    go_to(page, "Compare")
    see_address(page, b="run:first")
    pick_option(b, "no encoder")
    see_address(page, b="none")
    for _ in range(2):  # a choice stays
        go_to(page, "Data")
        go_to(page, "Compare")
        see_address(page, b="none")
    go_to(page, "Train")
    page.get_by_label("Name of the run").fill("second")
    page.get_by_label("Name of the run").press("Enter")
    settle(page)
    page.get_by_role("button", name="Start the run again").click()
    see_address(page, watched="second")
    go_to(page, "Data")  # while it trains
    go_to(page, "Train")
    see_address(page, watched="second")
    settle(page)
    expect(page.get_by_role("link", name=IN_DETAIL)).to_be_visible()
    go_to(page, "Compare")
    see_address(page, b="run:second")


@pytest.mark.slow
def test_no_other_sets_audit_is_under_a_file_without_its_columns(
    page: Page, app_url: str, table: Path, tmp_path: Path
) -> None:
    unknown = tmp_path / "mails.csv"
    content = table.read_text("utf-8").replace("utterance,label,lang,id,split", "col1,col2,col3,col4,col5")
    unknown.write_text(content.replace(",en,", ",?,").replace(",de,", ",?,"), "utf-8")
    visit(page, app_url, "data")
    in_use = page.get_by_role("heading", name="In use:", level=2)
    expect(in_use).to_have_count(1)
    upload(page, unknown)
    see(page, "Still to choose above: ")
    settle(page)
    expect(in_use).to_have_count(0)
    expect(page.get_by_role("heading", name="Findings", level=2)).to_have_count(0)
    expect(page.get_by_test_id("stMetricValue")).to_have_count(0)
    page.get_by_role("button", name="Leave this file out").click()
    expect(in_use).to_have_text(re.compile("Demo set"))
    page.get_by_role("button", name="Train on these sentences").click()
    see(page, "Demo set: 3,024 sentences")


@pytest.mark.slow
def test_runs_are_ticked_clicked_and_compared_with_a_pinned_baseline(
    page: Page, app_url: str, runs_folder: Path
) -> None:
    for name, epochs in (("pinned-short", 3), ("pinned-long", 12)):
        change = {
            "base": 20.0,
            "specialised": 30.0 + epochs,
            "difference": 10.0 + epochs,
            "low": 1.0,
            "high": 20.0,
        }
        whole = change | {"queries": 200}
        metrics = {"similar_sentences": {"overall": whole, "by_language": {"en": whole}}}
        over = Status(state=RunState.FINISHED)
        run = past(runs_folder, name, over, metrics, hyperparameters={"epochs": epochs})
        run.write("data.json", {"name": "hotel", "sha256": "pinned"})
    visit(page, app_url, "train")
    page.get_by_label("Search the runs").fill("pinned-")
    page.get_by_label("Search the runs").press("Enter")
    runs = page.locator('[class*="st-key-runs-watched-"]').get_by_test_id("stDataFrame").first
    rows = runs.locator("table tbody tr")  # what a screen reader hears of it
    expect(rows).to_have_count(2)
    settle(page)
    for row in (0, 1):
        runs.click(position={"x": 17, "y": 52 + 35 * row})
        settle(page)
    see(page, "Differs in: epochs")
    expect(page.locator("summary", has_text="The same in all")).to_be_visible()
    names = [rows.nth(row).locator("td").nth(0).inner_text() for row in (0, 1)]
    for row in (1, 0):
        runs.click(position={"x": 90, "y": 52 + 35 * row})
        see_address(page, watched=names[row])
        settle(page)
    pick_option(page.get_by_role("combobox", name="Baseline"), "pinned-short")
    see_address(page, baseline="pinned-short")
    expect(rows.first).to_contain_text("pinned-short")
    gain = rows.nth(1).locator("td").filter(has_text=re.compile("^9$"))  # the number, without its format
    expect(gain).to_have_count(1)
    see(page, "Differs in: epochs")
    page.reload()  # it is still pinned
    expect(rows.first).to_contain_text("pinned-short")


@pytest.mark.slow
def test_a_run_goes_on_without_its_page_and_is_cancelled(
    page: Page, app_url: str, runs_folder: Path, table: Path
) -> None:
    visit(page, app_url, "train", data=stored_set(runs_folder, table))
    start_training(page, "endless", epochs=100_000)
    see_address(page, watched="endless")
    progress = page.get_by_test_id("stProgress").first
    expect(progress).to_contain_text(RUNNING)

    go_to(page, "Data")
    expect(page.get_by_role("heading", name="guests.csv", level=2).first).to_be_visible()
    go_to(page, "Train")
    expect(progress).to_contain_text(RUNNING)
    first = progress.text_content() or ""
    expect(progress).not_to_have_text(first)  # it moves by itself

    page.reload()  # it is still the own run, and the form still has its epochs
    expect(progress).to_contain_text(RUNNING)
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("100000")

    page.goto("about:blank")  # the tab is closed, and another person's browser opened
    page.context.clear_cookies()
    visit(page, app_url, "train")
    expect(progress).to_contain_text(RUNNING)
    page.get_by_role("button", name="Cancel ...").click()
    see(page, "It was not started in this browser")
    seen = progress.text_content() or ""
    expect(progress).not_to_have_text(seen)  # the question stays while the page follows the run
    page.get_by_role("button", name="Cancel it anyway").click()
    see(page, re.compile(r"Cancelled after [\d,]+ steps"))
    expect(progress).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def label_with_keys(page: Page) -> None:
    """Label sentences one by one by keys, go on and back, and take two labels back."""
    page.get_by_role("button", name="Label one by one, with keys").click()
    see(page, "Sentence 1 of")
    settle(page)  # a key that is pressed while the page is drawn is lost
    for key, sentence in (("1", 2), ("2", 3), ("ArrowRight", 4), ("ArrowLeft", 3), ("Control+z", 2)):
        page.keyboard.press(key)
        see(page, f"Sentence {sentence} of")
        settle(page)
    expect(page.get_by_role("button", name="Save 1 label")).to_be_visible()
    page.keyboard.press("Control+z")
    see(page, "Sentence 1 of")


@pytest.mark.slow
def test_suggested_sentences_are_labelled_and_each_round_is_measured(
    page: Page, app_url: str, runs_folder: Path, tmp_path: Path
) -> None:
    rows = small_set(("en", "de")).frame
    train = rows["split"] == "train"
    late = train & (rows.groupby(["intent", "language", "split"]).cumcount() >= 3)
    file = tmp_path / "mails.csv"
    rows.assign(intent=rows["intent"].where(~late, "")).to_csv(file, index=False)
    since = f"points since {train.sum() - late.sum()} labels"
    with page.expect_websocket() as socket:
        visit(page, app_url, "data", data=stored_set(runs_folder, file))
    page.get_by_role("tab", name="Label more sentences").click()
    see(page, f"{late.sum()} without an intent")
    save = page.get_by_role("button", name=re.compile(r"Save \d+ labels?"))
    expect(save).to_be_visible()
    settle(page)

    editor = page.get_by_test_id("stDataFrame").filter(visible=True).first
    first = editor.locator("table tbody tr").first.locator("td")  # what a screen reader hears of the table
    for place in (1, 2):
        expect(first.nth(place)).not_to_be_empty()
    text, guess = first.nth(1).inner_text(), first.nth(2).inner_text()
    wanted = "gym" if guess == "taxi" else "taxi"
    editor.click(position={"x": 150, "y": 55})  # the first row's sentence
    page.keyboard.press("ArrowRight")  # its intent, which is corrected
    page.keyboard.press("Enter")
    page.locator('input[id^="react-select"]').wait_for()
    page.keyboard.type(wanted)
    with socket.value.expect_event("framesent"):  # an edit is sent some time after it is made
        page.keyboard.press("Enter")
        expect(first.nth(2)).to_have_text(wanted)
    settle(page)
    saved = int(save.inner_text().split()[-2])
    save.click()
    see(page, since)
    curve = page.locator(".st-key-labelling-curve .js-plotly-plot .scatterlayer .trace").first
    expect(curve.locator(".point")).to_have_count(2)
    stored = pd.read_parquet(runs_folder / ".data" / "mails-v2" / "rows.parquet").set_index("text")
    assert (stored["intent"] == "").sum() == late.sum() - saved and stored.loc[text, "intent"] == wanted
    page.reload()  # the tab, the set and its rounds are there again
    see(page, since)
    see(page, f"{late.sum() - saved} without an intent")

    label_with_keys(page)


def test_a_hostile_name_draws_nothing_and_calls_nobody(
    page: Page, app_url: str, table: Path, tmp_path: Path
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, app_url, "data")
    # A set of no other test, which would open under its name.
    plain = table.read_text("utf-8").replace("taxi", "cab")
    # The language that is none is quoted by a message.
    linked = plain.replace(",de,", ",https://evil.example,").encode()
    heading = page.get_by_role("heading", name="![x](evil.png) <img src=evil.png>", level=2).first
    left_out = page.locator("summary", has_text="Rows left out")
    refused = page.get_by_text("is empty; it needs a line of column names").first
    for content, sign in ((plain.encode(), heading), (linked, left_out), (b"", refused)):
        file = tmp_path / "![x](evil.png) <img src=evil.png> [y](evil.html) www.evil.example $x$.csv"
        file.write_bytes(content)
        upload(page, file)
        expect(sign).to_be_visible()
        expect(heading).to_be_visible()
        settle(page)
        if content is linked:
            left_out.click()
            see(page, "These names of languages are unknown")
        main = page.get_by_test_id("stMain")
        # A heading links to itself, and the tabs name the set.
        link = "a[href*='evil.']:not([href^='#'], [data-testid='stPageLink-NavLink'])"
        foreign = f"img[src*=evil], {link}, .katex"
        expect(main.locator(foreign)).to_have_count(0)
    assert not [url for url in asked if "evil" in url]


@pytest.mark.slow
def test_a_file_that_is_too_large_is_refused_before_it_is_sent(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(300 * 2**20)
    visit(page, app_url, "data")
    upload(page, large)
    see(page, re.compile("File must be 200.*MB or smaller"))
    expect(page.get_by_role("heading", name="Demo set", level=2).first).to_be_visible()


@pytest.mark.slow
def test_the_one_way_out_of_a_table_is_the_download_that_runs_no_formula(
    page: Page, app_url: str, runs_folder: Path, table: Path, tmp_path: Path
) -> None:
    file = tmp_path / "formula.csv"
    file.write_text(table.read_text("utf-8").replace("please call me a taxi, 0", "=1+1"), "utf-8")
    visit(page, app_url, "data", data=stored_set(runs_folder, file))
    tables = page.get_by_test_id("stFullScreenFrame").filter(
        has=page.get_by_test_id("stDataFrame"), visible=True
    )
    expect(tables).to_have_count(2)  # the sentences, and the data sets
    for frame in tables.all():
        frame.scroll_into_view_if_needed()
        frame.hover()
        tools = frame.get_by_test_id("stElementToolbar")
        expect(tools.get_by_role("button", name="Search")).to_be_visible()
        expect(tools.get_by_role("button", name="Fullscreen")).to_be_visible()
        download = tools.get_by_role("button", name=re.compile("download|export|csv", re.IGNORECASE))
        expect(download).to_have_count(0)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download as CSV").click()
    rows = list(csv.DictReader(Path(started.value.path()).read_text("utf-8-sig").splitlines()))
    assert "'=1+1" in {row["text"] for row in rows}
    assert "=1+1" not in {row["text"] for row in rows}


@pytest.mark.slow
def test_a_run_is_named_deleted_and_brought_back(page: Page, app_url: str, runs_folder: Path) -> None:
    past(
        runs_folder, "old-name", Status(state=RunState.FINISHED), {"note": "nothing measured", "warnings": []}
    )
    visit(page, app_url, "train", watched="old-name")
    page.get_by_role("button", name="Name, tags, note").click()
    page.get_by_label("Name", exact=True).fill("new-name")
    page.get_by_label("Note", exact=True).fill("for <b>Anna</b>")
    page.get_by_role("button", name="Save").click()
    # The table of runs has the note, too.
    shown = page.get_by_test_id("stText").get_by_text("for <b>Anna</b>", exact=True).first
    expect(shown).to_be_visible()
    expect(page).to_have_url(re.compile("watched=new-name"))
    run = Run(runs_folder / "new-name")
    assert run.note == "for <b>Anna</b>" and not (runs_folder / "old-name").exists()
    settle(page)
    page.get_by_role("button", name="Delete").click()
    undo = page.get_by_role("button", name="Undo: restore new-name")
    expect(undo).to_be_visible()
    expect(page).not_to_have_url(re.compile("new-name"))
    assert not run.folder.exists()
    settle(page)
    undo.click()
    expect(shown).to_be_visible()
    expect(undo).to_have_count(0)
    assert run.status().state is RunState.FINISHED
    shutil.rmtree(run.folder)  # other tests list what is there
