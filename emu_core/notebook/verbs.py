"""The verbs of `emu_core` that train or compare: those of `emu_core.api`, with results that show themselves."""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

from emu_core.api import compare as _compare
from emu_core.api import forgetting as _forgetting
from emu_core.api import pretrain as _pretrain
from emu_core.api import resume as _resume
from emu_core.api import train as _train
from emu_core.api.compare import RunComparison
from emu_core.api.execute import Face
from emu_core.notebook.comparison import NotebookComparison
from emu_core.notebook.run import NotebookRun
from emu_core.notebook.training import live_progress
from emu_core.reports.card import write_card
from emu_core.runs.run import Run

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
FACE = Face(write_card, live_progress)


def _with_face(verb: Callable[Concatenate[Face, Parameters], Result]) -> Callable[Parameters, Result]:
    """Return a verb without its first parameter, for which it takes `FACE`."""

    @wraps(verb)
    def with_face(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        return verb(FACE, *args, **options)

    with_face.__module__ = __name__  # where pickle finds it
    with_face.__signature__ = inspect.signature(partial(verb, FACE))  # type: ignore[attr-defined]
    with_face.__doc__ = re.sub(r"\n *face: .*", "", verb.__doc__ or "", count=1)
    return with_face


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


train = _shown_run(_with_face(_train.train))
pretrain = _shown_run(_with_face(_pretrain.pretrain))
resume = _shown_run(_with_face(_resume.resume))
forgetting = _with_face(_forgetting.forgetting)
compare = _shown_comparison(_compare.compare)
