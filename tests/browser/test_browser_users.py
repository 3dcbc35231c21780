"""People who sign in at a provider, through nginx and in a real browser: each has runs of their own."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from emu_core.runs.run import RunState, Status
from tests.support.browser import new_window, see, settle
from tests.support.fake_runs import past
from tests.support.nginx import nginx
from tests.support.openid import CLIENT, SECRET, provider
from tests.support.paths import ROOT
from tests.support.serving import free_port, serving

pytestmark = pytest.mark.browser
PEOPLE = {
    "Anna": {"sub": "1", "email": "anna@example.org", "email_verified": True},
    "Ben": {"sub": "2", "email": "ben@example.org", "email_verified": True},
    "Hostile": {
        "sub": "../../../1",
        "email": "<img src=x onerror=alert(1)>@example.org",
        "email_verified": True,
    },
}


class Served(NamedTuple):
    """A server where people sign in."""

    address: str
    issuer: str
    runs: Path

    def folder(self, name: str) -> Path:
        """Return somebody's folder of runs."""
        who = json.dumps([self.issuer, PEOPLE[name]["sub"]])
        return self.runs / ".users" / hashlib.sha256(who.encode()).hexdigest()[:32]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`emu app` with settings as the documentation has them."""
    folder = tmp_path_factory.mktemp("server")
    port, proxy = free_port(), free_port()
    address, runs = f"http://127.0.0.1:{proxy}", folder / "runs"
    with provider(PEOPLE) as issuer, nginx(f"http://127.0.0.1:{port}", proxy, folder):
        (folder / "server.toml").write_text('sign_in = "secrets.toml"\npeople = ["example.org"]\nrows = 5\n')
        (folder / "secrets.toml").write_text(
            f'[auth]\nredirect_uri = "{address}/oauth2callback"\ncookie_secret = "{"0123456789" * 4}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{issuer}/.well-known/openid-configuration"\n'
        )
        served = Served(address, issuer, runs)
        past(served.folder("Anna"), "annas-run", Status(state=RunState.FINISHED), {})
        past(runs, "nobodys-run", Status(state=RunState.FINISHED), {})
        command = [sys.executable, "-m", "emu_core", "app", "--port", str(port), "--runs", str(runs)]
        with serving([*command, "--settings", str(folder / "server.toml")], ROOT, os.environ):
            yield served


def signed_in(browser: Browser, served: Served, name: str, path: str = "") -> Page:
    """Sign in as somebody, in a browser of their own."""
    page = new_window(browser).new_page()
    page.goto(f"{served.address}/{path}")
    settle(page)
    button = page.get_by_role("button", name="Sign in")
    expect(button).to_be_visible()
    expect(page.get_by_role("link", name="Train")).to_have_count(0)
    button.click()
    page.get_by_role("link", name=name).click()
    page.wait_for_url(f"{served.address}/**")
    return page


@pytest.mark.slow
def test_each_has_their_own_runs_and_a_link_opens_nobody_elses(browser: Browser, served: Served) -> None:
    anna, ben = (signed_in(browser, served, name) for name in ("Anna", "Ben"))
    anna.goto(f"{served.address}/try?b=run:annas-run")
    expect(anna.get_by_role("combobox", name=re.compile("^B"))).to_have_value("annas-run")
    for name in ("annas-run", "nobodys-run"):
        ben.goto(f"{served.address}/try?b=run:{name}")
        see(ben, f"Encoder B: there is no finished run {name} here.")
        settle(ben)
        expect(ben.get_by_role("combobox", name=re.compile("^B"))).to_have_value(
            "demo"
        )  # their own: who signs in for the first time gets it

    ben.get_by_role("link", name="Data", exact=True).click()
    rows = "".join(f"sentence {number},a,en\n" for number in range(6))
    ben.locator('input[type="file"]').set_input_files(
        {"name": "six.csv", "mimeType": "text/csv", "buffer": f"text,intent,language\n{rows}".encode()}
    )
    see(ben, "This has 6 rows, and the server accepts 5 in an upload; upload a sample of it.")
    ben.get_by_role("button", name="Account").click()
    see(ben, "Signed in as ben@example.org")
    ben.get_by_role("button", name="Sign out").click()
    expect(ben.get_by_role("button", name="Sign in")).to_be_visible()
    owner = json.loads((served.folder("Ben") / ".owner.json").read_text())
    assert owner == {"iss": served.issuer, "sub": "2", "email": "ben@example.org", "name": None}


@pytest.mark.slow
def test_a_hostile_identity_is_a_name_like_any_other(browser: Browser, served: Served) -> None:
    page = signed_in(browser, served, "Hostile", "encoders")
    page.get_by_role("button", name="Account").click()
    see(page, "Signed in as <img src=x onerror=alert(1)>@example.org")
    made = {path.name for path in (served.runs / ".users").iterdir()}
    assert served.folder("Hostile").name in made and all(re.fullmatch("[0-9a-f]{32}", name) for name in made)
    assert {path.name for path in served.runs.iterdir()} <= {".users", ".vectors", "nobodys-run"}
