"""Small exports of other tools, and the ways to read them."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.formats.source_files import source_files
from emu_core.formats.source_tables import SourceTable, read_tables

Files = Mapping[str, Any]
"""Path within the export -> text, bytes, or an object that is written as JSON."""


def payload_of(content: object) -> bytes:
    """Return a file's bytes."""
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def zip_of(files: Files) -> bytes:
    """Return an archive of the files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, payload_of(content))
    return packed.getvalue()


def folder_of(folder: Path, files: Files) -> Path:
    """Write the files into a folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(payload_of(content))
    return folder


def tables_of(files: Files) -> tuple[list[SourceTable], tuple[str, ...]]:
    """Return the tables of a zip archive, and what is said about them; those of a file alone, if there is one."""
    [(path, content), *others] = files.items()
    source = ("export.zip", zip_of(files)) if others else (path, payload_of(content))
    return read_tables(source_files([source]))


def rows_of(files: Files) -> pd.DataFrame:
    """Return the rows of an export in the six columns, and `title`, the name of the format."""
    tables, _ = tables_of(files)
    frames = [table.frame.assign(title=table.recognised) for table in tables]
    columns = [*LABELLED_COLUMNS, "title"]
    return pd.concat([frame.reindex(columns=columns, fill_value="") for frame in frames], ignore_index=True)


def cells(files: Files, *columns: str) -> list[tuple[str, ...]]:
    """Return some columns of the rows of an export."""
    return list(rows_of(files)[list(columns)].itertuples(index=False, name=None))


def part(text: str, **keys: object) -> dict[str, object]:
    """Return a part of a sentence, as several tools have them."""
    return {"text": text, **keys}


def classes(*names: str) -> dict[str, object]:
    """Return how Hugging Face describes a column of classes in JSON."""
    return {"names": list(names), "_type": "ClassLabel"}


