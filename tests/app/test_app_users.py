"""Who may do what on a server of the app: its settings, users, quotas, and whose run a session may stop."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from emu_app.shell import state, users
from emu_app.shell.model_name import model_spec
from emu_app.work.jobs import JobManager
from emu_core.cli import main, serve
from emu_core.cli.server import AUTH, ServerSettings, is_this_machine, read_server_settings
from emu_core.errors import EmuError, EncoderError, RunError
from emu_core.runs.run import Run, RunState, Status
from emu_core.settings import infos
from tests.support.app_pages import new_session, press
from tests.support.docs_pages import blocks
from tests.support.fake_runs import PATIENCE_S, NoData, config, go, past, until
from tests.support.paths import DOCS, MAIN
from tests.support.raises import raises

SECRETS = dict.fromkeys(AUTH, "x" * 40) | {"redirect_uri": "https://emu.example.org/oauth2callback"}
SignIn = Callable[..., None]
EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing listens


def write_server(folder: Path, settings: str, **secrets: object) -> Path:
    """Write a settings file and the provider's beside it."""
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in (SECRETS | secrets).items())
    (folder / "secrets.toml").write_text(f"[auth]\n{''.join(lines)}")
    (folder / "server.toml").write_text(settings)
    return folder / "server.toml"


@pytest.fixture
def sign_in(tmp_path: Path, queue: JobManager, monkeypatch: pytest.MonkeyPatch) -> SignIn:
    """Be somebody, as the claims say, on a server where people sign in."""
    file = write_server(tmp_path, 'sign_in = "secrets.toml"\npeople = ["example.org", "Eve@example.com"]\n')
    monkeypatch.setenv("EMU_SETTINGS", str(file))
    monkeypatch.setattr(users, "place_where_empty", lambda *_: None)

    def signed_in(sub: object = "1", **claims: object) -> None:
        known = {"is_logged_in": True, "iss": "https://id.example", "sub": sub, "email_verified": True}
        monkeypatch.setattr(st, "user", {**known, "email": "x@example.org", **claims})

    return signed_in


def train_page() -> AppTest:
    app = new_session().run()
    if app.title and app.title[0].value == "Data":
        app.switch_page("views/train.py").run()
    assert not app.exception
    return app


def labels(app: AppTest) -> set[str]:
    return {button.label for button in app.button}


def said(app: AppTest) -> str:
    return " ".join(
        str(one.value) for one in (*app.error, *app.info, *app.caption, *app.warning, *app.markdown)
    )


def begun(root: Path, queue: JobManager, name: str = "first") -> Run:
    run = queue.submit(name, config(), NoData(), root=root)
    until(lambda: run.status().state is RunState.RUNNING)
    return run


def test_users_share_a_queue_and_see_nothing_of_each_others_runs(
    sign_in: SignIn, queue: JobManager, tmp_path: Path
) -> None:
    sign_in("anna")
    root = users.runs_root()
    run = begun(root, queue, "annas-run")
    sign_in("ben", email="<b>@example.org")
    ben = train_page()
    assert "1 job of other people waits or runs." in said(ben)
    assert ben.text[0].value == "Signed in as <b>@example.org" and "annas" not in said(ben)
    assert not {"Cancel", "Cancel it anyway"} & labels(ben)
    press(ben, "Start the run")
    own = Run(users.runs_root() / "head-use-1")
    assert "Waiting for 1 other job on its device." in said(ben) and queue.ahead_of(own) == 1
    press(ben, "Cancel")
    assert queue.wait(own, PATIENCE_S).state is RunState.CANCELLED and not run.cancel_asked
    sign_in("anna")
    press(train_page(), "Cancel")  # in another session, but hers
    assert queue.wait(run, PATIENCE_S).state is RunState.CANCELLED
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {users.USERS}


def test_each_who_signs_in_gets_a_demo_run_once(
    sign_in: SignIn, queue: JobManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed: list[tuple[Path, Path]] = []
    monkeypatch.setattr(users, "place_where_empty", lambda *folders: placed.append(folders))
    sign_in("anna")
    roots = [users.runs_root()]
    train_page()
    train_page()
    sign_in("ben")
    roots.append(users.runs_root())
    train_page()
    assert placed == [(root, tmp_path / "runs") for root in roots]


@pytest.mark.parametrize("sub", ["../../etc", "/root", "a\0b", "é" * 5000, "\ud800"])
def test_a_hostile_identity_names_no_path(sign_in: SignIn, tmp_path: Path, sub: str) -> None:
    sign_in(sub)
    assert re.fullmatch("[0-9a-f]{32}", users.runs_root().name)
    assert users.runs_root().parent == tmp_path / "runs" / users.USERS


def test_only_a_token_is_taken_from_a_cookie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(type(st.context), "cookies", {state.BROWSER: "</script><script>alert(1)</script>"})
    made = state.browser()
    assert re.fullmatch(r"[\w-]{43}", made)
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(type(st.context), "cookies", {state.BROWSER: made})
    assert state.browser() == made


def test_identities_that_look_alike_have_folders_of_their_own(sign_in: SignIn) -> None:
    found = set()
    for iss, sub in (("a", "bc"), ("ab", "c"), ("a", "b"), ('a"', "b"), ("a", '"b')):
        sign_in(sub, iss=iss)
        found.add(users.runs_root())
    assert len(found) == 5


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"is_logged_in": False}, "Sign in to train"),
        ({"is_logged_in": None}, "Sign in to train"),
        ({"sub": ""}, "The provider does not say who you are"),
        ({"sub": 7}, "The provider does not say who you are"),
        ({"iss": None}, "The provider does not say who you are"),
        ({"email": "anna@example.com"}, "may not use this server"),
        ({"email": "anna@notexample.org"}, "may not use this server"),
        ({"email_verified": False}, "may not use this server"),
        ({"email_verified": "yes"}, "may not use this server"),
        ({"email": None}, "may not use this server"),
    ],
)
def test_who_has_not_signed_in_or_may_not_sees_no_page(
    sign_in: SignIn, tmp_path: Path, claims: dict[str, Any], words: str
) -> None:
    sign_in(**claims)
    app = new_session().run()
    assert not app.exception and words in said(app)
    assert not app.get("file_uploader") and not (tmp_path / "runs" / users.USERS).exists()


