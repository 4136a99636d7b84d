"""The twin: what a fit found of one drive in its places, to be kept, loaded and asked."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from math import isclose
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import polars as pl
import tomlkit
from pydantic import Field, model_validator

from heatsoak import catalog, writing
from heatsoak.analysis.judge import judge
from heatsoak.catalog.specs import Strict
from heatsoak.errors import UsageError, suggestion
from heatsoak.ranges import FITTED_LEVEL, Range
from heatsoak.recording import Recording
from heatsoak.toml import toml_file, validated
from heatsoak.twin import readings
from heatsoak.twin.asked import DRAWS as DRAWS  # fits keep as many
from heatsoak.twin.asked import DemandSeries, work_of
from heatsoak.twin.likelihood import Likelihood, Noise
from heatsoak.twin.model import (
    Nodes,
    Prior,
    TemperatureCourse,
    ThermalModel,
    figures,
    fixed_parameters,
    is_optional,
    required_parameters,
    room_name,
)
from heatsoak.twin.own_log import OwnStep
from heatsoak.twin.shown import Shown
from heatsoak.words import rate_text

#: Two-sided 90 % of a normal distribution, in standard deviations.
Z90 = 1.6449
#: How long a load is followed for an onset.
HORIZON_S = 3600
#: No fit ends as many spreads from what was expected; and beyond this spread of a logarithm, the
#: expectation would be none.
_MOST_U, _MOST_SPREAD = 30.0, 10.0
#: Three hours: several time constants of the slowest heatsinks.
_SETTLES_S = 10_800


_HEADER = (
    "A twin: what heatsoak fit found of a drive in its places. `sim:FILE` simulates it.",
    "[drive] and [places] follow from the parameters: they are for the simulation.",
)


class FittedQuantity(Strict):
    """A number with its interval, as files of twins have it; `low` to `high` is 90 %."""

    name: str
    value: float
    low: float
    high: float
    unit: str

    @property
    def range(self) -> Range:
        """The number with its interval."""
        return Range.around(self.value, (self.low, self.high), "fit", FITTED_LEVEL)


class FittedParameter(FittedQuantity):
    """A parameter of the model, with what was expected of it and what the data say.

    Attributes:
        name: a parameter of a place has ``@`` and the place behind its own name, ``start_k`` the
            recording's number.
        how: how its interval was found.
        u: where it lies, in spreads from what was expected.
        learned: the share of the expectation's variance that the data removed.
        why: why it was expected so.
    """

    how: Literal["draws", "profile", "laplace"]
    u: float = Field(ge=-_MOST_U, le=_MOST_U)
    learned: float = Field(ge=0, le=1)
    scale: Literal["log", "linear", "logit"]
    expected: float
    spread: float = Field(gt=0)
    why: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.scale != "linear" and (self.expected <= 0 or self.spread > _MOST_SPREAD):
            raise ValueError(
                f"{self.name}: on a scale '{self.scale}' the expected value is more than 0 and the "
                f"spread {_MOST_SPREAD:g} at most"
            )
        if self.scale == "logit" and self.expected >= 1:
            raise ValueError(f"{self.name}: the expected value of a share is less than 1")
        if not isclose(self.value, self.prior.value(self.u), rel_tol=1e-6, abs_tol=1e-9):
            raise ValueError(
                f"{self.name}: the value is {self.value:g}, but u, expected and spread make it "
                f"{self.prior.value(self.u):g}"
            )
        return self

    @property
    def prior(self) -> Prior:
        """What was expected."""
        return Prior(self.scale, self.expected, self.spread, self.unit, self.why)


class DerivedQuantity(FittedQuantity):
    """Something that follows from the parameters in a place."""

    place: str


class FullRates(Strict):
    """What a drive does under a load that nothing holds back, reading and writing."""

    read_mb_s: float = Field(0.0, ge=0)
    write_mb_s: float = Field(0.0, ge=0)
    read_iops: float = Field(0.0, ge=0)
    write_iops: float = Field(0.0, ge=0)

    @property
    def alone(self) -> "FullRates":
        """The reads or the writes of it, of which there are more."""
        way = "read" if self.read_mb_s > self.write_mb_s else "write"
        return FullRates(**self.model_dump(include={f"{way}_mb_s", f"{way}_iops"}))

    def on(self, base: catalog.Drive) -> catalog.Drive:
        """Return a drive that is like the base, but as fast."""
        own = base.model_dump(exclude_none=True)
        nand, all_bytes = own["nand"], base.nand.dies.value * base.nand.unit_bytes.value

        def in_time(us: float, mb_s: float, bits: float = 1.0) -> float:
            return min(us, all_bytes / bits / mb_s)

        for way in ("read", "write"):
            mb_s: float = getattr(self, f"{way}_mb_s")
            if not mb_s:
                continue
            own["controller"] |= figures({f"{way}_mb_s": mb_s})
            own["rated"] |= figures({f"seq_{way}_mb_s": mb_s})
            channel_mb_s = max(nand["channel_mb_s"]["value"], mb_s / nand["channels"]["value"])
            nand |= figures({"channel_mb_s": channel_mb_s})
            if way == "read":
                nand |= figures({"read_us": in_time(base.nand.read_us.value, mb_s)})
            elif base.cache is None:
                nand |= figures({"program_us": in_time(base.nand.program_us.value, mb_s)})
            else:
                us, bits = base.cache.program_us.value, base.cache.bits.value
                own["cache"] |= figures({"program_us": in_time(us, mb_s, bits)})
        return catalog.Drive.model_validate(own)

    def asked(self, drive: catalog.Drive, share: float, seconds: int) -> DemandSeries:
        """Return what a share of it asks of a drive like `drive`, for so long."""
        rates = (np.array([value * share]) for value in self.model_dump().values())
        one = np.array([share])
        mb_s = one * (self.read_mb_s + self.write_mb_s)
        work = work_of(drive, *rates)
        return DemandSeries(np.array([float(seconds)]), mb_s, one, one, work)


class FittedRecording(Strict):
    """A recording that was fitted.

    Attributes:
        start_k: how much warmer than at rest it began.
        onsets_s: when heat began to slow the drive, from the recording's start.
        has_power: whether power was recorded, and so not inferred from the work.
    """

    path: str
    place: str
    start_k: float
    onsets_s: list[float]
    has_power: bool


class Part(Strict):
    """A stretch of a proposed run: at a share of full load, or at rest."""

    share: float
    duration_s: float


class Brings(Strict):
    """Half of a quantity's 90 % interval as it is, and as it would be after a run."""

    quantity: str
    unit: str
    now: float
    then: float


