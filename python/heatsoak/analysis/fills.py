"""What a precondition did to the drive just before the first judged load: a fill can slow it."""

from collections.abc import Iterator
from itertools import pairwise

from heatsoak.analysis.segments import find
from heatsoak.analysis.series import throughput
from heatsoak.protocol import LoadStep, Precondition, Protocol
from heatsoak.recording import Recording

_COLUMNS = ("t_s", "step", "interval_s", "read_bw_mb_s", "write_bw_mb_s")


def slowed_by_fills(recording: Recording) -> Iterator[str]:
    """Say of each load that began at once behind a precondition how that had slowed the drive.

    A load that is slow from its begin has no fall, and looks steady.
    """
    protocol = recording.meta.protocol
    if not isinstance(protocol, Protocol):
        return
    behind = {
        fill.name: step.name
        for fill, step in pairwise(protocol.steps)
        if isinstance(fill, Precondition)
        and isinstance(step, LoadStep)
        and not isinstance(step, Precondition)
    }
    if not behind:
        return
    by_step = recording.samples(_COLUMNS).partition_by("step", as_dict=True)
    for fill, step in behind.items():
        rows = by_step.get((fill,))
        if rows is None:
            continue
        begin_s = float(rows["t_s"][0])
        found = find(throughput(rows, begin_s))
        if found is None or not found.drops or found.drops[-1].recovered:
            continue
        first, last = found.drops[0], found.drops[-1]
        yield (
            f"'{fill}' fell by {100 * (1 - last.during / first.before):.0f} % after "
            f"{first.onset_s:.0f} s and was still slow when '{step}' began, which may have been so "
            "from its begin: a pause between them would tell"
        )
