"""Rows that ``protocols``, ``places`` and ``drives`` with an option print as JSON."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from heatsoak import catalog, errors, words
from heatsoak.bench import places
from heatsoak.bench.plan import typical_plan
from heatsoak.protocol import Label, Protocol, bundled, load


class ScoreOfProtocol(BaseModel):
    """A score that a protocol is run for, and how it is calculated."""

    name: str
    definition: str


class ProtocolRow(places.Lengths):
    """A bundled protocol on a typical drive.

    Attributes:
        recordings: how many it makes, one for each cell of its matrix.
    """

    name: str
    title: str
    description: str
    writes: bool
    recordings: int
    steps: list[str]
    scores: list[ScoreOfProtocol]
    sources: list[str]


def protocol_rows() -> list[ProtocolRow]:
    """Return a row for each bundled protocol."""
    return [_protocol_row(name, load(name)) for name in bundled()]


def _protocol_row(name: str, protocol: Protocol) -> ProtocolRow:
    plan = typical_plan(protocol)
    return ProtocolRow(
        name=name,
        title=protocol.title,
        description=protocol.description,
        **places.lengths_of(protocol, plan),
        writes=protocol.writes,
        recordings=len(protocol.cells()),
        steps=[step.name for step in protocol.steps],
        scores=[ScoreOfProtocol(name=s.name, definition=s.definition) for s in protocol.scores],
        sources=list(protocol.sources),
    )


class PlaceRow(places.PrintedRow):
    """An enclosure of the catalog, which a simulated drive can be in: ``--on sim:DRIVE@ID``.

    Attributes:
        air_c: air temperature at the slot.
        air_speed_m_s: air speed at the slot; None for still air or one that is part of the links.
        conditions: the conditions that it represents, which comparisons group by.
        default_of: the simulated drives that are in it unless another one is named.
    """

    id: str
    description: str
    air_c: float
    air_speed_m_s: float | None
    conditions: dict[str, Label]
    default_of: list[str]


def place_rows() -> Iterator[PlaceRow]:
    """Yield a row for each enclosure of the catalog."""
    usual = {name: catalog.load_drive(name).enclosure for name in catalog.drive_ids()}
    for name in catalog.enclosure_ids():
        place = catalog.load_enclosure(name)
        yield PlaceRow(
            id=name,
            description=place.description,
            air_c=round(place.air_c.value, 3),
            air_speed_m_s=None if place.air_speed_m_s is None else place.air_speed_m_s.value,
            conditions=dict(place.conditions),
            default_of=[drive for drive, own in usual.items() if own == name],
        )


class RestoredRow(places.PrintedRow):
    """What ``drives --restore`` did; `is_left` is whether something could not be put back."""

    said: str
    is_left: bool


#: What PCIe's generations carry that those before do not: four lanes of them, or SATA.
_FASTER_THAN_MB_S = {"5": 7877, "4": 3938, "3": 600}
#: How a drive's own limits come to be known.
_LIMITS_TELL = "its own limits: smartctl -a DEVICE > drive.txt; heatsoak list drives drive.txt"


class LikenessRow(places.PrintedRow):
    """What the catalog knows of a drive like one that was asked for: ``drives --like``.

    Attributes:
        likeness: the same ``model``, its ``family`` in another capacity, or its ``class`` alone.
        basis: what the catalog has of it if nobody measured it; None if somebody did.
        id: of the catalog's drive, whose model is `model`.
        size_bytes: of the drive that was asked for; None if that is not known.
        throttles_from_c: what it reports when it begins to throttle; None if it throttles by a
            temperature that it does not report.
        warning_c: what it states in Identify Controller, as `critical_c`.
        cache_bytes: its pSLC write cache; None if it has none.
        flash_mb_s: how fast it writes once that is full.
        assumed: the keys whose numbers are assumed, or scaled from a sibling's.
        command: what simulates it.
        tells_more: what would tell more of it than that.
    """

    sentence: str
    asked: str
    likeness: Literal["model", "family", "class"]
    basis: Literal["class", "data sheet"] | None
    id: str
    model: str
    size_bytes: int | None
    throttles_from_c: float | None
    warning_c: float | None
    critical_c: float | None
    cache_bytes: int | None
    flash_mb_s: float
    assumed: list[str]
    command: str
    tells_more: str | None


class AlarmRow(places.PrintedRow):
    """A temperature that should alarm a drive's owner once it has lasted: ``drives NAME --alert``.

    Attributes:
        at_c: what the drive reports, from which on.
        for_time: for how long, as Prometheus has it.
    """

    name: str
    at_c: float
    for_time: str
    severity: Literal["warning", "critical"]
    why: str


def likeness_row(asked: str) -> LikenessRow:
    """Return what the catalog knows of drives of this model, or of the one that a file is about.

    Raises UsageError if it has none like it, and cannot tell its class.
    """
    model, size_bytes, pcie, own_c = asked, None, None, dict[str, float]()
    if Path(asked).is_file():
        model, size_bytes, pcie, own_c = _told_by(Path(asked))
    found = catalog.like(model, size_bytes, pcie)
    if found is None:
        near = errors.suggestion(model, catalog.drive_ids())
        raise errors.UsageError(
            f"{model}: the catalog has no drive like it{near}, "
            "and nothing tells its class: say it, as in 'Gen4 QLC 2TB', or give a file with its "
            "smartctl -a"
        )
    drive, from_c = found.drive, found.throttles_from_c
    limits, cache_bytes = drive.limits, found.cache_bytes
    figures = {
        "throttles_from_c": from_c,
        "warning_c": limits and limits.wctemp_c,
        "critical_c": limits and limits.cctemp_c,
        "cache_bytes": drive.cache and drive.cache.bytes,
        "flash_mb_s": drive.nand.program_us,
    }
    is_scaled = found.kind != "model" and found.size_bytes is not None
    assumed = {key for key, figure in figures.items() if figure and figure.assumed}
    assumed |= {"cache_bytes", "flash_mb_s"} if is_scaled else set()
    known_c = {key: fig.value for key, fig in figures.items() if fig and key.endswith("_c")} | own_c
    if drive.basis and "warning_c" in own_c:
        known_c["throttles_from_c"] = own_c["warning_c"]
    return LikenessRow(
        sentence=f"{model}: {_likeness_in_words(found)}",
        asked=asked,
        likeness=found.kind,
        basis=drive.basis,
        id=drive.id,
        model=drive.model,
        size_bytes=found.size_bytes and round(found.size_bytes),
        throttles_from_c=known_c.get("throttles_from_c"),
        warning_c=known_c.get("warning_c"),
        critical_c=known_c.get("critical_c"),
        cache_bytes=None if cache_bytes is None else round(cache_bytes),
        flash_mb_s=round(found.flash_mb_s, 1),
        assumed=[key for key in figures if key in assumed and key not in own_c],
        command=f"heatsoak run quick --on sim:{drive.id}",
        tells_more=_LIMITS_TELL if drive.basis and not own_c else None,
    )


def _told_by(path: Path) -> tuple[str, int | None, str | None, dict[str, float]]:
    """A drive's model, size and limits by a log or listing, and PCIe's generation by its rates."""
    from heatsoak.importer import Source, read  # most ask for a name

    logs = [log for log in read(Source.of_path(path)) if log.drive.get("model")]
    if not logs:
        raise errors.UsageError(
            f"{path}: names no drive: give its smartctl -a, or the model itself"
        )
    log = logs[0]
    rates = [
        log.samples[way].max() for way in ("read_bw_mb_s", "write_bw_mb_s") if way in log.samples
    ]
    fastest_mb_s = max((float(str(rate)) for rate in rates if rate is not None), default=0.0)
    faster = (pcie for pcie, mb_s in _FASTER_THAN_MB_S.items() if fastest_mb_s > mb_s)
    limits_c = {name: c for sensor in log.sensors for name, c in sensor.thresholds.items()}
    own_c = {name: limits_c[name] for name in ("warning_c", "critical_c") if limits_c.get(name)}
    return str(log.drive["model"]), log.drive.get("size_bytes"), next(faster, None), own_c


def _likeness_in_words(found: catalog.Likeness) -> str:
    size, drive_id = words.size_text(found.drive.user_bytes), found.drive.id
    unmeasured = ": its data sheet, on figures of its class" if found.drive.basis else ""
    match found.kind:
        case "model":
            return f"the catalog has it, as {drive_id}{unmeasured}"
        case "family" if found.size_bytes is None:
            return f"the catalog has its family, as {drive_id}{unmeasured}"
        case "family":
            return f"the catalog has its {size} sibling, {drive_id}{unmeasured}"
        case "class":
            guess = f" ({words.listed(found.guessed)} by guess)" if found.guessed else ""
            return f"the catalog has only its class, {drive_id}{guess}: figures of no one drive"


#: Whose metrics an alarm's rules are for: the temperature of a drive's series, in C, and the series
#: that names its model, with the labels that both have.
_SERIES = {
    # smartctl_exporter
    "prometheus": (
        'smartctl_device_temperature{temperature_type="current"}',
        "smartctl_device{model_name=~%s}",
        "instance, device",
    ),
    # node_exporter: hwmon's composite, and the model of nvme's collector
    "node-exporter": (
        'node_hwmon_temp_celsius{chip=~"nvme_.*", sensor="temp1"}',
        'label_replace(node_nvme_info{model=~%s}, "chip", "nvme_$1", "device", "(.*)")',
        "instance, chip",
    ),
}
#: Close to where it throttles, and for how long that is worth a look.
_NEAR_K, _NEAR_FOR = 5.0, "15m"
#: Two readings of a monitor that looks twice a minute.
_HOT_FOR = "1m"


def alarm_rows(row: LikenessRow) -> list[AlarmRow]:
    """Return what should alarm the owner of a drive; raises UsageError where nothing tells."""
    from_c = row.throttles_from_c or row.warning_c
    if from_c is None:
        raise errors.UsageError(f"{row.asked}: {_LIMITS_TELL}")
    basis = "assumed" if "throttles_from_c" in row.assumed else "known"
    starts = f"it throttles from {words.temp_text(from_c)} ({basis})"
    told = [
        AlarmRow(
            name="DriveNearItsLimit",
            at_c=from_c - _NEAR_K,
            for_time=_NEAR_FOR,
            severity="warning",
            why=starts,
        ),
        AlarmRow(
            name="DriveThrottles", at_c=from_c, for_time=_HOT_FOR, severity="warning", why=starts
        ),
    ]
    if row.critical_c is not None:
        why = f"it shuts down from {words.temp_text(row.critical_c)}"
        last = AlarmRow(
            name="DriveCritical",
            at_c=row.critical_c - 1,
            for_time="0m",
            severity="critical",
            why=why,
        )
        told.append(last)
    return told


def alarm_rules(row: LikenessRow, whose: str) -> list[str]:
    """Return the lines of a file of Prometheus' rules for such drives, by `whose` metrics."""
    temp, model, labels = _SERIES[whose]
    asked = row.model if row.likeness == "model" else row.asked
    pattern = json.dumps("(?i).*" + ".*".join(map(re.escape, asked.split())) + ".*")
    lines = ["groups:", f"  - name: {json.dumps(f'heatsoak {row.asked}')}", "    rules:"]
    for one in alarm_rows(row):
        expr = f"({temp} >= {one.at_c:g}) and on ({labels}) {model % pattern}"
        lines += [
            f"      - alert: {one.name}",
            f"        expr: {json.dumps(expr)}",
            f"        for: {one.for_time}",
            f"        labels: {{severity: {one.severity}}}",
            f"        annotations: {{summary: {json.dumps(f'{row.asked}: {one.why}')}}}",
        ]
    return lines
