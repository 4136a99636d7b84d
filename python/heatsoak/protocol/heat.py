"""What is to warm the case while a protocol's steps run."""

import shlex
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from heatsoak.protocol.conditions import Conditions
from heatsoak.protocol.workload import Model, Seconds
from heatsoak.units import parse_seconds
from heatsoak.words import duration_text, percent_text

#: How long a warm-up takes at most that ends once temperatures are steady.
MAX_WARM_UP_S = 3600.0


def _warm_up(value: object) -> object:
    return value if value == "steady" else parse_seconds(value)  # type: ignore[arg-type]


class Heat(Model):
    """Something that warms the case while the steps run.

    Attributes:
        source: what makes the heat: ``gpu``, ``cpu``, a ``command``, or a ``person`` who is asked.
        when: the conditions under which it is on; an empty table is always.
        load_pct: how hard it is loaded.
        command: the command line of a ``command``.
        warm_up: how long it runs before the first step, in s, or ``steady``: until no temperature
            rises any more.
        at_most_s: how long ``steady`` may take.
    """

    source: Literal["gpu", "cpu", "command", "person"]
    when: Conditions = Field(default_factory=dict)
    load_pct: float = Field(100, gt=0, le=100)
    command: str | None = None
    warm_up: Annotated[float | Literal["steady"], BeforeValidator(_warm_up)] = Field(
        0.0, validation_alias=AliasChoices("warm_up", "warm_up_s")
    )
    at_most_s: Seconds | None = Field(
        None, gt=0, validation_alias=AliasChoices("at_most", "at_most_s")
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.source == "command") != (self.command is not None):
            raise ValueError("command is only for source = 'command', and is required there")
        if self.command is not None:
            _check_command(self.command)
            if self.load_pct != 100:
                raise ValueError(
                    "load_pct does not apply to a command: put the load into the command itself"
                )
        if self.at_most_s is not None and not self.until_steady:
            raise ValueError("at_most is only for warm_up = 'steady'")
        return self

    @property
    def until_steady(self) -> bool:
        """Whether its warm-up ends once no temperature rises any more."""
        return self.warm_up == "steady"

    @property
    def longest_warm_up_s(self) -> float:
        """How long it runs before the first step, at most."""
        if self.warm_up == "steady":
            return MAX_WARM_UP_S if self.at_most_s is None else self.at_most_s
        return self.warm_up

    def describe(self) -> str:
        """Return it in a few words: ``"gpu heat at 100 %, 10 min of warm-up"``."""
        text = f"{self.source} heat"
        text += f" ({self.command})" if self.command else f" at {percent_text(self.load_pct, 3)}"
        longest = duration_text(self.longest_warm_up_s)
        if self.until_steady:
            return f"{text}, warm-up until steady, at most {longest}"
        return f"{text}, {longest} of warm-up" if self.longest_warm_up_s else text

    def is_on(self, conditions: Conditions) -> bool:
        """Whether these conditions ask for it."""
        return all(conditions.get(key) == value for key, value in self.when.items())


def _check_command(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"command is '{command}', which cannot be read: {error}") from error
    if not words:
        raise ValueError("command is empty: give a program and its arguments")
