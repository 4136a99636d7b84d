"""Text for people: quantities with their units, counts, lists and names, each made in one way.

Every sentence, table cell and label takes its numbers from here, so that a number reads the same in
a terminal, on a page and in a file: `web/test/text.json` holds this module and the page's
`format.ts` to the same texts. Reading what people write is :mod:`heatsoak.units`.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

from heatsoak.ranges import USUAL_LEVEL, Range

#: A screen, and a sentence, names so many drives or groups at most.
MOST_NAMED = 8
#: Longer values are shortened in labels and sentences.
_MAX_LETTERS = 60
#: Characters that change the direction of the text after them, by kind.
_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_RIGHT_TO_LEFT = {"R", "AL"}
_ISOLATE, _END = "\u2068", "\u2069"
_DEPTH = re.compile(r"\bqd(?=\d)")
#: Below this, a duration is told in seconds, or minutes.
_MOST_OF_A_UNIT = 100
#: Halves are rounded away from zero, also those of which arithmetic has lost the last bits.
_HALVES_UP = 1 + 2**-50


def number_text(value: float, digits: int = 3) -> str:
    """Return a number in at least `digits` digits, never with an exponent: ``1,499``, ``6.4``.

    What is before the point is never rounded, zeros at the end of what is after it are left out.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value + 0.0:g}"
    if value % 1:
        value *= _HALVES_UP
    decimals = digits - 1 - math.floor(math.log10(abs(float(f"{value:.{digits}g}"))))
    text = f"{value:,.{max(0, decimals)}f}"
    return text.rstrip("0").rstrip(".") if decimals > 0 else text


def signed_text(value: float, digits: int = 2) -> str:
    """Return a number with its sign: ``+18``, ``-0.4``, and ``0`` without one."""
    text = number_text(value, digits)
    return f"+{text}" if value > 0 else text


def difference_text(value: float, unit: str = "") -> str:
    """Return a difference to a tenth, with its sign: ``+4.2 %``, ``0 %``."""
    text = signed_text(float(f"{value * _HALVES_UP:.1f}"), 3)
    return f"{text} {unit}".rstrip()


def amount_text(value: float, unit: str, digits: int = 3) -> str:
    """Return a number with its unit: ``5.2 W``."""
    return f"{number_text(value, digits)} {unit}"


def _alike(values: Sequence[float], digits: int, *, signed: bool) -> list[str]:
    """Numbers with the same decimals: as many as the largest has in `digits` digits.

    One more where the smallest would read 0 otherwise, and none that are 0 in all of them.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)] or [1.0]
    most = max(0, digits - 1 - math.floor(math.log10(float(f"{max(sizes):.{digits}g}"))))
    most += round(min(sizes), most) == 0
    rounded = [round(value, most) + 0.0 for value in values]
    decimals = next(
        n for n in range(most + 1) if n == most or rounded == [round(v, n) for v in rounded]
    )
    return [f"{'+' if signed and v > 0 else ''}{v:,.{decimals}f}" for v in rounded]


def _ends_text(ends: Sequence[str], unit: str = "", level: float = USUAL_LEVEL) -> str:
    said = "" if level == USUAL_LEVEL else f"{level_text(level)}: "
    return f"{said}{' to '.join(dict.fromkeys(ends))} {unit}".rstrip()


def span_text(
    values: Iterable[float], unit: str = "", digits: int = 1, *, signed: bool = False
) -> str:
    """Return from where to where values go: ``8 to 71 s``, or ``8 s`` if both ends read the same.

    Both have the same decimals: ``+20.0 to +20.2``.
    """
    whole = list(values)
    return _ends_text(_alike((min(whole), max(whole)), digits, signed=signed), unit)


def level_text(level: float) -> str:
    """Return how much of what is likely an interval holds: ``90 %``."""
    return f"{100 * level:g} %"


def interval_text(of: Range, unit: str = "", digits: int = 2, *, signed: bool = False) -> str:
    """Return an interval, with its level if that is not 95 %: ``90 %: 8 to 71 s``."""
    return _ends_text(_alike((of.low, of.high), digits, signed=signed), unit, of.level)


def range_text(of: Range, unit: str = "", digits: int = 2, *, signed: bool = False) -> str:
    """Return a number with its interval, all with the same decimals: ``81 C (90 %: 80 to 82)``."""
    low, mid, high = _alike((of.low, of.mid, of.high), digits, signed=signed)
    return f"{_ends_text([mid], unit)} ({_ends_text([low, high], '', of.level)})"


def temp_text(temp_c: float, digits: int = 2) -> str:
    """Return a temperature, which no drive knows better than to a degree: ``72 C``."""
    return amount_text(temp_c, "C", digits)


def temps_text(temps_c: Iterable[float]) -> str:
    """Return a range of temperatures: ``60 to 72 C``."""
    return span_text(temps_c, "C", 2)


def kelvin_text(difference_k: float, digits: int = 2) -> str:
    """Return a difference of temperatures: ``8.5 K``."""
    return amount_text(difference_k, "K", digits)


def rate_text(rate_mb_s: float, digits: int = 3) -> str:
    """Return a rate: ``1,499 MB/s``, ``6.42 MB/s``."""
    return amount_text(rate_mb_s, "MB/s", digits)


def percent_text(pct: float, digits: int = 2) -> str:
    """Return a percentage: ``69 %``, ``0.4 %``."""
    return amount_text(pct, "%", digits)


def share_text(share: float, digits: int = 2) -> str:
    """Return a share, 0 to 1, as a percentage: ``69 %``."""
    return percent_text(100 * share, digits)


def seconds_text(seconds: float, digits: int = 2) -> str:
    """Return a time where minutes would hide what matters: ``283 s``, ``8.6 s``."""
    return amount_text(seconds, "s", digits)


def size_text(count: float) -> str:
    """Return a number of bytes in decimal units: ``37.6 GB``."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= 0.9995 * scale:  # which is shown as 1
            return amount_text(count / scale, unit)
    return f"{count:.0f} B"


