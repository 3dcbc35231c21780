"""Several commands of `emu`, one after another in the processes that `accelerate launch` starts.

Starting two processes takes longer than any of the commands, so they share them.
"""

import json
import sys

from emu_core.cli import main

if __name__ == "__main__":
    for arguments in json.loads(sys.argv[1]):
        # No command is started after one that failed: only this process may have failed, and the others, which are
        # waiting for it in that command, are ended by the launcher once this one has ended.
        if code := main(arguments):
            sys.exit(code)
