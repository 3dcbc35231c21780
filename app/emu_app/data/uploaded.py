"""What the session remembers of uploads."""

from dataclasses import dataclass, replace
from typing import Any

from emu_app.data.library import chosen_data
from emu_app.data.tables import Upload
from emu_app.shell.session import Remembered


@dataclass(frozen=True)
class Uploaded:
    """The upload on the page, and what became of it."""

    upload: Upload | None = None
    beside: str = ""  # the name of the set that is in use while the upload is on the page
    audited: tuple[Any, ...] | None = None  # the key of the upload that was made a set, and how it was read
    refused: str = ""  # why the last files can't be read, as markdown
    added: tuple[str, str] | None = (
        None  # the upload's key and the name of the set made of it, if that is new
    )
    is_known: bool = False  # whether the library had a set of the same sentences, which is in use instead
    count: int = 0  # of uploads

    @property
    def is_audited(self) -> bool:
        """Whether the upload was read and made a set, with the columns that it had then."""
        return self.upload is not None and self.audited is not None and self.audited[0] == self.upload.key


_UPLOADED = Remembered("uploaded", Uploaded())


def uploaded() -> Uploaded:
    """Return what is remembered; the upload is forgotten if another set was chosen since."""
    now = _UPLOADED.get()
    if now.upload is not None and now.beside != chosen_data().name:
        forget_upload()
    return _UPLOADED.get()


def remember(**changes: Any) -> None:
    """Change some fields of what is remembered."""
    _UPLOADED.set(replace(_UPLOADED.get(), **changes))


def forget_upload() -> None:
    """Forget the upload, but not the set made of it."""
    remember(upload=None, audited=None, refused="")
