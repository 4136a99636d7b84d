"""Heat that somebody makes by hand when asked."""

from typing import Any

from heatsoak.errors import UsageError
from heatsoak.heat.base import Ask


class PersonHeater:
    """Asks for heat, and believes that it is there."""

    def __init__(self, load_pct: float, ask: Ask | None) -> None:
        """Raises UsageError where there is nobody to ask."""
        if ask is None:
            raise UsageError(
                "there is no terminal to ask at: make the heat, and say --set heat=by-hand"
            )
        self._ask = ask
        self._load_pct = load_pct

    def describe(self) -> dict[str, Any]:
        """Return that it is a person's."""
        return {"made_by": "a person, who was asked for it"}

    def notes(self) -> list[str]:
        """Return nothing: what was asked for stands in the protocol."""
        return []

    def start(self) -> None:
        """Ask for it."""
        self._ask(f"Switch on the heat, at {self._load_pct:g} %")

    def why_ended(self) -> str | None:
        """Return None: nobody can know."""
        return None

    def stop(self) -> None:
        """Nothing can be done; who walks on is told what to set up next."""
