"""Recordings that were read, and which of them speak for each other."""

from collections.abc import Sequence

from heatsoak.analysis.course import drive_of
from heatsoak.analysis.sensors import judge_sensors
from heatsoak.analysis.view import StepView, judged_steps
from heatsoak.recording import Recording


class Looked:
    """A recording, read and looked at; temperatures with a flaw give no evidence."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        distrusted = frozenset(
            sensor.name for sensor in judge_sensors(recording) if sensor.trust == "poor"
        )
        self.views = list(judged_steps(recording, distrusted))

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
