"""A document against its JSON Schema: the keywords that heatsoak's own schemas use."""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
#: Those that restrict nothing.
_WORDS = {"$schema", "$defs", "title", "description", "default", "properties", "required", "format"}
_KNOWN = _WORDS | {
    *("$ref", "anyOf", "const", "enum", "type", "items", "prefixItems", "minItems", "maxItems"),
    *("additionalProperties", "minimum", "maximum", "exclusiveMinimum"),
}


def complaints(document: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return where `document` is not as its schema says, or has a key that it does not describe."""
    return list(_check(document, schema, schema, "$"))


def _check(
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], at: str
) -> Iterator[str]:
    unknown = schema.keys() - _KNOWN
    assert not unknown, f"{at}: the check does not know {unknown}"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from _check(value, root["$defs"][name], root, at)
        return
    if "anyOf" in schema:
        tried = [list(_check(value, one, root, at)) for one in schema["anyOf"]]
        if all(tried):
            yield min(tried, key=len)[0]
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: is {value!r}, not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: is {value!r}, not one of {schema['enum']}"
    kind = schema.get("type")
    if kind is not None:
        is_flag = isinstance(value, bool) and kind in ("integer", "number")
        if is_flag or not isinstance(value, _TYPES[kind]):
            yield f"{at}: is {value!r}, not of type {kind}"
            return
    if isinstance(value, int | float) and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", -inf) < value
    ):
        yield f"{at}: is {value!r}, outside its limits"
    if isinstance(value, dict):
        yield from _check_keys(value, schema, root, at)
    elif isinstance(value, list):
        first = schema.get("prefixItems", [])
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at}: has {len(value)} items"
        for number, item in enumerate(value):
            of = first[number] if number < len(first) else schema.get("items", {})
            yield from _check(item, of, root, f"{at}[{number}]")


def _check_keys(
    value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str
) -> Iterator[str]:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", False)
    for key in schema.get("required", []):
        if key not in value:
            yield f"{at}: {key} is missing"
    for key, item in value.items():
        if key in properties:
            yield from _check(item, properties[key], root, f"{at}.{key}")
        elif more is False:
            yield f"{at}: {key} is not in the schema"
        elif isinstance(more, dict):
            yield from _check(item, more, root, f"{at}.{key}")
