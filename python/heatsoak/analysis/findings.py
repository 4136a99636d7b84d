"""The findings of recordings: the contract of ``--format json``."""

from typing import Any, Literal, get_args

from heatsoak.ranges import Range
from heatsoak.recording import Touched
from heatsoak.toml import LateModel
from heatsoak.words import capital, percent_text

#: ``measured``: by a sensor or meter outside the drive's firmware; ``reported``: by the drive
#: itself; ``modelled``: by the simulated drive; ``logged``: by another tool, source unknown.
PowerSource = Literal["measured", "reported", "modelled", "logged"]


#: In what levels are logged, by how their keys end.
_LEVELS = {"mb_s": "MB/s", "iops": "IOPS", "lat_us": "µs an I/O"}


class Power(LateModel):
    """Where power figures come from; a rating is what the drive states, not a measurement.

    Attributes:
        source: None where no power was recorded.
        text: the source in words.
        rated_max_w: the highest power that the drive states for the power states it was seen in, or
            for all its states if those were not recorded; None if it states none.
        rated_states: the numbers of those states.
    """

    source: PowerSource | None = None
    text: str = ""
    rated_max_w: float | None = None
    rated_states: list[int] = []


class CopyStepFindings(LateModel):
    """What both sides of a copy show together.

    Attributes:
        bytes: bytes written.
        duration_s: from the first read to the last write.
        mb_s: rate of the copy as a whole.
        bottleneck: the drive that the other waited for at least half of the time; None if unknown.
        source_pct: the share of the time in which the destination waited for the source, since its
            queue was the emptier one; `destination_pct` likewise.
        text: which drive slowed the other down, and why.
    """

    step: str
    bytes: int | None
    duration_s: float
    mb_s: float | None
    bottleneck: Literal["source", "destination", "neither"] | None
    source_pct: float | None
    destination_pct: float | None
    text: str


class CopyFindings(LateModel):
    """A copy whose two recordings are given, by their paths."""

    source: str
    destination: str
    steps: list[CopyStepFindings]


class RoundStep(LateModel):
    """A step's means over the last rounds, five at most."""

    step: str
    workload: str
    mean_iops: float | None
    mean_mb_s: float | None


class RoundsFindings(LateModel):
    """Whether rounds became steady, as SNIA's performance test specification defines it.

    Attributes:
        taken: whole rounds.
        tracked: the step whose mean IOPS must be steady; None for rounds that only repeat.
        iops: those means, round by round; null where nothing was measured.
        is_steady: whether the last five are; None where nothing is tracked.
        range_pct: the range of the last five, in percent of their average; at most 20.
        slope_pct: how much the line through them rises or falls, likewise; at most 10.
        steps: the steps of one round, with means over the last five.
        text: the same in a sentence.
    """

    name: str
    taken: int
    tracked: str | None
    iops: list[float | None]
    is_steady: bool | None
    range_pct: float | None
    slope_pct: float | None
    steps: list[RoundStep]
    text: str


class ScoreFindings(LateModel):
    """The number that a protocol is run for.

    Attributes:
        value: in `unit`; None if there is none, and `why` says why.
        range: where it lies, of a rate that is sought: from what was held to what was not.
        full_mb_s: of a rate that is sought, the full speed after a rest, and `full_s` how long that
            was held; None if to the end.
        better: which way is better.
        definition: how it is calculated, in a sentence.
        of_steps: the value of each step; the score is their mean. For rounds, the last five.
        window_s: how much of the end of each step counts; None means all of it.
        while_busy: whether time without I/O in flight is left out.
        power_w: for a rate, the mean power over the same time; None if not logged.
        mb_s_per_w: for a rate, throughput per watt: the same as megabytes per joule.
        cpu_us_per_io: CPU time that the load generator used for each I/O of those steps.
        cpu_core_pct: the same as a share of one core.
        scale: the share of the protocol's sizes and times that was run; below 1 the value is not a
            result of the protocol.
    """

    name: str
    metric: str
    statistic: str
    value: float | None
    range: Range | None = None
    full_mb_s: float | None = None
    full_s: float | None = None
    unit: str
    better: Literal["higher", "lower"]
    definition: str
    steps: list[str]
    of_steps: dict[str, float] = {}
    window_s: float | None = None
    while_busy: bool = False
    why: str | None = None
    power_w: float | None = None
    mb_s_per_w: float | None = None
    cpu_us_per_io: float | None = None
    cpu_core_pct: float | None = None
    scale: float = 1.0


