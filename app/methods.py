"""The methods and their settings in a newcomer's words."""

from app.disentangling import BASELINE_FIRST, BASELINE_MORE, FMDA_FIRST, FMDA_MORE
from app.setting import Setting
from emu_core.config import Adversary, EmuConfig, Method, Objective, Trained

METHODS = {
    "posterior": (
        "Posterior beside the base",
        "Done in seconds. The encoder stays as it is; how likely each intent is stands beside its vector, where a "
        "sentence is like the labelled ones.",
    ),
    "emu": (
        "Emu",
        "The full method. Sentences of one intent are drawn together, and a language discriminator keeps the "
        "languages alike.",
    ),
    "emu-without-ld": (
        "Emu without the language discriminator",
        "Sentences of one intent are drawn together; nothing looks after the other languages.",
    ),
    "emu-without-ld-cl": (
        "Emu without discriminator and center loss",
        "The L2-constrained softmax alone: sentences are told apart by intent.",
    ),
    "emu-parallel": (
        "Emu with parallel sentences",
        "Emu, whose discriminator compares each sentence with its own translation. Needs ids that join translations.",
    ),
    "softmax": ("Softmax", "A baseline: a plain classifier on the encoder, trained with it."),
    "contrastive": ("Contrastive", "A baseline: pairs of one intent come close, other pairs stay apart."),
    "n-pair": ("N-pair", "A baseline: each sentence's partner is picked out among those of other intents."),
    "fmda": (
        "FMDA: template, meaning and language",
        "The encoder stays as it is; layers on it split each sentence into its language, its template (the sentence "
        "without its slots), the residual (the slots) and its meaning. Learnt from translations with annotated slots; "
        "intents are not read.",
    ),
    "meaning-language": (
        "Meaning and language (FMDA's baseline)",
        "The encoder stays as it is; three layers on it split each sentence into its meaning and its language. Learnt "
        "from the same translations as FMDA, to be compared with it.",
    ),
}  # fmt: skip


def _classifies(config: EmuConfig) -> bool:
    return config.objective in (Objective.L2_SOFTMAX, Objective.SOFTMAX)


def _has_center_loss(config: EmuConfig) -> bool:
    return config.center_weight > 0


def _has_adversary(config: EmuConfig) -> bool:
    return config.adversary is not Adversary.NONE


