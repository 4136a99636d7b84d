"""What the shell's completion offers: protocols, drives, places, conditions, names of schemas.

Each function returns words, among them those that start with what was typed: the caller leaves out
the others. Words have no descriptions: typer wraps long ones, and each of their lines would be
offered. What takes a while to load is loaded only here, when somebody presses Tab.
"""

import io
import os
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import typer

from heatsoak.errors import HeatsoakError
from heatsoak.output import print_out

#: What the shell asks with; bash alone needs help.
_VARIABLE = "_HEATSOAK_COMPLETE"
#: Where bash divides what a person typed as one word.
_BREAKS = re.compile(r"[:=@]+")


def protocols() -> list[str]:
    """Return the bundled protocols."""
    from heatsoak.protocol import bundled

    return list(bundled())


def drives() -> list[str]:
    """Return the simulated drives."""
    from heatsoak.catalog import drive_ids

    return drive_ids()


def enclosures() -> list[str]:
    """Return the catalog's enclosures."""
    from heatsoak.catalog import enclosure_ids

    return enclosure_ids()


def listed(ctx: typer.Context) -> list[str]:
    """Return the names of what was typed behind ``list``."""
    of = {"places": enclosures, "protocols": protocols}
    return of.get(str(ctx.params.get("what")), drives)()


def simulated(incomplete: str) -> list[str]:
    """Return simulated drives, with a ``sim:`` if that was typed; behind an ``@``, enclosures."""
    drive, at, _ = incomplete.partition("@")
    if at:
        return [f"{drive}@{name}" for name in enclosures()]
    prefix = "sim:" if incomplete.startswith("sim:") else ""
    return [f"{prefix}{name}" for name in drives()]


def targets(incomplete: str) -> list[str]:
    """Return simulated drives as ``--on`` has them; files are the shell's."""
    return simulated("sim:" if "sim:".startswith(incomplete) else incomplete)


def workloads() -> list[str]:
    """Return the loads that ``--workload`` knows by a word."""
    from heatsoak.twin.named import WORDS

    return [*WORDS, *protocols()]


def devices() -> list[str]:
    """Return the drives of this machine; nothing but sysfs is read."""
    from heatsoak.sensor import Roots
    from heatsoak.target.device import list_devices

    try:
        return [info.name for info in list_devices(Roots())]
    except (HeatsoakError, OSError):
        return []


def figures(ctx: typer.Context) -> list[str]:
    """Return the ids of the figures in the set that was typed."""
    from heatsoak.reproduce import FigureSet, questions

    chosen = FigureSet(ctx.params.get("figure_set") or FigureSet.PUBLISHED)
    return [question.id for question in questions(figure_set=chosen)]


def settings(ctx: typer.Context) -> list[str]:
    """Return the cells of the protocol that was typed, or else labels as the catalog has them."""
    from heatsoak.protocol import load

    try:
        matrix = load(str(ctx.params.get("protocol"))).matrix
    except HeatsoakError:
        matrix = None
    if matrix is None:
        return labels()
    return [f"{axis}={value}" for axis, values in matrix.axes.items() for value in values]


def labels() -> list[str]:
    """Return the conditions of the catalog's enclosures."""
    from heatsoak.catalog import enclosure_ids, load_enclosure

    places = [load_enclosure(name).conditions for name in enclosure_ids()]
    return list(dict.fromkeys(f"{key}={value}" for place in places for key, value in place.items()))


def limits() -> list[str]:
    """Return what may end a recording beside a temperature."""
    return ["fall", "throttle"]


def compared_by(ctx: typer.Context) -> list[str]:
    """Return what the recordings that were typed can be compared by."""
    from heatsoak.comparison.runs import KEYS

    is_named = bool(ctx.params.get("paths") or ctx.args)
    usual = [] if is_named else [label.partition("=")[0] for label in labels()]
    return list(dict.fromkeys([*_conditions_of(ctx), *usual, *KEYS]))


def baselines(ctx: typer.Context) -> list[str]:
    """Return the values of the condition that was typed."""
    return list(_conditions_of(ctx).get(str(ctx.params.get("by")), []))


def _conditions_of(ctx: typer.Context) -> dict[str, list[str]]:
    """The conditions of recordings, with their values."""
    from heatsoak.recording import find_recordings

    found: dict[str, list[str]] = {}
    # what stands before an option without a value yet was not parsed
    for path in [*(ctx.params.get("paths") or []), *ctx.args]:
        try:
            recordings = find_recordings(Path(path))
        except (HeatsoakError, OSError):  # a log, or not there
            continue
        for recording in recordings:
            for key, value in recording.meta.conditions.items():
                found.setdefault(key, []).append(str(value))
    return {key: list(dict.fromkeys(values)) for key, values in found.items()}


def whole_words_in_bash(run: Callable[[], int]) -> Callable[[], int]:
    """Return what runs the command line, with words as they were typed where bash asks for some.

    Bash divides ``sim:x@y`` and ``slot=top`` into several words, and replaces only the last of
    them: words are put together before, and what bash does not replace is cut off after.
    """
    typed = os.environ.get("COMP_WORDS", "")
    if os.environ.get(_VARIABLE) != "complete_bash" or not _BREAKS.search(typed):
        return run
    return partial(_run_joined, run, typed)


def _run_joined(run: Callable[[], int], typed: str) -> int:
    words = typed.split("\n") if "\n" in typed else typed.split(" ")
    joined, kept = _put_together(words[: int(os.environ.get("COMP_CWORD", "0")) + 1])
    os.environ["COMP_WORDS"] = "\n".join(joined)
    os.environ["COMP_CWORD"] = str(len(joined) - 1)
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            return run()
    finally:  # completing ends in an exit
        for line in said.getvalue().splitlines():
            print_out(line.removeprefix(kept))


def _put_together(words: list[str]) -> tuple[list[str], str]:
    """Return words as typed up to the cursor, and what of the last one bash does not replace."""
    joined: list[str] = []
    is_open = False
    last_start = ""
    for word in words:
        is_break = _BREAKS.fullmatch(word) is not None
        if joined and (is_break or (is_open and word)):
            last_start = joined[-1] + (word if is_break else "")
            joined[-1] += word
        else:
            joined.append(word)
            last_start = ""
        is_open = is_break
    # bash takes an @ for the start of a host's name, and replaces it too
    return joined, last_start.removesuffix("@")
