"""Some drives report 313 K (40 C) whatever their temperature: a value that was never measured.

A drive at a true 40 C moves sooner or later, so a sensor is suspected only after it has stood at
exactly that value through many readings, and is cleared by the first other one.
"""

PLACEHOLDER_K = 313

#: Readings at exactly 313 K, and nothing else before them, that make a sensor suspect.
SUSPECT_READINGS = 60


class PlaceholderWatch:
    """Counts the readings of each column that were nothing but 313 K."""

    def __init__(self) -> None:
        self._same: dict[str, int] = {}
        self._notes: list[str] = []

    def saw(self, column: str, kelvin: int) -> None:
        """Take one reading into account."""
        count = self._same.get(column, 0)
        if count < 0:  # it has moved once, so it measures
            return
        self._same[column] = count + 1 if kelvin == PLACEHOLDER_K else -1
        if self._same[column] == SUSPECT_READINGS:
            self._notes.append(
                f"{column} has read exactly {PLACEHOLDER_K} K {SUSPECT_READINGS} times and nothing "
                "else: some drives report this without measuring, do not trust it"
            )

    @property
    def suspects(self) -> list[str]:
        """The columns that have read 313 K so often, and nothing else, that they are suspect."""
        return [name for name, count in self._same.items() if count >= SUSPECT_READINGS]

    @property
    def at_placeholder(self) -> list[str]:
        """The columns that have read nothing but 313 K so far, however few the readings."""
        return [name for name, count in self._same.items() if count > 0]

    def drain(self) -> list[str]:
        """Return what is new to say, once."""
        notes, self._notes = self._notes, []
        return notes
