"""Recordings in, findings out."""

from collections.abc import Iterable
from functools import cache

from heatsoak.analysis.answer import (
    answer_of,
    answer_of_all,
    answer_of_unread,
    reservations_of,
    take_back,
)
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.analysis.copies import copy_findings, link_partners, pairs_of_copies
from heatsoak.analysis.findings import Findings, RecordingFindings, Verdict
from heatsoak.analysis.names import names_of
from heatsoak.analysis.notes import no_temp_note, notes_for
from heatsoak.analysis.rounds import place_in_rounds, rounds_of
from heatsoak.analysis.scores import scores_of
from heatsoak.analysis.sensors import EpisodeOnset, judge_sensors_together
from heatsoak.analysis.steps import judged_drops, lasting_cause, step_findings
from heatsoak.analysis.totals import cost_of, power_of, totals
from heatsoak.analysis.unloaded import counted_of, unloaded_of
from heatsoak.analysis.view import RecordingView, StepView, siblings_of
from heatsoak.recording import Recording

#: The samples of more recordings are not all kept while each is judged.
_MANY = 50


def analyze(recordings: Iterable[Recording], window_s: float = WINDOW_S) -> Findings:
    """Return what the recordings show; consistency over the last `window_s` of each step.

    Recordings of the same drive are evidence for each other. Those that were changed after they
    were made are not judged, unless they were opened as damaged.
    """
    return read_and_judge(recordings, window_s)[1]


def read_and_judge(
    recordings: Iterable[Recording], window_s: float = WINDOW_S
) -> tuple[list[RecordingView], Findings]:
    """Return the recordings that were judged, in which falls are found, and :func:`analyze`."""
    given = list(recordings)
    opened = []
    for recording in given:
        if recording.is_readable:
            opened.append(RecordingView(recording))
            if len(given) > _MANY:
                opened[-1].forget()
    pairs = pairs_of_copies(opened)
    _link_copies(pairs, opened)
    found = []
    for one in opened:
        found.append(_judge(one, siblings_of(one, opened), window_s))
        one.forget()
    trust = judge_sensors_together(
        [one.sensed for one in opened],
        [onset for index, findings in enumerate(found) for onset in _onsets(index, findings)],
    )
    for one, findings, sensors in zip(opened, found, trust, strict=True):
        findings.sensors = sensors
        findings.answer = answer_of(findings, one.recording.meta)
        take_back(findings)
    copies = [copy_findings((opened[s], found[s]), (opened[d], found[d])) for s, d in pairs]
    judged = iter(found)
    told = [next(judged) if one.is_readable else _unread(one) for one in given]
    answer = answer_of_all(told, names_of(given))
    return opened, Findings(answer=answer, recordings=told, copies=copies)


def _link_copies(pairs: list[tuple[int, int]], opened: list[RecordingView]) -> None:
    """Connect both sides of each copy, and tell each the drops of the other and their causes."""
    for index, other in pairs:
        link_partners(opened[index], opened[other])
    for one in opened:
        for view in one.views:
            if view.partner is not None:
                others = [other for other in one.views if other is not view]
                judged = judged_drops(view, others, siblings_of(one, opened))
                partner = view.partner.view.partner
                assert partner is not None
                partner.causes = [(case.drop, judgement.cause) for case, judgement in judged]


def judge(recording: Recording, window_s: float = WINDOW_S) -> RecordingFindings:
    """Return what one recording shows on its own."""
    return analyze([recording], window_s).recordings[0]


def _unread(recording: Recording) -> RecordingFindings:
    reservations = reservations_of(recording)
    why = reservations[0].text
    return RecordingFindings(
        path=recording.path_text,
        drive=recording.meta.drive,
        conditions=dict(recording.meta.conditions),
        steps=[],
        sensors=[],
        notes=[why],
        answer=answer_of_unread(why),
        reservations=reservations,
    )


def _judge(opened: RecordingView, siblings: list[StepView], window_s: float) -> RecordingFindings:
    recording, views = opened.recording, opened.views
    by_name = {view.step.name: view for view in views}
    rounds = rounds_of(recording, by_name)
    places = place_in_rounds(recording)

    # many steps may follow one that got slow
    @cache
    def lasting_cause_of(view: StepView) -> Verdict | None:
        return lasting_cause(view, [other for other in views if other is not view], siblings)

    no_temp = no_temp_note(recording, views)
    return RecordingFindings(
        path=recording.path_text,
        drive=recording.meta.drive,
        conditions=dict(recording.meta.conditions),
        steps=[
            step_findings(
                view,
                [other for other in views if other is not view],
                siblings,
                window_s,
                lasting_cause_of,
            ).model_copy(update=_cost(recording, view) | _place(places.get(view.step.name)))
            for view in views
        ],
        sensors=[],
        notes=[
            *notes_for(recording, views, [v for v in views if v.step.name not in places]),
            *([] if no_temp is None else [no_temp]),
        ],
        no_temp=no_temp,
        scores=scores_of(recording, by_name, rounds),
        rounds=rounds,
        power=power_of(recording, opened.samples),
        counted=counted_of(recording, opened.samples),
        unloaded=None if opened.idle is None else unloaded_of(opened.idle),
        reservations=reservations_of(recording),
    )


def _cost(recording: Recording, view: StepView) -> dict[str, float | None]:
    """What a step took, of power and of the host's processor."""
    sums, cost = totals(view), cost_of(recording, view)
    found = {"power_mean_w": sums.power_w, "energy_j": sums.energy_j}
    if cost is not None:
        found |= {"cpu_us_per_io": cost.us_per_io, "cpu_core_pct": cost.core_pct}
    return found


def _place(place: tuple[str, int] | None) -> dict[str, str | int]:
    return {} if place is None else {"rounds": place[0], "round": place[1]}


def _onsets(index: int, findings: RecordingFindings) -> list[EpisodeOnset]:
    return [
        EpisodeOnset(index, step.step, episode.onset_s, episode.cause)
        for step in findings.steps
        for episode in step.episodes
    ]
