"""The example in an exported folder's README.md, run as a stranger would run it."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from emu_core.encoders.base import FloatArray
from tests.support.processes import OWN, exit_code, python

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
assert encode([]).shape[0] == 0
print(json.dumps([encode([text])[0].tolist() for text in {texts!r}]))
assert (encode({texts!r}[0]) == encode({texts!r}[:1])[0]).all()
print(json.dumps(encode({texts!r}).tolist()))
"""


def readme_vectors(folder: Path, texts: Sequence[str], *, blocked: Sequence[str]) -> FloatArray:
    """Vectors by the README's example, in a process that can't import the blocked packages.

    Each text is encoded alone and all are together; the two must agree. The process is a new interpreter where torch,
    which another may have imported, is among those packages.
    """
    examples = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    example = examples[0].replace("path/to/this/folder", str(folder))
    code = BLOCKER.format(blocked=list(blocked)) + example + VECTORS.format(texts=list(texts))
    with TemporaryDirectory() as place:
        out, err = Path(place) / "out", Path(place) / "out.err"
        if set(blocked) <= set(OWN):
            returned = exit_code(python, str(folder), ["-c", code], str(out))
        else:
            words = [sys.executable, "-I", "-c", code]
            with out.open("wb") as said, err.open("wb") as warned:
                returned = subprocess.run(
                    words, cwd=folder, stdout=said, stderr=warned, check=False
                ).returncode
        assert returned == 0, err.read_text("utf-8")
        lines = out.read_text("utf-8").splitlines()
    alone, together = (np.array(json.loads(line), np.float32) for line in lines[-2:])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-5)
    return together
