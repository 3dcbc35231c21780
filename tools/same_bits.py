"""Train a small run of each kind, and hold that vectors, figures and predictions stay equal to the bit.

    python -m tools.same_bits write FILE.json [RUN ...]
    python -m tools.same_bits check FILE.json [RUN ...]

Write the file before a change that must not change results, and check it afterwards, on the same machine: another
CPU or another torch has other last bits. There is a run of every method, joined runs, a teacher trained in its
student's run, and runs that are killed and resumed; all take three minutes of CPU time. Only the verbs of `emu_core`,
the registry and the command are used, so that the modules behind them can move.
"""

import os

# Before NumPy and torch are imported; who imports this module keeps its environment.
if __name__ == "__main__":
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    os.environ |= {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

import argparse
import json
import platform
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import partial
from hashlib import sha256
from importlib.metadata import entry_points, version
from io import StringIO
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pandas as pd

import emu_core
from emu_core.methods.registry import methods

RENAMED = {"posterior": "head"}  # names before and after; files have the one after
TIMING = re.compile(r"seconds|memory|bytes|duration|(^|_)per_s$|^part$")  # part: its title in the log
# Shorter than the defaults, or what the data's size asks for.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "distil": {"teacher": "use", "epochs": 2, "batch_size": 36},
    "fmda": {"hidden": 8, "two_stage": True, "epochs": 2, "batch_size": 4, "negatives": 2},
    "meaning-language": {"epochs": 2, "batch_size": 4, "negatives": 2},
    "bicvm": {"epochs": 2, "batch_size": 16, "dim": 16},
    "dual-encoder": {
        **{"epochs": 2, "batch_size": 16, "dim": 16, "embedding_dim": 16, "layers": 1, "heads": 2},
        **{"filter_dim": 32, "word_buckets": 500, "ngram_buckets": 500, "hard_negatives": 2},
    },
}
FRAMES = "snapshots/*.safetensors"
ON_USE = ("head", "emu")  # the other methods train a transformer of two layers
Train = Callable[[str], object]
"""Trains a run in the folder of that name."""
Killed = tuple[str, int]
"""A run, and the checkpoint file, counted over its parts, at whose first writing it is killed."""
KILLED: Mapping[str, Killed] = {
    "emu-anchored, killed": ("emu-anchored", 1),
    "dual-encoder, killed": ("dual-encoder", 1),
    "emu joined, killed in the second part": ("emu joined", 2),
    "head+emu, killed in the second part": ("head+emu", 1),
    "fast, killed in the student": ("fast", 2),
}


