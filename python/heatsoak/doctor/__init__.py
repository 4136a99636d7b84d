"""What of this machine heatsoak can use, what is missing, and how to get it.

`facts` is the one table of it; each row is looked up by what a run itself asks. Nothing is changed,
no drive is opened for writing, and none is sent a command.
"""

from collections.abc import Iterable, Mapping

from heatsoak.doctor.facts import (
    AS_ROOT,
    FOR_DIRECTORIES,
    FOR_DRIVES,
    ROWS,
    Checkup,
    Fact,
    FactRow,
    LookResult,
    ReadyFor,
    of_target,
)
from heatsoak.doctor.machine import Machine
from heatsoak.errors import ToolError
from heatsoak.sensor import Roots

__all__ = ["Checkup", "Fact", "examine"]

_APT = "apt-get install "
_PIP = "pip install "


def examine(roots: Roots | None = None, target: str | None = None) -> Checkup:
    """Return what is here and what is missing; `target` is what ``--on`` of a run would name.

    Raises UsageError for a target that does not exist.
    """
    machine = Machine(roots or Roots())
    facts = _facts(ROWS, machine)
    ready_for, sentence = _answer({fact.name: fact for fact in facts})
    if target is not None:
        asked = _facts(of_target(target), machine)
        facts = [*asked, *facts]
        if ready_for != "simulated" or target.startswith("sim:"):
            sentence = f"{target}: {asked[0].found}"
    return Checkup(ready_for=ready_for, sentence=sentence, facts=facts, get_all=_commands(facts))


def _facts(rows: Iterable[FactRow], machine: Machine) -> list[Fact]:
    return [_fact(row, machine) for row in rows if machine.is_linux or not row.needs_linux]


def _fact(row: FactRow, machine: Machine) -> Fact:
    try:
        seen = row.look(machine)
        get = seen.get or (row.get if seen.state == "missing" else None)
    except ToolError as error:  # a directory of programs that cannot be trusted
        seen, get = LookResult("missing", str(error)), None
    return Fact(
        name=row.name,
        about=row.about,
        state=seen.state,
        found=seen.found,
        brings=row.brings,
        get=get,
    )


def _answer(facts: Mapping[str, Fact]) -> tuple[ReadyFor, str]:
    """What can be tested here, and a sentence that says so."""
    if facts["system"].state == "missing":
        return "simulated", "Real drives need Linux: simulated drives and logs work here."
    for name in FOR_DIRECTORIES:
        fact = facts[name]
        if fact.state == "missing":
            what = f"{name} is missing" if fact.found == "not installed" else fact.found
            advice = f": {fact.get}" if fact.get else ""
            return "simulated", f"{what}: only simulated drives and logs work here{advice}"
    for name in FOR_DRIVES:
        fact = facts[name]
        if fact.state != "ok":
            why = "that needs root" if fact.get == AS_ROOT else fact.found
            return "directories", f"Ready to test directories here, but no whole drives: {why}"
    return "drives", "Ready to test drives here."


def _commands(facts: Iterable[Fact]) -> list[str]:
    """The commands of the facts, those of one package manager as one."""
    commands = list(dict.fromkeys(fact.get for fact in facts if fact.get))
    joined = []
    for manager in (_APT, _PIP):
        of_it = [one for one in commands if one.startswith(manager) and "&&" not in one]
        commands = [one for one in commands if one not in of_it]
        packages = [one.removeprefix(manager) for one in of_it]
        joined += [manager + " ".join(packages)] if packages else []
    return [*joined, *(one for one in commands if one != AS_ROOT)]
