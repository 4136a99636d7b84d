"""Where protocols come from: bundled ones by name, TOML files, native fio job files."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from heatsoak.errors import UsageError, suggestion
from heatsoak.files import require_file
from heatsoak.protocol.fio_job import parse_job_file
from heatsoak.protocol.heat import Heat
from heatsoak.protocol.model import Matrix, Protocol, ScoreRule
from heatsoak.protocol.rounds import KINDS
from heatsoak.protocol.workload import TO_BE_RUN

_BUNDLED = files("heatsoak.protocol") / "bundled"
_TABLES: dict[str, type[BaseModel]] = {"matrix": Matrix, "heat": Heat, "scores": ScoreRule}


def bundled() -> list[str]:
    """Return the names of the protocols that come with heatsoak."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _BUNDLED.iterdir()
        if entry.name.endswith(".toml")
    )


def load(name: str) -> Protocol:
    """Return the bundled protocol `name`, or the one in the TOML or fio job file `name`.

    Raises UsageError with file and key for anything that is wrong.
    """
    if name in bundled():
        return parse_toml((_BUNDLED / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
    path = Path(name)
    if not path.exists():
        if path.suffix or len(path.parts) > 1:
            raise UsageError(f"{name}: no such file")
        raise UsageError(
            f"there is no protocol '{name}'{suggestion(name, bundled())}: "
            f"bundled are {', '.join(bundled())}; a file's path works too"
        )
    require_file(path)
    if path.suffix in (".fio", ".job", ".ini"):
        return parse_job_file(path)
    try:
        return parse_toml(path.read_text("utf-8-sig"), name)
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: is not a text file in UTF-8") from error


def parse_toml(text: str, name: str) -> Protocol:
    """Return the protocol in a TOML text; errors start with `name`."""
    try:
        return Protocol.model_validate(tomllib.loads(text), context=TO_BE_RUN)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: is not valid TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{name}: {explain(error)}") from error


def explain(error: ValidationError) -> str:
    """Return the first thing that is wrong in one line: the key, what is wrong, what is right."""
    first = error.errors()[0]
    place = ""
    model: type[BaseModel] = Protocol
    for part in first["loc"][:-1] if first["type"] == "extra_forbidden" else first["loc"]:
        if part in KINDS:
            model = KINDS[str(part)]
        elif isinstance(part, int):
            place += f"[{part + 1}]"
        else:
            place += f".{part}" if place else str(part)
            model = _TABLES.get(str(part), model)
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        where = f" in {place}" if place else ""
        return f"unknown key '{key}'{where}{suggestion(key, _keys(model))}"
    message = str(first["msg"]).removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    value: Any = first.get("input")
    shown = f" (is {value!r})" if isinstance(value, str | int | float) else ""
    return f"{place}: {message}{shown}" if place else message


def _keys(model: type[BaseModel]) -> set[str]:
    names = set(model.model_fields)
    for field in model.model_fields.values():
        alias = field.validation_alias
        names.update(str(choice) for choice in getattr(alias, "choices", []))
    return names - {"schema_version"}
