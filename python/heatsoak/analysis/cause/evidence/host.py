"""The host and its other work: CPU, hypervisor, other traffic to the drive, the PCIe link."""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding

#: A core this busy is saturated.
SATURATED_PCT = 95.0
#: And below this it was not, before.
FREE_PCT = 80.0
#: Where processors of laptops and desktops hold themselves back: 95 to 105 C.
CPU_LIMIT_C = 94.0
#: Time that a hypervisor gives to others, beyond what it gave before.
STOLEN_PCT = 5.0
#: Other traffic that makes up this share of what was lost explains it.
EXPLAINS = 0.3
#: A rate this close to what a link carries is bound by it; protocol takes the rest.
NEAR_LINK = (0.75, 1.02)


def cpu(case: Case) -> Finding | None:
    """A saturated core, or all of them, slow any drive."""
    seen = None
    for column, what in (("cpu_core_pct", "a core"), ("cpu_pct", "the CPU")):
        shares = case.before_and_during(column)
        if shares is None:
            continue
        before, during = shares
        said = f"({during:.0f} %, before {before:.0f} %)"
        if during > SATURATED_PCT and before < FREE_PCT:
            return Finding("cpu", "saturated", f"{what} was saturated meanwhile {said}")
        if during > SATURATED_PCT:
            seen = Finding("cpu", "saturated-before-too", f"{what} was saturated all along {said}")
        elif seen is None:
            seen = Finding("cpu", "free", f"the CPU was not saturated {said}")
    return seen


def heat(case: Case) -> Finding | None:
    """A processor at its own limit takes its clock down, and what it can ask of a drive."""
    hottest: tuple[float, float] | None = None
    for column in case.view.columns("temp_c.cpu"):
        temps_c = case.before_and_during(column)
        if temps_c is not None and (hottest is None or temps_c[1] > hottest[1]):
            hottest = temps_c
    if hottest is None:
        return None
    before_c, during_c = hottest
    said = f"the processor was at {during_c:.0f} C meanwhile (before {before_c:.0f} C)"
    if during_c >= CPU_LIMIT_C:
        return Finding("host-heat", "at-its-limit", f"{said}, where processors throttle")
    return Finding("host-heat", "below", said)


def steal(case: Case) -> Finding | None:
    """Time that the hypervisor gave to other machines."""
    shares = case.before_and_during("cpu_steal_pct")
    if shares is None:
        return None
    before, during = shares
    if during >= before + STOLEN_PCT:
        return Finding(
            "steal",
            "stolen",
            f"the hypervisor gave {during:.0f} % of the CPU to others (before {before:.0f} %)",
        )
    return None


def others_traffic(case: Case) -> Finding | None:
    """All traffic of the device by the kernel's counters, less our own."""
    before, during = (
        _others_mb_s(case, begin_s, end_s)
        for begin_s, end_s in (
            (case.level_since_s, case.drop.onset_s),
            (case.drop.onset_s, case.drop.end_s),
        )
    )
    if before is None or during is None or case.view.throughput.unit != "mb_s":
        return None
    more, lost = during - before, case.drop.before - case.drop.during
    if more >= max(EXPLAINS * lost, 0.05 * case.drop.before):
        return Finding(
            "others",
            "busy",
            f"others moved {during:.0f} MB/s on the same device meanwhile (before {before:.0f})",
        )
    return Finding(
        "others", "quiet", f"nobody else used the device (others moved {max(during, 0):.0f} MB/s)"
    )


def _others_mb_s(case: Case, begin_s: float, end_s: float) -> float | None:
    """The mean rate of the device beyond that of the load."""
    readings = [
        case.view.track(column).between(begin_s, end_s)
        for column in ("device_read_mb_s", "device_write_mb_s")
    ]
    if any(len(each) < 3 for each in readings):
        return None
    ours = case.view.throughput.mean(begin_s, end_s)
    return float(sum(np.mean(each) for each in readings)) - ours


def link(case: Case) -> Finding | None:
    """A PCIe link that was trained to less, or that is what bounds the rate."""
    track = case.view.track("link_mb_s")
    if len(track.values) == 0 or case.view.throughput.unit != "mb_s":
        return None
    carries = case.before_and_during("link_mb_s")
    if carries is None:
        return None
    before, during = carries
    low, high = NEAR_LINK
    if during < 0.9 * before and case.drop.during <= high * during:
        return Finding(
            "link",
            "retrained",
            f"the PCIe link went from {before:.0f} to {during:.0f} MB/s",
        )
    if low * during <= case.drop.during <= high * during:
        return Finding("link", "at-its-ceiling", f"the link carries no more than {during:.0f} MB/s")
    return Finding("link", "free", f"the link carries {during:.0f} MB/s, as before")
