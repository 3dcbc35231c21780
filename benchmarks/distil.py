"""Measure the distillation: seen and new intents, similarity and translations, by teacher and student.

Prints one JSON object for each teacher and each student. Teachers are fitted on the stored vectors of
`benchmarks.default_method`, with English labels; a student learns from the sentences of split train in all languages,
without labels. What is measured is never learnt from: of SIB-200 the split dev, quarters of the training sentences held
out in turn, and intents left out, with all their sentences; of the demo set the split test and intents left out.
"""

import argparse
import gzip
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.default_method import (
    PAIRS,
    QUARTERS,
    Labelled,
    Vault,
    Vectors,
    base,
    one_head,
    precision,
    unit,
)
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import encoder_kind, load_encoder
from emu_core.methods.distil.settings import DistilConfig
from emu_core.methods.distil.trainer import DistilTrainer
from emu_core.methods.head.encoder import HeadEncoder
from emu_core.methods.head.fit import Examples, fit_head
from emu_core.methods.registry import configure
from emu_core.training.fit import fit

Mask = NDArray[np.bool_]
ENCODERS = ("use", "e5-small")
DEFAULT, NOBODY = "default", "none"  # a student that starts with the default head on `use`; the teacher alone
GENERAL = ("en", "de", "fr")  # languages of Multi30k's captions


@dataclass(frozen=True)
class Rows:
    """The rows of a set, and their vectors by each encoder."""

    frame: pd.DataFrame
    by_encoder: Mapping[str, Labelled]

    @property
    def texts(self) -> NDArray[np.object_]:
        """The sentences."""
        return self.frame["text"].to_numpy(dtype=object)


Embed = Callable[[Mapping[str, Vectors]], Vectors]
"""From the vectors of sentences by each encoder to the teacher's."""
Teacher = Callable[[Rows, Mask], Embed]
"""Fits on the English rows among some rows."""


def teacher_of(vaults: Mapping[str, Vault], encoders: Sequence[str], *, fitted: bool) -> Teacher:
    """Return encoders side by side, each as it is or with its own default head."""

    def fit_heads(rows: Rows, labelled: Mask) -> Embed:
        heads = {}
        for encoder in encoders:
            how = one_head(configure("head", encoder)) if fitted else base
            heads[encoder] = how(rows.by_encoder[encoder].labels(labelled, vaults[encoder].reference))
        return lambda vectors: np.concatenate([unit(heads[name](vectors[name])) for name in encoders], axis=1)

    return fit_heads


def rows_of(vaults: Mapping[str, Vault], name: str) -> Rows:
    """Return SIB-200 or the demo set."""
    sets = {encoder: getattr(vault, name) for encoder, vault in vaults.items()}
    frame = next(iter(sets.values()))[0]
    return Rows(frame, {encoder: Labelled(*of) for encoder, of in sets.items()})


def general_text(vaults: Mapping[str, Vault], count: int, pairs: int) -> tuple[list[str], dict[str, Vectors]]:
    """Return general text and its vectors by each encoder.

    Args:
        vaults: the vectors by each encoder.
        count: the number of the first captions of Multi30k in each language.
        pairs: the number of the first pairs of each file of STS-B and of Tatoeba, of whose first half they are.
    """
    texts, vectors = _captions(vaults, count)
    every: dict[str, list[Vectors]] = {name: [of] for name, of in vectors.items() if count}
    for language in vaults["use"].similarity if pairs else ():
        sides = np.split(np.array(similarity_texts(vaults["use"].data, language), dtype=object), 2)
        texts += [text for side in sides for text in side[:pairs].tolist()]
        for name, vault in vaults.items():
            of_sides = np.split(vault.similarity[language][0], 2)
            every.setdefault(name, []).extend(side[:pairs] for side in of_sides)
    for number, pair in enumerate(PAIRS if pairs else ()):
        for side in range(2):
            texts += translation_texts(vaults["use"].data, pair, side)[:pairs]
            for name, vault in vaults.items():
                every.setdefault(name, []).append(vault.translations[number][side][:pairs])
    return texts, {name: np.concatenate(of) for name, of in every.items()}


def similarity_texts(data: Path, language: str) -> list[str]:
    """Return the first sentences of STS-B's dev pairs, followed by the second ones."""
    frame = pd.read_csv(data / "stsb" / f"{language}.dev.csv", header=None)
    return [*frame[0], *frame[1]]


def translation_texts(data: Path, pair: str, side: int) -> list[str]:
    """Return the sentences of one side of a Tatoeba file: 0 for the language `pair`, 1 for English."""
    path = data / "tatoeba" / f"tatoeba.{pair}-eng.{(pair, 'eng')[side]}"
    return path.read_text("utf-8").splitlines()