def arrow_of(
    columns: Mapping[str, object],
    features: object = None,
    *,
    is_file: bool = False,
    compression: str | None = None,
) -> bytes:
    """Return a stream or a file of Arrow, with the features that Hugging Face writes into its schema."""
    table = described_table(columns, features)
    packed = io.BytesIO()
    writer = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with writer(packed, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as sink:
        sink.write_table(table, max_chunksize=2)
    return packed.getvalue()


def parquet_of(columns: Mapping[str, object], features: object = None) -> bytes:
    """Return a Parquet file, with the features that Hugging Face writes into its schema."""
    packed = io.BytesIO()
    pq.write_table(described_table(columns, features), packed)
    return packed.getvalue()


def described_table(columns: Mapping[str, object], features: object) -> pa.Table:
    """Return a table of Arrow, with features in the metadata of its schema unless they are None."""
    table = pa.table(dict(columns))
    info = {} if features is None else {"huggingface": json.dumps({"info": {"features": features}})}
    return table.replace_schema_metadata(info)


EXPORTS: dict[str, Files] = {
    "Rasa NLU": {
        "nlu.yml": "version: '3.1'\nnlu:\n- intent: greet\n  examples: |\n    - hi [Ann](name)\n- intent: bye\n"
        "  examples:\n  - text: |\n      bye\n    metadata: {mood: sad}\n- regex: zip\n  examples: |\n    - [0-9]+\n"
    },
    "Rasa NLU (Markdown)": {
        "nlu.md": "## intent:greet\n- hi [Ann](name)\n\n## synonym:Berlin\n- b\n\n## intent: bye\n* bye\n"
    },
    "Rasa NLU (JSON)": {
        "nlu.json": {
            "rasa_nlu_data": {
                "common_examples": [
                    {
                        "text": "hi Ann",
                        "intent": "greet",
                        "entities": [{"start": 3, "end": 6, "entity": "name"}],
                    },
                    {"text": "bye", "intent": "bye"},
                ],
                "entity_synonyms": [{"value": "x", "synonyms": ["y"]}],
                "regex_features": [{"name": "zip", "pattern": "[0-9]"}],
            }
        }
    },
    "Dialogflow ES": {
        "agent.json": {"language": "en"},
        "intents/greet.json": {"name": "greet", "auto": True, "responses": []},
        "intents/greet_usersays_en.json": [
            {"data": [part("hi "), part("Ann", alias="name", meta="@sys.name")], "isTemplate": False}
        ],
        "intents/bye.json": {"userSays": [{"data": [part("bye")]}], "name": "bye"},
    },
    "Dialogflow CX": {
        "agent.json": {"displayName": "Bot", "defaultLanguageCode": "en"},
        "intents/greet/greet.json": {"name": "1", "displayName": "greet", "priority": 1},
        "intents/greet/trainingPhrases/en.json": {
            "trainingPhrases": [
                {
                    "parts": [part("hi "), part("Ann", parameterId="name")],
                    "repeatCount": 1,
                    "languageCode": "en",
                }
            ]
        },
        "intents/bye/trainingPhrases/de.json": {"trainingPhrases": [{"parts": [part("tschüss")]}]},
    },
    "Amazon Lex": {
        "Manifest.json": {"metaData": {"schemaVersion": "1"}},
        "Bot/BotLocales/en_US/BotLocale.json": {"name": "English", "identifier": "en_US"},
        "Bot/BotLocales/en_US/Intents/Greet/Intent.json": {
            "name": "Greet",
            "sampleUtterances": [{"utterance": "hi {name}"}],
        },
        "Bot/BotLocales/de_DE/Intents/Bye/Intent.json": {
            "name": "Bye",
            "sampleUtterances": [{"utterance": "bye"}],
        },
        "Bot/BotLocales/de_DE/Intents/FallbackIntent/Intent.json": {
            "name": "Fallback",
            "sampleUtterances": None,
        },
    },
    "LUIS": {
        "app.json": {
            "luis_schema_version": "7.0.0",
            "culture": "en-us",
            "intents": [{"name": "greet"}, {"name": "bye"}],
            "utterances": [
                {
                    "text": "hi Ann",
                    "intent": "greet",
                    "entities": [{"entity": "name", "startPos": 3, "endPos": 5}],
                },
                {"text": "bye", "intent": "bye", "entities": []},
            ],
        }
    },
    "CLU": {
        "project.json": {
            "projectFileVersion": "2022-10-01-preview",
            "stringIndexType": "Utf16CodeUnit",
            "metadata": {"projectKind": "Conversation", "language": "en-us"},
            "assets": {
                "intents": [{"category": "greet"}],
                "utterances": [
                    {
                        "text": "hi Ann",
                        "intent": "greet",
                        "dataset": "Train",
                        "entities": [{"category": "name", "offset": 3, "length": 3}],
                    },
                    {"text": "tschüss", "intent": "bye", "language": "de", "dataset": "Test"},
                ],
            },
        }
    },
    "Bot Framework": {
        "de-de/chat.lu": "> a comment\n# greet\n- hi {@name=Ann}\n## bye\n- bye\n\n@ ml name\n",
    },
    "Watson Assistant": {
        "workspace.json": {
            "name": "bot",
            "language": "en",
            "intents": [
                {
                    "intent": "greet",
                    "examples": [{"text": "hi Ann", "mentions": [{"entity": "name", "location": [3, 6]}]}],
                },
                {"intent": "bye", "examples": [{"text": "bye"}]},
            ],
            "entities": [],
            "counterexamples": [{"text": "what is love"}],
            "dialog_nodes": [{"type": "standard"}],
        }
    },
    "Two columns without a header, as of Watson Assistant": {
        "intents.csv": 'hi Ann,greet\n"hello, you",greet\nbye,bye\n'
    },
    "wit.ai": {
        "app/app.json": {"version": 20200513, "data": {"name": "bot", "lang": "en"}},
        "app/utterances/utterances-1.json": {
            "utterances": [
                {
                    "text": "hi Ann",
                    "intent": "greet",
                    "entities": [{"entity": "wit$contact:name", "start": 3, "end": 6, "body": "Ann"}],
                    "traits": [],
                },
                {"text": "bye", "intent": "bye", "entities": [], "traits": []},
                {"text": "hm", "entities": [], "traits": []},
            ]
        },
    },
    "wit.ai (old)": {
        "app/app.json": {"version": 20160513, "data": {"name": "bot", "lang": "en"}},
        "app/expressions.json": {
            "data": [
                {
                    "text": "hi Ann",
                    "entities": [
                        {"entity": "intent", "value": '"greet"'},
                        {"entity": "name", "value": '"Ann"', "start": 3, "end": 6},
                    ],
                },
                {"text": "bye", "entities": [{"entity": "intent", "value": "bye"}]},
            ]
        },
        "app/stories.json": {"data": [{"name": "a", "turns": [{"user": "hi", "entities": []}]}]},
    },
    "nlp.js": {
        "corpus.json": {
            "name": "Corpus",
            "locale": "en-US",
            "data": [
                {"intent": "greet", "utterances": ["hi Ann", "hello"], "tests": ["hey"], "answers": ["Hi!"]},
                {"intent": "bye", "utterances": ["bye"], "tests": ["see you"]},
            ],
        }
    },
    "Snips NLU": {
        "dataset.json": {
            "intents": {
                "greet": {
                    "utterances": [{"data": [part("hi "), part("Ann", entity="person", slot_name="name")]}]
                },
                "bye": {"utterances": [{"data": [part("bye")]}]},
            },
            "entities": {"person": {"data": []}},
            "language": "en",
        }
    },
    "Snips NLU (YAML)": {
        "dataset.yaml": "---\ntype: intent\nname: greet\nslots:\n- name: name\n  entity: person\nutterances:\n"
        "- hi [name:person](Ann)\n---\ntype: intent\nname: bye\nutterances:\n- bye\n---\ntype: entity\nname: person\n"
        "values:\n- Ann\n"
    },
    "Label Studio": {
        "project-1.json": [
            {
                "id": 1,
                "data": {"ticket": "hi Ann"},
                "annotations": [
                    {
                        "completed_by": 1,
                        "was_cancelled": False,
                        "result": [
                            {"from_name": "what", "type": "choices", "value": {"choices": ["greet"]}},
                            {
                                "from_name": "slot",
                                "type": "labels",
                                "value": {"start": 3, "end": 6, "text": "Ann", "labels": ["name"]},
                            },
                        ],
                    }
                ],
            },
            {
                "id": 2,
                "data": {"ticket": "bye"},
                "annotations": [{"result": [{"from_name": "what", "value": {"choices": ["bye"]}}]}],
            },
        ]
    },
    "Label Studio (JSON-MIN)": {
        "project-1.json": [
            {"ticket": text, "id": id, "what": what, "annotator": 1, "annotation_id": id, "lead_time": 1.5}
            for id, (text, what) in enumerate((("hi Ann", "greet"), ("bye", "bye")), start=1)
        ]
    },
    "Label Studio (CSV)": {
        "project-1.csv": "ticket,id,what,annotator,annotation_id,created_at,updated_at,lead_time\n"
        "hi Ann,1,greet,1,1,2024-01-01,2024-01-01,2.5\nbye,2,bye,1,2,2024-01-01,2024-01-01,1.5\n"
    },
    "Prodigy": {
        "annotations.jsonl": '{"text": "hi Ann", "spans": [{"start": 3, "end": 6, "label": "name"}], "options": '
        '[{"id": "greet", "text": "Greeting"}], "accept": ["greet"], "answer": "accept", "_input_hash": 1}\n'
        '{"text": "bye", "label": "bye", "answer": "accept", "_input_hash": 2}\n'
    },
    "Argilla": {
        "records.json": [
            {
                "id": "1",
                "status": "completed",
                "fields": {"text": "hi Ann"},
                "metadata": {},
                "suggestions": {},
                "responses": {"label": [{"value": "greet", "user_id": "a"}]},
            },
            {
                "id": "2",
                "fields": {"text": "bye"},
                "responses": {"label": [{"value": "bye", "user_id": "a"}]},
            },
        ]
    },
    "Argilla (old)": {
        "records.json": [
            {"text": None, "inputs": {"text": "hi Ann"}, "annotation": "greet", "status": "Validated"},
            {"text": "bye", "annotation": "bye", "status": "Validated", "prediction": [["greet", 0.9]]},
        ]
    },
    "spaCy": {
        "train.jsonl": '{"text": "hi Ann", "cats": {"greet": 1.0, "bye": 0.0}, "entities": [[3, 6, "name"]]}\n'
        '{"text": "bye", "cats": {"greet": 0, "bye": 1}}\n'
    },
    "doccano": {
        "all.jsonl": '{"id": 1, "text": "hi Ann", "cats": ["greet"], "entities": [{"label": "name", '
        '"start_offset": 3, "end_offset": 6}]}\n{"id": 2, "text": "bye", "cats": ["bye"], "entities": []}\n'
    },
    "doccano (CSV)": {"all.csv": "id,text,label,Comments\n1,hi Ann,greet,\n2,bye,bye,really?\n"},
    "fastText": {"train.txt": "__label__greet hi Ann\n__label__bye bye\n"},
    "CLINC150": {
        "data_full.json": {
            "train": [["hi Ann", "greet"], ["bye", "bye"]],
            "oos_train": [["what is love", "oos"]],
            "oos_val": [["who won", "oos"]],
        },
        "domains.json": {"small_talk": ["greet", "bye"]},
    },
    "ATIS": {
        "atis.train.w-intent.iob": "BOS hi Ann EOS\tO O B-name greet\nBOS bye EOS\tO O bye\n",
    },
    "Words with slots": {"train": "hi:O Ann:B-name <=> greet\nbye:O <=> bye\n"},
    "Parallel lines with slots": {
        "seq.in": "hi Ann\nbye\n",
        "seq.out": "O B-name\nO\n",
        "label": "greet\nbye\n",
    },
    "CoNLL": {
        "en.test.conll": "# text = hi Ann\n# intent = greet\n1\thi\tgreet\tO\n2\tAnn\tgreet\tB-name\n\n"
        "# text = bye\n# intent = bye\n1\tbye\tbye\tO\n",
    },
    "Hugging Face data set": {
        "dataset_dict.json": {"splits": ["train", "test"]},
        "train/state.json": {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]},
        "train/data-00000-of-00001.arrow": arrow_of(
            {"text": ["hi Ann", "bye"], "intent": [1, 0]}, {"intent": classes("bye", "greet")}
        ),
        "test/data-00000-of-00001.arrow": arrow_of(
            {"text": ["bye bye"], "intent": [0]}, {"intent": classes("bye", "greet")}
        ),
    },
    "Arrow": {"x.arrow": arrow_of({"text": ["hi Ann", "bye"], "intent": ["greet", "bye"]}, is_file=True)},
}
"""Title of a format -> an export of a bot that knows two intents; where there are entities, "Ann" is one."""

WITHOUT_SLOTS = (
    "Amazon Lex",
    "Two columns without a header, as of Watson Assistant",
    "nlp.js",
    "Label Studio (JSON-MIN)",
    "Label Studio (CSV)",
    "Argilla",
    "Argilla (old)",
    "doccano (CSV)",
    "fastText",
    "CLINC150",
    "Hugging Face data set",
    "Arrow",
)
"""Titles of formats whose exports mark no slots."""