#: What can reduce throughput, in the order of the tables.
Cause = Literal[
    "thermal", "spare-area", "write-cache", "limited-by-host", "interference", "sliding"
]
Verdict = Cause | Literal["steady", "unknown"]


class Episode(LateModel):
    """One stretch of lowered throughput.

    Attributes:
        onset_s: when 2 % of the level is lost, from the step's start.
        end_s: when throughput begins to recover, or the step's end.
        before_mb_s: mean from the step's start, or the last recovery, to the onset; if it falls
            before that shows a level, the full speed, or where it is not known the first seconds.
        during_mb_s: mean from the onset to the end.
        lowest_mb_s: the lowest mean of any 5 s of it.
        before_iops: likewise, if no bytes were logged.
        before_lat_us: likewise, if only latencies were logged.
        direction: whether it is reads or writes that fell, if their sum does not show it.
        depth_pct: 1 - during / before, in percent; for latencies, of the rate that they permit.
        depth_at_end_pct: the same of its last 60 s, as in Puget's published figures.
        confidence: how likely the named cause is right, 0 to 1; 0 where none is named.
        evidence: sentences for and against the cause; if it is unknown, for the likeliest two, and
            what would tell them apart.
        likelihoods: the probability of each cause, and of any that the judge does not know.
        shape: ``step``, ``slide`` or ``cycle``.
        fall_s: from the onset to the time when 90 % of the loss is reached.
        duty: the low share of a period.
        oscillates: whether throughput falls and recovers regularly; `period_s` is the period.
        recovered: whether throughput recovered before the step's end.
        sensor_locked_up: whether a sensor jumped when it fell and has not moved since: the drive
            slows down for a heat that is not there.
        from_start: whether it fell before three samples had shown a level, so that its full speed
            may be higher.
        holds_up: which drives of one log waited for this one meanwhile; None if none did.
        hotter_sensor: another sensor of the drive that was as hot as drives throttle at, though
            `temp_c_at_onset` was not; `hotter_c_at_onset` is how hot.
    """

    onset_s: float
    end_s: float
    before_mb_s: float | None = None
    during_mb_s: float | None = None
    lowest_mb_s: float | None = None
    before_iops: float | None = None
    during_iops: float | None = None
    lowest_iops: float | None = None
    before_lat_us: float | None = None
    during_lat_us: float | None = None
    lowest_lat_us: float | None = None
    direction: Literal["read", "write"] | None = None
    depth_pct: float
    depth_at_end_pct: float = 0.0
    cause: Verdict
    confidence: float
    evidence: list[str]
    likelihoods: dict[str, float] = {}
    shape: Literal["step", "slide", "cycle"] = "step"
    fall_s: float = 0.0
    duty: float | None = None
    oscillates: bool
    sensor_locked_up: bool = False
    period_s: float | None
    recovered: bool
    written_gb_at_onset: float | None
    temp_c_at_onset: float | None
    hotter_sensor: str | None = None
    hotter_c_at_onset: float | None = None
    from_start: bool = False
    holds_up: str | None = None

    @property
    def levels(self) -> tuple[str, float, float, float]:
        """The unit that was logged, and in it the level before, the mean, and the lowest."""
        for key, unit in _LEVELS.items():
            names = (f"{level}_{key}" for level in ("before", "during", "lowest"))
            before, during, lowest = (getattr(self, name) for name in names)
            if before is not None and during is not None:
                return unit, before, during, during if lowest is None else lowest
        left = 1 - self.depth_pct / 100
        return "", 1.0, left, left

    @property
    def rates(self) -> tuple[float, float]:
        """The level before and the mean; of latencies, I/Os a second of each I/O in flight."""
        _, before, during, _ = self.levels
        return (before, during) if self.before_lat_us is None else (1e6 / before, 1e6 / during)

    @property
    def mean_depth_text(self) -> str:
        """``20 %``, and ``at least`` that where the full speed was not seen."""
        return f"{'at least ' if self.from_start else ''}{percent_text(self.depth_pct)}"

    @property
    def depth_text(self) -> str:
        """``20 %``, or ``20 %, 26 % at its lowest`` where that is more than 5 points deeper."""
        _, before, _, lowest = self.levels
        lowest_pct = 100 * (1 - min(before, lowest) / max(before, lowest, 1e-9))
        if lowest_pct <= self.depth_pct + 5:
            return self.mean_depth_text
        return f"{self.mean_depth_text}, {percent_text(lowest_pct)} at its lowest"


class IopsPercentiles(LateModel):
    """Percentiles of the rates of individual seconds."""

    min: float
    p1: float
    p5: float
    p50: float
    p95: float
    p99: float
    max: float


