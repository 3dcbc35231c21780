"""The settings file of the app's server: sign-in and quotas."""

import ipaddress
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from emu_core.errors import EmuError
from emu_core.settings import Settings, infos, setting

AUTH = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
CALLBACK = "/oauth2callback"  # Streamlit's own
SHORTEST_SECRET = 32  # characters


@dataclass(frozen=True)
class ServerSettings(Settings):
    """The settings file of `emu app`; without one, nobody signs in and there are no quotas."""

    sign_in: str = setting(
        "",
        "TOML file whose [auth] section configures the OpenID provider, in Streamlit's format; a relative path is "
        "resolved against the settings file. Without it, there is no sign-in and everyone shares one folder of runs.",
        label="Sign-in",
    )
    people: tuple[str, ...] = setting(
        (),
        "Who may sign in: verified e-mail addresses, or domains such as example.org. If empty, everyone whom the "
        "provider accepts.",
    )
    rows: int | None = setting(None, "Maximum number of rows in an upload.", low=1)
    disk_mb: int | None = setting(
        None,
        "Disk quota for a user's runs, in megabytes. When it is reached, a run must be deleted before another starts.",
        label="Disk",
        low=1,
    )
    queued: int | None = setting(
        None, "Maximum number of a user's runs that are queued or running.", label="Queued runs", low=1
    )

    def check_together(self) -> None:
        """Check that there is a sign-in if there is a list of people."""
        if self.people and not self.sign_in:
            raise EmuError(
                "people lists who may sign in, but there is no sign-in: name the provider's file in sign_in"
            )

    def admits(self, email: object, *, verified: bool) -> bool:
        """Return whether somebody with an e-mail address, verified by the provider or not, may sign in."""
        if not self.people:
            return True
        address = email.lower() if isinstance(email, str) and verified else ""
        _, at, domain = address.rpartition("@")
        return bool(at) and any(person.lower().lstrip("@") in (address, domain) for person in self.people)


def read_server_settings(path: Path) -> ServerSettings:
    """Read a settings file, and check the provider's file that it names.

    Raises:
        EmuError: a file can't be read, has unknown or invalid settings, or lacks some.
    """
    values = _toml(path)
    known = [info.name for info in infos(ServerSettings)]
    if strange := [name for name in values if name not in known]:
        raise EmuError(f"{path.name} has the unknown setting '{strange[0]}'; there are {', '.join(known)}")
    try:
        settings = ServerSettings(**values)
    except EmuError as error:
        raise EmuError(f"{path.name}: {error}") from None
    if not settings.sign_in:
        return settings
    provider = path.absolute().parent / settings.sign_in
    auth = _toml(provider).get("auth", {})
    auth = auth if isinstance(auth, dict) else {}
    if missing := [name for name in AUTH if not isinstance(auth.get(name), str) or not auth[name]]:
        raise EmuError(f"{provider.name} has no {missing[0]} under [auth]; it needs {', '.join(AUTH)}")
    if not auth["redirect_uri"].endswith(CALLBACK):
        raise EmuError(f"redirect_uri in {provider.name} must be the app's address followed by {CALLBACK}")
    if len(auth["cookie_secret"]) < SHORTEST_SECRET:
        raise EmuError(
            f"cookie_secret in {provider.name} must have at least {SHORTEST_SECRET} random characters: whoever guesses "
            "it can sign in as anybody"
        )
    return replace(settings, sign_in=str(provider))


def is_this_machine(host: str) -> bool:
    """Return whether an address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def warnings_for(settings: ServerSettings, host: str) -> list[str]:
    """Return warnings about serving the app at an address, one sentence each."""
    if settings.sign_in:
        address = urlsplit(_toml(Path(settings.sign_in))["auth"]["redirect_uri"])
        if address.scheme == "https" or is_this_machine(address.hostname or ""):
            return []
        return [
            "the redirect_uri is not an https address: whoever intercepts the connection can take over a sign-in"
        ]
    if is_this_machine(host):
        return []
    return [
        f"other machines can reach {host}, and nobody has to sign in: everybody there can see all runs and their text, "
        "start, stop and delete runs, and open folders of this machine as models; to require a sign-in, set "
        "sign_in in the file of --settings (docs/how-to/server.md)"
    ]


def _toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise EmuError(f"can't read {path.name}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise EmuError(f"{path.name} is not TOML: {error}") from None
