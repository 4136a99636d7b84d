"""The words of tables in many languages (`words.toml`), and how they are looked for.

Headers come in any order of words and in any spelling: a header is cut into tokens, lower case
and without accents, and the words are looked for in these.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, get_args

#: What a column is for where it holds no measurement.
ColumnRole = Literal["time", "date", "uptime", "run", "step", "direction", "device"]
ROLES: frozenset[str] = frozenset(get_args(ColumnRole))
#: Those that tell when a row was.
TIMES = ("time", "date", "uptime")

CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_NUMBERED = re.compile(
    r"(?<![^\W_])(temp|temperature|tmp|sensor|ssd|hdd|disk|drive|gpu|cpu|core|run|nic|eth|zone|tz)(\d+)(?![^\W_])"
)
_TOKEN = re.compile(r"[^\W_]+|%|#", re.UNICODE)


def mended(text: str) -> str:
    """The text with its degree sign and micro sign as they were before they were garbled."""
    if text.isascii():
        return text
    text = text.replace("℃", "°C").replace("℉", "°F").replace("Â", "").replace("¡æ", "°C")
    text = re.sub("[\ufffd?º˚]{1,2}(?=[CFK]\\b)", "°", text)
    return text.replace("µ", "u").replace("μ", "u").replace("Î¼", "u")


def tokens_of(text: str) -> list[str]:
    """Return the words of a header, folded; its numbers, percent and number signs, too."""
    return _TOKEN.findall(_NUMBERED.sub(r"\1 \2", _fold(CAMEL.sub(" ", text))))


def has_any(tokens: list[str], stems: str) -> bool:
    """Return whether any of the tokens has one of the stems of a name in `words.toml`."""
    return _STEMS[stems].search(" ".join(tokens)) is not None


def _fold(text: str) -> str:
    """Lower case without accents, so that ``Débit`` and ``debit`` are one."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    kept = unicodedata.normalize("NFD", lowered)
    return unicodedata.normalize("NFC", "".join(c for c in kept if not "\u0300" <= c <= "\u0304"))


def _stems(*words: str) -> re.Pattern[str]:
    """Match tokens that are, or long ones that begin with, or in part are, one of these."""
    patterns = []
    for word in dict.fromkeys(_fold(word) for word in words):
        inside = not word.isascii() or len(word) > 6
        begin = "" if inside else "(?<![^ ])"
        patterns.append(begin + re.escape(word) + ("" if inside or len(word) > 3 else "(?![^ ])"))
    return re.compile("|".join(patterns))


def _words_by(meanings: Mapping[str, list[str]]) -> dict[str, Any]:
    """What each word means, of lists of words by their meaning."""
    return {word: meaning for meaning, words in meanings.items() for word in words}


#: `words.toml`.
TABLES: dict[str, Any] = tomllib.loads((files(__package__) / "words.toml").read_text("utf-8"))

_STEMS = {name: _stems(*words) for name, words in TABLES["stems"].items()}
TOKENS: dict[str, frozenset[str]] = {
    name: frozenset(words) for name, words in TABLES["tokens"].items()
}
PLACES: dict[str, str] = _words_by(TABLES["places"])
TIME_WORDS: dict[str, ColumnRole] = _words_by(TABLES["times"])
ROLE_WORDS: dict[str, ColumnRole] = _words_by(TABLES["roles"])
#: Words that begin as those of reading do.
_NOT_READ = ("ready", "readme")


def direction_of(text: str) -> Literal["read", "write"] | None:
    """Return whether words are about reading or writing; None for neither, and for both."""
    return direction_in(tokens_of(text[:200]))


def direction_in(tokens: list[str]) -> Literal["read", "write"] | None:
    """Return whether tokens are about reading or writing; None for neither, and for both."""
    kept = [token for token in tokens if not token.startswith(_NOT_READ)]
    reads = has_any(kept, "read") or not TOKENS["read"].isdisjoint(kept)
    writes = has_any(kept, "write") or not TOKENS["write"].isdisjoint(kept)
    if reads == writes:
        return None
    return "read" if reads else "write"


def names_drive(header: str) -> bool:
    """Return whether a header says that it is of a drive."""
    return has_any(tokens_of(header[:200]), "drive")


def slug(text: str) -> str:
    """Return words as a part of a column's name: ``Sensor 1`` becomes ``sensor1``."""
    words = "_".join(tokens_of(text[:60]))
    return re.sub(r"^([^\W\d_]+)_(\d+)$", r"\1\2", words).strip("_")[:40]
