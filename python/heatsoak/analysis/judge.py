"""Recordings in, findings out; with what a reader must know besides, such as fills just before a
load, and what of an answer is taken back since it was not read for certain."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from heatsoak import words
from heatsoak.analysis import claims, copies, definitions, scores, steps, unloaded
from heatsoak.analysis.answer import answer_of, answer_of_all, answer_of_unread
from heatsoak.analysis.cause.evidence.counters import risen
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.analysis.findings import Findings, RecordingFindings, Verdict
from heatsoak.analysis.likeness import alike
from heatsoak.analysis.names import names_of
from heatsoak.analysis.rounds import place_in_rounds, rounds_of
from heatsoak.analysis.sensors import judge_sensors_together
from heatsoak.analysis.view import RecordingView, StepView, siblings_of
from heatsoak.errors import UsageError
from heatsoak.identity import numbered
from heatsoak.recording import IN_ORDER_ONLY, Recording
from heatsoak.recording.columns import own_temperatures, throttle_columns
from heatsoak.recording.grid import SensorTrack

#: The samples of more recordings are not all kept while each is judged.
_MANY = 50


def analyze(
    recordings: Iterable[Recording],
    window_s: float = WINDOW_S,
    references: Sequence[Recording] = (),
) -> Findings:
    """Return what the recordings show; consistency over the last `window_s` of each step.

    Recordings of the same drive are evidence for each other. Those that were changed after they
    were made are not judged, unless they were opened as damaged. The speeds of `references` count
    as full speeds; raises UsageError if they have none of the loads.
    """
    return read_and_judge(recordings, window_s, references)[1]


def read_and_judge(
    recordings: Iterable[Recording],
    window_s: float = WINDOW_S,
    references: Sequence[Recording] = (),
) -> tuple[list[RecordingView], Findings]:
    """Return the recordings that were judged, in which falls are found, and :func:`analyze`."""
    given = list(recordings)
    opened = []
    drives: dict[int, list[RecordingView]] = defaultdict(list)
    for recording in given:
        if recording.is_readable:
            opened.append(RecordingView(recording))
            if len(given) > _MANY:
                opened[-1].forget()
    for view, number in zip(opened, numbered([v.recording.identity for v in opened]), strict=True):
        view.drive = number
        drives[number].append(view)
    _refer(opened, references)
    pairs = copies.pairs_of_copies(opened)
    _link_copies(pairs, opened, drives)
    copies.link_drives_of_one_log(opened)
    found = []
    for one in opened:
        found.append(_judge(one, siblings_of(one, drives[one.drive]), window_s))
        one.forget()
    trust = judge_sensors_together(
        [one.sensed for one in opened],
        [[one for step in each.steps for one in step.falls] for each in found],
    )
    for one, findings, sensors in zip(opened, found, trust, strict=True):
        findings.sensors = sensors
        claims.take_back(findings)
        findings.answer = answer_of(findings, one.recording.meta)
    sides = [((opened[s], found[s]), (opened[d], found[d])) for s, d in pairs]
    copied = [copies.copy_findings(*both) for both in sides]
    judged = iter(found)
    told = [next(judged) if one.is_readable else _unread(one) for one in given]
    answer = answer_of_all(told, names_of(given))
    return opened, Findings(answer=answer, recordings=told, copies=copied)


def _refer(opened: list[RecordingView], references: Sequence[Recording]) -> None:
    """Give each step the references that have its load."""
    known = [view for one in references if one.is_readable for view in RecordingView(one).views]
    views = [view for one in opened for view in one.views]
    for view in views:
        view.references = [one for one in known if alike(one.step, view.step)]
    if references and not any(view.references for view in views):
        raise UsageError(f"{references[0].path_text}: has no load of these recordings to refer to")


def _link_copies(
    pairs: list[tuple[int, int]],
    opened: list[RecordingView],
    drives: Mapping[int, list[RecordingView]],
) -> None:
    """Connect both sides of each copy, and tell each the drops of the other and their causes."""
    for index, other in pairs:
        copies.link_partners(opened[index], opened[other])
    for one in opened:
        for view in one.views:
            if view.partner is not None:
                others = [other for other in one.views if other is not view]
                judged = steps.judged_drops(view, others, siblings_of(one, drives[one.drive]))
                partner = view.partner.view.partner
                assert partner is not None
                partner.causes = [(case.drop, judgement.cause) for case, judgement in judged]


def judge(recording: Recording) -> RecordingFindings:
    """Return what one recording shows on its own."""
    return analyze([recording]).recordings[0]


def _unread(recording: Recording) -> RecordingFindings:
    found = claims.reservations_of(recording)
    why = found[0].text
    return RecordingFindings(
        path=recording.path_text,
        drive=recording.meta.drive,
        conditions=dict(recording.meta.conditions),
        steps=[],
        sensors=[],
        notes=[why],
        answer=answer_of_unread(why),
        reservations=found,
    )


def _judge(opened: RecordingView, siblings: list[StepView], window_s: float) -> RecordingFindings:
    recording, views = opened.recording, opened.views
    by_name = {view.step.name: view for view in views}
    rounds = rounds_of(recording, by_name)
    places = place_in_rounds(recording)

    # many steps may follow one that got slow
    @cache
    def lasting_cause_of(view: StepView) -> Verdict | None:
        return steps.lasting_cause(view, [other for other in views if other is not view], siblings)

    counted = unloaded.counted_of(recording, opened.samples)
    # what has no rates says nothing of its own time
    is_course = opened.idle is not None or any(view.has_rates for view in views)
    return RecordingFindings(
        path=recording.path_text,
        drive=recording.meta.drive,
        conditions=dict(recording.meta.conditions),
        steps=[
            steps.step_findings(
                view,
                [other for other in views if other is not view],
                siblings,
                window_s,
                lasting_cause_of,
            ).model_copy(update=_cost(recording, view) | places.get(view.step.name, {}))
            for view in views
        ],
        sensors=[],
        notes=notes_for(recording, views, [v for v in views if v.step.name not in places]),
        no_temp=no_temp_note(recording, views),
        scores=scores.scores_of(recording, by_name, rounds),
        rounds=rounds,
        power=scores.power_of(recording, opened.samples),
        claims=unloaded.claims_of_drive(counted, is_course=is_course),
        counted=counted,
        unloaded=None if opened.idle is None else unloaded.unloaded_of(opened.idle),
        reservations=claims.reservations_of(recording),
    )


def _cost(recording: Recording, view: StepView) -> dict[str, Any]:
    """What a step took, of power and of the host's processor."""
    sums, cost = scores.totals(view), scores.cost_of(recording, view)
    return {"power_mean_w": sums.power_w, "energy_j": sums.energy_j, **(cost.told if cost else {})}


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
        lost = words.share_text(1 - last.last / fill.drops[0].before)
        after = words.duration_text(fill.drops[0].onset_s)
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
    more = "a log of its throughput from the same time would tell whether the drive slowed down"
    return (
        [*said, more] if said else ["neither throughput nor a temperature of the drive was logged"]
    )


