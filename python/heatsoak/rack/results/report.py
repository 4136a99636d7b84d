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
    amount,
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
    RackTestResult,
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

#: States of tests that `heatsoak rack run` knows besides the plain ones.
_STATES = {
    "absent": "was not started",
    "starting": "was not started yet",
    "ready": "waits to begin",
    "running": "is still running",
    "cut": "was cut short",
}
#: Drives that do not pass, in the first sentence.
_MOST_NAMED = 3


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
    broken = [_broken(test, forbidden, fail_below_mb_s) for test in tests]
    drives = [
        _drive(drive, of_drive[drive], place_of[drive], tests, broken, unlike, measures)
        for drive in sorted(of_drive, key=lambda one: compared.natural(f"{place_of[one]} {one}"))
    ]
    drives.sort(key=lambda one: _ORDER.index(one.verdict))
    asked = forbidden is not None or fail_below_mb_s is not None
    all_finished = all(test.is_finished for test in tests)
    worse = forbidden in ("outlier", "any") and any(one.is_worse for one in unlike)
    return RackReport(
        sentence=_sentence(drives, tests, labels),
        told=[one.sentence for one in measures if one.measure in SPEEDS or _is_warmer(one)],
        run=rack.run,
        protocols=list(dict.fromkeys(one.protocol for one in tests if one.protocol)),
        place_labels=labels,
        passed=sum(one.passes for one in drives),
        limits_hold=not asked or (all_finished and not any(broken) and not worse),
        drives=drives,
        outliers=unlike,
        measures=measures,
        tests=[_test(one, why) for one, why in zip(tests, broken, strict=True)],
        not_compared=_not_compared(found, tests),
    )


def _is_warmer(one: RackMeasure) -> bool:
    """Whether some place is warmer than others, beyond chance."""
    effects = [place.effect for of in one.places for place in of.places]
    return one.measure == "max_temp_c" and any(effect.low > 0 for effect in effects)


def _broken(
    test: reading.Tested, forbidden: Forbidden | None, fail_below_mb_s: float | None
) -> list[str]:
    """The limits that a test does not keep."""
    if test.findings is None:
        return []
    word = None if forbidden == "outlier" else forbidden
    return why_failed(test.findings, word, fail_below_mb_s)


def _unfinished(test: reading.Tested) -> list[str]:
    if test.is_finished:
        return []
    what = _STATES.get(test.state, test.state)
    return [f"{what}: {test.why}" if test.why else what]


def _drive(
    drive: str,
    of: Sequence[reading.Tested],
    place: str,
    tests: Sequence[reading.Tested],
    broken: Sequence[list[str]],
    unlike: Sequence[RackOutlier],
    measures: Sequence[RackMeasure],
) -> RackDrive:
    limits = [
        why
        for test, reasons in zip(tests, broken, strict=True)
        if test.drive == drive
        for why in reasons
    ]
    unfinished = [why for test in of for why in _unfinished(test)]
    worse = [one for one in unlike if one.drive == drive and one.is_worse]
    falls = _throttling(of, worse)
    # how deep a fall is has been said with the fall
    rest = [one for one in worse if not (falls and one.measure == "depth_pct")]
    why = [*unfinished, *limits, *falls, *_worse(rest)]
    verdict: DriveVerdict = "fails" if why else "passes"
    if not why:
        verdict, why = _by_heat(of)
    return RackDrive(
        drive=drive,
        serial=next((one.serial for one in of if one.serial), None),
        model=next((one.model for one in of if one.model), None),
        firmware=next((one.firmware for one in of if one.firmware), None),
        where=place,
        tests=len(of),
        verdict=verdict,
        passes=verdict == "passes",
        why=list(dict.fromkeys(why)),
        explained=_explained(drive, measures) if why else None,
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


def _explained(drive: str, measures: Sequence[RackMeasure]) -> str | None:
    """What its place and what the drive itself did to its speed, in the first step with both."""
    for one in measures:
        for found in one.drives if one.measure in SPEEDS else []:
            if found.drive == drive and found.of_place is not None and found.own is not None:
                own = words.range_text(found.own, "%", signed=True)
                return (
                    f"mean speed in {words.plain(one.step)}: {words.signed_text(found.of_place)} % "
                    f"by its place, {own} by the drive itself"
                )
    return None


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
    order = [measure.id for measure in reading.MEASURES]
    ordered = sorted(worse, key=lambda one: order.index(one.measure))
    off = [one for one in ordered if not one.varies]
    return [
        *(
            sentence([amount(one) for one in off if one.step == step], step)
            for step in dict.fromkeys(one.step for one in off)
        ),
        *(one.sentence for one in ordered if one.varies),
    ]


def _test(test: reading.Tested, broken: Sequence[str]) -> RackTestResult:
    values: dict[str, dict[str, float]] = {}
    for row in test.rows:
        values.setdefault(row.step, {}).update(row.values)
    return RackTestResult(
        host=test.host,
        drive=test.drive,
        serial=test.serial,
        model=test.model,
        firmware=test.firmware,
        labels=dict(test.labels),
        recording=test.recording,
        state=test.state,
        why=[*_unfinished(test), *broken],
        values=values,
    )


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
        return f"{begin}: {named(drives[0])}: {drives[0].why[0]}."
    said = [f"{named(one)}: {one.why[0]}" for one in failed[:_MOST_NAMED]]
    if (more := len(failed) - _MOST_NAMED) > 0:
        said.append(f"and {more} more")
    for verdict, one_does, several_do in _DO:
        if group := groups[verdict]:
            which = _which({one.drive for one in group}, drives, tests, labels)
            said.append(f"{len(group)} {one_does if len(group) == 1 else several_do}{which}")
    return "; ".join([begin, *said]) + "."


def _which(
    those: set[str],
    drives: Sequence[RackDrive],
    tests: Sequence[reading.Tested],
    labels: Sequence[str],
) -> str:
    """What drives have in common that not all have; else their names."""
    own = [test for test in tests if test.drive in those]
    common = []
    for label in ("", *labels):
        of = {test.labels.get(label) if label else test.model for test in own}
        every = {test.labels.get(label) if label else test.model for test in tests}
        if len(those) > 1 and len(of) == 1 < len(every) and None not in of:
            (value,) = of
            common.append(f"in {words.plain(label)} {value}" if label else str(value))
    if common:
        return f" ({', '.join(common)})"
    names = [named(one) for one in drives if one.drive in those]
    return f": {words.listed(names, _MOST_NAMED)}"


def named(drive: RackDrive) -> str:
    """Return a drive's name, and where it is."""
    return f"{drive.drive} ({drive.where})" if drive.where else drive.drive


def _not_compared(found: Sequence[compared.Compared], tests: Sequence[reading.Tested]) -> list[str]:
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
            "its place (run drives in several places, or name fewer labels with --by-place)"
        )
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
