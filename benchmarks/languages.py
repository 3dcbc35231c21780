"""Measure the default method on commands in many languages, of which it saw no sentence.

The sentences are expansions of the templates of `home-assistant-intents`, with intents as frequent as in Home
Assistant's English file, three rooms and three devices. The labels, and the pool, are that file (`en`), one of its
translations (`file de`), or the generated sentences of a language. Prints one JSON object for each language of the
labels and each candidate, by the language of the queries: Acc@1 of the base; or its change, and what is known of a
language without labels: by how much the share of the queries rose most that go to one intent (`excess`), and, of a
single encoder, the mean gate of `IntentHead`. Encoders were not trained on some of the languages.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import emu_core  # noqa: F401  - first: it sets how OpenMP threads wait, before torch starts them

# isort: split
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from benchmarks.default_method import LABELLED, Map, Vault, Vectors, heads, unit
from emu_core.data.commands.wordings import Expander
from emu_core.methods.head.fit import Examples, choose_penalty, choose_strength, fit_head
from emu_core.methods.head.head import IntentHead
from emu_core.methods.registry import configure

Intents = NDArray[np.str_]
Labelled = tuple[Vectors, Intents]
EXPANSIONS = 12  # drawn from a template
WORDINGS = 6  # of a template, at most
MAX_NUMBER = 100
# Three rooms; three devices; a floor; a thing to buy; a message.
WORDS = {
    "ar": ("المطبخ, غرفة النوم, غرفة المعيشة", "المصباح, الستارة, التلفاز",
           "الطابق الأول", "الحليب", "العشاء جاهز"),
    "cs": ("kuchyně, ložnice, obývací pokoj", "lampa, záclona, televize",
           "první patro", "mléko", "večeře je hotová"),
    "da": ("køkken, soveværelse, stue", "lampe, gardin, fjernsyn",
           "første sal", "mælk", "aftensmaden er klar"),
    "de": ("Küche, Schlafzimmer, Wohnzimmer", "Lampe, Vorhang, Fernseher",
           "Erdgeschoss", "Milch", "das Essen ist fertig"),
    "es": ("cocina, dormitorio, salón", "lámpara, cortina, televisor",
           "primer piso", "leche", "la cena está lista"),
    "fi": ("keittiö, makuuhuone, olohuone", "lamppu, verho, televisio",
           "alakerta", "maitoa", "ruoka on valmista"),
    "fr": ("cuisine, chambre, salon", "lampe, rideau, télé", "premier étage", "lait", "le dîner est prêt"),
    "hu": ("konyha, hálószoba, nappali", "lámpa, függöny, tévé", "földszint", "tej", "kész a vacsora"),
    "it": ("cucina, camera da letto, soggiorno", "lampada, tenda, televisore",
           "primo piano", "latte", "la cena è pronta"),
    "ko": ("주방, 침실, 거실", "램프, 커튼, 텔레비전", "1층", "우유", "저녁 준비됐어"),
    "nl": ("keuken, slaapkamer, woonkamer", "lamp, gordijn, televisie",
           "begane grond", "melk", "het eten is klaar"),
    "pl": ("kuchnia, sypialnia, salon", "lampa, zasłona, telewizor",
           "parter", "mleko", "kolacja jest gotowa"),
    "pt": ("cozinha, quarto, sala", "candeeiro, cortina, televisão",
           "primeiro andar", "leite", "o jantar está pronto"),
    "ru": ("кухня, спальня, гостиная", "лампа, штора, телевизор", "первый этаж", "молоко", "ужин готов"),
    "sv": ("köket, sovrummet, vardagsrummet", "lampan, gardinen, tv",
           "bottenvåningen", "mjölk", "maten är klar"),
    "th": ("ห้องครัว, ห้องนอน, ห้องนั่งเล่น", "โคมไฟ, ม่าน, ทีวี", "ชั้นหนึ่ง", "นม", "อาหารเย็นพร้อมแล้ว"),
    "tr": ("mutfak, yatak odası, oturma odası", "lamba, perde, televizyon",
           "zemin kat", "süt", "yemek hazır"),
    "zh-CN": ("厨房, 卧室, 客厅", "灯, 窗帘, 电视", "一楼", "牛奶", "晚饭好了"),
}  # fmt: skip
KINDS = ("area", "name", "floor", "shopping_list_item", "message")
SAME_KIND = {"todo_list_item": "shopping_list_item", "timer_name": "name", "search_query": "name"}


def generated(language: str, counts: Mapping[str, int]) -> pd.DataFrame:
    """Return commands in a language, at most so many of each intent, the same for the same input."""
    from home_assistant_intents import get_intents

    data: dict[str, Any] = get_intents(language) or {}
    expander, lists = Expander(data["expansion_rules"], {}), data["lists"]
    words = {kind: texts.split(", ") for kind, texts in zip(KINDS, WORDS[language], strict=True)}
    words |= {kind: words[same] for kind, same in SAME_KIND.items()}
    words |= {
        name: sorted({text for texts in expander.words(lists, name).values() for text in texts})
        for name in lists
        if "values" in lists[name]
    }
    rows: list[tuple[str, str, str]] = []
    for intent, count in counts.items():
        rng = random.Random(f"{language}/{intent}")  # noqa: S311 - not for secrets
        blocks = data["intents"].get(intent, {"data": []})["data"]
        templates = sorted({template for block in blocks for template in block["sentences"]})
        texts: dict[str, None] = {}
        for template in rng.sample(templates, len(templates)):
            for wording in expander.draw(template, 0, EXPANSIONS)[:WORDINGS]:
                filled = [
                    part if isinstance(part, str) else _value(part.source, lists, words, rng)
                    for part in wording.parts
                ]
                text = "".join(part or "" for part in filled).strip()
                if None not in filled and len(text) > 1:
                    texts[text] = None
        rows += [(text, intent, language) for text in rng.sample(list(texts), min(count, len(texts)))]
    return pd.DataFrame(rows, columns=["text", "intent", "language"])


def _value(
    name: str, lists: Mapping[str, Any], words: Mapping[str, list[str]], rng: random.Random
) -> str | None:
    """Return a value of a list; None if there are no words for it."""
    if scope := lists.get(name, {}).get("range"):
        low = max(2, scope["from"])
        return str(rng.randint(low, max(low, min(MAX_NUMBER, scope["to"]))))
    return rng.choice(words[name]) if words.get(name) else None


def answers(apply: Map, queries: Vectors, pool: Labelled) -> Intents:
    """Return the intent of the nearest sentence of the pool to each query."""
    nearest: Intents = pool[1][(unit(apply(queries)) @ unit(apply(pool[0])).T).argmax(axis=1)]
    return nearest


def excess(before: Intents, after: Intents) -> float:
    """Return by how much the share of the answers rose that name the intent whose share rose most."""
    return max(float((after == intent).mean() - (before == intent).mean()) for intent in np.unique(after))


@torch.no_grad()
def mean_gate(head: IntentHead, vectors: Vectors) -> float:
    """Return the mean of the gate, from 0 to 1."""
    x = head.mapped(torch.from_numpy(vectors))
    return float(head._gate(F.linear(x, head.weight, head.bias), x @ head.anchors.T).mean())


def candidates(
    vault: Vault, penalties: Sequence[float], examples: Examples
) -> Iterator[tuple[str, Map, IntentHead | None]]:
    """Yield the default and others, each with its head if there is one alone."""
    if vault.parts:
        yield "default", heads(vault, configure("head", vault.encoder))(examples), None
        return
    config = configure("head", vault.encoder)
    settings = choose_strength(examples, config).settings
    for penalty in (choose_penalty(examples, settings), *penalties):
        head = fit_head(examples, settings, penalty)
        yield f"C = {penalty:g}", partial(_on_arrays, head), head


@torch.no_grad()
def _on_arrays(head: IntentHead, vectors: Vectors) -> Vectors:
    embedded: Vectors = head.in_parts(torch.from_numpy(vectors)).numpy()
    return embedded


def labelled_sets(vault: Vault) -> dict[str, Labelled]:
    """Return Home Assistant's sentences in English and in the other languages, and the generated ones."""
    frame, vectors = vault.home
    intents, languages = (frame[name].to_numpy(dtype=str) for name in ("intent", "language"))
    counts = Counter(intents[languages == LABELLED].tolist())
    sets: dict[str, Labelled] = {}
    for language in np.unique(languages):
        rows = languages == language
        sets[language if language == LABELLED else f"file {language}"] = vectors[rows], intents[rows]
    for language in WORDS:
        commands = generated(language, counts)
        of_language = vault.vectors(f"commands_{language}", partial(commands["text"].tolist))
        sets[language] = of_language, commands["intent"].to_numpy(dtype=str)
    return sets


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with home_assistant")
    parser.add_argument("--vectors", type=Path, required=True, help="folder to store vectors in")
    parser.add_argument("--encoder", default="use", help="use (default), another, or use+e5-small")
    about = "languages of the labels and the pool"
    parser.add_argument("--labels", nargs="+", default=[LABELLED], help=about)
    about = "C of the logistic regression, beside the one that the labels choose"
    parser.add_argument("--inverse-penalty", type=float, nargs="*", default=[], help=about)
    options = parser.parse_args()
    vault = Vault(options.data, options.vectors, options.encoder)
    sets = labelled_sets(vault)
    for labels in options.labels:
        pool = sets[labels]
        queries: dict[str, Labelled] = {}
        for language, (vectors, intents) in sets.items():
            known = np.isin(intents, pool[1])
            if language != labels:
                queries[language] = vectors[known], intents[known]
        before = {
            language: answers(lambda vectors: vectors, vectors, pool)
            for language, (vectors, _) in queries.items()
        }
        base = {language: _percent(before[language], asked[1]) for language, asked in queries.items()}
        about_labels = {"encoder": options.encoder, "labels": labels}
        print(
            json.dumps({**about_labels, "base": {name: round(x, 1) for name, x in base.items()}}), flush=True
        )
        classes = np.unique(pool[1], return_inverse=True)[1].tolist()
        examples = Examples(pool[0], classes, vault.reference)
        for name, apply, head in candidates(vault, options.inverse_penalty, examples):
            row: dict[str, dict[str, float]] = {"change": {}, "excess": {}, "gate": {}}
            for language, (vectors, intents) in queries.items():
                after = answers(apply, vectors, pool)
                row["change"][language] = round(_percent(after, intents) - base[language], 1)
                row["excess"][language] = round(excess(before[language], after), 2)
                if head is not None:
                    row["gate"][language] = round(mean_gate(head, vectors), 2)
            print(json.dumps({**about_labels, "candidate": name, **row}), flush=True)


def _percent(named: Intents, intents: Intents) -> float:
    return 100 * float((named == intents).mean())


if __name__ == "__main__":
    main()
