"""Which drives of a rack pass, and what to say of it in a sentence."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from heatsoak import words
from heatsoak.analysis.answer import what_happened, why_failed
from heatsoak.rack.results import compared, reading
from heatsoak.rack.results.outliers import (
    MIN_DRIVES,
    SPEEDS,
    outliers,
    sentence,
    set_aside,
)
from heatsoak.report.rack import (
    DriveVerdict,
    RackDrive,
    RackMeasure,
    RackOutlier,
    RackReport,
)

#: What is not to happen: as for ``analyze``, and drives that are worse than others of their model.
Forbidden = Literal["throttle", "unknown", "outlier", "any"]

#: Of drives, the worst first.
_ORDER: tuple[DriveVerdict, ...] = ("fails", "throttles", "open", "passes")

#: What is said of one drive, and of several, that heat slowed, or may have.
_DO: tuple[tuple[DriveVerdict, str, str], ...] = (
    ("throttles", "throttles", "throttle"),
    ("open", "is open", "are open"),
)

#: In the first sentence, so many drives have with them why they do not pass.
_MOST_EXPLAINED = 3


def report(
    rack: reading.Results,
    *,
    by_place: Sequence[str] = (),
    forbidden: Forbidden | None = None,
    fail_below_mb_s: float | None = None,
) -> RackReport:
    """Return which drives pass, which are unlike others of their model, and what places do.

    Raises UsageError for a label in `by_place` that no test has.
    """
    tests = rack.tests
    labels = reading.place_labels(tests, by_place)
    of_drive: dict[str, list[reading.Tested]] = {}
    for test in tests:
        of_drive.setdefault(test.drive, []).append(test)
    place_of = {drive: reading.where(of, labels) for drive, of in of_drive.items()}
    found = set_aside(compared.compare(tests, labels))
    unlike = outliers(found, place_of)
    measures = [compared.told(one) for one in found]
    limit = None if forbidden == "outlier" else forbidden
    broken = {
        id(test): why_failed(test.findings, limit, fail_below_mb_s) if test.findings else []
        for test in tests
    }
    explained = _explained(measures)
    drives = []
    for drive in sorted(of_drive, key=lambda one: compared.natural(f"{place_of[one]} {one}")):
        limits = [why for test in of_drive[drive] for why in broken[id(test)]]
        worse = [one for one in unlike if one.is_worse and one.drive == drive]
        drives.append(_drive(of_drive[drive], place_of[drive], limits, worse, explained.get(drive)))
    drives.sort(key=lambda one: _ORDER.index(one.verdict))
    asked = forbidden is not None or fail_below_mb_s is not None
    all_finished = all(test.is_finished for test in tests)
    has_worse = forbidden in ("outlier", "any") and any(one.is_worse for one in unlike)
    told = [one for one in measures if one.drive_sd or any(place.widest for place in one.places)]
    return RackReport(
        sentence=_sentence(drives, tests, labels),
        told=[
            *(one.sentence for one in told if one.measure in SPEEDS),
            *compared.warmest(found, measures),
        ],
        run=rack.run,
        protocols=list(dict.fromkeys(one.protocol for one in tests if one.protocol)),
        place_labels=labels,
        passed=sum(one.passes for one in drives),
        limits_hold=not asked or (all_finished and not any(broken.values()) and not has_worse),
        drives=drives,
        outliers=unlike,
        measures=measures,
        tests=[test.model_copy(update={"why": [*test.why, *broken[id(test)]]}) for test in tests],
        not_compared=_not_compared(found, measures, tests),
    )


def _drive(
    of: Sequence[reading.Tested],
    place: str,
    limits: Sequence[str],
    worse: Sequence[RackOutlier],
    explained: str | None,
) -> RackDrive:
    falls = _throttling(of, worse)
    # how deep a fall is has been said with the fall
    rest = [one for one in worse if not (falls and one.measure == "depth_pct")]
    why = [*(why for test in of for why in test.why), *limits, *falls, *_worse(rest)]
    verdict: DriveVerdict = "fails" if why else "passes"
    if not why:
        verdict, why = _by_heat(of)
    return RackDrive(
        drive=of[0].drive,
        serial=next((one.serial for one in of if one.serial), None),
        model=next((one.model for one in of if one.model), None),
        firmware=next((one.firmware for one in of if one.firmware), None),
        where=place,
        tests=len(of),
        verdict=verdict,
        passes=verdict == "passes",
        why=list(dict.fromkeys(why)),
        explained=explained if why else None,
    )


def _by_heat(of: Sequence[reading.Tested]) -> tuple[DriveVerdict, list[str]]:
    """Whether heat slowed a drive, or may have, and in which steps."""
    steps = [step for test in of if test.findings for step in test.findings.steps]
    if slowed := [step for step in steps if step.claim.heat == "yes"]:
        return "throttles", [f"{step.step} {what_happened(step)}" for step in slowed]
    answers = [test.findings.answer for test in of if test.findings]
    # a drive that was never loaded does not pass either
    if open_ := [one for one in answers if one.throttles != "no"]:
        verdict: DriveVerdict = "throttles" if any(a.throttles == "yes" for a in open_) else "open"
        return verdict, list(dict.fromkeys(one.sentence.rstrip(".") for one in open_))
    return "passes", []


def _explained(measures: Sequence[RackMeasure]) -> dict[str, str]:
    """What its place and each drive itself did to its speed, in the first step with both."""
    found: dict[str, str] = {}
    for one in measures:
        for drive in one.drives if one.measure in SPEEDS else []:
            if drive.of_place is not None and drive.own is not None and drive.drive not in found:
                own = words.range_text(drive.own, "%", signed=True)
                found[drive.drive] = (
                    f"mean speed in {words.plain(one.step)}: "
                    f"{words.signed_text(drive.of_place)} % by its place, {own} by the drive itself"
                )
    return found


def _throttling(of: Sequence[reading.Tested], worse: Sequence[RackOutlier]) -> list[str]:
    """How a drive throttles whose fall is deeper or earlier than those of others of its model."""
    steps = {one.step for one in worse if one.measure in ("depth_pct", *reading.OF_THROTTLING)}
    return [
        f"{step.step} {what_happened(step)}"
        for test in of
        if test.findings is not None
        for step in test.findings.steps
        if step.step in steps and (step.episodes or step.claim.heat == "yes")
    ]


def _worse(worse: Sequence[RackOutlier]) -> list[str]:
    order = list(reading.MEASURES)
    ordered = sorted(worse, key=lambda one: order.index(one.measure))
    off = [one for one in ordered if not one.varies]
    return [*([sentence(off)] if off else []), *(one.sentence for one in ordered if one.varies)]


def _sentence(
    drives: Sequence[RackDrive], tests: Sequence[reading.Tested], labels: Sequence[str]
) -> str:
    groups = {verdict: [one for one in drives if one.verdict == verdict] for verdict in _ORDER}
    passed, failed = len(groups["passes"]), groups["fails"]
    if passed == len(drives):
        return {1: "The drive passes.", 2: "Both drives pass."}.get(
            len(drives), f"All {len(drives)} drives pass."
        )
    begin = f"{passed or 'None'} of {len(drives)} drives {'pass' if passed != 1 else 'passes'}"
    if len(drives) == 1:
        begin = {"throttles": "The drive throttles", "open": "The drive may throttle"}.get(
            drives[0].verdict, "The drive does not pass"
        )
        return f"{begin}: {_named(drives[0])}: {drives[0].why[0]}."
    said = [f"{_named(one)}: {one.why[0]}" for one in failed[:_MOST_EXPLAINED]]
    if (more := len(failed) - _MOST_EXPLAINED) > 0:
        said.append(f"and {more} more")
    for verdict, one_does, several_do in _DO:
        if group := groups[verdict]:
            which = _in_common({one.drive for one in group}, tests, labels)
            if verdict == "open" or not which:
                which = f"{which}: {words.listed([_named(one) for one in group], words.MOST_NAMED)}"
            said.append(f"{len(group)} {one_does if len(group) == 1 else several_do}{which}")
    return "; ".join([begin, *said]) + "."


def _in_common(those: set[str], tests: Sequence[reading.Tested], labels: Sequence[str]) -> str:
    """What drives have in common that not all have."""
    common = []
    for label in ("", *labels) if len(those) > 1 else ():
        every = {
            (one.drive in those, one.labels.get(label) if label else one.model) for one in tests
        }
        of = {value for is_own, value in every if is_own}
        if len(of) == 1 < len({value for _, value in every}) and None not in of:
            common.append(f"in {words.plain(label)} {of.pop()}" if label else str(of.pop()))
    return f" ({', '.join(common)})" if common else ""


def _named(drive: RackDrive) -> str:
    return f"{drive.drive} ({drive.where})" if drive.where else drive.drive


def _not_compared(
    found: Sequence[compared.Compared],
    measures: Sequence[RackMeasure],
    tests: Sequence[reading.Tested],
) -> list[str]:
    if not found:
        return ["no two runs share a step, so there is nothing to compare"]
    said = []
    first = found[0]
    counts = Counter(dict(zip(first.seen.drives, first.seen.models, strict=True)).values())
    few = [f"{model} ({count})" for model, count in counts.items() if count < MIN_DRIVES]
    if few:
        said.append(
            f"too few drives to say which is unlike the others, {MIN_DRIVES} of a model are "
            f"needed: {words.listed(few)}"
        )
    if len(few) < len(counts) and first.fit.drive_sd is None:
        said.append(
            "no drive is called unlike the others: what is due to the drive cannot be told from "
            "its place"
        )
    steps: dict[str, list[str]] = {}
    for one in measures:
        for why in filter(None, (place.why_unknown for place in one.places)):
            steps.setdefault(why, []).append(words.plain(one.step))
    said += [f"{why} ({words.listed(list(dict.fromkeys(of)))})" for why, of in steps.items()]
    firmwares: dict[str, set[str]] = {}
    for test in tests:
        if test.firmware:
            firmwares.setdefault(test.model or compared.UNKNOWN_MODEL, set()).add(test.firmware)
    said += [
        f"drives of {model} have different firmware, and may differ because of it: "
        f"{words.listed(sorted(versions))}"
        for model, versions in firmwares.items()
        if len(versions) > 1
    ]
    if first.fit.can_tell and not first.fit.has_repeats:
        said.append(
            "nothing was repeated: what is said of a drive may be chance of its single run, "
            "beyond what the spread of the others allows for"
        )
    return said
