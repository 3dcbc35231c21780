"""Messages in the words of the command: options as flags, functions as verbs."""

import shlex

from emu_core.cli.parser import command_parser
from emu_core.cli.verb import FLAGS
from emu_core.errors import Call, Named, in_words, value_words


def in_command(named: Named) -> str:
    """Return an option or a function as the command names it: --batch-size 32, emu resume runs/a."""
    if isinstance(named, Call):
        return " ".join(("emu", named.function, *([shlex.quote(named.argument)] if named.argument else [])))
    flag = flag_of(named.option)
    if not flag:
        return in_words(named)
    if named.value is False:
        return flag.replace("--", "--no-", 1)
    return " ".join((flag, *map(shlex.quote, value_words(named))))


def flag_of(option: str) -> str:
    """Return the flag of an option: that of the verb whose parser was made, or else of any other; "" if there is none.

    Args:
        option: the name in Python, which the parser stores the option's value under.
    """
    if option in FLAGS:
        return FLAGS[option]
    known = dict(FLAGS)
    command_parser()  # with all verbs
    FLAGS.update(known)
    return FLAGS.get(option) or _flag_of_setting(option)


def _flag_of_setting(name: str) -> str:
    """Return the flag of a hyper-parameter of any method."""
    from emu_core.methods.registry import methods
    from emu_core.settings import infos

    settings = (info for method in methods().values() for info in infos(method.settings) if not info.fixed)
    return next((info.flag for info in settings if info.name == name), "")
