"""Tasks of the dual encoder in sixteen sentences of two languages, and an untrained encoder that is small enough."""

import numpy as np

from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import Tasks
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.settings import DualEncoderConfig

TINY = DualEncoderConfig(
    word_buckets=300, ngram_buckets=200, embedding_dim=8, dim=8, layers=1, heads=2, filter_dim=12, head_hidden=5,
    nli_hidden=6, batch_size=4, epochs=2, hard_negatives=2, mine_after=0.25, word_dropout=0.2,
)  # fmt: skip
NOUNS = {"dog": "hund", "cat": "katze", "bird": "vogel", "fish": "fisch"}
VERBS = {"runs": "läuft", "sleeps": "schläft", "eats": "frisst", "swims": "schwimmt"}
PAIRS = [(f"a {n} {v}", f"ein {NOUNS[n]} {VERBS[v]}") for n in NOUNS for v in VERBS]
ENGLISH, GERMAN = (tuple(side) for side in zip(*PAIRS, strict=True))
EN_DE = ParallelText("en", "de", ENGLISH, GERMAN, "toy")
TALK = Dialogues("en", ENGLISH[:9], ENGLISH[1:10], "talk")
TEXT = RunningText("de", (GERMAN[:7], GERMAN[7:10], GERMAN[10:]), "text")
PREMISES = Nli(ENGLISH[:8], ENGLISH[8:], np.arange(8) % 3, "en", "nli")
ALL = Tasks([EN_DE], [TALK], [TEXT], [PREMISES])


def dual_encoder(config: DualEncoderConfig = TINY, seed: int = 0) -> DualEncoder:
    return DualEncoder.random(config, ("en", "de"), seed=seed)
