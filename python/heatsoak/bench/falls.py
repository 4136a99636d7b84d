"""What a user wants done when throughput falls, or the drive is hot: an end, or a command.

Falls are the claims of the judge, on what was recorded so far; a temperature needs no judge.
"""

import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, cast, get_args

import polars as pl

from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.analysis.definitions import MIN_DROP
from heatsoak.analysis.findings import Claim
from heatsoak.bench.recorder import Latest
from heatsoak.errors import LimitReachedError, UsageError
from heatsoak.recording import Recording
from heatsoak.recording.columns import TEMPERATURES
from heatsoak.units import parse_number
from heatsoak.words import temp_text

#: A fall for any cause, one that the judge gives to heat, or a temperature in C.
_Named = Literal["fall", "throttle"]
Limit = _Named | float

#: What is judged while it is recorded: the last half hour.
JUDGED_S = 1800.0
#: It is judged again after this, and so rarely that it takes such a part of a core:
#: to be shown, and where something is to be done. A simulated drive's time costs nothing.
_SHOWN_S, _SHOWN_PART = 10.0, 300.0
_ACTED_S, _ACTED_PART = 1.0, 10.0
_SIMULATED_S = 10.0
#: Of two judgements, falls as near as this are one.
_SAME_S = 5.0
#: A fall is acted on when all judgements of so long a time have found it, and `MIN_DROP` is lost.
_SURE_S = 5.0
#: Commands that still run at the end are waited for so long.
_END_S = 5.0


def read_limit(text: str | float) -> Limit:
    """Read ``fall``, ``throttle`` or ``75C``; raises ValueError for anything else."""
    if text in get_args(_Named):
        return cast(_Named, text)
    try:
        return parse_number(text, "C", 1, 200)
    except ValueError:
        raise ValueError(f"'{text}' is not fall, throttle or a temperature: 75C") from None


def read_command(text: str) -> list[str]:
    """Return the words of a command; raises ValueError where there is no such program."""
    words = shlex.split(text)
    if not words or shutil.which(words[0]) is None:
        raise ValueError(f"'{text}' does not begin with a program that can be run")
    return words


@dataclass(frozen=True)
class FallOptions:
    """What is to be done when throughput falls.

    Attributes:
        limit: what ends it, and `option` is what a user calls that.
        command: what is run for each fall, with the claim as JSON to read.
    """

    limit: Limit | None = None
    option: str = ""
    command: Sequence[str] | None = None

    @property
    def needs_judge(self) -> bool:
        """Whether falls have to be found soon."""
        return self.command is not None or isinstance(self.limit, str)

    def require_readings(self, columns: Iterable[str]) -> None:
        """Raise UsageError where a temperature is a limit and none is read."""
        has_temps = any(name.startswith(TEMPERATURES) for name in columns)
        if isinstance(self.limit, float) and not has_temps:
            raise UsageError(f"{self.option}: no temperature of this drive can be read")


