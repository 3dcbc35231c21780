"""Train an encoder from scratch on parallel text, in a new run folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from emu_core.api.execute import Hooks, execute
from emu_core.api.inputs import is_given
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.held_out import hold_out, usual_count
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.parallel import ParallelText, languages_of, names_of
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import Tasks
from emu_core.data.wording import listed
from emu_core.devices import Precision, pick_device, split_device
from emu_core.errors import Call, Fix, TrainingError
from emu_core.formats.in_memory import Sources
from emu_core.formats.parallel.files import read_parallel
from emu_core.formats.texts.dialogues import read_dialogues
from emu_core.formats.texts.nli import read_nli
from emu_core.formats.texts.running_text import read_running_text
from emu_core.methods.registry import default_method, method_named, methods_that_need, parts_of_run
from emu_core.processes import SINGLE_PROCESS
from emu_core.runs.config import Plan, versions
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, create_run, new_run_folder
from emu_core.runs.stored_data import ParallelData
from emu_core.settings import Settings
from emu_core.training.memory import OnForecast, forecast
from emu_core.training.method import Needs

_Kind = TypeVar("_Kind")
Texts: TypeAlias = Sources | Sequence[ParallelText]


def pretrain(
    files: Texts,
    *,
    out: str | Path | None = None,
    method: str | None = None,
    languages: Sequence[str] | None = None,
    drop_empty: bool = False,
    dialogues: Sources | Sequence[Dialogues] = (),
    running_text: Sources | Sequence[RunningText] = (),
    nli: Sources | Sequence[Nli] = (),
    dev: Texts = (),
    test: Texts = (),
    seed: int = 0,
    device: str = "auto",
    config: Settings | None = None,
    snapshots: bool = False,
    on_progress: OnProgress | None = None,
    hooks: Hooks | None = None,
    **settings: Any,
) -> Run:
    """Train an encoder from scratch.

    Held-out pairs (those of `dev`, or else at most 1,000 of each language pair) choose the epoch by P@1 of translation
    retrieval in both directions. They, or those of `test`, evaluate the encoder at the end.

    Args:
        files: parallel text, as for `read_parallel`: files, or a DataFrame, a Table or a Dataset with a column for each
            language.
        out: the run's folder; must be new. None makes one under runs/.
        method: the name of a method that learns from parallel text: "dual-encoder" (Chidambaram et al. 2019) or
            "bicvm" (Hermann and Blunsom 2014).
        languages: of files that do not name theirs, in the order of the files or of a file's columns.
        drop_empty: leave out pairs with an empty side instead of failing.
        dialogues: comments with their responses, for the dual encoder; what `read_dialogues` takes or returns.
        running_text: consecutive sentences, for the dual encoder's quick-thought task; see `read_running_text`.
        nli: pairs of SNLI, MultiNLI or XNLI, for the dual encoder; see `read_nli`.
        dev: parallel text that chooses the epoch; by default some pairs of `files`.
        test: parallel text to evaluate the encoder on; by default the pairs that chose the epoch.
        seed: the same seed on the same CPU gives the same weights.
        device: "auto", "cpu", "cuda:0".
        config: hyper-parameters; None takes the method's defaults.
        snapshots: store up to 1,000 sentences of the evaluation pairs in the run's folder, with their vectors before
            training and after each epoch.
        on_progress: called with the run's status when it changes; None shows it in a notebook, and nothing elsewhere.
        hooks: what a program that trains for its users asks for; see `Hooks`.
        **settings: of the method, such as `epochs=3`, instead of `config`.

    Returns:
        The finished run, whose encoder `load_encoder("run:DIR")` opens.

    Raises:
        EmuError: the data can't be read or trained on, or training failed; the run's status has the message, too.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> pairs = pd.DataFrame({"en": ["the pool", "a taxi", "my car"], "de": ["der Pool", "ein Taxi", "mein Auto"]})
        >>> run = emu_core.pretrain(pairs, dev=pairs, method="bicvm", epochs=2, out="runs/scratch")
        >>> run.metrics().translation["en-de"].candidates
        3
    """
    hooks, method = hooks or Hooks(), method or default_method(Needs.PARALLEL_TEXT)
    if settings:
        if config is not None:
            raise TrainingError(f"config has all settings; leave out {listed(settings)}, or use it without")
        config = method_named(method).configure("", **settings)
    tasks = Tasks(
        parallel_texts(files, languages, drop_empty),
        read_each(dialogues, Dialogues, read_dialogues),
        read_each(running_text, RunningText, read_running_text),
        read_each(nli, Nli, read_nli),
    )
    held_out, measured = (
        parallel_texts(given, languages, drop_empty) if is_given(given) else [] for given in (dev, test)
    )
    run_config, data = plan_pretraining(
        tasks,
        held_out,
        measured,
        method=method,
        seed=seed,
        device=pick_device(device),
        config=config,
        snapshots=snapshots,
        on_forecast=hooks.on_forecast,
    )
    folder = new_run_folder(method, "-".join(run_config.languages)) if out is None else Path(out)
    run = create_run(folder, run_config, data)
    return execute(run, SINGLE_PROCESS, hooks=hooks, on_progress=on_progress)


def plan_pretraining(
    tasks: Tasks,
    dev: Sequence[ParallelText] = (),
    test: Sequence[ParallelText] = (),
    *,
    method: str | None = None,
    seed: int = 0,
    device: str = "cpu",
    config: Settings | None = None,
    snapshots: bool = False,
    on_forecast: OnForecast | None = None,
) -> tuple[Plan, ParallelData]:
    """Return the arguments of `create_run`; see `pretrain` for the parameters (here `device` is not "auto").

    Raises:
        EmuError: method and settings do not match the texts.
    """
    device, precision = split_device(device)
    if precision == Precision.BF16:
        raise TrainingError(
            "encoders that are trained from scratch compute in fp32; name only the ", Fix("device", device)
        )
    chosen = method_named(method or default_method(Needs.PARALLEL_TEXT))
    method = chosen.name
    if chosen.needs is not Needs.PARALLEL_TEXT:
        raise TrainingError(f"the method {method} learns from {chosen.needs}; use ", Call("train"), " for it")
    values = chosen.check_settings(config if config is not None else chosen.configure(""))
    others = [name for name, other in methods_that_need(chosen.needs).items() if other.reads_tasks]
    if not chosen.reads_tasks and len(tasks.all) > len(tasks.translation):
        raise TrainingError(
            f"{chosen.title} learns from parallel text alone; leave dialogues, running text and NLI out, or use the "
            f"method {' or '.join(others)}"
        )
    texts = tasks.translation
    if not dev:
        train, dev = hold_out(texts, usual_count(texts), seed)
        tasks = replace(tasks, translation=train)
    run_config = Plan(
        method=method,
        languages=languages_of(texts),
        pairs=tuple(text.languages for text in texts),
        seed=seed,
        device=device,
        data=names_of(texts),
        hyperparameters=values,
        snapshots=snapshots,
        versions=versions(),
    )
    data = ParallelData(tasks, dev, test)
    forecast(parts_of_run(run_config), data, run_config, on_forecast)
    return run_config, data


def parallel_texts(
    files: Texts, languages: Sequence[str] | None = None, drop_empty: bool = False
) -> list[ParallelText]:
    """Return parallel texts, read if they are none yet; see `read_parallel`."""
    read = partial(read_parallel, languages=languages, drop_empty=drop_empty)
    return read_each(files, ParallelText, read) if is_given(files) else read(files)


def read_each(given: Any, kind: type[_Kind], read: Callable[[Any], Sequence[_Kind]]) -> list[_Kind]:
    """Return texts of a kind, read if necessary: one or several, or what `read` takes, or both in a list."""
    items = given if isinstance(given, list | tuple) else [given]
    texts = [item for item in items if isinstance(item, kind)]
    others = [item for item in items if not isinstance(item, kind)] if texts else given
    return [*texts, *read(others)] if is_given(others) else texts
