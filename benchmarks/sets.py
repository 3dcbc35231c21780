"""The data sets of the published figures, and the parts of each that are measured.

- sib "dev", demo "test": measured on that split, trained on split train.
- "quarter 0" to "quarter 3": of the train split's sentences, each held out in turn, in a division that no setting was
  chosen on.
- "8 labels 0" to "8 labels 9": trained on eight drawn sentences of each intent, measured on "dev" or "test". The other
  languages keep all their sentences, which have no labels.
- "new 0" and so on: trained on half of the intents, measured on sentences of the others. Of SIB-200 all 35 halves of
  its seven topics, of the demo set four.
- "all": queries against a pool of English sentences with labels. Of sets without splits (Home Assistant's commands, the
  FAQ, the `.lu` files), these are the sentences in other languages; of xSID, BANKING77 and CLINC150, the test split
  against the training split, which in xSID is named dev. Nothing was tuned on xSID and CLINC150.

The sets in `UNTOUCHED` are measured where they are named, and by default by no benchmark: sib_test is SIB-200's test
split with the labels of its train split, home_new Home Assistant's commands in it nl pl with those of its English ones.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core import Reading, read_labelled
from emu_core.bench.emu.few_shot import drawn_labels
from emu_core.bench.emu.new_intents import halves_of_intents
from emu_core.data.demo import load_demo
from emu_core.data.sets import LabelledSet

LABELLED = "en"
QUARTERS = 4
DIVISION = 20  # the seed of the quarters, with which no setting was chosen
DEMO_HALVES = 4
FEW, DRAWS = 8, 10  # labels an intent, and how often they are drawn
FEW_LABELS = f"{FEW} labels "  # how the names of these parts begin
UNTOUCHED = {
    "sib_test": "sib",
    "home_new": "home",
}  # and the sets that have their labels
FOLDERS = {
    "demo": "",
    "home": "home_assistant",
    "sib": "sib200",
    "xsid": "native/xsid",
    "faq": "native/dialogflow_es",
    "lu": "native/lu",
    "banking77": "native/banking77",
    "clinc150": "native/clinc150",
}
POOLED = "all"  # the part of a set whose queries are asked against a pool
Mask = NDArray[np.bool_]


def known_part(name: str) -> str:
    """Return the part of a set on which a peer's learning rate is chosen."""
    return {"demo": "test", "sib": "dev"}.get(name, POOLED)


class Part(NamedTuple):
    """The training rows and the measured rows of a set; only English training rows have labels."""

    name: str  # such as "test"
    train: Mask
    asked: Mask
    draw: int = 0  # of the labels; what is trained on it has this number added to its seed, as in `emu bench`

    @property
    def is_pooled(self) -> bool:
        """Whether the English training sentences are the pool, instead of the measured ones."""
        return self.name.endswith(POOLED)  # also "named 8 0 all", with few labels

    @property
    def has_few_labels(self) -> bool:
        """Whether labels are drawn."""
        return self.name.startswith(FEW_LABELS)

    @property
    def has_new_intents(self) -> bool:
        """Whether no measured sentence has an intent with labels."""
        return self.name.startswith("new ")


def frame_of(name: str, data: Path) -> pd.DataFrame:
    """Return the rows of a set in a folder of data."""
    if name in UNTOUCHED:
        known = frame_of(UNTOUCHED[name], data)
        known = known[known["split"] == "train" if name == "sib_test" else known["language"] == LABELLED]
        files = sorted((data / "untouched").glob(f"{FOLDERS[UNTOUCHED[name]]}*.csv"))
        return pd.concat([known, *(read_labelled(file)[0].frame for file in files)], ignore_index=True)
    folder = FOLDERS[name]
    return (
        read_labelled(data / folder, reading=Reading(language=LABELLED))[0] if folder else load_demo()
    ).frame


def parts_of(name: str, frame: pd.DataFrame) -> Iterator[Part]:
    """Yield the parts of a set."""
    splits, languages = frame["split"].to_numpy(dtype=str), frame["language"].to_numpy(dtype=str)
    intents, ids = frame["intent"].to_numpy(dtype=str), frame["id"].to_numpy(dtype=str)
    if name not in ("demo", "sib"):
        train = np.isin(splits, ["", "train"]) if "train" in splits else np.isin(splits, ["", "dev"])
        yield Part(POOLED, train, splits == "test" if "test" in splits else languages != LABELLED)
        return
    measured = known_part(name)
    train, test = splits == "train", splits == measured
    yield Part(measured, train, test)
    order = np.random.default_rng(DIVISION).permutation(np.unique(ids[train]))
    for number, quarter in enumerate(np.array_split(order, QUARTERS)):
        held = np.isin(ids, quarter) & train
        yield Part(f"quarter {number}", train & ~held, held)
    for number in range(DRAWS):
        drawn = drawn_labels(LabelledSet(frame[train].reset_index(drop=True), name), [LABELLED], FEW, number)
        drawn_ids = drawn.frame.loc[drawn.frame["language"] == LABELLED, "id"]
        few = train & (np.isin(ids, drawn_ids) | (languages != LABELLED))
        yield Part(f"{FEW_LABELS}{number}", few, test, number)
    halves = halves_of_intents(intents.tolist(), DEMO_HALVES if name == "demo" else None)
    for number, half in enumerate(halves):
        known = np.isin(intents, list(half))
        yield Part(f"new {number}", train & known, (test if name == "demo" else ~known) & ~known)
