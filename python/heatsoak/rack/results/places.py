"""Which labels of a rack's tests are the place, and what a place is called."""

from collections.abc import Mapping, Sequence

from heatsoak.analysis.names import ENCLOSURE
from heatsoak.errors import UsageError, suggestion
from heatsoak.protocol.phrases import listed, plain
from heatsoak.rack.results.reading import Tested, is_place

#: Where a test lacks a label that others have.
_NOT_TOLD = "not told"


def place_labels(tests: Sequence[Tested], wanted: Sequence[str] = ()) -> list[str]:
    """Return the labels that are the place: those wanted, else host and cooling where they vary.

    Raises UsageError for a label that no test has.
    """
    known = list(dict.fromkeys(label for one in tests for label in one.labels))
    for label in wanted:
        if label not in known:
            there = f"there is {listed(known)}" if known else "there is none"
            raise UsageError(
                f"--by-place {label}: no recording has such a label"
                f"{suggestion(label, known)}: {there}"
            )
    if wanted:
        return list(dict.fromkeys(wanted))
    varying = [one for one in known if is_place(one) and len({_of(t, one) for t in tests}) > 1]
    # a simulated place is known by what it stands for
    return sorted([one for one in varying if one != ENCLOSURE] or varying, key=_host_first)


def _host_first(label: str) -> tuple[bool, str]:
    return label != "host", label


def _of(test: Tested, label: str) -> str:
    return test.labels.get(label, _NOT_TOLD)


def columns_of(tests: Sequence[Tested], labels: Sequence[str]) -> dict[str, list[str]]:
    """Return the place of each test by label; labels that always change together are one."""
    found: dict[str, list[str]] = {}
    for label in labels:
        column = [_of(one, label) for one in tests]
        same = next((name for name, other in found.items() if _is_same(column, other)), None)
        if same is None:
            found[label] = column
        else:
            both = [", ".join(pair) for pair in zip(found[same], column, strict=True)]
            found = {(f"{k} and {label}" if k == same else k): v for k, v in found.items()}
            found[f"{same} and {label}"] = both
    return {name: column for name, column in found.items() if len(set(column)) > 1}


def _is_same(a: Sequence[str], b: Sequence[str]) -> bool:
    return len(set(a)) == len(set(b)) == len(set(zip(a, b, strict=True)))


def where(tests: Sequence[Tested], labels: Sequence[str]) -> str:
    """Return where a drive ran: ``host b2, slot 3``, or ``4 places``."""
    places = {_in_words(one.labels, labels) for one in tests}
    return places.pop() if len(places) == 1 else f"{len(places)} places"


def _in_words(of: Mapping[str, str], labels: Sequence[str]) -> str:
    return ", ".join(f"{plain(label)} {of[label]}" for label in labels if label in of)
