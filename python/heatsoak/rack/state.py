"""What is known of a rack's run: `rack.json` in the directory that its recordings go to."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from heatsoak.analysis import RecordingFindings
from heatsoak.bench.rows import PlannedRow
from heatsoak.errors import UsageError
from heatsoak.protocol.conditions import Label
from heatsoak.rack.kept import LATE, State, Status

#: In the output directory.
NAME = "rack.json"
#: Which tests begin at the same moment: those of a host, whose drives share its air, all, or none.
Together = Literal["host", "rack", "none"]


class Row(BaseModel):
    """A test of the rack.

    Attributes:
        attempt: which start of it is meant.
        directory: what was collected, relative to that of `rack.json`; None if nothing was yet.
    """

    name: str
    host: str
    host_id: str
    on: str
    erase: str | None
    labels: dict[str, Label]
    sensors: str | None = None
    attempt: int = 1
    state: State = "absent"
    why: str | None = None
    progress: float = 0.0
    is_collected: bool = False
    directory: str | None = None

    def take(self, status: Status) -> None:
        """Take over where it stands."""
        self.state, self.why, self.progress = status.state, status.why, status.progress


class Rack(BaseModel):
    """A run of a rack: `rack.json`."""

    schema_version: Literal[1] = 1
    run: str
    protocol: str
    protocol_sha256: str
    together: Together
    tests: list[Row]

    @property
    def late(self) -> int:
        """How many tests still run though their planned time is over."""
        return sum(row.state == "running" and row.progress >= LATE for row in self.tests)

    @property
    def progress(self) -> float | None:
        """The share that is done, 0 to 1; None where a test is late: nobody knows what is left."""
        return None if self.late else sum(row.progress for row in self.tests) / len(self.tests)


class RackFindings(Rack):
    """What ``rack run`` prints as JSON: what became of the tests, and what was recorded."""

    recordings: list[RecordingFindings]


class PlannedTest(BaseModel):
    """What a test would do: a row of ``rack run --dry-run``.

    Attributes:
        runs: of each recording; empty where it cannot be run, for the reason `why`.
        exit_code: that of the reason, 0 without.
    """

    schema_version: Literal[1] = 1
    host: str
    on: str
    runs: list[PlannedRow]
    why: str | None = None
    exit_code: int = 0


def load_rack(directory: Path) -> Rack:
    """Return what is kept of a run; raises UsageError if there is none."""
    try:
        return Rack.model_validate_json((directory / NAME).read_bytes())
    except OSError as error:
        raise UsageError(f"{directory}: holds no run of a rack: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise UsageError(f"{directory / NAME}: is damaged: {where}: {first['msg']}") from error
