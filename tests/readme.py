"""The example in an exported folder's README.md, run as a stranger would run it."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from emu_core.encoders.base import FloatArray

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Blocker())
"""
VECTORS = """
import json

encode = model.encode if "model" in globals() else encode
print(json.dumps([encode([text])[0].tolist() for text in {texts!r}]))
print(json.dumps(encode({texts!r}).tolist()))
"""


def readme_vectors(folder: Path, texts: Sequence[str], *, blocked: Sequence[str]) -> FloatArray:
    """Vectors by the README's example, in a process that can't import the blocked packages.

    Each text is encoded alone and all are together; the two must agree.
    """
    examples = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    code = "".join(
        [
            BLOCKER.format(blocked=list(blocked)),
            examples[0].replace("path/to/this/folder", str(folder)),
            VECTORS.format(texts=list(texts)),
        ]
    )
    said = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    alone, together = (np.array(json.loads(line), np.float32) for line in said.stdout.splitlines()[-2:])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-5)
    return together