def main() -> None:
    """Write the file or check it; exits with 1 where a run differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verb", choices=("write", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("run", nargs="*", help="only these (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="another one must be noticed (default: 0)")
    options = parser.parse_intermixed_args()
    expected = json.loads(options.file.read_text("utf-8")) if options.verb == "check" else None
    file = options.file.absolute()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        runs = Runs(options.seed)
        recorded: dict[str, Any] = {}
        gone = (
            [] if options.run or not expected else sorted(expected["runs"].keys() - {*runs.recipes, *KILLED})
        )
        print(*(f"{name}: gone" for name in gone), sep="\n", end="\n" if gone else "")
        differing = len(gone)
        for name in options.run or [*runs.recipes, *KILLED]:
            began = time.process_time()
            record = recorded[name] = runs.record(name)
            faults = list(runs.kill_faults(name, recorded))
            if expected is not None:
                faults += differences(expected["runs"].get(name), record)
            differing += bool(faults)
            print(f"{name}: {time.process_time() - began:.0f} s", *faults, sep="\n    ", flush=True)
    if expected is None:
        file.write_text(
            json.dumps({"made": made(), "runs": recorded}, indent=1, ensure_ascii=False) + "\n", "utf-8"
        )
    elif expected["made"] != made():
        print(f"the file was written with {expected['made']}, and this is {made()}")
    print(f"{len(recorded)} runs, {differing} differ" if expected or differing else f"{len(recorded)} runs")
    sys.exit(differing > 0)


def made() -> dict[str, str]:
    """Return what last bits depend on beside our code."""
    return {"machine": platform.machine()} | {name: version(name) for name in ("torch", "numpy", "scipy")}


class Runs:
    """The runs, each trained when it is first asked for, in a folder of its name in the working directory."""

    def __init__(self, seed: int) -> None:
        import torch

        torch.set_num_threads(1)
        self.seed = seed
        demo = emu_core.load_demo().frame
        chosen = demo["intent"].isin(["pool", "gym", "taxi", "wifi", "laundry", "pets"])
        self.hotel = demo[chosen & demo["language"].isin(["en", "de", "ja"])].reset_index(drop=True)
        self.texts = self.hotel[self.hotel["split"] == "test"]["text"].iloc[::5].tolist()
        is_dev = (self.hotel["split"] == "test") & self.hotel["id"].str[-1].isin([*"13579"])
        self.with_dev = self.hotel.assign(split=self.hotel["split"].mask(is_dev, "dev"))
        self.whole = self.hotel.drop(columns=["split", "annotated"])
        self.small = self.hotel[
            self.hotel["intent"].isin(["pool", "gym", "taxi"]) & (self.hotel["language"] != "ja")
        ].reset_index(drop=True)
        en_de = self.whole[self.whole["language"] != "ja"]
        self.parallel = en_de.pivot_table(index="id", columns="language", values="text", aggfunc="first")
        self.parallel = self.parallel.dropna()[["en", "de"]].reset_index(drop=True)
        self.present = {RENAMED.get(name, name): name for name in methods()}
        few = self.whole[self.whole["intent"].isin(["pool", "gym", "taxi", "wifi"])].reset_index(drop=True)
        self.recipes: dict[str, Train] = {
            **{name: partial(self.of_method, name) for name in self.present},
            "head+emu": partial(
                self.train, self.small, f"{self.present['head']}+emu", "use+hf:tiny-2", snapshots=True
            ),
            "emu joined": partial(self.train, self.hotel, "emu", "hf:tiny-1+hf:tiny-2", snapshots=True),
            "head joined": partial(self.train, few, self.present["head"], "use+hf:tiny-2"),
            "head on two runs": self.on_runs,
            "fast": partial(self.train, self.small, preset="fast"),
            "the command": self.by_command,
        }
        self._folders: dict[str, str] = {}

    def of_method(self, name: str, out: str) -> None:
        """Train a run of a method, on the data that it learns from."""
        method = methods()[self.present[name]]
        settings = SETTINGS.get(name, {})
        if method.needs.name == "PARALLEL_TEXT":
            tasks = self.tasks() if method.reads_tasks else {}
            config = emu_core.configure(method.name, "", **settings)
            options = {"seed": self.seed, "device": "cpu", "snapshots": True, **tasks}
            emu_core.pretrain(self.parallel, out=out, method=method.name, config=config, **options)
            return
        encoder = "use" if name in ON_USE else f"hf:{tiny_transformer(2)}"
        data = self.hotel if name == "head" or method.needs.name != "INTENTS" else self.with_dev
        config = emu_core.configure(method.name, encoder, **settings)
        self.train(data, method.name, encoder, out, config=config, snapshots=True)

    def tasks(self) -> dict[str, Any]:
        """Return what a method may learn from beside parallel text: dialogues, running text, inference pairs."""
        english, german = self.parallel["en"].tolist(), self.parallel["de"].tolist()
        labels = [("entailment", "neutral", "contradiction")[row % 3] for row in range(30)]
        rows = {"premise": english[:30], "hypothesis": english[30:60], "label": labels}
        return {
            "dialogues": emu_core.read_dialogues((english[:40], english[1:41]), language="en"),
            "running_text": emu_core.read_running_text(german[:40], language="de"),
            "nli": emu_core.read_nli(pd.DataFrame(rows)),
        }

    def train(
        self,
        data: pd.DataFrame,
        *named: Any,
        config: Any = None,
        snapshots: bool = False,
        preset: str | None = None,
    ) -> None:
        """Train on `data`; `named` are a method and its encoder, or nothing with a preset, and the folder."""
        *chosen, out = named
        for layers in (1, 2):
            tiny_transformer(layers)
        options: dict[str, Any] = dict(zip(("method", "encoder"), chosen, strict=False))
        if config is not None:
            options["config"] = config
        if preset is not None:
            options["preset"] = preset
        emu_core.train(data, out=out, seed=self.seed, device="cpu", snapshots=snapshots, **options)

    def on_runs(self, out: str) -> None:
        """Train the head on the joined encoders of two runs."""
        first, second = self.folder("head"), self.folder("softmax")
        self.train(self.small, self.present["head"], f"run:{first}+run:{second}", out)

    def by_command(self, out: str) -> None:
        """Train a run without splits by the command, and compare it; what it prints is in the files beside the run."""
        self.whole.to_csv("whole.csv", index=False)
        self.hotel.to_csv("hotel.csv", index=False)
        trained = command("train", "whole.csv", "--out", out, "--seed", str(self.seed), "--device", "cpu")
        compared = command("compare", "hotel.csv", "--run", out)
        Path(out, "printed.json").write_text(json.dumps({"train": trained, "compare": compared}), "utf-8")

    def folder(self, name: str) -> str:
        """Return the folder of a run, trained if it isn't yet."""
        if name not in self._folders:
            out = "run-" + re.sub(r"\W+", "-", name)
            if name in KILLED:
                self._kill(*KILLED[name], out)
                emu_core.resume(out)
            else:
                self.recipes[name](out)
            self._folders[name] = out
        return self._folders[name]

    def _kill(self, name: str, number: int, out: str) -> None:
        """Train in another process, and kill it once it has written so many checkpoint files."""
        child = _forked().Process(target=in_a_hurry, args=(self.seed, name, out, str(Path.cwd())))
        child.start()
        seen: set[Path] = set()
        while child.is_alive() and len(seen) < number:
            with suppress(FileNotFoundError):  # a folder that is moved while it is read
                seen.update(Path(out).rglob("*.pt"))
            time.sleep(0.002)
        child.kill()
        child.join()
        if (
            child.exitcode != -signal.SIGKILL
            or json.loads(Path(out, "status.json").read_text())["state"] == "finished"
        ):
            raise SystemExit(
                f"{name} ended ({child.exitcode}) before its checkpoint {number}; {len(seen)} were seen"
            )

    def record(self, name: str) -> dict[str, Any]:
        """Return what must stay equal of a run."""
        out = self.folder(name)
        encoder = emu_core.load_encoder(f"run:{out}", device="cpu")
        table = emu_core.predict(self.texts, pool=self.small, run=out, device="cpu")
        exported = emu_core.export(out, f"{out}-exported")
        found = {
            "vectors": digest(encoder.encode(self.texts).tobytes()),
            "metrics": without_timing(json.loads(Path(out, "metrics.json").read_text("utf-8")), out),
            "predictions": digest(table.to_csv().replace(out, "RUN").encode()),
            "evaluation": without_timing(
                emu_core.evaluate(self.small, encoder=f"run:{out}", device="cpu"), out
            ),
            "export": digest(exported_vectors(exported, self.texts)),
        }
        if (
            name not in KILLED
        ):  # of a run that was killed, the log lacks lines, and frames may be of a reopened part
            found["log"] = digest(json.dumps([without_timing(line, out) for line in log(Path(out))]).encode())
            found["frames"] = digest(b"".join(file.read_bytes() for file in sorted(Path(out).glob(FRAMES))))
        if (printed := Path(out, "printed.json")).exists():
            found["printed"] = without_timing(json.loads(printed.read_text("utf-8")), out)
        return found

    def kill_faults(self, name: str, recorded: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if a run that was killed has other vectors than the one that was not."""
        if name in KILLED and (whole := KILLED[name][0]) in recorded:
            for part in ("vectors", "export"):
                if recorded[name][part] != recorded[whole][part]:
                    yield f"{part}: not those of {whole}, which was not killed"


def _forked() -> ForkServerContext:
    """Return the context of processes that begin with the libraries imported."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["sentence_transformers", "sklearn.neighbors", "sklearn.linear_model"])
    return context


def in_a_hurry(seed: int, name: str, out: str, folder: str) -> None:
    """Train a run on a clock on which the seconds between two checkpoints are over at once."""
    monotonic = time.monotonic
    time.monotonic = lambda: 1000 * monotonic()
    os.chdir(folder)
    Runs(seed).recipes[name](out)


def tiny_transformer(layers: int) -> str:
    """Return the folder of a BERT with random weights whose tokens are letters, made if it isn't yet."""
    folder = f"tiny-{layers}"
    if Path(folder).exists():
        return folder
    import torch
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = Tokenizer(
        WordLevel({token: i for i, token in enumerate([*special, *ascii_lowercase])}, "[UNK]")
    )
    letters.normalizer = normalizers.Lowercase()
    letters.pre_tokenizer = pre_tokenizers.Split(Regex(r"\S"), "isolated")
    letters.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    PreTrainedTokenizerFast(
        tokenizer_object=letters, model_max_length=64, **dict(zip(names, special, strict=True))
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(special) + 26,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def command(*words: str) -> Any:
    """Return the JSON that `emu` prints."""
    (emu,) = (point for point in entry_points(group="console_scripts") if point.name == "emu")
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        code = emu.load()([*words, "--json"])
    if code:
        raise SystemExit(f"emu {' '.join(words)} ended with {code}")
    return json.loads(out.getvalue())


def exported_vectors(folder: Path, texts: Sequence[str]) -> bytes:
    """Return the bytes of the vectors of an export for sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=True)
    vectors: bytes = model.encode(list(texts)).tobytes()
    return vectors


def log(folder: Path) -> list[Any]:
    """Return the lines of a run's log; none of a method without steps."""
    file = folder / "log.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def without_timing(value: Any, out: str) -> Any:
    """Return JSON without what a clock measured, with today's names, and without those of folders."""
    if isinstance(value, Mapping):
        return {
            without_timing(key, out): without_timing(of_key, out)
            for key, of_key in value.items()
            if not TIMING.search(key)
        }
    if isinstance(value, list | tuple):
        return [without_timing(item, out) for item in value]
    if isinstance(value, str):
        value = value.replace(str(Path.cwd()), "FOLDER").replace(out, "RUN")
        return re.sub(rf"\b({'|'.join(RENAMED)})\b", lambda match: RENAMED[match[0]], value)
    return value


def digest(data: bytes) -> str:
    """Return the start of a hash."""
    return sha256(data).hexdigest()[:24]


def differences(expected: Any, found: Any, at: str = "") -> Iterator[str]:
    """Yield what differs in two JSON values, with its place."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in dict.fromkeys([*expected, *found]):
            place = f"{at}.{key}".lstrip(".")
            if key in expected and key in found:
                yield from differences(expected[key], found[key], place)
            else:
                yield f"{place}: {'gone' if key in expected else 'new'}"
        if [key for key in expected if key in found] != [key for key in found if key in expected]:
            yield f"{at or 'the parts'}: in another order"
    elif json.dumps(expected) != json.dumps(found):
        yield f"{at or 'the run'}: {str(expected)[:100]} -> {str(found)[:100]}"


if __name__ == "__main__":
    main()
