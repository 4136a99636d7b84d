"""What a rack's recordings show: the contract of ``heatsoak rack report --format json``."""

from typing import Annotated, Literal

from pydantic import BaseModel

from heatsoak.ranges import Range, WrittenAs

#: An effect with its 95 % interval: of rates and times in percent, of depths in percentage points,
#: of temperatures in kelvin.
Effect = Annotated[Range, WrittenAs(mid="value")]


class PlaceEffect(BaseModel):
    """What a place does, against the mean of all places of its label.

    Where places do not do the same to all models, there is one for each model and place,
    ``990 PRO in 3``, against the mean of the model's.
    """

    place: str
    effect: Effect


class PlaceDifferences(BaseModel):
    """How much the places of one label differ.

    Attributes:
        label: ``slot``, ``host``; labels that always change together are one: ``host and room``.
        widest: how much the worst place is worse than the best; None if that cannot be told.
        why_unknown: why it cannot be told.
        share_pct: what part of the variance between runs is due to these places.
    """

    label: str
    places: list[PlaceEffect]
    widest: Effect | None
    why_unknown: str | None
    share_pct: float | None


class DriveEffect(BaseModel):
    """How a drive differs from the mean of its model.

    Attributes:
        measured: as it was measured, wherever it ran.
        of_place: what its places make of that; None if that cannot be told.
        own: what remains for the drive itself; None if it cannot be told from the place.
    """

    drive: str
    model: str
    measured: float
    of_place: float | None
    own: Effect | None


class RackMeasure(BaseModel):
    """One measure of one step, over all drives.

    Attributes:
        measure: ``mean_mb_s``, ``mean_iops``, ``throttled_mb_s``, ``depth_pct``, ``max_temp_c`` or
            ``onset_s``; throttled levels and onsets only if every run throttles.
        name: the step and the measure in words.
        unit: of effects: ``%``, ``pp`` (percentage points) or ``K``.
        value_unit: of what is measured.
        worse: which direction of an effect is worse.
        drive_sd: the standard deviation of drives of one model; together with that of runs if
            nothing was repeated. `run_sd` is that of repeated runs.
        drive_share_pct: what part of the variance between runs is due to the drives.
        sentence: what differs how much.
    """

    step: str
    workload: str
    measure: str
    name: str
    unit: Literal["%", "pp", "K"]
    value_unit: str
    worse: Literal["low", "high"]
    runs: int
    drive_sd: Effect | None
    run_sd: Effect | None
    drive_share_pct: float | None
    run_share_pct: float | None
    places: list[PlaceDifferences]
    drives: list[DriveEffect]
    sentence: str


class RackOutlier(BaseModel):
    """A drive that is unlike others of its model, with the effect of its places taken out.

    Attributes:
        varies: whether it is unlike in how far its own runs are apart.
        deviation: from what the others suggest, in the unit of the measure; where it `varies`, the
            standard deviation of its runs.
        probability: that any drive of such a rack deviates as much by chance (Bonferroni).
        sentence: how far, in words.
    """

    drive: str
    model: str
    where: str
    step: str
    measure: str
    unit: Literal["%", "pp", "K"]
    deviation: Effect
    probability: float
    is_worse: bool
    varies: bool = False
    sentence: str


class RackTestResult(BaseModel):
    """One run on one drive, or one that came to nothing.

    Attributes:
        recording: the path of the recording; None if there is none.
        state: ``finished``, or what else became of it.
        why: what is wrong with it.
        values: the measures of each step: step, measure, value.
    """

    host: str | None
    drive: str
    serial: str | None
    model: str | None
    firmware: str | None
    size_bytes: int | None = None
    started_unix_s: float | None = None
    labels: dict[str, str]
    recording: str | None
    state: str
    why: list[str]
    values: dict[str, dict[str, float]]


#: Whether a drive passes; ``throttles`` and ``open`` where only heat, or a doubt of it, is why not.
DriveVerdict = Literal["passes", "throttles", "open", "fails"]


class RackDrive(BaseModel):
    """A drive, and whether it passes: all its tests finished and kept the limits, it is not worse
    than others of its model, and it was not slowed by heat, as far as can be told.

    Attributes:
        where: its host and places.
        explained: what its place and what the drive itself did to its speed, if it does not pass
            and that can be told.
    """

    drive: str
    serial: str | None
    model: str | None
    firmware: str | None
    where: str
    tests: int
    verdict: DriveVerdict
    passes: bool
    why: list[str]
    explained: str | None

    @property
    def told(self) -> list[str]:
        """Why it does not pass, and whether that is its place or itself."""
        return [*self.why, *([self.explained] if self.explained else [])]


class RackReport(BaseModel):
    """What a rack's recordings show.

    Attributes:
        sentence: how many drives pass, and what is wrong with the others.
        told: what places and drives do, in sentences.
        run: the id of ``heatsoak rack run``; None for recordings alone.
        place_labels: the labels that are the place.
        limits_hold: whether every limit that was asked for is known to hold.
        not_compared: what could not be compared, and why.
    """

    schema_version: Literal[1] = 1
    sentence: str
    told: list[str]
    run: str | None
    protocols: list[str]
    place_labels: list[str]
    passed: int
    limits_hold: bool
    drives: list[RackDrive]
    outliers: list[RackOutlier]
    measures: list[RackMeasure]
    tests: list[RackTestResult]
    not_compared: list[str]
