"""Runs of every method that take a second or two: what each is created with."""

from itertools import permutations
from pathlib import Path
from typing import Any

from emu_core import configure
from emu_core.api.pretrain import plan_pretraining
from emu_core.api.train import plan_training
from emu_core.data.sets import LabelledSet
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.texts.tasks import Tasks
from emu_core.runs.config import RunConfig
from emu_core.runs.run import Storable
from tests.support.slot_set import slot_set
from tests.support.small import small_set
from tests.support.tiny_transformer import tiny_transformer

SETTINGS: dict[str, Any] = {"epochs": 3, "critic_steps": 2, "adversary_every": 3}
SLOTS = {"epochs": 2, "batch_size": 2, "negatives": 2}
TEXT = {"epochs": 2, "batch_size": 16, "dim": 16}
LAYERS = {
    "embedding_dim": 16,
    "layers": 1,
    "heads": 2,
    "filter_dim": 32,
    "word_buckets": 500,
    "ngram_buckets": 500,
    "hard_negatives": 2,
}
ENGLISH, GERMAN = ["dog", "cat", "red", "blue", "house"], ["hund", "katze", "rot", "blau", "haus"]
Plan = tuple[RunConfig, Storable]


def with_dev() -> LabelledSet:
    """Sentences with a dev split, so that the best epoch's weights are part of the state."""
    return LabelledSet(small_set().frame.replace({"split": {"test": "dev"}}), "small")


def parallel_text() -> ParallelText:
    """Sixty sentences of three words, word for word."""
    rows = list(permutations(range(5), 3))
    english, german = (
        tuple(" ".join(words[place] for place in row) for row in rows) for words in (ENGLISH, GERMAN)
    )
    return ParallelText("en", "de", english, german, "words")


def plan(method: str, folder: Path) -> Plan:
    """What a run of the method is created with; `folder` gets the encoder that it may need."""
    match method:
        case "emu":
            encoder = f"hf:{tiny_transformer(folder / method, letters=True)}"
            return plan_training(
                with_dev(), method=method, encoder=encoder, config=configure(method, encoder, **SETTINGS)
            )
        case "distil":
            encoder = f"hf:{tiny_transformer(folder / method, letters=True)}"
            config = configure(method, encoder, teacher="use", epochs=2, batch_size=36)
            return plan_training(with_dev(), method=method, encoder=encoder, config=config)
        case "fmda" | "meaning-language":
            settings = SLOTS | ({"hidden": 8, "two_stage": True} if method == "fmda" else {})
            return plan_training(
                slot_set(),
                method=method,
                encoder=f"hf:{tiny_transformer(folder / method)}",
                config=configure(method, **settings),
            )
        case _:
            settings = TEXT | (LAYERS if method == "dual-encoder" else {})
            return plan_pretraining(
                Tasks([parallel_text()]), method=method, config=configure(method, **settings)
            )
