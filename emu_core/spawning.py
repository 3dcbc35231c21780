"""Starting a new Python process without the script that this one runs."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_starting = threading.Lock()


@contextmanager
def without_main() -> Iterator[None]:
    """Keep processes that are spawned meanwhile from importing the main script.

    It may lack a main guard, and it may import much that the process never uses: in Streamlit's server, where every
    page that is drawn becomes the main module, it is the whole app.
    """
    with _starting:  # two threads would take each other's empty module for the main one
        main, alone = sys.modules["__main__"], ModuleType("__main__")
        sys.modules["__main__"] = alone
        try:
            yield
        finally:
            if sys.modules["__main__"] is alone:  # else a page was drawn by another thread
                sys.modules["__main__"] = main
