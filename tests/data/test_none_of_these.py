from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from emu_core.data.audit import labelled_from_frame
from emu_core.data.none_of_these import is_usual_name, names_of_none, usual_names
from emu_core.data.reading import Reading
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled
from emu_core.runs.stored_data import LabelledData
from tests.support.exports import folder_of

ROWS = [
    ("where is the pool", "pool", "train"),
    ("when does the pool open", "pool", "test"),
    ("book a table", "booking", "train"),
    ("a table for two", "booking", "test"),
    ("who won the match", "oos", "train"),
    ("what is love", "oos", "test"),
    ("ça va?", "oos", "test"),
]
USUAL = (
    "oos;OOS;ood;out_of_scope;Out Of Scope;outOfScope;out-of-scope;OUT_OF_SCOPE_1;out_of_scope/other;"
    "out_of_scope_non_english;out of domain;None;NONE;ｎｏｎｅ;None.Intent;none_of_the_above;nlu_fallback;Fallback;"
    "Default Fallback Intent;FallbackIntent;AMAZON.FallbackIntent;Default Negative Intent;input.unknown;irrelevant;"
    "#irrelevant;IN:UNSUPPORTED;IN:OUT_OF_SCOPE;sys.no-match-default;smalltalk.out_of_scope;no known intent;"
    "fallback/ich verstehe nicht"
)
UNUSUAL = (
    "pool;SelectNone;none_of_your_business;fallback_flight;Q_OutOfDomain_LiveStatus;unknown_charge;scope;oosterhout;"
    "other;greet;default;negative;no;nonebot_help;AMAZON.NoIntent;/;"
)


def rows_of(*rows: tuple[str, str, str], languages: tuple[str, ...] = ()) -> pd.DataFrame:
    cells = [
        ("", text, intent, language, split, "")
        for (text, intent, split), language in zip(rows, languages or ["en"] * len(rows), strict=True)
    ]
    return pd.DataFrame(cells, columns=list(LABELLED_COLUMNS), dtype="str")


@pytest.fixture
def labelled() -> LabelledSet:
    return labelled_from_frame(rows_of(*ROWS, languages=("en",) * 6 + ("fr",)), "bot")[0]


@pytest.mark.parametrize("name", USUAL.split(";"))
def test_usual_names_mean_none_of_these(name: str) -> None:
    assert is_usual_name(name)


@pytest.mark.parametrize("yes", ["YesIntent", "AMAZON.YesIntent", "app.yes_intent"])
def test_an_intent_for_no_beside_one_for_yes_is_an_answer(yes: str) -> None:
    assert usual_names(["NoIntent", "no.match", yes, "pool"]) == {"no.match"}
    assert usual_names(["NoIntent", "no.match", "pool"]) == {"NoIntent", "no.match"}
    rows = rows_of(("no", "NoIntent", ""), ("yes", yes, ""), ("where is the pool", "pool", ""))
    assert names_of_none(rows) == ()
    assert names_of_none(rows[rows["intent"] != yes]) == ()  # a single intent would be left
    assert names_of_none(rows.replace(yes, "table")) == ("NoIntent",)


@pytest.mark.parametrize("name", UNUSUAL.split(";"))
def test_other_names_are_intents(name: str) -> None:
    assert not is_usual_name(name)


def test_rows_of_none_are_kept_beside_the_intents_and_the_audit_says_so() -> None:
    labelled, audit = labelled_from_frame(rows_of(*ROWS), "bot")

    assert labelled.intents == ("booking", "pool") and len(labelled) == 4
    assert labelled.none_of_these["text"].tolist() == [text for text, intent, _ in ROWS if intent == "oos"]
    assert audit.rows_kept == 7 and audit.none_of_these == ("oos",)
    assert list(audit.counts.index) == ["booking", "pool"]
    (sentence,) = (line for line in audit.summary() if "none of the intents" in line)
    assert sentence.startswith("3 rows labelled oos have none of the intents: they are neither learnt")
    (sentence,) = (line for line in audit.summary(learns_intents=False) if "none of the intents" in line)
    assert sentence.startswith(
        "3 rows labelled oos have none of the intents: they are learnt from like every other"
    )
    assert not (audit.thin["text"] == "ça va?").any()


def test_names_can_be_given_and_guesses_withdrawn() -> None:
    frame = rows_of(*ROWS, ("hm", "Chit Chat", "train"))
    given, audit = labelled_from_frame(frame, "bot", reading=Reading(no_intents=["chit chat"]))
    real, _ = labelled_from_frame(frame, "bot", reading=Reading(real_intents=["OOS"]))

    assert audit.none_of_these == ("Chit Chat", "oos") and given.intents == ("booking", "pool")
    assert real.intents == ("Chit Chat", "booking", "oos", "pool") and real.none_of_these.empty
    remarks = labelled_from_frame(frame, "bot", reading=Reading(no_intents=["chitchat"]))[1].remarks
    assert any("No row has the intent chitchat" in remark for remark in remarks)
    with pytest.raises(DataError, match="single intent"):
        labelled_from_frame(frame, "bot", reading=Reading(no_intents=["chit chat", "booking", "oos"]))
    with pytest.raises(DataError, match="none but intents that stand for none"):
        labelled_from_frame(frame, "bot", reading=Reading(no_intents=["chit chat", "booking", "pool", "oos"]))


def test_a_set_that_was_read_can_be_divided_again(labelled: LabelledSet) -> None:
    again = labelled.with_no_intents(["oos"])
    assert again.intents == labelled.intents and len(again.none_of_these) == 3
    real = labelled.with_no_intents([], ["Oos"])
    assert real.intents == ("booking", "oos", "pool") and real.none_of_these.empty
    assert len({labelled.sha256(), real.sha256()}) == 2
    with pytest.raises(DataError, match="no row has the intent 'chat'"):
        labelled.with_no_intents(["chat"])


