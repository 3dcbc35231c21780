"""A tiny LASER in the three files of the published one, its pieces learnt from the tests' sentences."""

import csv
import io
from collections import Counter
from pathlib import Path

import torch
from laserembeddings.encoder import Encoder as PublishedEncoder
from laserembeddings.preprocessing import BPE, Tokenizer
from subword_nmt.learn_bpe import learn_bpe

from emu_core.data.demo import demo_paths

EACH = 25  # sentences a language of the demo
MERGES, EMBEDDING, HIDDEN, LAYERS = 400, 12, 10, 2
SPECIAL = {"<Lua heritage>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
OTHERS = {  # beside the demo's and the paper's languages, those whose letters or apostrophes are a case of their own
    "el": ["Πού είναι η πισίνα;", "Τι ώρα σερβίρεται το πρωινό;", "Η Wi-Fi σύνδεση δεν λειτουργεί!"],
    "ko": ["수영장이 어디에 있나요?", "조식은 몇 시부터예요?", "Wi-Fi 비밀번호가 뭐예요?"],
    "ru": ["Где находится бассейн?", "Во сколько подают завтрак?"],
    "uk": ["Де знаходиться басейн?", "Потрібен ще один ключ на п'ять днів."],
    "ar": ["أين المسبح؟", "متى يبدأ الإفطار؟"],
    "he": ["איפה הבריכה?", "צ'ק-אין"],
    "hi": ["स्विमिंग पूल कहाँ है?"],
    "th": ["สระว่ายน้ำอยู่ที่ไหน"],
    "it": ["Dov'è la piscina dell'albergo?", "Un'altra chiave, per favore."],
}


def sentences(each: int) -> dict[str, list[str]]:
    """As many in each of the demo's languages, which are the paper's, and those of OTHERS."""
    chosen = {}
    for path in demo_paths():
        with path.open(encoding="utf-8", newline="") as file:
            texts = [row["text"] for row in csv.DictReader(file)]
        chosen[path.stem] = [texts[i * len(texts) // each] for i in range(each)]
    return chosen | OTHERS


def write_published(folder: Path, *, zipped: bool = False) -> None:
    """Write the three files; `zipped` as torch saves since 1.6, otherwise as in 2018."""
    folder.mkdir(parents=True, exist_ok=True)
    words = []
    for language, texts in sentences(EACH).items():
        tokenizer = Tokenizer(language)  # each compiles a hundred regular expressions
        words += [tokenizer.tokenize(text) for text in texts]
    merges = io.StringIO()
    learn_bpe(io.StringIO("\n".join(words)), merges, MERGES)
    pairs = merges.getvalue().strip().split("\n")[1:]  # the first line is the format's version
    codes = "".join(f"{pair} {1000 - rank}\n" for rank, pair in enumerate(pairs))  # fastBPE's three columns

    free = BPE(io.StringIO(codes), io.StringIO(""))  # without a vocabulary every piece is in order
    counts = Counter(piece for line in words for piece in free.encode_tokens(line).split())
    # Longer pieces seen once are left out, so that words are split again to fit the vocabulary.
    kept = [
        (piece, count)
        for piece, count in counts.most_common()
        if count > 1 or len(piece.removesuffix("@@")) == 1
    ]
    (folder / "93langs.fcodes").write_text(codes, "utf-8")
    (folder / "93langs.fvocab").write_text("".join(f"{piece} {count}\n" for piece, count in kept), "utf-8")

    dictionary = SPECIAL | {piece: row for row, (piece, _) in enumerate(kept, start=len(SPECIAL))}
    params = {
        "num_embeddings": len(dictionary),
        "padding_idx": SPECIAL["<pad>"],
        "embed_dim": EMBEDDING,
        "hidden_size": HIDDEN,
        "num_layers": LAYERS,
        "bidirectional": True,
        "left_pad": True,
        "padding_value": 0.0,
    }
    torch.manual_seed(0)
    encoder = PublishedEncoder(**params)
    with torch.no_grad():  # torch's own start gives vectors that are nearly the same for every sentence
        for weight in encoder.lstm.parameters():
            weight.mul_(3)
    published = {"params": params, "model": encoder.state_dict(), "dictionary": dictionary}
    torch.save(published, folder / "bilstm.93langs.2018-12-26.pt", _use_new_zipfile_serialization=zipped)
