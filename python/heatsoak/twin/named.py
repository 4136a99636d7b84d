"""Twins, drives and loads by the words that people use for them."""

from pathlib import Path, PureWindowsPath
from shlex import quote
from typing import TYPE_CHECKING

from heatsoak import catalog, protocol
from heatsoak.errors import UsageError, suggestion
from heatsoak.toml import toml_file
from heatsoak.twin.case import Before
from heatsoak.twin.demand import Demand, demand_of
from heatsoak.units import MB

if TYPE_CHECKING:
    from heatsoak.twin.twin import Experiment, FullRates, Twin

#: Loads by a word of fio's, as reviewers run them.
WORDS = {"read": "128k", "write": "128k", "randread": "4k", "randwrite": "4k"}
#: How files of protocols and of fio's jobs end.
_PROTOCOLS = (".toml", ".fio", ".job", ".ini")
#: How long a load is that says nothing of that.
USUAL_S = 600.0


def subject_of(text: str) -> "Twin | catalog.Drive":
    """A twin's file, or a drive: the catalog's or the user's own, also as ``run --on`` has it."""
    path = Path(text)
    if path.suffix == ".toml" and path.is_file() and "uncertainty" in toml_file(path):
        from heatsoak.twin.twin import Twin  # drives of the catalog need no fits

        return Twin.load(path)
    if path.is_dir():
        raise UsageError(f"{text}: is no twin: heatsoak fit {quote(text)} -o twin.toml makes it")
    if path.is_file():
        return catalog.load_drive(text)
    name, at, place = text.removeprefix("sim:").partition("@")
    drive = catalog.load_drive(name)
    return drive.model_copy(update={"enclosure": catalog.load_enclosure(place).id}) if at else drive


def workload_of(text: str) -> tuple[protocol.WorkloadStep | Demand, list[Before]]:
    """A load as :func:`step_of` has it, or what a trace, a recording or a log asks for."""
    path = Path(text)
    is_known = text in WORDS or text in protocol.bundled() or path.suffix in _PROTOCOLS
    if is_known or not path.exists():
        return step_of(text)
    return demand_of(path), []


def heatsink_of(text: str) -> str | float:
    """Return a place of the catalog, or a resistance in K/W; ValueError says what is wrong."""
    try:
        k_per_w = float(text.removesuffix("K/W"))
    except ValueError:
        return text
    if not 0.01 <= k_per_w <= 1000:
        raise ValueError(f"'{text}' is no resistance in K/W: heatsinks have 0.5 to 20")
    return k_per_w


def length_s(workload: protocol.WorkloadStep | Demand) -> float | None:
    """How long a workload is that nobody said it of; None if it ends with its data."""
    if isinstance(workload, Demand):
        return float(workload.seconds)
    return workload.runtime_s


def protocol_of(experiment: "Experiment", full: "FullRates") -> protocol.Protocol:
    """Return a proposed run as a protocol; `full` is the drive's full load."""
    rw, mb_s = max(("read", full.read_mb_s), ("write", full.write_mb_s), key=lambda of: of[1])
    steps: list[dict[str, object]] = []
    for number, part in enumerate(experiment.parts, 1):
        length = {"duration" if not part.share else "runtime": part.duration_s}
        if not part.share:
            steps.append({"kind": "pause", "name": f"rest-{number}", **length})
            continue
        name = "full" if part.share == 1 else f"{100 * part.share:.0f}-pct"
        rate = {} if part.share == 1 else {"rate": round(part.share * mb_s * MB)}
        load = {"rw": rw, "bs": WORDS[rw], "iodepth": 32}
        steps.append({"name": name, **load, **length, **rate})
    axes = (
        {"matrix": {"axes": {"tmt1_c": [round(value) for value in experiment.tmt1_c]}}}
        if experiment.tmt1_c
        else {}
    )
    title = f"What would tell most of the drive: {experiment.name}"
    said = {"name": experiment.name, "title": title, "steps": steps, **axes}
    return protocol.Protocol.model_validate(said)


def _protocol_and_step(text: str) -> tuple[str, str]:
    """Divide PROTOCOL:STEP, where a file's path may start with a drive's letter."""
    start = len(PureWindowsPath(text).drive)
    name, _, wanted = text[start:].partition(":")
    return text[:start] + name, wanted


def step_of(text: str) -> tuple[protocol.WorkloadStep, list[Before]]:
    """A load, and what its protocol does before it if nothing falls: loads, pauses, purges."""
    if text in WORDS:
        words = {"name": text, "rw": text, "bs": WORDS[text], "iodepth": 32, "runtime": USUAL_S}
        return protocol.WorkloadStep.model_validate(words), []
    name, wanted = (text, "") if Path(text).exists() else _protocol_and_step(text)
    if name not in protocol.bundled() and not Path(name).exists():
        near = suggestion(name, [*WORDS, *protocol.bundled()])
        raise UsageError(
            f"{text}: is no load{near}: {', '.join(WORDS)}, PROTOCOL[:STEP], or the file of a "
            "trace or recording"
        )
    steps = [
        one
        for one in protocol.load(name).steps
        if isinstance(one, protocol.WorkloadStep | protocol.Pause | protocol.Purge)
    ]
    known = [one for one in steps if isinstance(one, protocol.WorkloadStep) and one.is_judged]
    if not known:
        raise UsageError(f"{text}: has no step with a workload of one drive")
    found = [one for one in known if one.name == wanted] if wanted else known
    if not found:
        names = [one.name for one in known]
        raise UsageError(
            f"{text}: has no step '{wanted}'{suggestion(wanted, names)}: {', '.join(names)}"
        )
    before = steps[: steps.index(found[0])]
    return found[0], [one for one in before if not one.is_probe]
