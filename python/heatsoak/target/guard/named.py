"""Whether the user has named what would be overwritten, and knows that it is not empty."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from heatsoak.errors import NotEmptyError, RefusedError
from heatsoak.output import printable
from heatsoak.target.guard.look import Data

#: What follows the name in ``--erase`` where data may be lost.
NOT_EMPTY = ":NOT-EMPTY"


def refusal(target: object, reasons: Sequence[str]) -> RefusedError:
    """Return the error for a target that is not written for these reasons."""
    return RefusedError(_line(target, reasons))


def _line(target: object, reasons: Sequence[str]) -> str:
    return printable(f"{target}: refusing to write to it: {'; '.join(reasons)}")


def word_for(name: str, data: Data | None) -> str:
    """Return what ``--erase`` needs for the target `name`; `data` is what would be lost."""
    return name if data is None else name + NOT_EMPTY


@dataclass(frozen=True)
class Naming:
    """How a target is named.

    Attributes:
        place: as given by the user.
        names: what ``--erase`` accepts, best first.
        kind: what it is, as in "this drive".
        unnamed: what is said, before what to add, where it is not named at all.
        model: of a drive; None if unknown.
    """

    place: object
    names: Sequence[str]
    kind: str
    unnamed: str
    model: str | None = None

    def refused(self, erase_id: str | None, data: Data | None) -> RefusedError | None:
        """Return the error unless `erase_id` names the target, and says so if it holds `data`."""
        right = self.names[0]
        word = word_for(right, data)
        if erase_id is None:
            held = [] if data is None else [str(data)]
            confirmed = f"{self.unnamed}, add --erase {shlex.quote(word)}"
            return refusal(self.place, [*held, confirmed])
        name = erase_id.removesuffix(NOT_EMPTY)
        if name not in self.names:
            wrong = f"--erase names '{name}', but this {self.kind} is '{right}'"
            return refusal(self.place, [wrong])
        if data is None or name != erase_id:
            return None
        message = f"{data}; if all of it may be lost, give --erase {shlex.quote(word)}"
        return NotEmptyError(
            _line(self.place, [message]), held=str(data), erase=word, answer=self.model or right
        )