@dataclass
class FallWatch:
    """Judges one recording while it is made, and does what is wanted.

    Attributes:
        read: returns what is to be judged; None where there is nothing yet.
        warn: gets a line on a command that failed.
        findings: what it shows, as far as it has been judged.
    """

    options: FallOptions
    read: Callable[[], Recording | None]
    warn: Callable[[str], None]
    is_simulated: bool = False
    findings: RecordingFindings | None = None
    _judge_at_s: float = 0.0
    #: How soon it is judged again, and the part of a core that this may take.
    _pace: tuple[float, float] = (_SHOWN_S, _SHOWN_PART)
    _seen: list["_Seen"] = field(default_factory=list)
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.options.needs_judge:
            self._pace = (_SIMULATED_S, 0.0) if self.is_simulated else (_ACTED_S, _ACTED_PART)
        self._judge_at_s = self._pace[0]

    def look(self, now_s: float, latest: Latest) -> None:
        """Judge where it is time to, and act; raises LimitReachedError where it is to end."""
        self._poll()
        limit, temp_c = self.options.limit, latest.drive_temp_c()
        if isinstance(limit, float) and temp_c is not None and temp_c > limit:
            raise self._reached(f"the drive is at {temp_text(temp_c)}")
        if now_s < self._judge_at_s:
            return
        began_s = time.process_time()
        recording = self.read()
        if recording is not None:
            self.findings = analyze([recording]).recordings[0]
            self._act(recording, self.findings, now_s)
        spent_s = time.process_time() - began_s
        soonest_s, part = self._pace
        self._judge_at_s = now_s + max(soonest_s, part * spent_s)

    def _act(self, recording: Recording, found: RecordingFindings, now_s: float) -> None:
        reached = None
        for claim in self._sure_of(_falls_of(recording, found), now_s):
            if self.options.limit == "fall" or (
                self.options.limit == "throttle" and claim.heat == "yes"
            ):
                reached = reached or claim
        if reached is not None:
            raise self._reached(reached.text)

    def _sure_of(self, falls: Iterable[tuple[float, float, Claim]], now_s: float) -> list[Claim]:
        """The falls that have been found for long enough; the command is run once for each."""
        seen, sure = [], []
        for onset_s, end_s, claim in falls:
            same = [one for one in self._seen if one.is_near(onset_s, end_s)]
            one = _Seen(
                min([onset_s, *(old.onset_s for old in same)]),
                max([end_s, *(old.end_s for old in same)]),
                min([now_s, *(old.since_s for old in same)]),
                any(old.was_told for old in same),
            )
            seen.append(one)
            if one.was_told or now_s - one.since_s >= _SURE_S:
                sure.append(claim)
                if self.options.command is not None and not one.was_told:
                    self._run(self.options.command, claim)
                # two falls of one judgement may have been one before
                for each in (one, *same):
                    each.was_told = True
        # what was told is not told again if a judgement between does not find it
        told = [old for old in self._seen if old.was_told]
        self._seen = [
            *seen,
            *(old for old in told if not any(one.is_near(old.onset_s, old.end_s) for one in seen)),
        ]
        return sure

    def _reached(self, what: str) -> LimitReachedError:
        limit = self.options.limit
        named = temp_text(limit) if isinstance(limit, float) else limit
        return LimitReachedError(f"{self.options.option} {named}: {what}")

    def _run(self, command: Sequence[str], claim: Claim) -> None:
        # a file can be read late, or not at all: a pipe would have us wait
        with tempfile.TemporaryFile() as document:
            document.write(claim.model_dump_json().encode() + b"\n")
            document.seek(0)
            try:
                self._running.append(
                    subprocess.Popen(
                        command,
                        stdin=document,
                        stdout=2,  # what heatsoak prints may be one document
                        start_new_session=True,  # Ctrl-C must only reach us
                    )
                )
            except OSError as error:
                self.warn(f"--on-fall: {command[0]}: {error.strerror or error}")

    def _poll(self) -> None:
        """Name the commands that failed."""
        for ended in [one for one in self._running if one.poll() is not None]:
            self._running.remove(ended)
            if ended.returncode:
                self.warn(f"--on-fall: ended with exit code {ended.returncode}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait a little for commands that still run."""
        until_s = time.monotonic() + _END_S
        for process in self._running:
            try:
                process.wait(max(0.0, until_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.warn(f"--on-fall: still runs, as process {process.pid}")
        self._poll()


@dataclass
class _Seen:
    """A fall that judgements found since the time `since_s`; times of the recording."""

    onset_s: float
    end_s: float
    since_s: float
    was_told: bool

    def is_near(self, onset_s: float, end_s: float) -> bool:
        return onset_s < self.end_s + _SAME_S and self.onset_s < end_s + _SAME_S


def _falls_of(
    recording: Recording, found: RecordingFindings
) -> Iterator[tuple[float, float, Claim]]:
    """Yield the falls, with their onset and end by the recording's time."""
    rates = recording.samples(["t_s", "interval_s", "step"]).drop_nulls()
    begins = rates.group_by("step").agg((pl.col("t_s") - pl.col("interval_s")).min())
    begin_s = dict(begins.iter_rows())
    for step in found.steps:
        ends_s = {episode.onset_s: episode.end_s for episode in step.episodes}
        for claim in step.falls:
            lost = (claim.loss_pct or 0.0) / 100
            if claim.onset_s in ends_s and lost >= MIN_DROP:
                start_s = begin_s[step.step]
                yield start_s + claim.onset_s, start_s + ends_s[claim.onset_s], claim
