"""Every bundled protocol, as small as it gets, on this machine's own disk with the real fio."""

from pathlib import Path
from typing import Any

import pytest
from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.bench.session import plan_session
from heatsoak.catalog import load_trace
from heatsoak.protocol import Protocol, apply_settings, bundled, load, scaled
from heatsoak.target import parse_place
from needs import needs
from rest_long import rest_soak

IOS = 200
#: A score of whole seconds needs two of them.
SECONDS_S = 2.8

pytestmark = [pytest.mark.slow, needs("fio")]


def small(name: str, longer: float = 1.0) -> Protocol:
    """Return the protocol with a file of 64 MiB, a fraction of a second each step, few rounds.

    Steps that are scored are `longer`.
    """
    protocol = scaled(load(name), 1e-6)
    if protocol.matrix is not None:
        cell = protocol.cells()[0]
        labels = [f"{axis}={cell[axis]}" for axis in protocol.matrix.axes]
        protocol = apply_settings(protocol, [*labels, "heat=by-hand"])
    fields = protocol.model_dump()
    fields["file_size"] = "64m"
    for score in fields["scores"]:
        score["last_s"] = None
    scored = {
        name: longer * (0.5 if score.statistic == "mean" else SECONDS_S)
        for score in protocol.scores
        for name in score.steps
    }
    fields["steps"] = [shrunk(step, scored) for step in fields["steps"]]
    return Protocol.model_validate(fields)


def shrunk(step: dict[str, Any], scored: dict[str, float]) -> dict[str, Any]:
    match step["kind"]:
        case "workload" | "precondition" if step["runtime_s"] is not None:
            return {**step, "runtime_s": scored.get(step["name"], 0.3)}
        case "pause":
            return {**step, "duration_s": 0.05}
        case "replay":
            return {**step, "scale": IOS / load_trace(step["trace"]).ios}
        case "rounds":
            wanted = {*scored, step["tracks"]}
            parts = [shrunk(one, {}) for one in step["steps"] if one["name"] in wanted]
            at_most = min(step["at_most"], 5)
            return {**step, "steps": parts, "at_most": at_most}
    return step


def run(protocol: Protocol, directory: Path) -> RecordingFindings:
    """Run it in a directory, in which nothing is left of it; return what was found."""
    place = directory / "under test"
    place.mkdir(parents=True)
    if protocol.copies:
        to = directory / "under test too"
        to.mkdir()
        session = plan_session(
            parse_place(str(to)), lambda: protocol, copy_from=lambda: parse_place(str(place))
        )
    else:
        session = plan_session(parse_place(str(place)), lambda: protocol)
    recordings = session.record(directory / "recording")
    assert [list(path.iterdir()) for path in directory.glob("under test*")] in ([[]], [[], []])
    held = [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    assert [link for link in held if str(directory) in link or str(place) in link] == []
    assert {recording.meta.status for recording in recordings} == {"finished"}
    return analyze(recordings).recordings[-1]


#: Those that are run each time: one of each kind. All others are like one of them, and take long:
#: a third of these is run by `make verify`, the rest each night.
EACH_TIME = ("quick", "copy", "anandtech-random-write")


@pytest.mark.parametrize(
    "name", [*EACH_TIME, *rest_soak(sorted(set(bundled()) - {*EACH_TIME}), first=5)]
)
def test_it_runs_gives_its_scores_and_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    protocol = small(name)
    found = run(protocol, tmp_path / "short")
    if protocol.scores and all("was measured" in (score.why or "") for score in found.scores):
        # where others load the machine, fio needs some of so short a step to begin
        found = run(small(name, 6.0), tmp_path / "longer")
    asked = [score.name for score in protocol.scores]
    assert [score.name for score in found.scores] == asked
    for score in found.scores:
        if score.value is None:
            assert score.why
        # a quiet disk has no I/O that is slow
        elif not score.metric.startswith("over_"):
            assert score.value > 0
    # rounds so short need not become steady, and have no scores then
    if asked and not protocol.rounds:
        assert any(score.value is not None for score in found.scores), found.scores[0].why
