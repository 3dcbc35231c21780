"""Uploading an exported folder to the Hugging Face hub."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from emu_core.errors import RunError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_FORBIDDEN, _CONFLICT = 403, 409


def check_push(repo: str) -> None:
    """Raise a RunError if a new repository can't be made on the hub, before an export takes time for it."""
    from huggingface_hub.utils import validate_repo_id

    with _sentences(repo):
        validate_repo_id(repo)
        api = _api()
        user = api.whoami()["name"]
        if api.repo_exists(repo if "/" in repo else f"{user}/{repo}"):
            raise _taken(repo)


def push_folder(folder: Path, repo: str, *, public: bool) -> str:
    """Make a repository on the hub, private unless `public`, and upload a folder into it; return its address.

    The token is that of huggingface_hub: HF_TOKEN, or what `hf auth login` stored.

    Raises:
        RunError: there is no token, it may not write, the repository exists, or the hub can't be reached.
    """
    with _sentences(repo):
        api = _api()
        address = api.create_repo(repo, private=not public)
        api.upload_folder(repo_id=address.repo_id, folder_path=folder, commit_message="Add an encoder")
        return str(address)


def _api() -> "HfApi":
    from huggingface_hub import HfApi

    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"))


def _taken(repo: str) -> RunError:
    return RunError(
        f"{repo} is on the hub already, and nothing there is replaced; choose another name, or upload the exported "
        f"folder yourself: hf upload {repo} FOLDER"
    )


@contextmanager
def _sentences(repo: str) -> Iterator[None]:
    """Turn the errors of huggingface_hub into sentences; the original ones, which hold requests, are left out."""
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalTokenNotFoundError,
        OfflineModeIsEnabled,
    )

    try:
        yield
        return
    except RunError:
        raise
    except HFValidationError:
        error = RunError(f"'{repo}' is no name of a repository; give one such as user/hotel-encoder")
    except LocalTokenNotFoundError:
        error = RunError("there is no token of the Hugging Face hub; run hf auth login, or set HF_TOKEN")
    except OfflineModeIsEnabled:
        error = RunError("HF_HUB_OFFLINE forbids the hub; unset it to push")
    except HfHubHTTPError as refusal:
        status = refusal.response.status_code
        if status == _CONFLICT:
            error = _taken(repo)
        elif status == _FORBIDDEN:
            error = RunError(
                f"the token may not write to {repo}; give it the right to, or choose another name"
            )
        elif status == 401:
            error = RunError("the hub does not accept the token; run hf auth login, or set another HF_TOKEN")
        else:
            error = RunError(f"the hub refused {repo} (HTTP {status}); try it again later")
    except Exception as failure:  # of the network's libraries
        error = RunError(
            f"the hub can't be reached ({type(failure).__name__}); check the network and try it again"
        )
    raise error from None
