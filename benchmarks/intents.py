"""Measure right intents with English labels: the intent model beside a regression, LDA and class means.

Prints a JSON object for each set, encoder and number of labels an intent, from none up: right intents (percent, mean of
the query languages and of the draws), and what decided. Of the intent model, also the percent of right answers that it
rejects, in the mean and the worst language, without and with the queries as unlabelled sentences
(`IntentModel.adapted`); of left-out intents that it finds; of sentences of another set, in languages without labels,
that it takes for known ones (strangers): where their language is not stated, stated, and adapted to; the expected
calibration error (ten bins of equal mass, all parts together, mean of the languages); and the AUROC of its score for
sentences with none of the intents. Without labels, names alone are measured as `emu start` takes them, beside the
nearest name. Of SIB-200, the quarters of the training sentences are held out in turn. CPU seconds are those of one fit.

    python -m benchmarks.intents DATA --vectors vectors/ --encoder use use+e5-small --sets xsid faq
    python -m benchmarks.intents DATA --vectors vectors/ --keep --draws 5

`--keep` also writes every figure with all labels to benchmarks/results/intents.csv, and which sentences each has right
to benchmarks/results/outcomes, in parts such as "named 4 1 all" (four labels an intent, draw 1, part "all" of
`benchmarks.sets`); the README's table and figures are made of these.

The constants of the model were chosen on halves of SIB-200's train split, the demo set and generated commands; Home
Assistant's commands in de es fr were looked at. That unlabelled sentences do not decide in a language with labels was
decided when CLINC150 and BANKING77 had lost by it. Nothing else was chosen on xSID, CLINC150, BANKING77, the
FAQ and `.lu`, nor on the sets in `benchmarks.sets.UNTOUCHED`, which are only measured if they are named.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import emu_core

# isort: split
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score

from benchmarks.default_method import Vault
from benchmarks.outcomes import FOLDER, Measured, Outcomes
from benchmarks.sets import FOLDERS, LABELLED, UNTOUCHED, frame_of, known_part, parts_of
from emu_core import Reading, read_labelled
from emu_core.data.repeats import group_numbers
from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.remembered import remembered_vectors
from emu_core.evaluation.arrays import Vectors, rows_by_language, unit_vectors
from emu_core.evaluation.classifier import logistic_regression
from emu_core.intents.labelled import fit_intents
from emu_core.intents.model import LEAST_UNLABELLED, IntentModel
from emu_core.intents.names import name_vectors
from emu_core.intents.unlabelled import adapted_to
from emu_core.intents.without_labels import fit_names

LABELS, DRAWS = (0, 1, 2, 4, 8, None), 3
CHANCES = 40  # draws of right answers by their confidence
MOST_STRANGE = 600  # sentences of another set, of a language
Rows = NDArray[np.intp]
Answers = dict[str, NDArray[np.bool_]]  # whether each asked row is named right, by system


def divisions(name: str, frame: pd.DataFrame) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield a part's name, its English rows with labels, and the rows that are asked; SIB-200 has four divisions."""
    english = (frame["language"] == LABELLED).to_numpy()
    for part in parts_of(name, frame):
        if part.name.startswith("quarter") if name == "sib" else part.name == known_part(name):
            yield part.name, np.flatnonzero(part.train & english), np.flatnonzero(part.asked)


def asked_of(rows: Rows, asked: Rows, intents: NDArray[np.object_]) -> Rows:
    """Return the asked rows whose intent has a label; all of them if there are no labels."""
    return asked[np.isin(intents[asked], np.unique(intents[rows]))] if len(rows) else asked


def drawn(rows: Rows, intents: NDArray[np.object_], count: int | None, seed: int) -> Rows:
    """Return `count` rows of each intent, or all."""
    if count is None:
        return rows
    order = pd.Series(np.random.default_rng(seed).permutation(rows))
    return np.sort(order[order.groupby(intents[order]).cumcount() < count].to_numpy())


