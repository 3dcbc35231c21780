"""What the embeddings are called, and what each is for."""

from emu_core.models.parts import Part

NAMES = {
    Part.CLS: "[CLS]",
    Part.MEAN: "Mean",
    Part.LANGUAGE: "Language",
    Part.TEMPLATE: "Template",
    Part.RESIDUAL: "Residual",
    Part.MEANING: "Meaning",
}
MEANINGS = {
    Part.CLS: "The frozen encoder's vector of its first token.",
    Part.MEAN: "The mean of the frozen encoder's tokens.",
    Part.LANGUAGE: "The language-specific part.",
    Part.TEMPLATE: "The sentence without its slots.",
    Part.RESIDUAL: "What the template leaves: the slots.",
    Part.MEANING: "What the sentence says, in any language.",
}


def parts_of_method(method: str) -> tuple[Part, ...]:
    """Return the embeddings of a run, in the order that its encoder gives them."""
    if method == "fmda":
        return tuple(Part)
    return (Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING)