def _temperature_course(temp: SensorTrack, *, has_clock: bool) -> list[str]:
    if len(temp.values) == 0:
        return []
    start_c, low_c, top_c = temp.values[0], np.min(temp.values), np.max(temp.values)
    top, start = words.temp_text(top_c), words.temp_text(start_c)
    span = words.temps_text((low_c, top_c))
    if len(temp.values) == 1:
        return [f"the temperature was {start}, in a single reading: a series would show more"]
    if top_c - low_c < definitions.MIN_RISE_K:
        return [f"the temperature hardly changed: {span}"]
    if not has_clock:
        return [f"the temperature was {span}, at unknown times"]
    near = temp.t_s[temp.values >= top_c - definitions.HELD_WITHIN_K]
    reached_s, held_s = float(near[0] - temp.t_s[0]), float(near[-1] - near[0])
    if top_c - start_c > definitions.HELD_WITHIN_K:
        text = f"the temperature rose from {start} to {top} in {words.duration_text(reached_s)}"
    else:
        text = f"the temperature was {span}, starting at {start}"
    within = temp.values[(temp.t_s >= near[0]) & (temp.t_s <= near[-1])]
    if held_s >= MIN_HELD_S and np.mean(within >= top_c - definitions.HELD_WITHIN_K) > 0.9:
        within_k, held = words.kelvin_text(definitions.HELD_WITHIN_K), words.duration_text(held_s)
        text += f" and stayed within {within_k} of that for {held}, as under a governor, or in "
        text += "equilibrium with its cooling"
    return [text]