FIRST = (
    Setting("epochs", "Epochs", "How often training goes through all labelled sentences.", 1),
    Setting(
        "learning_rate",
        "Learning rate",
        "How far each step moves the encoder. Lower it when the loss jumps about.",
    ),
)
# By the heading they stand under. What says which others matter stands first.
MORE: dict[str, tuple[Setting, ...]] = {
    "What is trained": (
        Setting(
            "trained",
            "Weights that are trained",
            "The more, the further the encoder can move, and the more memory a step takes. The embedding table holds a "
            "row for each piece of a word; training it moves only the rows that the sentences touch. LoRA leaves the "
            "weights as they are and learns small additions to each layer.",
            choices={
                Trained.ALL: "All",
                Trained.ALL_BUT_EMBEDDINGS: "All but the embedding table",
                Trained.LAST_LAYERS: "The last layers",
                Trained.LORA: "LoRA: small additions",
            },
        ),
        Setting(
            "last_layers",
            "Layers, from the output",
            "How many of the last layers are trained.",
            1,
            matters=lambda config: config.trained is Trained.LAST_LAYERS,
        ),
        Setting(
            "lora_rank",
            "Rank of the additions (r)",
            "How much each addition can say: its number of weights grows with it.",
            1,
            matters=lambda config: config.trained is Trained.LORA,
        ),
        Setting(
            "lora_alpha",
            "Weight of the additions (alpha)",
            "What the additions bring is multiplied by alpha / r.",
            matters=lambda config: config.trained is Trained.LORA,
        ),
    ),
    "Steps": (
        Setting("batch_size", "Batch size", "Labelled sentences in a step.", 2),
        Setting(
            "classifier_learning_rate",
            "Learning rate of the classifier",
            "How far each step moves the layer that tells the intents apart; it is thrown away after training.",
            matters=_classifies,
        ),
    ),
    "Telling intents apart": (
        Setting(
            "alpha",
            "Radius (alpha)",
            "Length the vectors are scaled to before they are told apart by intent.",
            matters=lambda config: config.objective is Objective.L2_SOFTMAX,
        ),
        Setting(
            "center_weight",
            "Center loss weight (lambda)",
            "How strongly sentences of one intent are drawn together.",
            matters=_has_center_loss,
        ),
        Setting(
            "center_rate",
            "Rate of the centers",
            "How far each step moves an intent's center towards its sentences.",
            most=1.0,
            matters=_has_center_loss,
        ),
        Setting(
            "contrastive_margin",
            "Margin (m)",
            "Sentences of two intents are pushed apart until they are this far from each other.",
            matters=lambda config: config.objective is Objective.CONTRASTIVE,
        ),
        Setting(
            "n_pair_scale",
            "Scale of the cosines",
            "Cosines are multiplied by it before the partner is picked out.",
            matters=lambda config: config.objective is Objective.N_PAIR,
        ),
    ),
    "Keeping the languages alike": (
        Setting(
            "adversary",
            "What the discriminator learns",
            "How it tells two languages apart: by the difference of its mean scores, or by a probability for each "
            "sentence. The encoder is taught to hide just that.",
            choices={
                Adversary.WASSERSTEIN: "Means (Wasserstein)",
                Adversary.CROSS_ENTROPY: "Cross-entropy",
            },
            matters=_has_adversary,
        ),
        Setting(
            "adversary_weight",
            "Discriminator weight (gamma)",
            "How strongly the languages are kept alike.",
            matters=_has_adversary,
        ),
        Setting(
            "adversary_every",
            "Discriminator every n steps",
            "Above 1 it is left out of most steps, which saves half of the time, and counts for more in the others.",
            1,
            matters=_has_adversary,
        ),
        Setting(
            "critic_steps",
            "Discriminator steps (k)",
            "How often the discriminator learns in each step.",
            1,
            matters=_has_adversary,
        ),
        Setting(
            "critic_learning_rate",
            "Discriminator learning rate",
            "How far each of its steps moves the discriminator.",
            matters=_has_adversary,
        ),
        Setting(
            "critic_clip",
            "Discriminator weights within (c)",
            "After each of its steps its weights are cut to lie between -c and c.",
            matters=_has_adversary,
        ),
        Setting(
            "critic_hidden",
            "Discriminator width",
            "Numbers in each of its two hidden layers.",
            1,
            matters=_has_adversary,
        ),
        Setting(
            "critic_dropout",
            "Discriminator dropout",
            "The share of those numbers that is left out at random while it learns.",
            most=0.95,
            matters=_has_adversary,
        ),
    ),
}
POSTERIOR_FIRST = (
    Setting(
        "share",
        "Largest share of the posterior",
        "How much of a vector the intents' probabilities may take, where they are sure. More tells intents apart "
        "better, and changes other comparisons more.",
        most=1.0,
    ),
    Setting(
        "softening",
        "Softening of the posterior",
        "The larger, the less sure the intents' probabilities are taken to be: what is said in two languages stays "
        "closer together, and intents that are hard to tell apart are told apart less.",
    ),
)
POSTERIOR_MORE: dict[str, tuple[Setting, ...]] = {
    "Telling intents apart": (
        Setting(
            "kernel_temperature",
            "Temperature of the nearest sentences",
            "The smaller, the more the nearest labelled sentences alone count beside the classifier.",
        ),
    ),
    "Leaving other sentences alone": (
        Setting(
            "gate_temperature",
            "Temperature of nearness",
            "How near a sentence is to the labelled ones: the smaller, the more the nearest of them alone decide.",
        ),
        Setting(
            "gate_quantile",
            "Share of labelled sentences outside",
            "So many of the labelled sentences count as unlike the others: with more, fewer sentences are changed.",
            most=1.0,
        ),
        Setting(
            "gate_width",
            "Width of the border",
            "How gradually a sentence comes to be unlike the labelled ones.",
        ),
    ),
    "Keeping the languages alike": (
        Setting(
            "language_directions",
            "Language directions taken out",
            "The directions in which the languages' mean vectors differ most are taken out of every vector.",
            0,
            most=5,
        ),
        Setting(
            "centering",
            "Share of the mean taken out",
            "For encoders whose vectors all lie in one direction, which hides differences.",
            most=1.0,
        ),
    ),
}
OF_THE_METHOD = ("objective", "parallel")  # they make a method what it is


def settings_of(method: Method) -> tuple[tuple[Setting, ...], dict[str, tuple[Setting, ...]]]:
    """Return a method's settings: those that stand first, and the others by heading."""
    match method:
        case "posterior":
            return POSTERIOR_FIRST, POSTERIOR_MORE
        case "fmda":
            return FMDA_FIRST, FMDA_MORE
        case "meaning-language":
            return BASELINE_FIRST, BASELINE_MORE
        case _:
            return FIRST, MORE


def all_settings(method: Method = "emu") -> tuple[Setting, ...]:
    """Return every setting, in the page's order."""
    first, more = settings_of(method)
    return (*first, *(setting for group in more.values() for setting in group))


def is_transformer(encoder: str) -> bool:
    """Whether an encoder, by its spec, is a transformer: its layers take LoRA's additions, its tokens have states."""
    return encoder == "e5-small" or encoder.startswith("hf:")