def by_language(is_right: NDArray[np.bool_], languages: NDArray[np.object_]) -> pd.Series:
    """Return the percent by language."""
    return 100 * pd.Series(is_right).groupby(languages).mean()


def peers(
    vectors: Vectors, intents: Sequence[str], asked: Vectors
) -> Iterator[tuple[str, NDArray[np.object_], float]]:
    """Yield what other classifiers of the same vectors answer, and the CPU seconds that they took."""
    x, q, y = unit_vectors(vectors), unit_vectors(asked), np.array(intents, dtype=object)
    names = np.unique(y)

    def class_means() -> NDArray[np.object_]:
        means = unit_vectors(np.stack([x[y == name].mean(axis=0) for name in names]))
        return names[(q @ means.T).argmax(axis=1)]

    def lda() -> NDArray[np.object_]:
        return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, y.astype(str)).predict(q)

    answers = {
        "regression": lambda: logistic_regression(x, list(intents)).predict(q),
        "class_means": class_means,
    } | ({"lda": lda} if len(y) > len(names) else {})
    for name, answer in answers.items():
        started = time.process_time()
        yield name, np.asarray(answer(), dtype=object), time.process_time() - started


def calibration_error(confidence: NDArray[np.float64], is_right: NDArray[np.bool_]) -> float:
    """Return the expected calibration error in percent, with ten bins of equal mass."""
    bins = np.array_split(np.argsort(confidence, kind="stable"), 10)
    return 100 * sum(abs(confidence[b].mean() - is_right[b].mean()) * len(b) for b in bins) / len(confidence)


def strangers(model: IntentModel, others: dict[str, Vectors]) -> dict[str, object]:
    """Return the percent of sentences about something else that are taken for known ones, mean of the languages."""
    asked = {code: of for code, of in others.items() if code not in model.calibrated_languages}
    found = {}
    for kind, calibrated, codes in (
        ("", model, [""] * len(asked)),
        ("_in_language", model, list(asked)),
        ("_adapted", model.adapted(asked), list(asked)),
    ):
        shares = [
            calibrated.predict(of, 1, [code] * len(of)).is_known.mean()
            for of, code in zip(asked.values(), codes, strict=True)
        ]
        found[f"strangers{kind}"] = 100 * np.mean(shares) if shares else np.nan
    return found