def _captions(vaults: Mapping[str, Vault], count: int) -> tuple[list[str], dict[str, Vectors]]:
    """Return the first captions of Multi30k in each language, and their vectors by each encoder."""
    texts: list[str] = []
    for language in GENERAL:
        folder = next(iter(vaults.values())).data / "multi30k"
        with gzip.open(folder / f"train.{language}.gz", "rt", encoding="utf-8") as lines:
            texts += [line.strip() for line, _ in zip(lines, range(count), strict=False)]
    vectors = {
        name: vault.vectors(f"multi30k_{count}", lambda: texts) if texts else np.empty((0, 1), np.float32)
        for name, vault in vaults.items()
    }
    return texts, vectors


class Student:
    """Trains students from the same start, and adds up the CPU time."""

    def __init__(self, spec: str, config: DistilConfig, seed: int) -> None:
        self.spec, self.config, self.seed, self.seconds, self.trained = spec, config, seed, 0.0, 0

    def start(self, examples: Examples) -> Encoder:
        """Return the encoder to train; for the spec "default" `use` with its default head on the labels."""
        if self.spec != DEFAULT:
            return load_encoder(self.spec)
        return HeadEncoder(load_encoder("use"), fit_head(examples, configure("head", "use")))

    def train(self, encoder: Encoder, texts: Sequence[str], vectors: Vectors) -> Encoder:
        """Train an encoder on the teacher's vectors (N, d) of N sentences, and return it."""
        began = time.process_time()
        trainer = DistilTrainer(encoder, encoder.ids_of(texts), vectors, self.config, seed=self.seed)
        fit(trainer, on_record=lambda _: None, should_stop=lambda: False)
        self.seconds += time.process_time() - began
        self.trained += 1
        return encoder


def figures(
    teacher: Teacher,
    student: Student | None,
    vaults: Mapping[str, Vault],
    general: int,
    pairs: int,
    parts: Sequence[str],
    divisions: int,
) -> dict[str, float]:
    """Return every figure: Acc@1 in percent, Spearman's correlation, P@1 in percent; without a student the teacher's.

    Args:
        teacher: see there.
        student: None measures the teacher.
        vaults: the vectors by each encoder.
        general: captions of each language mixed in.
        pairs: pairs of each file of STS-B and Tatoeba mixed in; see `general_text`.
        parts: of the sets to measure: dev, others, quarters, new, demo, demo-new.
        divisions: how many of the quarters, and of the halves of the intents, are measured.
    """
    sib, demo = rows_of(vaults, "sib"), rows_of(vaults, "demo")
    texts, vectors = general_text(vaults, general, pairs)
    by_part: dict[str, float] = {}

    def trained(rows: Rows, learnt: Mask) -> tuple[Embed, Encoder | None]:
        """Fit the teacher on the English rows among those learnt from, and the student on all of them."""
        embed = teacher(rows, learnt)
        if student is None:
            return embed, None
        targets = [embed({name: labelled.vectors[learnt] for name, labelled in rows.by_encoder.items()})]
        if texts:
            targets.append(embed(vectors))
        start = student.start(rows.by_encoder["use"].labels(learnt, vaults["use"].reference))
        return embed, student.train(start, [*rows.texts[learnt], *texts], np.concatenate(targets))

    def measured(rows: Rows, learnt: Mask, asked: Mask) -> float:
        return _accuracy(rows, asked, *trained(rows, learnt))

    def new_intents(rows: Rows, train: Mask, asked: Mask) -> float:
        halves = rows.by_encoder["use"].halves()[:divisions]
        return float(np.mean([measured(rows, train & half, asked & ~half) for half in halves]))

    train = _split(sib, "train")
    if {"dev", "others"} & set(parts):
        embed, encoder = trained(sib, train)
    if "dev" in parts:
        by_part["sib dev"] = _accuracy(sib, _split(sib, "dev"), embed, encoder)
    if "others" in parts:
        by_part |= _others(vaults, embed, encoder, mixed=pairs > 0)
    if "quarters" in parts:
        ids = sib.frame["id"].to_numpy(dtype=str)
        order = np.random.default_rng(0).permutation(np.unique(ids[train]))
        held = [np.isin(ids, part) for part in np.array_split(order, QUARTERS)[:divisions]]
        by_part["sib quarters"] = float(np.mean([measured(sib, train & ~part, part) for part in held]))
    if "new" in parts:
        by_part["sib new"] = new_intents(sib, train, np.ones_like(train))
    train = _split(demo, "train")
    test = _split(demo, "test")
    if "demo" in parts:
        by_part["demo test"] = measured(demo, train, test)
    if "demo-new" in parts:
        by_part["demo new"] = new_intents(demo, train, test)
    return by_part


