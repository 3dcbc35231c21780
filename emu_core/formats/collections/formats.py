"""The collections that are read: a format is a row of this table, and its reader a module beside it.

Another package adds a format, a `CollectionFormat`, as an entry point of the group `emu.formats`, such as

    [project.entry-points."emu.formats"]
    help-desk = "help_desk.export:HELP_DESK"
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from emu_core.errors import DataError
from emu_core.formats.collections import (
    actions_sdk,
    alexa,
    argilla,
    botpress,
    chatterbot,
    clinc,
    conll,
    dialogflow,
    doccano,
    huggingface,
    jovo,
    label_studio,
    lex,
    microsoft,
    nlpjs,
    ovos,
    prodigy,
    rasa,
    slot_lines,
    snips,
    watson,
    wit,
)
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows


@dataclass(frozen=True)
class CollectionFormat:
    """A format of labelled sentences that another tool or a data set has.

    Attributes:
        title: its name in the audit and on pages.
        files: the usual names of its files, as the guide shows them.
        reads: what is read of it, and what is left out, as the guide says it.
        recognises: whether a file is in this format; it looks at the content, and at the name only beside it.
        read: adds the rows of such a file; it may also count rows as left out.
        stands_alone: whether other JSON files beside such a file may be tables; otherwise they are settings.
        names_intents: whether its files, or the folders around them, are named after intents: such a name states no
            split, and that of a file no language.
    """

    title: str
    files: str
    reads: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document, Rows], None]
    stands_alone: bool = False
    names_intents: bool = False


_ENTRY_POINTS = "emu.formats"
# The first that recognises a file reads it, so those with the most telling content come first.
COLLECTION_FORMATS = (
    CollectionFormat(
        "Rasa NLU",
        "nlu.yml",
        "the examples of every intent, with entities in both notations; the intent of a response "
        "selector has its whole name, `faq/hours`; the language is that of the files' names, else of `config.yml`",
        rasa.is_yaml,
        rasa.read_yaml,
    ),
    CollectionFormat(
        "Rasa NLU (Markdown)",
        "nlu.md",
        "the bullets below `## intent:`",
        rasa.is_markdown,
        rasa.read_markdown,
    ),
    CollectionFormat(
        "Rasa NLU (JSON)",
        "nlu.json",
        "the examples under `rasa_nlu_data`",
        rasa.is_json,
        rasa.read_json,
    ),
    CollectionFormat(
        "Dialogflow ES",
        "intents/NAME_usersays_LANG.json",
        "the phrases of every intent, with parameters; in templates `@sys.date:date` stays as text",
        dialogflow.is_es,
        dialogflow.read_es,
        names_intents=True,
    ),
    CollectionFormat(
        "Dialogflow CX",
        "intents/NAME/trainingPhrases/LANG.json",
        "the phrases of every intent, with parameters, once for each locale; intents as the API "
        "returns them, too",
        dialogflow.is_training_phrases,
        dialogflow.read_training_phrases,
        names_intents=True,
    ),
    CollectionFormat(
        "Amazon Lex",
        "BotLocales/LOCALE/Intents/NAME/Intent.json",
        "the sample utterances of every intent; slots stay as text, `{city}`; one file with all "
        "intents in version 1",
        lex.is_intent,
        lex.read_intent,
        names_intents=True,
    ),
    CollectionFormat(
        "Amazon Alexa",
        "interactionModels/custom/LOCALE.json",
        "the samples of every intent, of a whole skill in all locales; slots stay as text, `{city}`; what fills a slot "
        "is left out and counted",
        alexa.is_model,
        alexa.read_model,
    ),
    CollectionFormat(
        "Amazon Alexa (utterances)",
        "SampleUtterances.txt",
        "the sample of each line behind its intent, as skills had it before interaction models; of slots with "
        "an example, the example",
        alexa.is_lines,
        alexa.read_lines,
    ),
    CollectionFormat(
        "Jovo",
        "models/LOCALE.json",
        "the phrases of every intent, in versions 3 and 4; entities stay as text, `{city}`; phrases of one platform "
        "alone are left out and counted",
        jovo.is_model,
        jovo.read_model,
    ),
    CollectionFormat(
        "OVOS",
        "locale/LANG/NAME.intent",
        "the lines of every intent, of Mycroft's skills, too; alternatives and `[optional]` words are expanded to "
        "sentences, of which those beyond 50 of a line are left out and counted; slots stay as text",
        ovos.is_intent,
        ovos.read_intent,
        names_intents=True,
    ),
    CollectionFormat(
        "Botpress",
        "intents/NAME.json",
        "the utterances of every intent in all languages, with slots",
        botpress.is_intent,
        botpress.read_intent,
        names_intents=True,
    ),
    CollectionFormat(
        "Botpress (version 10)",
        "intents/NAME.utterances.txt",
        "the lines beside every intent's `NAME.json`, with slots",
        botpress.is_lines,
        botpress.read_lines,
        names_intents=True,
    ),
    CollectionFormat(
        "Botpress QnA",
        "qna/ID.json",
        "the questions in all languages, with the id as intent; answers are no sentences, and questions that are "
        "switched off are left out and counted",
        botpress.is_question,
        botpress.read_question,
        names_intents=True,
    ),
    CollectionFormat(
        "Google Actions SDK",
        "custom/intents/NAME.yaml",
        "the training phrases with their parameters; the locale is the folder, else that of `settings.yaml`",
        actions_sdk.is_intent,
        actions_sdk.read_intent,
        names_intents=True,
    ),
    CollectionFormat(
        "ChatterBot",
        "data/english/greetings.yml",
        "what begins every conversation, with the first category as intent; answers are left out and counted",
        chatterbot.is_corpus,
        chatterbot.read_corpus,
    ),
    CollectionFormat(
        "LUIS",
        "app.json",
        "the utterances with their entities, not the patterns",
        microsoft.is_luis,
        microsoft.read_luis,
    ),
    CollectionFormat(
        "CLU",
        "project.json",
        "the utterances with their entities; the data sets Train and Test are splits",
        microsoft.is_clu,
        microsoft.read_clu,
    ),
    CollectionFormat(
        "Bot Framework",
        "NAME.lu",
        "the utterances below each heading, with labelled entities; patterns stay as text, `{@city}`",
        microsoft.is_lu,
        microsoft.read_lu,
    ),
    CollectionFormat(
        "Watson Assistant",
        "workspace.json",
        "the examples of every intent, with mentions; counterexamples have the intent `irrelevant`",
        watson.is_workspace,
        watson.read_workspace,
    ),
    CollectionFormat(
        "Two columns without a header, as of Watson Assistant",
        "intents.csv",
        "the sentences and intents of two columns without a header",
        watson.is_csv,
        watson.read_csv,
    ),
    CollectionFormat(
        "wit.ai",
        "utterances/utterances-1.json",
        "the utterances with their entities, in the language of `app.json`; the intent of those without one is "
        "`out_of_scope`",
        wit.is_utterances,
        wit.read_utterances,
    ),
    CollectionFormat(
        "wit.ai (old)",
        "expressions.json",
        "the expressions, whose entity `intent` is the intent",
        wit.is_expressions,
        wit.read_expressions,
    ),
    CollectionFormat(
        "nlp.js",
        "corpus.json",
        "the utterances as train and the tests as test",
        nlpjs.is_corpus,
        nlpjs.read_corpus,
    ),
    CollectionFormat(
        "Snips NLU",
        "dataset.json",
        "the utterances of every intent, with slots; files of the benchmark, too",
        snips.is_json,
        snips.read_json,
    ),
    CollectionFormat(
        "Snips NLU (YAML)",
        "dataset.yaml",
        "the utterances of every document of the type intent, with slots",
        snips.is_yaml,
        snips.read_yaml,
    ),
    CollectionFormat(
        "Label Studio",
        "project-1.json",
        "the choices of every task; left out and counted: cancelled annotations, tasks without one, and ties "
        "of annotators",
        label_studio.is_export,
        label_studio.read_export,
        stands_alone=True,
    ),
    CollectionFormat(
        "Label Studio (JSON-MIN)",
        "project-1-min.json",
        "the choices, as in the whole JSON",
        label_studio.is_min,
        label_studio.read_min,
        stands_alone=True,
    ),
    CollectionFormat(
        "Label Studio (CSV)",
        "project-1.csv",
        "the choices, as in the whole JSON",
        label_studio.is_csv,
        label_studio.read_csv,
        stands_alone=True,
    ),
    CollectionFormat(
        "Prodigy",
        "annotations.jsonl",
        "the accepted label or options, with spans; rejected and ignored sentences are left out and counted, and "
        "ties of annotators",
        prodigy.is_prodigy,
        prodigy.read_prodigy,
        stands_alone=True,
    ),
    CollectionFormat(
        "Argilla",
        "records.json",
        "the submitted responses, or else the suggestions; discarded records are left out and counted, and ties of "
        "annotators",
        argilla.is_new,
        argilla.read_new,
        stands_alone=True,
    ),
    CollectionFormat(
        "Argilla (old)",
        "records.json",
        "the annotations of version 1; discarded records are left out and counted",
        argilla.is_old,
        argilla.read_old,
        stands_alone=True,
    ),
    CollectionFormat(
        "spaCy",
        "train.jsonl",
        "the categories in `cats` with a score above 0.5",
        doccano.is_spacy,
        doccano.read_spacy,
        stands_alone=True,
    ),
    CollectionFormat(
        "doccano",
        "all.jsonl",
        "the labels of every sentence, with entities; of several annotators, the label of most",
        doccano.is_json,
        doccano.read_json,
        stands_alone=True,
    ),
    CollectionFormat(
        "doccano (CSV)",
        "all.csv",
        "the labels of every sentence, of which `#` joins several",
        doccano.is_csv,
        doccano.read_csv,
        stands_alone=True,
    ),
    CollectionFormat(
        "fastText",
        "train.txt",
        "the labels and the rest of every line: `__label__greet good morning`",
        doccano.is_fasttext,
        doccano.read_fasttext,
        stands_alone=True,
    ),
    CollectionFormat(
        "CLINC150",
        "data_full.json",
        "the pairs of every split, with `oos_train`, `oos_val` and `oos_test`, whose intent is `oos`",
        clinc.is_clinc,
        clinc.read_clinc,
    ),
    CollectionFormat(
        "ATIS",
        "atis.train.w-intent.iob",
        "the words, slots and intent of every line: `BOS to Rome EOS<tab>O O B-city travel`",
        slot_lines.is_iob,
        slot_lines.read_iob,
        stands_alone=True,
    ),
    CollectionFormat(
        "Words with slots",
        "train",
        "the words, slots and intent of every line: `to:O Rome:B-city <=> travel`",
        slot_lines.is_joint,
        slot_lines.read_joint,
        stands_alone=True,
    ),
    CollectionFormat(
        "Parallel lines with slots",
        "seq.in, seq.out and label",
        "the words, slots and intents in lines of the same number",
        slot_lines.is_parallel,
        slot_lines.read_parallel,
        stands_alone=True,
    ),
    CollectionFormat(
        "CoNLL",
        "de.valid.conll",
        "the sentences with their slots, as in xSID; the intent is a comment `# intent = ...`, a column, or "
        "the line below the tokens",
        conll.is_conll,
        conll.read_conll,
        stands_alone=True,
    ),
    CollectionFormat(
        "Hugging Face data set",
        "train/data-00000-of-00001.arrow",
        "the tables that `save_to_disk` writes, and the Parquet shards of the hub; numbers of classes become "
        "their names",
        huggingface.is_data_set,
        huggingface.read_data_set,
    ),
    CollectionFormat(
        "Arrow",
        "data.arrow",
        "the columns of strings and numbers, in a stream or a file",
        huggingface.is_arrow,
        huggingface.read_data_set,
    ),
)


@cache  # reading the entry points of all installed packages is slow
def collection_formats() -> tuple[CollectionFormat, ...]:
    """Return the formats of other packages, which are told by what their one tool writes, and then ours.

    Raises:
        DataError: an entry point is no `CollectionFormat`, or its title is taken.
    """
    formats: list[CollectionFormat] = []
    for entry in sorted(entry_points(group=_ENTRY_POINTS), key=lambda entry: entry.name):
        format = entry.load()
        if not isinstance(format, CollectionFormat):
            raise DataError(
                f"the entry point {entry.value} of the group {_ENTRY_POINTS} is no CollectionFormat; remove its package"
            )
        if format.title in {known.title for known in (*formats, *COLLECTION_FORMATS)}:
            raise DataError(
                f"{entry.value} adds a format '{format.title}', and there is one already; remove its package"
            )
        formats.append(format)
    return (*formats, *COLLECTION_FORMATS)


def format_of_collection(document: Document) -> CollectionFormat | None:
    """Return the format of a collection's file; None for anything else, such as an ordinary table."""
    return next((format for format in collection_formats() if format.recognises(document)), None)
