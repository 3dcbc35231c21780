"""`python -m emu_core` is the command `emu`."""

import sys

from emu_core.cli import main

sys.exit(main())