def _split(rows: Rows, split: str) -> Mask:
    return (rows.frame["split"] == split).to_numpy()


def _accuracy(rows: Rows, asked: Mask, embed: Embed, encoder: Encoder | None) -> float:
    if encoder is None:
        vectors = embed({name: labelled.vectors[asked] for name, labelled in rows.by_encoder.items()})
    else:
        vectors = encoder.encode(list(rows.texts[asked]))
    return Labelled(rows.frame[asked], vectors).accuracy(np.ones(int(asked.sum()), dtype=bool), lambda v: v)


def _others(
    vaults: Mapping[str, Vault],
    embed: Embed,
    encoder: Encoder | None,
    *,
    mixed: bool,
) -> dict[str, float]:
    """Return similarity and translations, for whose texts the student encodes: of all pairs, and of the second halves.

    Only of those if some of the first halves are `mixed` in.
    """
    halves = ("second half",) if mixed else ("", "second half")
    correlations: dict[str, list[float]] = {half: [] for half in halves}
    ranks: dict[str, list[float]] = {half: [] for half in halves}
    for language in vaults["use"].similarity:
        scores = vaults["use"].similarity[language][1]
        if encoder is None:
            vectors = embed({name: vault.similarity[language][0] for name, vault in vaults.items()})
        else:
            vectors = encoder.encode(similarity_texts(vaults["use"].data, language))
        first, second = np.split(unit(vectors), 2)
        cosines = (first * second).sum(axis=1)
        for half, of_half in correlations.items():
            start = len(scores) // 2 if half else 0
            of_half.append(spearmanr(cosines[start:], scores[start:]).statistic)
    for number, pair in enumerate(PAIRS):
        sides = []
        for side in range(2):
            if encoder is None:
                vectors = embed({name: vault.translations[number][side] for name, vault in vaults.items()})
            else:
                vectors = encoder.encode(translation_texts(vaults["use"].data, pair, side))
            sides.append(unit(vectors))
        for half, of_half in ranks.items():
            start = len(sides[0]) // 2 if half else 0
            of_half.append(precision(sides[0][start:], sides[1][start:]))
    measured = {"sts": correlations, "translations": ranks}
    return {
        f"{name} {half}".strip(): float(np.mean(of_half))
        for name, by_half in measured.items()
        for half, of_half in by_half.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with sib200, multi30k, stsb and tatoeba")
    parser.add_argument("--vectors", type=Path, required=True, help="folder to store vectors in")
    parser.add_argument("--teachers", nargs="+", default=["use", "e5-small", "both"])
    parser.add_argument("--students", nargs="+", default=["use"], help="encoders, or default, or none")
    parser.add_argument(
        "--parts", nargs="+", default=["dev", "others", "quarters", "new", "demo", "demo-new"]
    )
    about = "how many of the quarters and halves of the intents to measure"
    parser.add_argument("--divisions", type=int, default=QUARTERS, help=about)
    parser.add_argument("--general", type=int, default=0, help="captions of each language mixed in")
    about = (
        "pairs of the first half of each file of STS-B and Tatoeba mixed in; the second halves are measured"
    )
    parser.add_argument("--pairs", type=int, default=0, help=about)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as epochs=2")
    options = parser.parse_args()
    vaults = {name: Vault(options.data, options.vectors, name) for name in ENCODERS}
    changes = {name: json.loads(value) for name, _, value in (item.partition("=") for item in options.set)}
    for name in options.teachers:
        encoders = ENCODERS if name.removesuffix("-base") == "both" else (name.removesuffix("-base"),)
        teacher = teacher_of(vaults, encoders, fitted=not name.endswith("-base"))
        for spec in options.students:
            student = None
            if spec != NOBODY:
                kind = "use" if spec == DEFAULT else encoder_kind(spec)
                student = Student(spec, configure("distil", kind, **changes), options.seed)
            by_part = figures(
                teacher, student, vaults, options.general, options.pairs, options.parts, options.divisions
            )
            cpu = {} if student is None else {"CPU s": student.seconds / student.trained}
            about = {
                "teacher": name,
                "student": spec,
                **changes,
                "general": options.general,
                "pairs": options.pairs,
            }
            print(json.dumps(about | {part: round(v, 3) for part, v in (by_part | cpu).items()}), flush=True)


if __name__ == "__main__":
    main()