class Experiment(Strict):
    """A run that would tell more of the drive.

    Attributes:
        answer: what it is and what it brings, in a sentence.
        bits: what it is expected to tell; 1 is half an interval.
        duration_s: of all of it.
        parts: what it does; once for each threshold of `tmt1_c`, if there are any.
        has_power: whether the drive's power has to be recorded.
    """

    name: str
    answer: str
    bits: float
    duration_s: float
    parts: list[Part]
    tmt1_c: list[float]
    has_power: bool
    brings: list[Brings]


class Uncertainty(Strict):
    """How parameters are uncertain together.

    Attributes:
        draws: their `u` as likely as the recordings leave them, a row each time.
        covariance: that of their `u`, in files of versions that kept no draws.
    """

    draws: list[list[float]] = Field(default_factory=list)
    covariance: list[list[float]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.draws) == bool(self.covariance):
            raise ValueError("there must be draws")
        rows = self.draws or self.covariance
        if len({len(row) for row in rows}) > 1:
            raise ValueError("must have as many numbers in each row")
        if np.abs(rows).max() > (_MOST_U if self.draws else _MOST_U**2):
            raise ValueError(f"must be numbers from -{_MOST_U:g} to {_MOST_U:g}, or their squares")
        if self.covariance:
            try:
                np.linalg.cholesky(self.covariance)
            except np.linalg.LinAlgError:
                raise ValueError("covariance: is of no distribution") from None
        return self

    @property
    def count(self) -> int:
        """Of how many parameters it is."""
        return len((self.draws or self.covariance)[0])

    def drawn(self, u: readings.Array) -> readings.Array:
        """Return draws, (draws, parameters); `u` is where the likeliest are."""
        if self.draws:
            return np.asarray(self.draws)
        chance = np.random.default_rng(0)
        # the other methods leave signs to the machine's linear algebra, and with them the draws
        drawn = chance.multivariate_normal(u, self.covariance, DRAWS, method="cholesky")
        return np.clip(drawn, -6.0, 6.0)