class RateLevel(LateModel):
    """A rate level: the share of the time spent there, and how long each stay usually is.

    Attributes:
        iops: the median of the seconds at this level.
        share: 0 to 1.
        dwell_s: the median length of a stay.
    """

    iops: float
    share: float
    dwell_s: float


class LatencySummary(LateModel):
    """Latencies of a window; only `max_us` is taken over the whole window.

    The percentiles were taken for each interval; these are their median and largest values.
    """

    p50_median_us: float | None
    p99_median_us: float | None
    p99_largest_us: float | None
    p999_median_us: float | None
    p999_largest_us: float | None
    max_us: float | None


class SteadyState(LateModel):
    """Whether five rounds in a row are steady, as SNIA's performance test specification defines it.

    Attributes:
        reached: whether any five were steady.
        since_s: when the first such window starts.
        at_end: whether the last five were steady.
        round_s: the length of a round, whose mean is tracked.
        mean_iops: the average of the first window that passes, or of the last window if none does.
        range_pct: the range of its rounds, in percent of that average; at most 20.
        slope_pct: how much the line through them rises or falls, likewise; at most 10.
    """

    reached: bool
    since_s: float | None
    at_end: bool
    round_s: float
    mean_iops: float
    range_pct: float
    slope_pct: float


class Consistency(LateModel):
    """IOPS of each second over the last `window_s`; the ratio is mean to standard deviation.

    Attributes:
        each_s: 1, or the interval of a log with longer intervals.
        derived_from_bytes: whether IOPS were calculated from bytes and the block size, since only
            bytes were logged.
        levels: the rates that it stays at, ascending; a single one if it only scatters.
        changes: how often it changed from one level to another.
        as_at_end_since_s: since when, in the whole step, mean and deviation have been as at its
            end; None if it is too short to tell.
        steady_state: over the whole step; None if it is shorter than five rounds.
    """

    window_s: float
    mean_iops: float
    stdev_iops: float
    ratio: float | None
    each_s: float = 1.0
    derived_from_bytes: bool = False
    percentiles: IopsPercentiles | None = None
    levels: list[RateLevel] = []
    changes: int = 0
    as_at_end_since_s: float | None = None
    steady_state: SteadyState | None = None
    read_latency: LatencySummary | None = None
    write_latency: LatencySummary | None = None


#: What is said of a drive or of a step, the most important first: the drive itself warns; heat
#: slowed it, or it counted so itself; it was beyond its limits; it was slow for another reason, or
#: for an unknown one; it was so hot from its start that heat may have slowed it all along; nothing
#: shows whether it was slow; it held its speed.
What = Literal["alarm", "throttled", "counted", "over-limits", "slow", "hot", "unseen", "held"]
#: ``not-loaded``: nothing was asked of the drive.
Throttles = Literal["yes", "no", "cannot-tell", "not-loaded"]
WORST_FIRST: tuple[Throttles, ...] = ("yes", "cannot-tell", "no", "not-loaded")


class Claim(LateModel):
    """One thing that is said of a drive, or of a step of its load, with what speaks for it.

    Attributes:
        step: the step that it is about; None if it is about the drive.
        heat: whether heat slows the drive, as far as this tells; None if it tells nothing of that.
        by: the cause of what was lost, named or probable; ``unknown`` where none is likely enough,
            ``steady`` where nothing was lost.
        share: how probable that cause is; None where none is named or nothing was weighed.
        shares: the probability of each cause; empty where there was nothing to weigh.
        loss_pct: how much of its full speed was lost; None if that is unknown.
        onset_s: when, from the step's start; None from the start on.
        temp_c: how hot the drive was then.
        text: the same in words.
        reasons: what speaks for it, the strongest first.
        settles: what would tell more.
        doubt: what it leaves open of its own time, in words.
    """

    what: What
    step: str | None = None
    heat: Literal["yes", "open", "no"] | None = None
    by: Verdict = "unknown"
    share: float | None = None
    shares: dict[str, float] = {}
    loss_pct: float | None = None
    onset_s: float | None = None
    temp_c: float | None = None
    text: str = ""
    reasons: list[str] = []
    settles: str | None = None
    doubt: str | None = None

    @property
    def rank(self) -> tuple[float, ...]:
        """A key that sorts what a reader should hear first to the front."""
        heat = _HEAT_FIRST.index(self.heat)
        is_fault = self.what == "alarm" and self.heat is None
        alarm = 0 if is_fault else 1 if self.what == "alarm" else 2
        # what was slow from its start follows from an earlier fall, or from another recording
        is_fall = self.onset_s is not None
        return alarm, heat, _WHAT_FIRST.index(self.what), not is_fall, -round(self.loss_pct or 0.0)

    @property
    def is_open(self) -> bool:
        """Whether something was looked at, and nothing tells what slowed it or whether it was."""
        return (
            self.heat is not None and self.what in ("slow", "hot", "unseen") and self.share is None
        )


