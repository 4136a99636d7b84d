"""Conditions: the labels of a recording, and which of them can say something about heat.

Only how a drive is cooled tells heat from other causes. What a label's name means decides which
kind it is: a log's other columns of text (hashes, run names, versions) prove nothing either way.
They are put in words here too, for legends and sentences, as drives' names are.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import FiniteFloat

from heatsoak.words import plain, said, temp_text

Label = str | int | FiniteFloat | bool
Conditions = dict[str, Label]


def label_text(value: object) -> str:
    """Return a label's value as it is written behind ``--set KEY=``: ``true``, ``2``, ``none``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


#: ``cooling``: slot, heatsink, air, and what warms the drive. ``load``: what was asked of the
#: drive. ``identity``: which drive or host it was. ``repeat``: anything else, which only tells
#: repetitions apart.
ConditionKind = Literal["cooling", "load", "identity", "repeat"]

#: Labels that number repetitions of the same, and so are no conditions.
REPETITIONS = ("run", "repeat", "repetition")

#: A name with words of several kinds is of the first: ``gpu_load`` is about cooling.
_KINDS: dict[ConditionKind, frozenset[str]] = {
    "cooling": frozenset({
        "air", "airflow", "ambient", "bay", "blower", "card", "cards", "chamber", "chassis", "cold",
        "cooler", "cooling", "enclosure", "fan", "fans", "gpu", "gpus", "heat", "heater",
        "heatsink", "heatspreader", "pad", "place", "room", "season", "sink", "slot", "spreader",
        "vent", "warm",
    }),
    "identity": frozenset({
        "board", "cpu", "device", "disk", "drive", "driver", "firmware", "fw", "host", "hostname",
        "kernel", "machine", "model", "motherboard", "node", "os", "platform", "port", "processor",
        "serial", "system", "vendor", "wwn",
    }),
    "load": frozenset({
        "access", "bs", "block", "blocksize", "compress", "compression", "depth", "direction",
        "engine", "fill", "iodepth", "ioengine", "job", "jobs", "mix", "numjobs", "op", "operation",
        "pattern", "qd", "queue", "rate", "reads", "rw", "rwmixread", "size", "span", "step",
        "test", "thread", "threads", "workload", "writes",
    }),
}  # fmt: skip
#: Words of labels that say how a drive is cooled.
COOLING = _KINDS["cooling"]
#: More of these cool better (True) or worse (False), where a label's value is a number.
_MORE_COOLS = {
    **dict.fromkeys(("air", "airflow", "blower", "cooler", "cooling", "fan", "fans"), True),
    **dict.fromkeys(("heatsink", "heatspreader", "pad", "sink", "spreader", "vent"), True),
    **dict.fromkeys(("ambient", "card", "cards", "chamber", "gpu", "gpus"), False),
    **dict.fromkeys(("heat", "heater", "room"), False),
}
#: Values that say that there is none of it, or that it does nothing.
_ABSENT = frozenset({"no", "none", "off", "without"})
_NONE = _ABSENT | {"", "0", "bare", "false", "idle"}
_WORDS = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)")


@cache
def kind_of_condition(name: str) -> ConditionKind:
    """Return the kind of a label by the words of its name."""
    words = _words_in(name)
    return next((kind for kind, of in _KINDS.items() if not of.isdisjoint(words)), "repeat")


def _words_in(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(_CAMEL.sub(" ", name))]


def differing(
    here: Mapping[str, Label], there: Mapping[str, Label]
) -> dict[ConditionKind, list[str]]:
    """Return the labels that both have with different values, by kind and sorted."""
    found: dict[ConditionKind, list[str]] = {}
    for name in sorted(here.keys() & there.keys()):
        if here[name] != there[name]:
            found.setdefault(kind_of_condition(name), []).append(name)
    return found


def cools_better(name: str, here: Label, there: Label) -> bool | None:
    """Return whether `there` cools better than `here`; None if the label does not say."""
    more = next((_MORE_COOLS[w] for w in _words_in(name) if w in _MORE_COOLS), None)
    if more is None:
        return None
    here_amount, there_amount = _amount(here), _amount(there)
    if here_amount == there_amount:
        return None
    return (there_amount > here_amount) == more


def _amount(value: Label) -> float:
    """How much of it there is: a number, none, or for any other word some."""
    if isinstance(value, (int, float)):
        return float(value)
    number = _NUMBER.match(value)
    if number:
        return float(number.group(1))
    return 0.0 if value.strip().lower() in _NONE else 1.0


_PLACES = {"upright": "upright", "underside": "on the underside"}


def label_of(conditions: Mapping[str, Label], keys: Sequence[str]) -> str:
    """Return conditions for a legend: ``top, 2 cards, loaded``."""
    return ", ".join(short(key, conditions[key]) for key in keys if key in conditions)


def short(key: str, value: Label) -> str:
    """Return one condition for a legend."""
    if key == "gpus":
        return cards(value)
    if key in ("slot", "gpu_load", "drive", "enclosure") and isinstance(value, str):
        return said(value)
    if value is True:
        return plain(key)
    if _is_absent(key, value):
        return f"no {plain(key)}"
    own = key.removesuffix("_c")
    if own == key:
        return f"{plain(key)} {said(value)}"
    # a key that ends in its unit, as tmt1_c does: TMT1 60 C
    name = own.upper() if own.startswith("tmt") else plain(own)
    return f"{name} {temp_text(value, 3) if isinstance(value, (int, float)) else said(value)}"


def _is_absent(key: str, value: Label) -> bool:
    return key != "gpus" and (value is False or str(value).casefold() in _ABSENT)


def phrase(conditions: Mapping[str, Label], keys: Sequence[str]) -> str:
    """Return conditions for a sentence: ``in the top slot with 2 cards under load``."""
    return " ".join(_phrase(key, conditions) for key in keys if key in conditions).strip()


def _phrase(key: str, conditions: Mapping[str, Label]) -> str:
    value = conditions[key]
    match key:
        case "slot":
            return _PLACES.get(str(value), f"in the {said(value)} slot")
        case "gpu_load":
            words = {"loaded": "under load", "idle": "idle"}
            return words.get(str(value), f"with cards {said(value)}")
        case "drive" | "enclosure":
            return f"in {said(value)}"
    return f"without {plain(key)}" if _is_absent(key, value) else f"with {short(key, value)}"


def cards(value: Label) -> str:
    """Return a number of graphics cards."""
    return f"{said(value)} card{'' if str(value) == '1' else 's'}"


def drive_name(drive: Mapping[str, Any]) -> str:
    """Return a drive's name, and whether it is simulated."""
    name = said(drive.get("model") or drive.get("path") or "unnamed drive")
    return f"{name} (simulated)" if drive.get("simulated") else name
