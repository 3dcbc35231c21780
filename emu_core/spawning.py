"""Starting a new Python process without the script that this one runs, and without the current folder."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_SAFE_PATH = "PYTHONSAFEPATH"
_starting = threading.Lock()


@contextmanager
def isolated() -> Iterator[None]:
    """Keep processes that are spawned meanwhile from importing the main script and files of the current folder.

    The script may lack a main guard, and it may import much that the process never uses: in Streamlit's server, where
    every page that is drawn becomes the main module, it is the whole app. A file of the current folder, such as
    random.py, would hide the module of that name.
    """
    with _starting:  # two threads would take each other's empty module for the main one
        main, alone = sys.modules["__main__"], ModuleType("__main__")
        safe_path = os.environ.get(_SAFE_PATH)
        sys.modules["__main__"] = alone
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            if sys.modules["__main__"] is alone:  # else a page was drawn by another thread
                sys.modules["__main__"] = main
            if safe_path is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = safe_path