def measured(
    frame: pd.DataFrame,
    vectors: Vectors,
    strange: Vectors,
    others: dict[str, Vectors],
    rows: Rows,
    asked: Rows,
    encode: Callable[..., Vectors],
    encoder: Encoder,
) -> tuple[dict[str, object], Answers, pd.DataFrame]:
    """Return a row of the table, the right answers and how sure they are, for one draw of labels, or of names alone."""
    intents, languages = frame["intent"].to_numpy(object), frame["language"].to_numpy(object)
    asked = asked_of(rows, asked, intents)
    truth, spoken = intents[asked], languages[asked]
    if not len(rows):
        names = name_vectors(encode, sorted(set(truth)))
        model, of_asked = fit_names(
            names, vectors[asked], frame["text"].iloc[asked].tolist(), spoken.tolist(), encoder.part_dims
        )
        right = np.array(model.intents_, object)[model.predict(of_asked, 1).labels] == truth
        nearest = (unit_vectors(vectors[asked]) @ unit_vectors(np.stack(list(names.values()))).T).argmax(
            axis=1
        )
        found = {"intent_model": right, "nearest_name": np.array(list(names), object)[nearest] == truth}
        return {name: by_language(of, spoken).mean() for name, of in found.items()}, found, pd.DataFrame()
    labelled = emu_core.labelled_from_frame(frame.iloc[rows].assign(split=""), "labels")[0]
    of_text = dict(zip(frame["text"].iloc[rows], vectors[rows], strict=True))
    started = time.process_time()
    model = fit_intents(
        labelled,
        encode,
        vectors=np.stack([of_text[text] for text in labelled.frame["text"]]),
        dims=encoder.part_dims,
        part_languages=encoder.part_languages,
    )
    row: dict[str, object] = {"fit_cpu_s": time.process_time() - started, "rule": model.rule_.value}
    row["names"] = model.names_that_count
    texts, of_asked = frame["text"].iloc[asked].tolist(), vectors[asked]
    adapted = adapted_to(model, texts, spoken.tolist(), lambda of: of_asked[of])
    said = {
        kind: one.predict(of_asked, 1, spoken.tolist()) for kind, one in (("", model), ("_adapted", adapted))
    }
    rights = {kind: np.array(model.intents_, object)[of.labels] == truth for kind, of in said.items()}
    found = {f"intent_model{kind}": right for kind, right in rights.items()}
    for name, answer, seconds in peers(vectors[rows], intents[rows], vectors[asked]):
        found[name] = answer == truth
        row[f"{name}_cpu_s"] = seconds
    row |= {name: by_language(of, spoken).mean() for name, of in found.items()}
    sure = pd.DataFrame({"language": spoken, **{f"is_right{kind}": of for kind, of in rights.items()}})
    if model.threshold_ is not None:
        for kind, answers in said.items():
            right = rights[kind]
            rejected = by_language(~answers.is_known[right], spoken[right])
            row |= {f"rejected{kind}": rejected.mean(), f"rejected_worst{kind}": rejected.max()}
            row[f"known_and_right{kind}"] = by_language(right & answers.is_known, spoken).mean()
            if model.has_confidence:
                sure[f"ece{kind}"] = answers.confidence
        row["new_found"] = model.new_found_
        row |= strangers(model, others)
        if len(strange):
            is_known = np.repeat([True, False], [len(asked), len(strange)])
            row["auroc"] = roc_auc_score(is_known, model.scores(np.concatenate([vectors[asked], strange])))
            row["none_found"] = 100 * np.mean(~model.predict(strange, 1, [LABELLED] * len(strange)).is_known)
    return row, found, sure


def calibration_errors(sure: pd.DataFrame) -> dict[str, float]:
    """Return the calibration errors of all parts together, since few sentences seem badly calibrated by chance.

    `ece_by_chance` is the error that these sentences would have if the confidences of `ece_adapted` were right.
    """
    errors: dict[str, float] = {}
    draws = np.random.default_rng(0)
    for kind in [column for column in sure if column.startswith("ece")]:
        by_code = {
            code: calibration_error(of[kind].to_numpy(), of[kind.replace("ece", "is_right")].to_numpy())
            for code, of in sure.groupby("language")
        }
        errors |= {kind: float(np.mean(list(by_code.values())))}
        errors |= {f"{kind}_{code}": error for code, error in by_code.items()}
    if "ece_adapted" in sure:
        errors["ece_by_chance"] = float(
            np.mean(
                [
                    calibration_error(confidence, draws.random(len(confidence)) < confidence)
                    for _, of in sure.groupby("language")
                    for confidence in [of["ece_adapted"].to_numpy()] * CHANCES
                ]
            )
        )
    return errors


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--encoder", nargs="+", default=["use", "use+e5-small"])
    parser.add_argument("--sets", nargs="+", choices=[*FOLDERS, *UNTOUCHED], default=list(FOLDERS))
    parser.add_argument(
        "--labels", nargs="+", default=["all" if count is None else str(count) for count in LABELS]
    )
    parser.add_argument("--draws", type=int, default=DRAWS, help="of the labels")
    parser.add_argument("--keep", action="store_true", help="write the figures and the answers")
    options = parser.parse_args()
    counts = [None if count == "all" else int(count) for count in options.labels]
    for name in options.sets:
        for spec in options.encoder:
            measure(name, spec, counts, options)


