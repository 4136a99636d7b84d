"""Recordings that were read, and which of them speak for each other."""

from collections.abc import Sequence
from itertools import pairwise

from heatsoak.analysis.course import drive_of
from heatsoak.analysis.sensors import judge_sensors
from heatsoak.analysis.view import StepView, loaded_steps
from heatsoak.protocol import Precondition
from heatsoak.recording import Recording

#: A shorter rest is none.
_RESTED_S = 5.0


class Looked:
    """A recording, read and looked at; temperatures with a flaw give no evidence.

    Attributes:
        views: its judged steps; `fills` are its preconditions.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        distrusted = frozenset(
            sensor.name for sensor in judge_sensors(recording) if sensor.trust == "poor"
        )
        loaded = list(loaded_steps(recording, distrusted))
        for before, view in pairwise(loaded):
            purged = view.course.was_purged_between(before.end_s, view.begin_s)
            if view.course.rest_before_s(view.begin_s) < _RESTED_S and not purged:
                view.behind = before
        self.fills = [view for view in loaded if isinstance(view.step, Precondition)]
        self.views = [view for view in loaded if not isinstance(view.step, Precondition)]

    @property
    def drive(self) -> object:
        """What two recordings of one drive have in common."""
        return drive_of(self.recording)


def siblings_of(one: Looked, looked: Sequence[Looked]) -> list[StepView]:
    """Return the steps of the other recordings of the same drive."""
    return [
        view
        for other in looked
        if other is not one and other.drive == one.drive and not _copied(one, other)
        for view in other.views
    ]


def _copied(one: Looked, other: Looked) -> bool:
    """Whether one was copied to the other: two drives, even if they are of one model."""
    parts = [each.recording.meta.part_of_copy for each in (one, other)]
    return parts[0] is not None and parts[1] is not None and parts[0].id == parts[1].id