def block_text(size: int) -> str:
    """Return a block size as fio writes it: ``128k``."""
    for suffix, scale in (("m", 1 << 20), ("k", 1 << 10)):
        if size >= scale and size % scale == 0:
            return f"{size // scale}{suffix}"
    return str(size)


def duration_text(seconds: float) -> str:
    """Return a duration: ``8.3 s``, ``45 s``, ``5 min``, ``2 h 59 min``."""
    if seconds < _MOST_OF_A_UNIT - 0.5:
        return seconds_text(seconds)
    minutes = math.floor(seconds / 60 + 0.5)
    if minutes < _MOST_OF_A_UNIT:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def known_text(
    value: float | None, text: Callable[[float], str] = number_text, otherwise: str = ""
) -> str:
    """Return a value as `text` has it; what is not known is left empty."""
    return otherwise if value is None else text(value)


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return ``1 place`` or ``3 places``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(texts: Sequence[str], most: int | None = None) -> str:
    """Return ``a, b and c``, or of more than `most` those and ``4 more``."""
    if most is not None and len(texts) > most:
        texts = [*texts[:most], f"{len(texts) - most} more"]
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if texts[1:] else "".join(texts)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; the first row is its header."""
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    cells.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def labels_text(labels: Mapping[str, object]) -> str:
    """Return labels with their values: ``slot top, gpus 2``."""
    return ", ".join(f"{key} {value}" for key, value in labels.items())


def said(value: object) -> str:
    """Return a value as part of a line: of limited length, on one line, without control characters.

    Right-to-left text is isolated, so that it does not turn the text around it.
    """
    kinds = [(letter, unicodedata.bidirectional(letter)) for letter in str(value)]
    kept = [
        letter if letter.isprintable() else " " for letter, kind in kinds if kind not in _TURNING
    ]
    text = " ".join("".join(kept).split())
    text = shortened(text, _MAX_LETTERS)
    turns = any(kind in _RIGHT_TO_LEFT for _, kind in kinds)
    return f"{_ISOLATE}{text}{_END}" if turns else text


def shortened(text: str, most: int) -> str:
    """Return the text without its middle if it is longer: names often differ in their ends."""
    if len(text) <= most:
        return text
    end = (most - 1) * 2 // 5
    return f"{text[: most - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def plain(name: str) -> str:
    """Return the name of a key or step with spaces for hyphens and underscores."""
    return said(name.replace("_", " ").replace("-", " "))


def title_of(step: str) -> str:
    """Return a step's name as a title: ``Sequential write``."""
    text = _DEPTH.sub(lambda found: found.group().upper(), plain(step))
    return capital(text)


def capital(text: str) -> str:
    """Return a text as a sentence begins; the name of a file keeps its case."""
    first = text.partition(" ")[0].rstrip(".,:")
    return text if "/" in first or "." in first else text[:1].upper() + text[1:]
