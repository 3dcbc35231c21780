"""An encoder as a folder that sentence-transformers opens."""

from pathlib import Path

from emu_core.encoders.base import Encoder
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import quietly

PLAIN = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
print(model.encode(["Where is the pool?"]).shape)
```
"""
WITH_EMU = """\
The encoder `{spec}` is no plain transformer, so emu_core must be installed. This folder holds weights and JSON, no
code:

```python
from emu_core.encoders.sentence_transformers_module import EmuModule
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(modules=[EmuModule.load("path/to/this/folder")])
print(model.encode(["Where is the pool?"]).shape)
```

Where a program opens it by its folder's name alone, sentence-transformers 6 and later wants
`SentenceTransformer("path/to/this/folder", trust_remote_code=True)` before it imports any class that is not its own,
installed packages included.
"""


def write_sentence_transformers(encoder: Encoder, folder: Path) -> str:
    """Write the encoder's files.

    A transformer opens in sentence-transformers alone; any other encoder needs emu_core beside it.

    Returns:
        How to open the folder, in Markdown.
    """
    if isinstance(encoder, TransformerEncoder):
        with quietly():
            encoder.model.save_pretrained(str(folder), create_model_card=False)
        return PLAIN

    from sentence_transformers import SentenceTransformer

    from emu_core.encoders.sentence_transformers_module import EmuModule

    model = SentenceTransformer(modules=[EmuModule(encoder)], device="cpu", similarity_fn_name="cosine")
    model.save_pretrained(str(folder), create_model_card=False)
    return WITH_EMU.format(spec=encoder.spec)
