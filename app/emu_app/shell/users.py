"""The users of the app: the person at this machine, or people who sign in and have their own runs."""

import hashlib
import json
import os
from functools import cache
from pathlib import Path

import streamlit as st

from emu_app.shell.first_run import place_where_empty
from emu_app.shell.wording import literal, sentence
from emu_core.cli.server import ServerSettings, read_server_settings
from emu_core.data.wording import shown
from emu_core.errors import DataError, EmuError
from emu_core.files import write_json

DATA = ".data"  # the library, in the folder of runs; the dot tells it from a run
USERS = ".users"  # in the folder of runs: a folder for each user; the dot tells it from a run
OWNER = ".owner.json"


def server() -> ServerSettings:
    """Return the settings in the file named by $EMU_SETTINGS. Raises EmuError if it can't be read."""
    return _settings(os.environ.get("EMU_SETTINGS", ""))


@cache
def _settings(path: str) -> ServerSettings:
    return read_server_settings(Path(path)) if path else ServerSettings()


def all_runs_root() -> Path:
    """Return the folder of all users' runs: $EMU_RUNS, or ./runs."""
    return Path(os.environ.get("EMU_RUNS") or "runs").absolute()


def runs_root() -> Path:
    """Return the user's folder of runs; without a sign-in the folder of all. Raises EmuError if nobody is known."""
    root = all_runs_root()
    return root / USERS / _folder_name() if server().sign_in else root


def _folder_name() -> str:
    """Return a hash, in hexadecimal, of the signed-in user's identity."""
    # Unlike an email address, OpenID Connect never gives issuer and subject to another person.
    who = [st.user.get("iss"), st.user.get("sub")]
    if not st.user.get("is_logged_in"):
        raise EmuError("sign in first")
    if not all(isinstance(part, str) and part for part in who):
        raise EmuError("the provider does not say who you are: it gives no issuer (iss) or no subject (sub)")
    return hashlib.sha256(json.dumps(who).encode()).hexdigest()[:32]


def draw_sign_in() -> bool:
    """Draw the sign-in if there is one; return whether the user may see the pages."""
    try:
        settings = server()
        if not settings.sign_in:
            return True
        if not st.user.get("is_logged_in"):
            st.title("Emu")
            st.markdown("Sign in to train encoders and to see your runs. Nobody else sees them.")
            st.button("Sign in", on_click=st.login, type="primary", icon=":material/login:")
            return False
        root, email = runs_root(), st.user.get("email")
        if settings.admits(email, verified=st.user.get("email_verified") is True):
            if not (root / OWNER).exists():  # tells the administrator whose folder it is
                place_where_empty(root, all_runs_root())
                root.mkdir(parents=True, exist_ok=True)
                write_json(root / OWNER, {key: st.user.get(key) for key in ("iss", "sub", "email", "name")})
            return True
        st.error(
            f"{literal(_name())} may not use this server. Ask its administrator.", icon=":material/block:"
        )
        _draw_sign_out()
    except (EmuError, OSError) as error:
        st.error(sentence(error), icon=":material/error:")
    return False


def draw_account() -> None:
    """Draw the signed-in user's name and the sign-out button."""
    if server().sign_in:
        with st.popover("Account", icon=":material/account_circle:", type="tertiary"):
            st.text(f"Signed in as {_name()}")  # as markdown an address becomes a link
            _draw_sign_out()


def _name() -> str:
    return shown(st.user.get("email") or st.user.get("name") or "somebody without a name", 80)


def _draw_sign_out() -> None:
    st.button("Sign out", on_click=st.logout, icon=":material/logout:")


def check_upload(rows: int) -> None:
    """Raise DataError if an upload has more rows than the server accepts."""
    most = server().rows
    if most is not None and rows > most:
        raise DataError(
            f"this has {rows:,} rows, and the server accepts {most:,} in an upload; upload a sample of it"
        )