_WHAT_FIRST: tuple[What, ...] = get_args(What)
_HEAT_FIRST = ("yes", "open", None, "no")


class StepFindings(LateModel):
    """What one judged step shows.

    Attributes:
        mean_mb_s: reads and writes together over the whole step.
        full_mb_s: the full speed of its load: the best level that the recording shows in the same
            state of the cache, or a reference; None if none was held, or no bytes were logged.
        cpu_us_per_io: CPU time that the load generator used for each I/O; None if not measured, as
            for a simulated drive.
        cpu_core_pct: the same as a share of one core; more than 100 if it used several.
        power_mean_w: over the whole step, with the energy in `energy_j`; None unless power was
            recorded for nine tenths of it. `RecordingFindings.power` says where it comes from.
        rounds: the name of the rounds that it belongs to; `round` is the number of its round.
        start_temp_c: the drive's temperature at the start; `max_temp_c` is its highest, both of the
            column `temp_sensor`.
        still_warming_k: how much it still warmed in the last third; None where that was next to
            nothing, or without a temperature.
        claims: what is said of it, the most important first.
    """

    step: str
    workload: str
    duration_s: float
    mean_mb_s: float | None
    full_mb_s: Range | None = None
    start_temp_c: float | None
    max_temp_c: float | None = None
    temp_sensor: str | None = None
    still_warming_k: float | None = None
    verdict: Verdict
    episodes: list[Episode]
    consistency: Consistency | None
    claims: list[Claim] = []
    cpu_us_per_io: float | None = None
    cpu_core_pct: float | None = None
    power_mean_w: float | None = None
    energy_j: float | None = None
    rounds: str | None = None
    round: int | None = None

    @property
    def claim(self) -> Claim:
        """What is said of it first."""
        return min(self.claims, key=lambda one: one.rank)

    @property
    def falls(self) -> list[Claim]:
        """What is said of its episodes."""
        return [one for one in self.claims if one.onset_s is not None]

    @property
    def by_heat(self) -> list[Episode]:
        """Its episodes that heat is said to have caused."""
        onsets = {one.onset_s for one in self.falls if one.heat == "yes"}
        return [one for one in self.episodes if one.onset_s in onsets]

    def is_perhaps_heat(self, episode: Episode) -> bool:
        """Whether heat is said to have caused one of them, or probably to have."""
        return any(one.by == "thermal" for one in self.falls if one.onset_s == episode.onset_s)

    @property
    def reasons(self) -> list[str]:
        """Why it has its verdict, beside its episodes."""
        return [text for one in self.claims if one.onset_s is None for text in one.reasons]


class SensorTrust(LateModel):
    """Whether a temperature can be trusted to explain throttling, and why.

    Attributes:
        lag_s: how much later than the load it moves, if that is visible.
        step_c: the step that it is rounded to; None if it is not rounded.
        renewed_s: the shortest usual time between changes.
        onsets: how many onsets of throttling it was compared with.
        spread_at_onset_k: how far its readings at those onsets differ between conditions.
        same_as: another sensor that always reads the same.
    """

    name: str
    trust: Literal["good", "poor", "unknown"]
    why: str
    lag_s: float | None = None
    step_c: float | None = None
    renewed_s: float | None = None
    onsets: int = 0
    spread_at_onset_k: float | None = None
    same_as: str | None = None


class Answer(LateModel):
    """What a person wanted to know.

    Attributes:
        sentence: for somebody who does not know what an episode is.
        because: the strongest reasons, three at most.
        next: what would tell, or help; it ends with a command to paste where there is one.
        command: that command alone.
        worst: what the worst of several recordings shows; `sentence` ends with it.
        alarm: what the drive itself warns of; `sentence` begins with it.
    """

    throttles: Throttles
    sentence: str
    because: list[str] = []
    next: str | None = None
    command: str | None = None
    worst: str = ""
    alarm: str | None = None

    @property
    def beside_alarm(self) -> str:
        """The sentence without the alarm that it begins with."""
        return self.sentence.removeprefix(f"{capital(self.alarm or '')}. ")

    def after(self, alarm: Claim) -> "Answer":
        """Return the answer after an alarm, with what helps against that."""
        update = {"next": alarm.settles, "command": None}
        if alarm.heat is not None and self.next:
            is_same = self.next.startswith(str(alarm.settles))
            update = {"next": self.next if is_same else f"{alarm.settles}; {self.next}"}
        said = f"{capital(alarm.text)}. {self.sentence}"
        return self.model_copy(update={"sentence": said, "alarm": alarm.text, **update})


