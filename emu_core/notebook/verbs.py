"""The verbs of `emu_core` that write for people, or whose results show themselves: those of `emu_core.api`."""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

import pandas as pd

from emu_core.api import compare as _compare
from emu_core.api import export as _export
from emu_core.api import forgetting as _forgetting
from emu_core.api import predict as _predict
from emu_core.api import pretrain as _pretrain
from emu_core.api import resume as _resume
from emu_core.api import train as _train
from emu_core.api.compare import RunComparison
from emu_core.api.execute import Face
from emu_core.notebook.comparison import NotebookComparison
from emu_core.notebook.predictions import Predictions, shown
from emu_core.notebook.run import NotebookRun
from emu_core.notebook.training import live_progress
from emu_core.reports.card import write_card
from emu_core.reports.export_readme import write_readme
from emu_core.runs.run import Run

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
First = TypeVar("First")
FACE = Face(write_card, live_progress)


def _with(
    first: First, verb: Callable[Concatenate[First, Parameters], Result]
) -> Callable[Parameters, Result]:
    """Return a verb without its first parameter, for which it takes `first`."""
    name = next(iter(inspect.signature(verb).parameters))

    @wraps(verb)
    def without_first(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        return verb(first, *args, **options)

    without_first.__module__ = __name__  # where pickle finds it
    without_first.__signature__ = inspect.signature(partial(verb, first))  # type: ignore[attr-defined]
    without_first.__doc__ = re.sub(rf"\n *{name}: .*", "", verb.__doc__ or "", count=1)
    return without_first


def _shown_run(verb: Callable[Parameters, Run]) -> Callable[Parameters, NotebookRun]:
    @wraps(verb)
    def shown(*args: Parameters.args, **options: Parameters.kwargs) -> NotebookRun:
        return NotebookRun(verb(*args, **options).folder)

    return shown


def _shown_comparison(
    verb: Callable[Parameters, RunComparison],
) -> Callable[Parameters, NotebookComparison]:
    @wraps(verb)
    def shown(*args: Parameters.args, **options: Parameters.kwargs) -> NotebookComparison:
        plain = verb(*args, **options)
        return NotebookComparison(*(getattr(plain, field.name) for field in fields(plain)))

    shown.__module__ = __name__
    return shown


def _shown_predictions(verb: Callable[Parameters, pd.DataFrame]) -> Callable[Parameters, Predictions]:
    @wraps(verb)
    def with_notes(*args: Parameters.args, **options: Parameters.kwargs) -> Predictions:
        return shown(verb(*args, **options))

    with_notes.__module__ = __name__
    return with_notes


train = _shown_run(_with(FACE, _train.train))
pretrain = _shown_run(_with(FACE, _pretrain.pretrain))
resume = _shown_run(_with(FACE, _resume.resume))
forgetting = _with(FACE, _forgetting.forgetting)
export = _with(write_readme, _export.export)
push_to_hub = _with(write_readme, _export.push_to_hub)
compare = _shown_comparison(_compare.compare)
predict = _shown_predictions(_predict.predict)
