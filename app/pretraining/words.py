"""The systems that are trained from nothing, and their settings, in a newcomer's words."""

from typing import Any

from emu_core.config.pretraining import Pretraining

from app.setting import Setting
from emu_core.config.bicvm import Composition
from emu_core.config.dual_encoder import Optimizer

METHODS = {
    "bicvm": (
        "BiCVM: a vector for each word",
        "The quickest: a sentence is the sum of its words' vectors, and translations come to lie together. Its words "
        "can be looked at across languages. A minute or two for 30,000 pairs on two cores.",
    ),
    "dual-encoder": (
        "Dual encoder: a small transformer",
        "Finds translations better, and can learn from more than translations: running text, dialogues and inference "
        "pairs. Knows parts of words, so that new words say something too. Some minutes for 30,000 pairs.",
    ),
}


def _limits_epochs(config: Any) -> bool:
    return config.epochs is not None


def _has_layers(config: Any) -> bool:
    return config.layers > 0


BICVM_FIRST = (
    Setting("epochs", "Epochs", "How often training goes through all pairs; the best epoch is kept.", 1),
    Setting("dim", "Numbers a word", "The length of a word's vector, and of a sentence's.", 1),
)
BICVM_MORE: dict[str, tuple[Setting, ...]] = {
    "The encoder": (
        Setting(
            "composition",
            "A sentence is",
            "How the words' vectors become the sentence's. Bigrams tell some orders of words apart.",
            choices={Composition.ADD: "The sum of its words", Composition.BIGRAM: "The sum of its bigrams"},
        ),
        Setting("min_count", "Rarest word", "Words seen more rarely than so often are unknown.", 1),
    ),
    "Steps": (
        Setting("batch_size", "Batch size", "Pairs in a step.", 1),
        Setting("learning_rate", "Learning rate", "How far each step moves the words (AdaGrad)."),
        Setting(
            "word_dropout",
            "Words left out",
            "The share of words that training leaves out at random, so that no sentence hangs on one word.",
            most=0.95,
        ),
        Setting("init_deviation", "Spread of the first weights", "Standard deviation of the random start."),
    ),
    "What is learnt": (
        Setting("margin", "Margin", "So much nearer than other sentences a translation is to lie."),
        Setting(
            "noise",
            "Noise sentences a pair",
            "How many other sentences a translation is compared with; 0: the others of its batch.",
            0,
        ),
        Setting("both_ways", "Noise in both languages", "Otherwise only in the second language of a pair."),
        Setting("l2_weight", "L2 weight (lambda)", "How strongly long vectors are drawn to zero."),
        Setting(
            "document_sentences",
            "Sentences a document",
            "More than 1: so many sentences in a row are learnt as one text; 0: the documents of the files.",
            0,
        ),
    ),
}
DUAL_FIRST = (
    Setting(
        "epochs",
        "Epochs",
        "How often training goes through the pairs; the best epoch is kept.",
        1,
        matters=_limits_epochs,
    ),
    Setting(
        "steps",
        "Steps",
        "How many steps training takes.",
        1,
        matters=lambda config: not _limits_epochs(config),
    ),
    Setting(
        "hard_negatives",
        "Hard negatives a pair",
        "Sentences much like a translation that are not it, found with a first model; 0 leaves them out.",
        0,
    ),
)
DUAL_MORE: dict[str, tuple[Setting, ...]] = {
    "The encoder": (
        Setting("layers", "Layers", "Of the transformer; 0: the mean of the words' vectors.", 0),
        Setting("dim", "Numbers a sentence", "The length of a sentence's vector.", 2),
        Setting("heads", "Attention heads", "In each layer.", 1, matters=_has_layers),
        Setting("filter_dim", "Width within a layer", "Of its feed-forward part.", 1, matters=_has_layers),
        Setting("embedding_dim", "Numbers a word", "The length of a word's vector.", 1),
        Setting("word_buckets", "Word buckets", "Words are hashed into so many rows of a table.", 2),
        Setting("ngram_buckets", "N-gram buckets", "The same for parts of words.", 1),
        Setting("ngram_min", "Shortest part of a word", "In characters.", 1),
        Setting("ngram_max", "Longest part of a word", "In characters; 0 leaves parts of words out.", 0),
        Setting("max_tokens", "Longest sentence", "In words; what is longer is cut.", 1),
        Setting("normalised", "Vectors of length 1", "Scores are cosines then."),
    ),
    "Steps": (
        Setting("batch_size", "Batch size", "Pairs in a step; each is told from the others of its batch.", 2),
        Setting(
            "optimizer",
            "Optimiser",
            "What moves the weights.",
            choices={Optimizer.ADAM: "Adam", Optimizer.SGD: "Gradient descent (SGD)"},
        ),
        Setting("learning_rate", "Learning rate", "How far each step moves the weights."),
        Setting(
            "embedding_multiplier", "Faster tables", "Steps of the word tables are so many times as large."
        ),
        Setting("warmup", "Warm-up", "The share of training in which the learning rate rises.", most=0.95),
        Setting("decay", "Falling learning rate", "It falls to 0 at the end."),
        Setting("dropout", "Dropout", "Share of numbers left out at random in the layers.", most=0.95),
        Setting("word_dropout", "Words left out", "Share of words left out at random.", most=0.95),
    ),
    "What is learnt": (
        Setting("scale", "Scale of the scores", "Scores are multiplied by it before they are compared."),
        Setting("bidirectional", "Both ways", "The source is found for the target, too."),
        Setting(
            "mine_after",
            "Before hard negatives",
            "The share of training after which hard negatives, if there are any, are looked for.",
            most=0.95,
        ),
    ),
}


def settings_of(method: Pretraining) -> tuple[tuple[Setting, ...], dict[str, tuple[Setting, ...]]]:
    """Return a method's settings: those that stand first, and the others by heading."""
    return (BICVM_FIRST, BICVM_MORE) if method is "bicvm" else (DUAL_FIRST, DUAL_MORE)