class Twin(Strict):
    """A drive in its places, as a fit found it.

    Attributes:
        answer: in a sentence.
        told: what else is to be said, what the data cannot tell apart among it.
        base: the catalog's drive, which everything comes from that is not fitted.
        model, serial, size_bytes: the drive's, as recorded; None where they were not.
        nodes: the network that the data support: 1, the drive in one piece; 2, packages on a board;
            3, those on a mount that warms with it.
        parameters: what was fitted; `uncertainty` is of their `u`, in their order.
        full_load: the fastest reads and the fastest writes recorded before anything held them back,
            each on its own; 0 of what was not recorded so.
        estimates: what follows: ``limit_reported_c``, ``air_k_per_w``, and ``time_constant_s``, in
            which the reported temperature goes 63 % of its way after load begins.
        rooms_c: mean temperatures of the rooms of places that have a measured one.
        shown: what recordings show beside its heat, in place of what the base has.
        own_log: the loads that were fitted, as they were and as the twin predicts them.
        experiments: runs that would tell more, the one first that would tell most.
    """

    schema_version: Literal[1] = 1
    answer: str
    told: list[str]
    base: str
    model: str | None
    serial: str | None = None
    size_bytes: int | None = None
    throttled: bool
    nodes: Nodes
    full_load: FullRates
    noise: Noise
    estimates: list[DerivedQuantity]
    recordings: list[FittedRecording] = Field(min_length=1)
    parameters: list[FittedParameter]
    uncertainty: Uncertainty
    rooms_c: dict[str, float] = Field(default_factory=dict)
    shown: Shown = Shown()
    own_log: list[OwnStep] = Field(default_factory=list)
    experiments: list[Experiment] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """See that it is a drive in places, as far as its fields say so only together."""
        names = [parameter.name for parameter in self.parameters]
        try:
            required = required_parameters(self._model.base, self.nodes, self.places)
        except UsageError as error:
            raise ValueError(f"base: {error}") from error
        required |= {f"start_k@{index}" for index in range(len(self.recordings))}
        if missing := sorted(required - {*names}):
            raise ValueError(f"parameters: there is no '{missing[0]}'")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"parameters: '{name}' is there twice")
            if name not in required and not is_optional(name, self.places):
                raise ValueError(f"parameters: no twin has a '{name}'")
        if self.uncertainty.count != len(names):
            raise ValueError(
                f"uncertainty: each row must have a number for each of the {len(names)} parameters "
                f"(has {self.uncertainty.count})"
            )
        if unknown := sorted(self.rooms_c.keys() - {*self.places}):
            raise ValueError(f"rooms_c: no recording is of the place '{unknown[0]}'")
        values = self.values()
        for place in self.places:
            self._model.lumped(values, place)  # ValueError for impossible numbers
        return self

    @property
    def places(self) -> list[str]:
        """The names of its places."""
        return list(dict.fromkeys(one.place for one in self.recordings))

    @cached_property
    def _model(self) -> ThermalModel:
        return ThermalModel(self.own_base, self.nodes)

    @cached_property
    def own_base(self) -> catalog.Drive:
        """The catalog's drive, with what recordings show otherwise."""
        return self.shown.on(self.full_load.on(catalog.load_drive(self.base)))

    @property
    def not_reproduced(self) -> str:
        """What the twin predicts otherwise than it was in its own recordings; empty if nothing."""
        wrong = [what for one in self.own_log for what in one.wrong()]
        if self.throttled and not any(one.onset_s is not None for one in self.own_log):
            return "Nothing shows whether the twin predicts how its drive throttled."
        if not wrong:
            return ""
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return f"The twin does not predict its own log: {wrong[0]}{more}."

    @property
    def denial(self) -> str:
        """Why it predicts nothing: most of what throttled would not; empty if it does."""
        slowed = [one for one in self.own_log if one.onset_s is not None]
        denied = [o for o in slowed if o.twin_onset_s is None and not o.is_onset_right]
        if 2 * len(denied) <= len(slowed):
            return ""
        return (
            f"the twin denies its own log: {next(denied[0].wrong())}: fit it to a run from rest "
            "with power recorded, or on another --base"
        )

    @property
    def assumed(self) -> list[str]:
        """What is the base's, as no recording shows it."""
        base = catalog.load_drive(self.base)
        speeds = (
            ("reading", self.full_load.read_mb_s, base.read_mb_s),
            ("writing", self.full_load.write_mb_s, base.write_mb_s),
        )
        return [
            *(
                f"its full speed {way}, {rate_text(rated)}, is that of {base.id}"
                for way, seen, rated in speeds
                if not seen
            ),
            *self.shown.assumed(base, throttled=self.throttled),
        ]

    @cached_property
    def u(self) -> readings.Array:
        """The likeliest parameters, standardized."""
        return np.asarray([parameter.u for parameter in self.parameters])

    @cached_property
    def drawn(self) -> readings.Array:
        """Standardized parameters as likely as the recordings leave them, (draws, parameters)."""
        return self.uncertainty.drawn(self.u)

    def values(self, u: readings.Array | None = None) -> dict[str, float]:
        """Return the parameters, at standardized ones or at the likeliest."""
        at = self.u if u is None else u
        pairs = zip(self.parameters, at, strict=True)
        fitted = {p.name: p.prior.value(float(x)) for p, x in pairs}
        rooms = {room_name(place): room_c for place, room_c in self.rooms_c.items()}
        return {**fixed_parameters(self.nodes), **rooms, **fitted}

    def estimate(self, name: str, place: str | None = None) -> DerivedQuantity | None:
        """Return an estimate; None if there is none of that name."""
        return next(
            (e for e in self.estimates if e.name == name and place in (None, e.place)), None
        )

    def frame(self) -> pl.DataFrame:
        """Return the fitted parameters: a row for each.

        Columns: `name`, `value`, `low` to `high` of 90 %, `unit`, `expected`, `learned` (the share
        of the expectation's variance that the data removed) and `how` the interval was found.
        """
        names = ["name", "value", "low", "high", "unit", "expected", "learned", "how"]
        return pl.DataFrame([p.model_dump(include=set(names)) for p in self.parameters])[names]

    def drive(self) -> catalog.Drive:
        """Return it as a drive of the catalog, that everything can be run on."""
        own = self.own_base.model_dump(exclude_none=True)
        fitted = figures(self._model.drive_tables(self.values()))
        return catalog.Drive.model_validate({**own, **fitted, "id": f"{self.base}-twin"})

    def enclosure(self, place: str | None = None) -> catalog.Enclosure:
        """Return one of its places as an enclosure; the first one without a name."""
        name = self._place(place)
        fitted = figures(self._model.place_tables(self.values(), name))
        return catalog.Enclosure.model_validate({**fitted, "id": name})

    def _place(self, place: str | None) -> str:
        if place is None:
            return self.places[0]
        if place not in self.places:
            near = suggestion(place, self.places)
            raise UsageError(
                f"the twin has no place '{place}'{near}: it has {', '.join(self.places)}"
            )
        return place

    def specifications(
        self, place: str | None, count: int, seed: int
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield drives and places as likely as the data leave them, as the core takes them.

        Without `place`, the places are empty.
        """
        chance, drawn = np.random.default_rng(seed), self.drawn
        rounds = [chance.permutation(len(drawn)) for _ in range(-(-count // len(drawn)))]
        for index in np.concatenate(rounds)[:count]:
            values = self.values(drawn[index])
            at = {} if place is None else self._model.place_tables(values, self._place(place))
            yield self._model.drive_spec(values), at

    def under_full_load(
        self, place: str, *, u: readings.Array | None = None, duration_s: int = HORIZON_S
    ) -> dict[str, Any]:
        """Return what the engine makes of the full load from rest, at most up to its onset."""
        full = self.full_load.alone.asked(self._model.base, 1.0, duration_s)
        lumped = self._model.lumped(self.values(u), place, governed=True)
        return full.serve(lumped, duration_s, most_late_s=0.0)

    def follow_step(
        self, place: str, rise_k: float, *, u: readings.Array | None = None
    ) -> TemperatureCourse:
        """Return temperatures under a load that warms the drive by some `rise_k`.

        A way to the air carries more, the warmer it is: less of a rise takes longer.
        """
        values = self.values(u)
        step_w = rise_k / values[f"k_per_w@{place}"]
        lumped = self._model.lumped(values, place)
        ones = np.ones(_SETTLES_S)
        followed = lumped.follow(
            ones * readings.GRID_S,
            work={"read_commands": ones},
            power_w=ones * (step_w + values["rest_w"]),
            air_k=0 * ones,
        )
        return TemperatureCourse.of(followed, np.cumsum(ones) * readings.GRID_S)

    def hidden_temp(self, recording: Recording) -> pl.DataFrame:
        """Return what the governor acted on while `recording` was made.

        Columns: `t_s`, `reported_c` by the model, `hidden_c`, and `low_c` to `high_c`, which
        enclose it with 90 %. The place has to be one of the twin's. Raises UsageError as `fit`.
        """
        return self.follow(readings.measure(recording, judge(recording)))

    def follow(self, measured: readings.MeasuredRecording) -> pl.DataFrame:
        """Return what :meth:`hidden_temp` does, of what :func:`measure` took from a recording."""
        self._place(measured.place)
        start_k = self._start_k(measured)
        here = self._model.follow(self.values(), measured, start_k)
        hidden_c = [
            self._model.follow(self.values(u), measured, start_k).hidden_c for u in self.drawn
        ]
        variance = np.mean((np.stack(hidden_c) - here.hidden_c) ** 2, axis=0)
        half_k = Z90 * np.sqrt(variance + self.noise.lasting_k**2)
        return pl.DataFrame(
            {
                "t_s": here.t_s + measured.first_s,
                "reported_c": here.sensor_c,
                "hidden_c": here.hidden_c,
                "low_c": here.hidden_c - half_k,
                "high_c": here.hidden_c + half_k,
            }
        )

    def refuse_other(self, measured: readings.MeasuredRecording) -> None:
        """Raise UsageError where a recording is of another drive."""
        other = measured.drive
        own = replace(other, serial=self.serial, model=self.model, size_bytes=self.size_bytes)
        if (found := own.contradicted_by(other)) is not None:
            raise UsageError(
                f"the twin is of another drive than {measured.path} ({found[0]} and {found[1]})"
            )

    def _start_k(self, measured: readings.MeasuredRecording) -> float:
        """How much warmer than at rest a recording began, by its readings."""
        known = next((one for one in self.recordings if one.path == measured.path), None)
        if known is not None:
            return known.start_k
        likelihood = Likelihood(measured, self.noise)
        tried = [{**self.values(), "start_k": k} for k in (0.0, 5.0)]
        course = self._model.follow_beside(tried, measured, "start_k")
        one, other = likelihood.whitened(likelihood.off_k(course)).T
        slope = (other - one) / 5.0
        return float(-(slope @ one) / (slope @ slope + 1e-9))

    def to_toml(self) -> str:
        """Return it as text, from which :meth:`load` makes it again."""
        document = tomlkit.document()
        for line in _HEADER:
            document.add(tomlkit.comment(line))
        document.update(self.model_dump(mode="json", exclude_none=True))
        values = self.values()
        own, base = (
            drive.model_dump(mode="json", exclude_none=True)
            for drive in (self.own_base, catalog.load_drive(self.base))
        )
        shown = {key: value for key, value in own.items() if value != base.get(key)}
        fitted = figures(self._model.drive_tables(values))
        document["drive"] = {"base": self.base, **shown, **fitted}
        document["places"] = {
            place: figures(self._model.place_tables(values, place)) for place in self.places
        }
        return tomlkit.dumps(document)

    def save(self, path: Path, *, replace: bool = True) -> None:
        """Write it to a TOML file, by default in place of one that is there.

        Raises UsageError if one is that is not to be replaced, ToolError where that fails.
        """
        writing.write_output(path, self.to_toml(), replace=replace)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read one from a TOML file; raises UsageError that says what is wrong in it."""
        data = {"model": None, **toml_file(path)}
        for follows in ("drive", "places"):
            data.pop(follows, None)
        return validated(cls, data, f"{path}: is not a twin written by heatsoak fit")