def test_the_language_at_the_end_of_a_name_does_not_hide_it() -> None:
    rows = [("a b", "x-en", ""), ("b c", "x-fr", ""), ("c d", "y-en", ""), ("d e", "out_of_scope-fr", "")]
    _, audit = labelled_from_frame(rows_of(*rows, languages=("en", "fr", "en", "fr")), "bot")
    assert audit.none_of_these == ("out_of_scope-fr",)


def test_one_of_two_classes_is_an_intent_whatever_its_name() -> None:
    labelled, audit = labelled_from_frame(
        rows_of(("a", "pain", ""), ("b", "none", ""), ("c", "none", "")), "x"
    )
    assert labelled.intents == ("none", "pain") and not audit.none_of_these


def test_the_same_sentence_with_an_intent_and_none_is_a_conflict() -> None:
    _, audit = labelled_from_frame(rows_of(*ROWS, ("book a table", "oos", "train")), "bot")
    assert audit.conflicts["text"].tolist() == ["book a table"] * 2


def test_parts_of_a_set_have_their_part_of_none(labelled: LabelledSet) -> None:
    assert labelled.train_part().none_of_these["text"].tolist() == ["who won the match"]
    held_out = labelled.held_out_part()
    assert held_out is not None and held_out.none_of_these["text"].tolist() == ["what is love", "ça va?"]
    assert labelled.select(languages=["en"]).none_of_these["text"].tolist() == [
        "who won the match",
        "what is love",
    ]
    assert len(labelled.relabel([0], "booking").none_of_these) == len(labelled.drop([0]).none_of_these) == 3


def test_none_is_held_out_as_the_intents_are() -> None:
    rows = [(f"{intent} {n}", intent, "") for intent in ("a", "b", "None") for n in range(10)]
    part = labelled_from_frame(rows_of(*rows), "x")[0].hold_out(0.3)
    assert part.frame["split"].value_counts().to_dict() == {"train": 14, "test": 6}
    assert part.none_of_these["split"].value_counts().to_dict() == {"train": 7, "test": 3}


def test_a_run_stores_rows_of_none_with_its_data(labelled: LabelledSet, tmp_path: Path) -> None:
    LabelledData(labelled).store(tmp_path)
    stored = LabelledData.load(tmp_path, "bot").labelled
    assert stored.sha256() == labelled.sha256() and len(stored.none_of_these) == 3


def test_the_hash_of_a_set_without_them_is_the_hash_of_its_frame(labelled: LabelledSet) -> None:
    bare = LabelledSet(labelled.frame, "bot")
    assert bare.none_of_these.empty and bare.sha256() != labelled.sha256()
    assert np.array_equal(bare.all_rows().to_numpy(), labelled.frame.to_numpy())


EXPORTS: dict[str, dict[str, object]] = {
    "Dialogflow ES": {
        **{f"intents/{name}.json": {"name": name, "auto": True, "responses": []} for name in ("a", "b")},
        "intents/Nichts.json": {"name": "Nichts", "auto": True, "responses": [], "fallbackIntent": True},
        **{
            f"intents/{name}_usersays_en.json": [{"data": [{"text": f"say {name}"}]}]
            for name in ("a", "b", "Nichts")
        },
    },
    "Dialogflow CX": {
        f"intents/{name}/{file}": content
        for name in ("a", "b", "Nix")
        for file, content in {
            f"{name}.json": {"displayName": name, "isFallback": name == "Nix"},
            "trainingPhrases/en.json": {"trainingPhrases": [{"parts": [{"text": f"say {name}"}]}]},
        }.items()
    },
    "Amazon Lex": {
        f"BotLocales/en_US/Intents/{name}/Intent.json": {
            "name": name,
            "sampleUtterances": [{"utterance": f"say {name}"}],
            "parentIntentSignature": "AMAZON.FallbackIntent" if name == "Nix" else None,
        }
        for name in ("a", "b", "Nix")
    },
    "Watson": {
        "workspace.json": {
            "intents": [{"intent": name, "examples": [{"text": f"say {name}"}]} for name in "ab"],
            "counterexamples": [{"text": "say nix"}],
        }
    },
    "CLINC150": {"data.json": {"train": [["say a", "a"], ["say b", "b"]], "oos_train": [["say nix", "oos"]]}},
    "wit.ai": {
        "utterances/utterances-1.json": {
            "utterances": [
                {"text": "say a", "intent": "a", "entities": []},
                {"text": "say b", "intent": "b", "entities": []},
                {"text": "say nix", "entities": []},
            ]
        }
    },
    "LUIS": {
        "app.json": {
            "luis_schema_version": "3.2.0",
            "culture": "en-us",
            "utterances": [
                {"text": f"say {name}", "intent": name, "entities": []} for name in ("a", "b", "None")
            ],
        }
    },
    "Rasa NLU": {
        "nlu.yml": "version: '3.1'\nnlu:\n"
        + "".join(
            f"- intent: {name}\n  examples: |\n    - say {name}\n" for name in ("a", "b", "nlu_fallback")
        )
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", EXPORTS)
def test_what_a_tool_exports_as_none_of_the_intents_is_read_so(tool: str, tmp_path: Path) -> None:
    labelled, audit = read_labelled(
        folder_of(tmp_path / "bot", EXPORTS[tool]), reading=Reading(language="en")
    )

    assert labelled.intents == ("a", "b"), audit.summary()
    (text,) = labelled.none_of_these["text"]
    assert text.startswith("say ") and text not in ("say a", "say b")
