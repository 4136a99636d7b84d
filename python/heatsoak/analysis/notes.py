"""What a reader must know about a recording besides its findings: fills just before the load, and
what temperatures show if no throughput was logged."""

from collections.abc import Iterable, Iterator

import numpy as np

from heatsoak.analysis.cause.evidence.counters import risen
from heatsoak.analysis.copies import lone_side_note
from heatsoak.analysis.definitions import HELD_WITHIN_K, MIN_RISE_K
from heatsoak.analysis.view import SensorTrack, StepView
from heatsoak.recording import IN_ORDER_ONLY, Recording
from heatsoak.recording.columns import throttle_columns
from heatsoak.words import (
    duration_text,
    kelvin_text,
    listed,
    seconds_text,
    share_text,
    span_text,
    temp_text,
    temps_text,
)


def slowed_by_fills(views: Iterable[StepView]) -> Iterator[str]:
    """Yield a note for each load that started right after a precondition that had slowed the drive.

    A load that is slow from the start has no drop of its own.
    """
    for view in views:
        fill = view.preceded_by
        if fill is None or fill.step.is_judged:
            continue
        last = fill.lasting_drop
        if last is None or not fill.drops:
            continue
        first = fill.drops[0]
        lost, after = share_text(1 - last.last / first.before), duration_text(first.onset_s)
        yield (
            f"'{fill.step.name}' fell by {lost} after {after} and was still slow when "
            f"'{view.step.name}' started, which may have been slow from the start: a pause between "
            "them would tell"
        )


#: Held for less time than this, it may just have been passing.
MIN_HELD_S = 60.0


def temperature_notes(view: StepView, *, has_clock: bool = True) -> list[str]:
    """Return sentences on the drive's temperature, limits and counters in this step."""
    said = [*_temperature_course(view.temp, has_clock=has_clock), *_limits(view), *_counters(view)]
    if not said:
        return ["neither throughput nor a temperature of the drive was logged"]
    return [
        *said,
        "a log of its throughput from the same time would tell whether the drive slowed down",
    ]


def _temperature_course(temp: SensorTrack, *, has_clock: bool) -> list[str]:
    if len(temp.values) == 0:
        return []
    start_c, low_c, top_c = temp.values[0], np.min(temp.values), np.max(temp.values)
    top, start, span = temp_text(top_c), temp_text(start_c), temps_text((low_c, top_c))
    if len(temp.values) == 1:
        return [f"the temperature was {start}, in a single reading: a series would show more"]
    if top_c - low_c < MIN_RISE_K:
        return [f"the temperature hardly changed: {span}"]
    if not has_clock:
        return [f"the temperature was {span}, at unknown times"]
    near = temp.t_s[temp.values >= top_c - HELD_WITHIN_K]
    reached_s, held_s = float(near[0] - temp.t_s[0]), float(near[-1] - near[0])
    if top_c - start_c > HELD_WITHIN_K:
        text = f"the temperature rose from {start} to {top} in {duration_text(reached_s)}"
    else:
        text = f"the temperature was {span}, starting at {start}"
    within = temp.values[(temp.t_s >= near[0]) & (temp.t_s <= near[-1])]
    if held_s >= MIN_HELD_S and np.mean(within >= top_c - HELD_WITHIN_K) > 0.9:
        within_k, held = kelvin_text(HELD_WITHIN_K), duration_text(held_s)
        text += f" and stayed within {within_k} of that for {held}, as under a governor, or in "
        text += "equilibrium with its cooling"
    return [text]


def _limits(view: StepView) -> list[str]:
    top_c = view.max_temp_c
    if top_c is None:
        return []
    reached = [
        f"{name} ({temp_text(limit)})"
        for name, limit in sorted(view.limits_c.items(), key=lambda item: item[1])
        if limit <= top_c
    ]
    return [f"the temperature reached the drive's limits: {listed(reached)}"] if reached else []


