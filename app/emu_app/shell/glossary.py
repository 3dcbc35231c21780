"""The words of the pages that a newcomer may not know: each is explained once, for its help and for the glossary."""

import re
from enum import Enum

WORD = "word"  # in the glossary's address: Streamlit drops a # as the bar writes its choices


class Word(Enum):
    """A word as the pages show it, what the field calls it ("" if that is the same), and its meaning in Markdown."""

    def __init__(self, title: str, term: str, meaning: str) -> None:
        self.title, self.term, self.meaning = title, term, meaning

    @property
    def anchor(self) -> str:
        """The end of the address of its place on the glossary page."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    ATTENTION = (
        "Attention",
        "",
        "How much an encoder takes from each token, a word or a part of one, for a vector. The shares add up to 100 %.",
    )
    BASE = (
        "Before and after",
        "base encoder and specialised encoder",
        "The encoder as it was published, and the same encoder after training on your labels. Both are "
        "measured on the same sentences.",
    )
    CLEAR = (
        "Clearly better, clearly worse",
        "95 % confidence interval, significance",
        "With other sentences of the same kind, an accuracy would be a little different: the interval says by"
        " how much. A change is clear if its whole interval is above or below zero.",
    )
    COSINE = (
        "Similarity",
        "cosine",
        "How alike two sentences are to an encoder: the cosine of the angle between their vectors. 1 is the "
        "same direction, 0 has nothing in common.",
    )
    DISTIL = (
        "Teacher and student",
        "distillation",
        "A fast encoder, the student, is trained to find the same sentences alike as a slow and better one, "
        "its teacher.",
    )
    EIGEN = (
        "Eigen-similarity",
        "Psi, eigenvalues of the graph Laplacian",
        "Whether sentences are arranged alike in two languages, wherever they are: 0 if the distances between them are"
        " the same.",
    )
    ENCODER = (
        "Encoder",
        "sentence encoder, embedding model",
        "A model that turns a sentence into a vector, a list of some hundred numbers, so that sentences of "
        "the same meaning are near each other in any language. A and B are the two that are compared.",
    )
    EPOCH = (
        "Epoch",
        "",
        "One pass of the training through all of its sentences.",
    )
    FORGETTING = (
        "Forgetting",
        "catastrophic forgetting",
        "What training costs on other tasks: how well the vectors still tell similar sentences and "
        "translations of any subject.",
    )
    HELD_OUT = (
        "Held out, new sentences",
        "splits train, dev and test",
        "Sentences that nothing is trained on. Only they show how well an encoder does on sentences that it "
        "has not seen. The training sentences are split *train*, the others *test* and *dev*.",
    )
    INTENT = (
        "Intent",
        "class, label",
        "What somebody wants who writes a sentence, such as `taxi` or `wifi`: the label in your data. The words of "
        "its name help to recognise it.",
    )
    LANGUAGE = (
        "Language in the vectors",
        "language leakage, linear probe",
        "How well the language of a sentence can be told from its vector. The less, the more alike are "
        "sentences of the same meaning in different languages; at best it is chance.",
    )
    MAP = (
        "Map",
        "projection: t-SNE, UMAP, PCA",
        "A picture of the vectors in two dimensions, with a point for each sentence. t-SNE and UMAP keep near"
        " sentences near each other; PCA keeps large distances and takes no time. An intent has its name where its"
        " points form a cluster, and none if they are scattered.",
    )
    NEIGHBOUR = (
        "Nearest sentence",
        "nearest neighbour",
        "The sentence whose vector is most similar, among those that are searched.",
    )
    NONE_OF_THESE = (
        "No known intent",
        "out of scope, reject option, threshold",
        "The answer to a sentence that is unlike all labelled ones: its similarity, or a score of several signs, is "
        "below a threshold that 95 % of right answers reach.",
    )
    PAIR = (
        "Language pair",
        "direction",
        "The language of the sentences that are asked about, and that of the labelled sentences that are "
        "searched, such as German among English; of translations, that of a sentence and that of its "
        "translation. The two orders are counted apart, and so is a language with itself.",
    )
    PARTS = (
        "Language, template, residual, meaning",
        "disentanglement, [CLS], mean pooling",
        "Vectors of a sentence with one part of it each: its language; its template, the sentence without its slots; "
        "the residual, which is the rest; and its meaning, template and residual together. [CLS] is the unchanged "
        "encoder's vector of the first token, and mean pooling the mean of its vectors of all tokens.",
    )
    POOL = (
        "Labelled sentences",
        "pool",
        "The sentences with intents, from which the intents of others are predicted. The nearest of them are the "
        "reasons that are shown.",
    )
    RIGHT_INTENTS = (
        "Right intents",
        "intent classification",
        "Sentences that were held out are asked in each language, and an intent model, fitted on the labelled "
        "sentences, names their intents: the share that is right, in percent or of 100. The most likely intent "
        "counts, whether or not it is rejected.",
    )
    SEED = (
        "Seed",
        "random seed",
        "The number that chance in training starts from: the same seed gives the same result, and several seeds show "
        "how much is chance.",
    )
    SIMILAR = (
        "Similar sentences",
        "Acc@1, leave-one-out",
        "A held-out sentence counts if the one most like it, among the other held-out ones, has the same intent. "
        "The sentence itself and its translations are left out. The share of those that count is given in percent "
        "or of 100.",
    )
    SLOT = (
        "Slot",
        "slot filling",
        "A part of a sentence whose value can be another one, such as the time in *wake me up at five*.",
    )
    SPECIALISE = (
        "Train, specialise",
        "fine-tuning",
        "Changing an encoder so that sentences with one intent come near each other, in languages without "
        "labels, too.",
    )
    TRANSLATION_FOUND = (
        "Translations found",
        "P@1, P@3, P@10, precision at one",
        "How often the nearest sentence in the other language is the translation. P@3 and P@10 count it among"
        " the three or ten nearest. Of translations, some papers call it Acc@1.",
    )
    TRIPLE = (
        "Sentence triple",
        "contrastive triple",
        "Three sentences: the second looks like the first and means something else, the third means the same "
        "in other words or another language. An encoder is right if the third is nearer to the first.",
    )
    TRUST = (
        "Trust in a map",
        "trustworthiness",
        "Whether sentences that are near each other on the map are similar to the encoder, too: 1 if all are,"
        " 0.5 by chance.",
    )
    VECTOR = (
        "Vector",
        "embedding",
        "The numbers that an encoder makes of a sentence. Sentences are compared by the angle between their "
        "vectors.",
    )
    WHITENING = (
        "Evening out",
        "whitening, centering",
        "Directions in which all sentences of a language, or of an intent, differ alike are shortened, so "
        "that they no longer hide what distinguishes intents.",
    )


def help_on(*words: Word, text: str = "") -> str:
    """Return a help text: `text`, what the words mean with the field's terms, and links to them in the glossary."""
    parts = [text] if text else []
    for word in words:
        named = f"**{word.title}**" + (f" ({word.term})" if word.term else "")
        parts.append(f"{named}: {word.meaning} [Glossary](glossary?{WORD}={word.anchor})")
    return "\n\n".join(parts)


def help_on_terms(text: str) -> str | None:
    """Return a help on the field's terms that a text names, such as a report's; None if it names none."""
    words = [word for word in Word if any(_names(text, term) for term in word.term.split(", "))]
    return help_on(*words) if words else None


def _names(text: str, term: str) -> bool:
    return bool(term) and bool(re.search(rf"(?<!\w){re.escape(term)}s?(?!\w)", text, re.IGNORECASE))
