"""The document of ``heatsoak doctor --format json``."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

#: ``unneeded``: missing, and of no use on this machine.
State = Literal["ok", "limited", "missing", "unneeded"]
ReadyFor = Literal["drives", "directories", "simulated"]


class Fact(BaseModel):
    """One thing that heatsoak can use.

    Attributes:
        name: what it is.
        about: what it is part of: ``target``, ``load``, ``rights``, ``sensors``, ``heat``,
            ``purge``, ``simulation`` or ``reports``.
        found: what is here, or why it is not.
        brings: what heatsoak does with it.
        get: the command that brings it; None if it is here, or no command does.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    about: str
    state: State
    found: str
    brings: str
    get: str | None


class Checkup(BaseModel):
    """What can be tested here, and what would bring more.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        ready_for: what can be tested: whole drives, only directories and files on them, or only
            simulated drives; logs can be judged in any case.
        sentence: the same for people.
        get_all: the fewest commands that bring what is missing.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    ready_for: ReadyFor
    sentence: str
    facts: list[Fact]
    get_all: list[str]