def _counters(view: StepView) -> list[str]:
    moved = risen(view, throttle_columns(view.columns("throttle_")))
    return [f"the drive's own throttling counters rose: {listed(moved)}"] if moved else []


#: What brings a temperature, by how the drive is connected.
_BRINGS_TEMP = {
    "nvme": "it takes root, or the kernel's CONFIG_NVME_HWMON",
    "sata": "`modprobe drivetemp` brings it",
    "scsi": "`modprobe drivetemp` brings it for SATA drives",
    "usb": "`smartctl -a` may read it through the bridge; `analyze` takes its log",
    "virtio": "run it on the host of this virtual machine, or log its drive there",
    "nbd": "--sensors DIR brings that of `heatsoak nbd`",
}


def no_temp_note(recording: Recording, views: list[StepView]) -> str | None:
    """Return what would bring a temperature of the drive; None if there is one, or no load."""
    if not any(view.has_rates for view in views) or recording.meta.drive.get("simulated"):
        return None
    if any(len(view.temp.values) or view.course.distrusted for view in views):
        return None
    meta = recording.meta
    if meta.protocol.is_observed and not meta.sensors:
        return (
            "no temperature was logged: heatsoak analyze also takes a log of it from the same time"
        )
    drive = meta.drive
    how = "nbd" if drive.get("kind") == "nbd" else drive.get("details", {}).get("transport")
    brings = _BRINGS_TEMP.get(how or "", "`heatsoak drives` lists the sensors here")
    return f"no temperature could be read: {brings}"


def notes_for(recording: Recording, views: list[StepView], once: list[StepView]) -> list[str]:
    """Return the notes on a recording; `once` are the steps that are not part of rounds."""
    meta = recording.meta
    notes = []
    if recording.was_cut:
        notes.append("the recording was cut short, or is still running")
    elif meta.status != "finished":
        notes.append(f"the run was {meta.status}: {meta.reason}")
    if recording.changes is not None:
        notes.append(recording.changes)
    for view in views:
        if not view.has_rates:
            has_clock = not meta.load.get("imported", {}).get(IN_ORDER_ONLY)
            said_of = temperature_notes(view, has_clock=has_clock)
            notes += [f"'{view.step.name}': {text}" for text in said_of]
    notes += [text for view in views if (text := _stall_note(view)) is not None]
    notes += slowed_by_fills(views)
    notes += _warm_starts(once)
    is_alone = all(view.partner is None for view in views)
    if (text := lone_side_note(recording, is_alone=is_alone)) is not None:
        notes.append(text)
    # how an imported log was read is part of the result
    said = ("warning", "info") if meta.protocol.is_observed else ("warning",)
    notes += [event.text for event in recording.events if event.kind in said]
    return list(dict.fromkeys(notes))


def _stall_note(view: StepView) -> str | None:
    """Return a note on stalls: standstills of some seconds, after which throughput was as
    before."""
    stalls = view.stalls
    if not stalls:
        return None
    span = span_text([round(stall.length_s) for stall in stalls], "s")
    times, first = (f" {len(stalls)} times", "first ") if len(stalls) > 1 else ("", "")
    when = f"{first}at {seconds_text(stalls[0].begin_s)}"
    return (
        f"'{view.step.name}' stalled{times} for {span}, {when}, and then continued as before: a "
        "flush, a reset or garbage collection may cause that"
    )


def _warm_starts(views: list[StepView], tolerance_k: float = 5.0) -> list[str]:
    """Notes on steps that started clearly warmer than the coolest one; probes may start warm."""
    starts = [
        (view.step.name, temp)
        for view in views
        if not view.step.is_probe and (temp := view.temp.at(0.0)) is not None
    ]
    if not starts:
        return []
    coolest = min(temp for _, temp in starts)
    return [
        f"'{name}' started at {temp_text(temp)}, {kelvin_text(temp - coolest)} warmer than the "
        "coolest step: a longer pause would show more"
        for name, temp in starts
        if temp - coolest > tolerance_k
    ]