class Unloaded(LateModel):
    """The time in which a log shows the drive, but no load that could be judged.

    Attributes:
        busy_pct: the mean share of the time that it was busy; None if not logged.
        max_mb_s: the highest throughput; None if not logged.
        max_temp_c: its highest temperature, of the column `temp_sensor`; None if not logged.
        longest_burst_s: the longest spell of work, too short to be judged; None if there was none.
        bursts_gb: what was moved in all of them.
        excludes_heat: whether how hot it got and what it counted leave heat hardly a chance.
        follows: what its temperature followed: ``its own work``, or a sensor of the host.
        follows_column: the column of that sensor; None for its own work.
        time_constant_s: how slowly it followed.
        text: the same, to follow "the drive was never loaded"; `reasons` are sentences.
    """

    duration_s: float
    busy_pct: float | None = None
    max_mb_s: float | None = None
    max_temp_c: float | None = None
    temp_sensor: str | None = None
    longest_burst_s: float | None = None
    bursts_gb: float = 0.0
    excludes_heat: bool = False
    follows: str | None = None
    follows_column: str | None = None
    time_constant_s: float | None = None
    text: str = ""
    reasons: list[str] = []


class Reservation(LateModel):
    """Something that was not read for certain from a log, or was changed since it was recorded.

    Attributes:
        touches: what it leaves open.
        settles: what a user can say against it.
    """

    text: str
    touches: list[Touched]
    settles: str | None = None


class OwnCount(LateModel):
    """What a drive itself counts of its heat, and says of its health, by its last reading in a log.

    Attributes:
        totals: transitions, and seconds, since it was made, by the column of a recording.
        added: how much of that came between the first reading and the last.
        readings: how many readings of the counters there are.
        between_s: the time between the first and the last; None where nothing tells it.
        power_on_h: for how long it was ever switched on; None if not logged, as the others.
        critical_warning: the bits of NVMe's health log.
        failed: whether its own judgement of its health is FAILED.
        throttled_pct: by how much it throttled itself at the last reading.
        throttled_level: at which of its own levels it did.
        highest_c: its highest temperature so far.
        over_limit_count: how many of its own regular looks found it above its limit.
        counts: whether it counts at all: not without thermal management that the host controls.
    """

    totals: dict[str, float]
    added: dict[str, float]
    readings: int
    between_s: float | None
    power_on_h: float | None
    critical_warning: int | None
    failed: bool | None
    throttled_pct: float | None = None
    throttled_level: int | None = None
    highest_c: float | None = None
    over_limit_count: int | None = None
    counts: bool | None = None


class RecordingFindings(LateModel):
    """What one recording shows; `notes` are what a reader of the result must know.

    Attributes:
        answer: whether the drive throttles, in a sentence.
        claims: what is said of the drive beside its steps.
        counted: what the drive counted itself; None for what was no log of it.
        unloaded: what is known of the time without a load; None if there was hardly any.
        scores: the scores that its protocol defines.
        rounds: the rounds in its protocol, and whether they became steady.
        power: where power figures come from; None if nothing is known.
        no_temp: what would bring a temperature of the drive, where a load ran and none was read; it
            is among the notes.
        reservations: what was not read for certain; they are among the notes. One that touches
            the ``recording`` says what was changed after that was made: it then has no steps,
            unless it was opened as damaged.
    """

    path: str
    drive: dict[str, Any]
    conditions: dict[str, Any]
    steps: list[StepFindings]
    sensors: list[SensorTrust]
    notes: list[str]
    answer: Answer = Answer(throttles="cannot-tell", sentence="")
    claims: list[Claim] = []
    counted: OwnCount | None = None
    unloaded: Unloaded | None = None
    scores: list[ScoreFindings] = []
    rounds: list[RoundsFindings] = []
    power: Power | None = None
    no_temp: str | None = None
    reservations: list[Reservation] = []


class Findings(LateModel):
    """What recordings show, in the given order, and copies with both sides given.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        answer: that of all recordings together.
    """

    schema_version: Literal[2] = 2
    answer: Answer = Answer(throttles="cannot-tell", sentence="")
    recordings: list[RecordingFindings]
    copies: list[CopyFindings] = []
