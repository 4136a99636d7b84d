"""Damage as tests do it: to the text and bytes of a log, and to the values of JSON and TOML."""

import json
import random
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import tomlkit

#: What readers have stumbled over.
NASTY = (
    b"nan", b"inf", b"-inf", b"1e400", b"-1e308", b"1e308", b"9" * 400, b"18446744073709551616",
    b"9223372036854775808", b"-1", b"0", b"-0.0", b"0.0000001", b"1,5", b"1.234,5", b"1_000",
    "٣".encode(), "½".encode(), b"0x1F", b"1e", b"null", b"true", b"[]", b"{}", b'""', b"'",
    b'"', b"\\ud800", b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b"\r", b"\r\n",
    b"\t", b";", b",", b"|", b":", b"[" * 300, b"{" * 300, b'{"a":' * 200, b"(" * 100, b" " * 500,
    b"0000-00-00 00:00:00", b"9999-12-31 23:59:59", b"31.02.2021", b"99:99:99", b"24:00:00",
    b"1970-01-01T00:00:00Z", b"1e18", b"4294967295", b"2147483647", b"N/A", b"-", b"%", b"\xb0C",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:[.,]\d+)?")
#: Values that readers stumble over, as JSON and TOML both write them; then those of one alone.
VALUES = (
    *("true", "false", "0", "-1", "1", "0.5", "1e309", "-1e309", "1e308", "-1e308", "1e-308", "[]"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e12", "1e15"),
    *("4294967296", '""', '"x"', '"1"', '"\\u0000"', '"../.."', '"/etc/passwd"', '"NaN"', "{}"),
    *("[1]", "[[[]]]", '"' + "x" * 5000 + '"', '"' + "x" * 300_000 + '"', "9" * 400),
    *('"\\u202e\\u001b[31m"', '"a\\nb"', "[" * 100_000),
)  # fmt: skip
JSON_VALUES = (
    *VALUES,
    "null",
    "NaN",
    "Infinity",
    '"\\ud800"',
    "[null]",
    '{"a":1}',
    '{"index":"x"}',
)
TOML_VALUES: tuple[str, ...] = (
    *VALUES,
    "nan",
    "inf",
    "-inf",
    "{ a = 1 }",
    "{ value = 0, assumed = 'x' }",
    "0x7f",
)
TOML_VALUES += ("{ value = nan, assumed = 'x' }", "{ value = -1e300, assumed = 'x' }", "2026-01-01")
TOML_VALUES += (f"{{ value = {'9' * 30}, assumed = 'x' }}",)
_HERE = "the value that is damaged"


def mutated(data: bytes, chance: random.Random, others: list[bytes], most: int) -> bytes:
    """Return `data` with a few changes as damage, other locales and other tools make them."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = _changed(data, chance, others)
    return data[:most]


def _changed(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    kind = chance.randrange(10)
    if kind < 4:
        return _with_another_number(data, chance)
    if kind < 7:
        return _with_other_lines(data, chance, others)
    at = chance.randrange(len(data) + 1)
    if kind == 7:
        return data[:at] + chance.choice(NASTY) + data[at + chance.choice((0, 0, 1, 8)) :]
    if kind == 8:
        return data[:at] if chance.random() < 0.5 else data[at:]
    flipped = bytearray(data)
    for _ in range(chance.choice((1, 3, 30))):
        if flipped:
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
    return bytes(flipped)


def _with_another_number(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(data) + 1)
    match = _NUMBER.search(data, begin) or _NUMBER.search(data)
    if match is None:
        return data + chance.choice(NASTY)
    number = chance.choice(NASTY) if chance.random() < 0.6 else b"%d" % chance.getrandbits(40)
    return data[: match.start()] + number + data[match.end() :]


def _with_other_lines(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return chance.choice(others) if others else data
    first = chance.randrange(len(lines))
    last = min(len(lines), first + chance.choice((1, 1, 2, 10)))
    piece = lines[first:last]
    kind = chance.randrange(6)
    if kind == 0:
        return b"".join(lines[:first] + lines[last:])
    if kind == 1:
        return b"".join(lines[:last] + piece * chance.choice((1, 2, 20)) + lines[last:])
    if kind == 2:
        at = chance.randrange(len(lines) + 1)
        return b"".join([*lines[:at], *piece, *lines[at:]])
    if kind == 3 and others:
        more = chance.choice(others).splitlines(keepends=True)
        cut = chance.randrange(len(more) + 1)
        return b"".join(lines[:first] + more[cut:])
    if kind == 4:
        other = chance.choice((b";", b"\t", b" ", b"|", b","))
        mark = chance.choice((b",", b";", b":", b"."))
        return b"".join([*lines[:first], *(x.replace(mark, other) for x in piece), *lines[last:]])
    cells = re.split(rb"([,;\t|])", lines[first])
    chance.shuffle(cells)
    return b"".join([*lines[:first], *cells, *lines[last:]])


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _paths(below, (*at, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _paths(below, (*at, index))


def with_damaged_json(text: str, chance: random.Random) -> str:
    """Put one value in a JSON document out of order."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    nasty = _damaged(document, chance, JSON_VALUES)
    return json.dumps(document).replace(f'"{_HERE}"', nasty, 1)


def with_damaged_toml(text: str, chance: random.Random) -> str:
    """Put one to four values in a TOML document out of order."""
    document = tomllib.loads(text)
    nasty = [_damaged(document, chance, TOML_VALUES) for _ in range(chance.choice((1, 1, 1, 2, 4)))]
    text = tomlkit.dumps(document)
    for value in nasty:
        text = text.replace(f'"{_HERE}"', value, 1)
    return text


def _damaged(document: Any, chance: random.Random, nasty: tuple[str, ...]) -> str:
    """Change `document` in one place; return the text to put where it now says `_HERE`."""
    *above, last = chance.choice([path for path in _paths(document) if path] or [(None,)])
    if last is None:
        return ""
    holder = document
    for key in above:
        holder = holder[key]
    what = chance.randrange(8)
    if what == 0:
        del holder[last]
    elif what == 1 and isinstance(holder, dict):
        holder[str(chance.choice([*holder, "t_s", "", "x"]))] = holder.pop(last)
    elif what == 1:
        holder.insert(chance.randrange(len(holder)), holder[last])
    elif what == 2 and isinstance(holder[last], int | float):
        factor = chance.choice((-1, 0, 2, 1e3, 1e9, 1e300, 1e-9))
        holder[last] = holder[last] * factor
    else:
        holder[last] = _HERE
    return chance.choice(nasty)