def test_people_are_let_in_by_address_or_domain() -> None:
    settings = ServerSettings(sign_in="x", people=("@Example.org", "eve@example.com"))
    assert settings.admits("A@example.ORG", verified=True) and settings.admits(
        "Eve@Example.com", verified=True
    )
    assert not settings.admits("example.org", verified=True) and not settings.admits("", verified=True)
    assert ServerSettings(sign_in="x").admits(None, verified=False)


def test_a_server_whose_settings_are_gone_lets_nobody_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_SETTINGS", str(tmp_path / "gone.toml"))
    app = new_session().run()
    assert "read gone" in said(app) and str(tmp_path.name) not in said(app) and not app.title


@pytest.mark.slow
def test_a_session_asks_before_it_stops_what_another_began(queue: JobManager, tmp_path: Path) -> None:
    mine = train_page()
    press(mine, "Start the run")
    run = Run(tmp_path / "runs" / "head-use-1")
    until(lambda: run.status().state is RunState.RUNNING)
    assert "Cancel" in labels(mine.run())
    other = train_page()  # of somebody else, or of the same person after a reload
    assert "Cancel" not in labels(other) and "not started in this browser" in said(other)
    assert not run.cancel_asked
    press(other, "Cancel it anyway")
    assert queue.wait(run, PATIENCE_S).state is RunState.CANCELLED
    press(other.run(), "Resume")  # whoever goes on with it has it from then on
    until(lambda: run.status().state is RunState.RUNNING)
    assert "Cancel" in labels(other.run())
    press(other, "Cancel")
    assert queue.wait(run, PATIENCE_S).state is RunState.CANCELLED
    press(other.run(), "Delete")
    assert not run.folder.exists() and "Runs appear here" in said(other)


def test_quotas_refuse_in_a_sentence_and_are_each_users_own(tmp_path: Path, queue: JobManager) -> None:
    queue._limits = ServerSettings(queued=1, disk_mb=1)
    anna, ben = tmp_path / "runs/.users/a", tmp_path / "runs/.users/b"
    first = begun(anna, queue)
    with pytest.raises(RunError, match=r"1 run of yours waits or runs.*cancel it"):
        queue.submit("second", config(), NoData(), root=anna)
    stopped = past(anna, "stopped", Status(state=RunState.CANCELLED))
    with raises(RunError, fix=None, match="1 run "):
        queue.resume(stopped)
    other = queue.submit("second", config(), NoData(), root=ben)
    with raises(RunError, fix=None, match=f"'{first.name}'"):
        queue.delete(first)
    go(anna), go(ben)
    queue.wait(first, PATIENCE_S), queue.wait(other, PATIENCE_S)
    (first.folder / "big").write_bytes(bytes(1_000_000))
    with pytest.raises(RunError, match=r"your runs take 1 MB, and this server allows 1 MB.*delete a run"):
        queue.submit("third", config(), NoData(), root=anna)
    assert not (anna / "third").exists()
    queue.delete(first)
    assert queue.wait(queue.submit("third", config(), NoData(), root=anna), PATIENCE_S).steps == 4


