"""`emu predict`."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from emu_core.cli import options as shared
from emu_core.cli.printing import counter, print_table
from emu_core.cli.verb import Output, add_verb, option
from emu_core.formats.tables.formats import FORMAT_TITLES, WRITTEN_ENDINGS, any_of

if TYPE_CHECKING:
    from emu_core.api.intent_classifier import IntentClassifier
    from emu_core.intents.answers import PredictionFacts

MOST_PRINTED = 1_000


def add_predict(verbs: Any) -> None:
    """Add `emu predict DATA --run RUN`."""
    parser = add_verb(verbs, "predict", _predict)
    shared.add_data(
        parser, f"quoted sentences, or {FORMAT_TITLES} files, or text files, or the word demo", str
    )
    shared.add_encoder_or_run(parser)
    about = "labelled files to predict from (default: the sentences that the run was trained with)"
    option(parser, "--pool LABELLED", about, nargs="+")
    shared.add_intents(parser)
    shared.add_descriptions(parser)
    option(parser, "-k N", "nearest labelled sentences to show (default: 3)", type=int, default=3)
    about = (
        "no known intent if the nearest labelled sentence is less similar; -1 for never (default: learnt on the pool, "
        "so that 95 %% of the correct predictions are kept)"
    )
    option(parser, "--threshold COSINE", about, type=float)
    about = "also name all intents that a sentence may have: the right one is among them for this share, such as .9"
    option(parser, "--coverage SHARE", about, type=float)
    about = "answer each sentence by itself; otherwise 30 or more of a language also decide, and calibrate it"
    option(parser, "--no-adapt", about, action="store_true")
    about = f"{any_of(WRITTEN_ENDINGS)} (default: print; required for over {MOST_PRINTED:,} sentences)"
    option(parser, "--out FILE", about)
    shared.add_engine(parser, "a folder of Parquet files")


def _predict(options: argparse.Namespace) -> Output:
    from emu_core.api.inputs import reading_notes
    from emu_core.api.predict import classifier_of, sentences_of
    from emu_core.errors import DataError, Fix

    reading = shared.reading_of(options)
    about = {"reading": reading.of_sentences()}
    parameters = {
        "n_neighbors": options.k,
        "threshold": options.threshold,
        "coverage": options.coverage,
        "device": options.device,
    }

    def fitted() -> "IntentClassifier":
        whole = replace(reading, intents=options.intents)
        return classifier_of(options.encoder or "use", options.run, options.pool, whole, parameters)

    engine = shared.engine_of(options)
    if engine and not options.out:
        raise DataError("name the folder to write with ", Fix("out"))
    if options.out:
        classifier = fitted()
        file_notes: list[str] = []
        progress = counter("sentences")
        if engine:
            from emu_core.cluster import predict_on_cluster

            address = options.address
            count = predict_on_cluster(
                classifier, options.data, out=options.out, address=address, **about, on_progress=progress
            )
        else:
            count = classifier.predict_file(
                options.data,
                options.out,
                adapt=not options.no_adapt,
                **about,
                on_progress=progress,
                on_note=file_notes.append,
            )
        facts = _with_notes(classifier.facts, file_notes)
        if not options.json:
            _print_facts(facts)
            print(f"{count:,} predictions in {options.out}")
        return {"sentences": count, "file": str(options.out), **facts}
    left_out: list[str] = []
    sentences = sentences_of(options.data, reading.of_sentences(), on_note=left_out.append)
    if len(sentences) > MOST_PRINTED:
        raise DataError(f"{len(sentences):,} predictions are too many to print; name a file with --out")
    classifier, languages = fitted(), sentences["language"].tolist()
    texts = sentences["text"].tolist()
    languages, note = classifier.spoken(texts, languages, adapt=not options.no_adapt)
    sentences = sentences.assign(language=languages)
    table = classifier.explain(texts, languages=languages)
    of_languages = (*reading_notes(classifier.encoder, sentences), *classifier.language_notes(languages))
    notes = filter(None, (*left_out, note, *of_languages))
    facts = _with_notes(classifier.facts, notes)
    table = table.astype(object).where(table.notna(), None)
    if not options.json:
        rows = []
        for row in table.itertuples():
            confidence = "none" if row.confidence is None else f"{100 * row.confidence:.0f} %"
            nearest = f"{row.nearest_1} ({row.nearest_1_cosine:.2f})"
            sets = () if options.coverage is None else (row.intents or "",)
            rows.append((row.text, row.intent, confidence, *sets, nearest))
        may_be = () if options.coverage is None else ("may be",)
        print_table(("sentence", "intent", "confidence", *may_be, "nearest labelled sentence"), rows)
        _print_facts(facts)
    return {"sentences": len(sentences), **facts, "predictions": table.to_dict("records")}


def _with_notes(facts: "PredictionFacts", notes: Iterable[str]) -> "PredictionFacts":
    """Return a classifier's facts with the notes on the sentences that it predicted."""
    return {**facts, "notes": list(dict.fromkeys([*facts["notes"], *notes]))}


def _print_facts(facts: "PredictionFacts") -> None:
    from emu_core.reports.prediction_notes import prediction_notes

    print()
    for note in prediction_notes(facts):
        print(f"note: {note}")
