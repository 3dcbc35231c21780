"""`python -m emu_core` is the command `emu`."""

import os
import sys

if __name__ == "__main__":
    # `python -m` puts the current folder first, where a file such as random.py would hide a module that is needed.
    if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - pathlib could be such a file
        del sys.path[0]

    from emu_core.cli import main

    sys.exit(main())