def test_an_upload_of_more_rows_than_allowed_is_refused(
    queue: JobManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_SETTINGS", str(write_server(tmp_path, "rows = 3\n")))
    app = new_session().run()
    for count, refused in ((4, True), (3, False)):
        rows = pd.DataFrame(
            {"text": [f"t{i}" for i in range(count)], "intent": list("abab")[:count], "language": "en"}
        )
        app.file_uploader[0].set_value([("a.csv", rows.to_csv(index=False).encode(), "")])
        app.run()
        assert ("accepts 3 in an upload" in said(app)) is refused
        assert ("In use: Demo set" in [title.value for title in app.header]) is refused


def test_every_page_that_takes_files_counts_their_rows() -> None:
    for path in (MAIN.parent).rglob("*.py"):
        text = path.read_text("utf-8")
        if path.name != "cache.py":  # whose `read_in_limits` counts them
            assert ("st.file_uploader(" in text) == ("read_in_limits(" in text), path


@pytest.mark.parametrize("typed", ["/etc", "~", ".", "../x", "app", "C:\\x", "hf:/tmp", "emu_core/data"])
def test_no_folder_of_a_server_is_opened_as_a_model(typed: str) -> None:
    with pytest.raises(EncoderError, match="opens no folders"):
        model_spec(typed, folders=False)
    assert model_spec("intfloat/x", folders=False) == "hf:intfloat/x"


@pytest.mark.parametrize(
    ("settings", "secrets", "words"),
    [
        ("rows = 1\nrow = 2", {}, "'row'; there are sign_in, people, rows, disk_mb, queued"),
        ("rows = 0", {}, "server.toml: rows .* not 0"),
        ("rows = true", {}, "rows "),
        ("disk_mb = '5'", {}, "disk_mb "),
        ("queued = 1.5", {}, "queued .* not 1.5"),
        ("sign_in = 5", {}, "sign_in .* not 5"),
        ("people = 'example.org'", {}, "people .* not example.org"),
        ("people = ['example.org']", {}, "people .*sign_in|sign-in"),
        ("rows = ", {}, "server.toml .*TOML"),
        ("sign_in = 'gone.toml'", {}, "gone.toml: No such file"),
        ("sign_in = 'secrets.toml'", {"client_id": ""}, "client_id"),
        ("sign_in = 'secrets.toml'", {"client_secret": 5}, "client_secret"),
        (
            "sign_in = 'secrets.toml'",
            {"redirect_uri": "https://emu.example.org"},
            "redirect_uri .*/oauth2callback",
        ),
        ("sign_in = 'secrets.toml'", {"cookie_secret": "short"}, "cookie_secret .* 32 "),
    ],
)
def test_an_error_of_the_settings_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: str, secrets: dict[str, object], words: str
) -> None:
    file = write_server(tmp_path, settings, **secrets)
    assert main(["app", "--settings", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("emu: ") and re.search(words, line), line
    assert "xxxx" not in line  # a secret is never shown


def test_the_command_warns_and_passes_on_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], *, env: dict[str, str], check: bool) -> Any:
        calls.append((command, env))
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(serve.subprocess, "run", run)
    monkeypatch.delenv("EMU_SETTINGS", raising=False)

    def served(*options: str) -> str:
        assert main(["app", "--runs", str(tmp_path), *options]) == 0
        return capsys.readouterr().err

    assert served() == "" and "EMU_SETTINGS" not in calls[-1][1]
    assert "localhost" in calls[-1][0] and "--server.headless" not in calls[-1][0]
    warning = served("--host", EVERYWHERE)
    assert (
        warning.count("\n") == 1 and "nobody has to sign in" in warning and "docs/how-to/server.md" in warning
    )
    assert calls[-1][0][calls[-1][0].index("--server.address") + 1] == EVERYWHERE
    file = write_server(tmp_path, "sign_in = 'secrets.toml'")
    assert served("--host", EVERYWHERE, "--settings", str(file)) == ""
    assert calls[-1][0][-2:] == ["--secrets.files", str(tmp_path / "secrets.toml")]
    assert calls[-1][1]["EMU_SETTINGS"] == str(file)
    monkeypatch.setenv("EMU_PRECISION", "fp32")
    assert served("--precision", "bf16") == "" and calls[-1][1]["EMU_PRECISION"] == "bf16"
    assert served() == "" and calls[-1][1]["EMU_PRECISION"] == "fp32"
    write_server(tmp_path, "sign_in = 'secrets.toml'", redirect_uri="http://emu.example.org/oauth2callback")
    assert "not an https address" in served("--settings", str(file))
    monkeypatch.setattr(
        serve, "find_spec", lambda name: None if name == "authlib" else type("S", (), {"origin": "x"})
    )
    with raises(EmuError, fix=None, match="Authlib"):
        serve.serve(settings=file)


def test_which_addresses_are_this_machine_alone() -> None:
    assert all(map(is_this_machine, ("localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]")))
    assert not any(map(is_this_machine, ("", EVERYWHERE, "::", "10.0.0.5", "localhost.example.org")))


def test_the_page_on_servers_has_every_setting_and_its_examples_are_read(tmp_path: Path) -> None:
    page = DOCS / "how-to/server.md"
    text = page.read_text("utf-8")
    for info in infos(ServerSettings):
        assert f"| `{info.name}` | {info.help} |" in text
    examples = {block.title: block.text for block in blocks(page) if block.language == "toml"}
    secrets = examples["secrets.toml"].replace("a long random string", "r" * 40)
    (tmp_path / "secrets.toml").write_text(secrets)
    (tmp_path / "server.toml").write_text(examples["server.toml"])
    settings = read_server_settings(tmp_path / "server.toml")
    assert settings.sign_in == str(tmp_path / "secrets.toml") and settings.queued
