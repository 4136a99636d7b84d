"""What a precondition did to the drive just before the first judged load: a fill can slow it."""

from collections.abc import Iterable, Iterator

from heatsoak.analysis.view import StepView


def slowed_by_fills(views: Iterable[StepView]) -> Iterator[str]:
    """Say of each load that began at once behind a precondition how that had slowed the drive.

    A load that is slow from its begin has no fall.
    """
    for view in views:
        fill = view.behind
        if fill is None or fill.step.is_judged:
            continue
        last = fill.lasting_drop
        if last is None or not fill.drops:
            continue
        first = fill.drops[0]
        yield (
            f"'{fill.step.name}' fell by {100 * (1 - last.during / first.before):.0f} % after "
            f"{first.onset_s:.0f} s and was still slow when '{view.step.name}' began, which may "
            "have been so from its begin: a pause between them would tell"
        )