def _limits(view: StepView) -> list[str]:
    limits, top_c = sorted(view.limits_c.items(), key=lambda item: item[1]), view.max_temp_c
    reached = [
        f"{name} ({words.temp_text(c)})" for name, c in limits if top_c is not None and c <= top_c
    ]
    told = f"the temperature reached the drive's limits: {words.listed(reached)}"
    return [told] if reached else []


def _counters(view: StepView) -> list[str]:
    moved = risen(view, throttle_columns(view.columns("throttle_")))
    return [f"the drive's own throttling counters rose: {words.listed(moved)}"] if moved else []


#: What brings a temperature, by how the drive is connected.
_BRINGS_TEMP = {
    "nvme": "it takes root, or the kernel's CONFIG_NVME_HWMON",
    "sata": "`modprobe drivetemp` brings it",
    "scsi": "`modprobe drivetemp` brings it for SATA drives",
    "usb": "`smartctl -a` may read it through the bridge; `analyze` takes its log",
    "virtio": "run it on the host of this virtual machine, or log its drive there",
    "nbd": "`heatsoak lab nbd` has one, which --sensors DIR reads",
}


def no_temp_note(recording: Recording, views: list[StepView]) -> str | None:
    """Return what would bring a temperature of the drive; None if there is one, or no load."""
    if not any(view.has_rates for view in views) or recording.meta.drive.get("simulated"):
        return None
    if any(len(view.temp.values) or view.course.distrusted for view in views):
        return None
    meta = recording.meta
    for reservation in claims.reservations_of(recording):
        if reservation.touches == ["temperature"]:
            return reservation.text
    if meta.protocol.is_observed and not own_temperatures(meta.columns):
        takes = "heatsoak analyze also takes a log of it from the same time"
        return f"no temperature was logged: {takes}"
    is_nbd, details = meta.drive.get("kind") == "nbd", meta.drive.get("details", {})
    how = "nbd" if is_nbd else details.get("transport")
    brings = _BRINGS_TEMP.get(how or "", "`heatsoak list drives` lists the sensors here")
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
    if (text := copies.lone_side_note(recording, is_alone=is_alone)) is not None:
        notes.append(text)
    # how an imported log was read is part of the result
    said = ("warning", "info") if meta.protocol.is_observed else ("warning",)
    notes += [event.text for event in recording.events if event.kind in said]
    return list(dict.fromkeys([*notes, *filter(None, [no_temp_note(recording, views)])]))


def _stall_note(view: StepView) -> str | None:
    """Return a note on stalls: short standstills, after which throughput was as before."""
    stalls = view.stalls
    if not stalls:
        return None
    span = words.span_text([round(stall.length_s, 1) for stall in stalls], "s")
    times, first = (f" {len(stalls)} times", "first ") if len(stalls) > 1 else ("", "")
    when = f"{first}at {words.seconds_text(stalls[0].begin_s)}"
    return (
        f"'{view.step.name}' stalled{times} for {span}, {when}, and then continued as before: a "
        "flush, a reset or garbage collection may cause that"
    )


def _warm_starts(views: list[StepView], tolerance_k: float = 5.0) -> list[str]:
    """Notes on steps that started clearly warmer than the coolest one; probes may start warm."""
    starts = [
        (view.step.name, temp)
        for view in views
        if not view.step.is_probe and (temp := view.start_c) is not None
    ]
    coolest = min((temp for _, temp in starts), default=0.0)
    return [
        f"'{name}' started at {words.temp_text(temp)}, {words.kelvin_text(temp - coolest)} warmer "
        "than the coolest step: a longer pause would show more"
        for name, temp in starts
        if temp - coolest > tolerance_k
    ]
