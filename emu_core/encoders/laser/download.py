"""LASER's three published files: where they are on this machine, and how they are downloaded."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from emu_core.encoders.saved import package_folder
from emu_core.errors import EncoderError

LASER_PACKAGE = "laserembeddings-fork==1.2.2"
URL = "https://dl.fbaipublicfiles.com/laser/models/"
CODES, VOCABULARY, MODEL = "93langs.fcodes", "93langs.fvocab", "bilstm.93langs.2018-12-26.pt"
FILES = (CODES, VOCABULARY, MODEL)
FOLDER_VARIABLE = "EMU_LASER_DIR"
PATIENCE_S = 3600.0


def files_folder() -> Path:
    """Return the folder named by EMU_LASER_DIR, or else the package's. Raises EncoderError if there is neither."""
    folder, package = os.environ.get(FOLDER_VARIABLE, "").strip(), package_folder("laserembeddings")
    if folder:
        return Path(folder).expanduser()
    if package is None:
        raise EncoderError(
            f"the encoder 'laser' needs a package that is not installed: pip install {LASER_PACKAGE}"
        )
    return package / "data"


def missing_files(folder: Path) -> tuple[str, ...]:
    """Return those of the three files that are not in a folder."""
    return tuple(name for name in FILES if not (folder / name).is_file())


def laser_absence() -> str:
    """Return why the encoder cannot be loaded here and how to fix that; "" if it can."""
    if package_folder("laserembeddings") is None:
        return f"pip install {LASER_PACKAGE}"
    folder = files_folder()
    if not missing_files(folder):
        return ""
    return f"its files are missing: run emu encoders download laser, or set {FOLDER_VARIABLE} to their folder"


def download() -> Path:
    """Fetch the files (about 210 MB) with the package's command, unless they are there, and return their folder.

    The command's messages go to stderr. The files appear in the folder together, when they are complete.

    Raises:
        EncoderError: there is no network, or the folder can't be written; the message says what to do by hand.
    """
    target = files_folder()
    if not missing_files(target):
        return target
    if package_folder("laserembeddings") is None:
        raise EncoderError(
            f"a package that is not installed fetches LASER's files: pip install {LASER_PACKAGE}"
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".laser-", dir=target) as partial:
            if reason := _fetch(Path(partial)):
                raise EncoderError(
                    f"LASER's files can't be fetched from here ({reason}); fetch "
                    f"{', '.join(URL + name for name in FILES)} by other means and put them into {target}"
                )
            for name in FILES:
                (Path(partial) / name).replace(target / name)
    except OSError as error:
        raise EncoderError(
            f"LASER's files can't be written to {target} ({error.strerror}); set {FOLDER_VARIABLE} to a folder of "
            "yours and try again"
        ) from error
    return target


def _fetch(folder: Path) -> str:
    """Run the package's command, and return why it failed, or ""."""
    # -P: a folder of the same name in the working directory is not the package.
    command = [sys.executable, "-P", "-m", "laserembeddings", "download-models", str(folder)]
    utf8 = {**os.environ, "PYTHONIOENCODING": "utf-8"}  # other encodings lack signs of its messages
    try:
        done = subprocess.run(
            command, stdout=2, stderr=subprocess.PIPE, env=utf8, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {PATIENCE_S:.0f} s"
    lines = done.stderr.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "no reason given")
    if done.returncode:
        return last[:200]
    return "they did not arrive" if missing_files(folder) else ""
