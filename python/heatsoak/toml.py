"""Models, and TOML that somebody wrote: read, checked against one, and refused in one line."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from heatsoak import errors
from heatsoak.files import require_file
from heatsoak.system import uninterrupted

_Model = TypeVar("_Model", bound=BaseModel)


class LateModel(BaseModel):
    """Base: prepared when first used, for few commands use many of the models that they import.

    pydantic prepares a model in native code, which loses Ctrl-C or reports it as a fault of the
    model: it waits until that is done.
    """

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:
        """As pydantic's."""
        with uninterrupted():
            return super().model_rebuild(**options)


def toml_text(path: Path | str) -> str:
    """Return a user's file as text; UsageError, beginning with its name, if it is none."""
    require_file(Path(path))
    try:
        return Path(path).read_text("utf-8-sig")  # editors of Windows put a mark in front
    except FileNotFoundError:
        raise errors.UsageError(f"{path}: there is no such file") from None
    except OSError as error:
        raise errors.UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise errors.UsageError(f"{path}: is not a text file in UTF-8") from error


def toml_tables(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a TOML text; UsageError, beginning with `name`, if it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.UsageError(f"{name}: is not valid TOML: {error}") from error
    except RecursionError as error:
        raise errors.UsageError(
            f"{name}: is not read: its brackets are nested too deeply"
        ) from error
    except (ValueError, OverflowError) as error:  # thousands of digits, a year 0
        raise errors.UsageError(f"{name}: has a number or date that is none: {error}") from error


def toml_file(path: Path | str) -> dict[str, Any]:
    """Return the tables of a user's file; UsageError, beginning with its name, if it has none."""
    return toml_tables(toml_text(path), str(path))


def validated(
    model: type[_Model], data: dict[str, Any], name: str, context: Mapping[str, Any] | None = None
) -> _Model:
    """Return tables as a model; UsageError, beginning with `name`, for what is wrong in them."""
    try:
        return model.model_validate(data, context=dict(context or {}))
    except ValidationError as error:
        raise errors.UsageError(f"{name}: {explain(error, model)}") from error


#: What pydantic puts into the place of an error for what it tried there, and for a table's key.
_TRIED = re.compile(r"[a-z-]+\[.*\]|\[key\]|[A-Z]\w*")
_PLAIN_TYPES = ("str", "int", "float", "bool", "none")
#: What it says of its own or Python's types.
_TABLE, _LIST = "input should be a table", "input should be a list"
_SAID = {
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _TABLE),
    **dict.fromkeys(("list_type", "tuple_type"), _LIST),
}
#: Which is said of several: a misspelt key is reported as missing too, and steps of a log as of no
#: kind that protocols have.
_ORDER = {"extra_forbidden": 0, "union_tag_invalid": 2}


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong in one line: the key, what is wrong, and what would be right."""
    first = min(_of_one_kind(error), key=lambda entry: _ORDER.get(entry["type"], 1))
    is_unknown = first["type"] == "extra_forbidden"
    place, known = _place(first["loc"][:-1] if is_unknown else first["loc"], model)
    if is_unknown:
        key = str(first["loc"][-1])
        where = f" in {place}" if place else ""
        return f"unknown key '{key}'{where}{errors.suggestion(key, known)}"
    if first["type"] == "missing":
        return f"{place} is missing"
    message = _message(first)
    value = first.get("input")
    is_shown = isinstance(value, str | int | float) and repr(value) not in message
    shown = f" (is {value!r})" if is_shown else ""
    return f"{place}: {message}{shown}" if place else message


def _message(entry: Any) -> str:
    about = entry.get("ctx", {})
    match entry["type"]:
        case "union_tag_invalid":
            kinds = about["expected_tags"].replace("'", "")
            near = errors.suggestion(about["tag"], kinds.split(", "))
            return f"there is no kind '{about['tag']}'{near}: {kinds}"
        case "union_tag_not_found":
            return "kind is missing"
        case "too_short":
            return f"input should have at least {about['min_length']} items"
    message = _SAID.get(entry["type"]) or errors.without_prefix(str(entry["msg"]))
    return message[:1].lower() + message[1:]


def _of_one_kind(error: ValidationError) -> list[Any]:
    """The errors; where a table may be of several kinds, those of the kind that it is most like."""

    def kind_of(entry: Any) -> tuple[Any, ...]:
        loc = entry["loc"]
        tried = (at for at, part in enumerate(loc) if _TRIED.fullmatch(str(part)))
        return tuple(loc[: next(tried, -1) + 1])

    entries = error.errors(include_url=False)
    counts = Counter(map(kind_of, entries))
    return [entry for entry in entries if counts[kind_of(entry)] == min(counts.values())]


def _place(path: Sequence[str | int], model: type[BaseModel]) -> tuple[str, set[str]]:
    """The place of an error as its reader would say it, and the keys of the table there."""
    place = ""
    models = [model]
    for at, part in enumerate(path):
        fields = [
            field
            for one in models
            for name, field in one.model_fields.items()
            if part in names_of(name, field)
        ]
        if isinstance(part, int):
            place += f"[{part + 1}]"
        elif not fields and (chosen := [one for one in models if _is_of(one, part)]):
            models = chosen  # of several that a table may be: no key of the file's
            continue
        elif not fields and (
            _TRIED.fullmatch(part) or (part in _PLAIN_TYPES and at + 1 == len(path))
        ):
            continue
        else:
            place += f".{part}" if place else part
        models = [one for field in fields for one in _models_in(field.annotation)] or models
    keys = {
        key for one in models for name, f in one.model_fields.items() for key in names_of(name, f)
    }
    return place, keys - {"schema_version"}


def _is_of(model: type[BaseModel], tried: str) -> bool:
    """Whether pydantic means a model by its kind, or its name: ``function-after[..., Rounds]``."""
    return tried in _kinds_of(model) or model.__name__ in re.findall(r"\w+", tried)


def names_of(name: str, field: Any) -> list[str]:
    """Return the keys that a field of a model is read from, the usual one first."""
    return list(getattr(field.validation_alias, "choices", [field.validation_alias or name]))


def _kinds_of(model: type[BaseModel]) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return () if kind is None else get_args(kind.annotation)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [one for inner in get_args(annotation) for one in _models_in(inner)]
