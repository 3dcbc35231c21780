"""Several commands of `emu`, one after another in the processes that `accelerate launch` starts.

Starting two processes takes longer than any of the commands, so they share them.
"""

import json
import sys

from emu_core.cli import main

if __name__ == "__main__":
    sys.exit(max([main(arguments) for arguments in json.loads(sys.argv[1])]))