def part_of(count: int | None, draw: int, part: str = "") -> str:
    """Return the name under which answers are kept, or with no part the beginning of the names of all parts."""
    return f"named {'all' if count is None else count} {draw} {part}"


def measure(name: str, spec: str, counts: Sequence[int | None], options: argparse.Namespace) -> None:
    """Measure a set with an encoder, print a line for each number of labels, and keep the answers if asked to."""
    frame = frame_of(name, options.data)
    whole = (
        read_labelled(options.data / FOLDERS[name], reading=Reading(language=LABELLED))[0]
        if FOLDERS.get(name)
        else None
    )
    none = [] if whole is None else whole.none_of_these["text"].tolist()
    vault, encoder = Vault(options.data, options.vectors, spec), load_encoder(spec)
    encode = partial(remembered_vectors, encoder)
    vectors = vault.vectors(name, frame["text"].tolist)
    strange = vault.vectors(f"{name}_none", lambda: none) if none else vectors[:0]
    intents, languages = frame["intent"].to_numpy(object), frame["language"].to_numpy(dtype=str)
    other = next(of for of in ("faq", "xsid") if of != name)
    other_frame = frame_of(other, options.data)
    other_vectors = vault.vectors(other, other_frame["text"].tolist)
    others = {
        str(code): other_vectors[rows[:MOST_STRANGE]]
        for code, rows in rows_by_language(other_frame["language"].tolist(), len(other_frame)).items()
        if len(rows) >= LEAST_UNLABELLED
    }
    numbers = group_numbers(frame)
    for count in counts:
        found, outcomes = [], Outcomes.read(name)
        sure_of: dict[int, list[pd.DataFrame]] = {}
        for part, rows, asked in divisions(name, frame):
            for draw in range(options.draws if count else 1):
                labelled = drawn(rows, intents, count, draw)
                row, answers, sure = measured(
                    frame,
                    vectors,
                    strange,
                    others,
                    labelled,
                    asked,
                    encode,
                    encoder,
                )
                found.append({"part": part, "draw": draw, **row})
                sure_of.setdefault(draw, []).append(sure)
                kept = asked_of(labelled, asked, intents)
                place = part_of(count, draw, part)
                outcomes.ask(place, languages[kept], numbers[kept])
                for system, right in answers.items():
                    by_code = {
                        str(code): right[languages[kept] == code] for code in np.unique(languages[kept])
                    }
                    outcomes.add(Measured(place, spec, system, measure="classifier"), by_code)
        errors = {draw: calibration_errors(pd.concat(of)) for draw, of in sure_of.items()}
        table = pd.DataFrame([{**row, **errors[int(str(row["draw"]))]} for row in found])
        if options.keep:
            outcomes.write()
            if count is None:
                keep(table.assign(set=name, encoder=spec, labels="all"))
        means = table.drop(columns="draw").select_dtypes("number").mean().round(2).to_dict()
        rules = "" if "rule" not in table else " ".join(sorted(set(table["rule"])))
        print(json.dumps({"set": name, "encoder": spec, "labels": count, "rule": rules, **means}), flush=True)


def keep(table: pd.DataFrame) -> None:
    """Write the figures of some draws to results/intents.csv, instead of those that it has of them."""
    keys = ["set", "encoder", "labels"]
    figures = table.select_dtypes("number").columns.difference(["draw"])
    long = table.melt([*keys, "part", "draw"], figures, "measure").dropna()
    long["value"] = long["value"].astype(float).round(3)
    path = FOLDER.parent / "intents.csv"
    if path.exists():
        there = pd.read_csv(path, dtype={"labels": str}, keep_default_na=False)
        is_new = pd.MultiIndex.from_frame(there[keys]).isin(pd.MultiIndex.from_frame(long[keys]))
        long = pd.concat([there[~is_new], long])
    long.to_csv(path, index=False)


if __name__ == "__main__":
    main()
