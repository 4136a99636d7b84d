"""Steps that are taken again and again, until the one that they track is steady."""

from pathlib import Path

import pytest
from heatsoak.analysis import analyze
from heatsoak.bench.plan import typical_plan
from heatsoak.errors import RunInterrupted, UsageError
from heatsoak.protocol import WorkloadStep, apply_settings, load
from heatsoak.protocol.source import parse_toml
from heatsoak.recording import Recording
from heatsoak.target.simulated import SimulatedTarget
from observed import Watcher, conducted

SCORE = (
    '[[scores]]\nname = "Writes"\nmetric = "iops"\nsteps = "write"\n'
    'definition = "Of the steady rounds."\n'
)
ROUNDS = '[[steps]]\nkind = "rounds"\nat_most = 8\n'
STEADY = ROUNDS + 'until = "steady"\ntracks = "write"\n'
WRITE = '[[steps.steps]]\nname = "write"\nrw = "randwrite"\niodepth = 32\n'
READ = '[[steps.steps]]\nname = "read"\nrw = "randread"\nspan = "1GiB"\nruntime = "2s"\n'
#: Writes that keep to one rate on a purged drive, and reads before them.
QUIET = 'name = "x"\n' + SCORE + STEADY + READ + WRITE + 'span = "1GiB"\nruntime = "2s"\n'
#: A full drive, whose spare area runs out in the first round of random writes.
FALLING = (
    'name = "x"\n'
    + SCORE
    + '[[steps]]\nkind = "precondition"\nname = "fill"\nrw = "write"\nbs = "1m"\niodepth = 8\n'
    + STEADY.replace("8", "5")
    + WRITE
    + 'runtime = "1s"\n'
)


def run(text: str, drive: Path, path: Path, watcher: Watcher | None = None) -> Recording:
    return conducted(text, SimulatedTarget(str(drive), "open-bench"), path, watcher)


def taken(recording: Recording) -> list[str | None]:
    return [e.step for e in recording.events if e.kind == "step-begin" and "round" in e.data]


def test_rounds_end_as_soon_as_five_are_steady(small_drive: Path, tmp_path: Path) -> None:
    watcher = Watcher()
    recording = run(QUIET, small_drive, tmp_path / "r", watcher)
    names = [f"{step}/{number}" for number in range(1, 6) for step in ("read", "write")]
    assert taken(recording) == names
    assert [told[1] for told in watcher.told if told[0] == "round"] == names
    findings = analyze([recording]).recordings[0]
    assert [step.step for step in findings.steps] == names
    assert [(step.rounds, step.round) for step in findings.steps[:3]] == [
        ("rounds", 1),
        ("rounds", 1),
        ("rounds", 2),
    ]
    (rounds,) = findings.rounds
    assert (rounds.taken, rounds.is_steady, len(rounds.iops)) == (5, True, 5)
    assert rounds.text.startswith("steady in rounds 1 to 5: IOPS of 'write' differ by")
    (score,) = findings.scores
    assert score.value is not None
    assert score.value == pytest.approx(sum(v for v in rounds.iops if v) / 5, rel=1e-3)
    assert list(score.of_steps) == [f"write/{number}" for number in range(1, 6)]
    by_step = {step.step: step for step in rounds.steps}
    assert by_step["write"].mean_iops == pytest.approx(score.value, rel=1e-3)
    assert by_step["read"].workload.startswith("random read")
    end = [e for e in recording.events if e.kind == "step-end" and e.step == "rounds"]
    assert [e.data["rounds"] for e in end] == [5]


def test_rounds_that_keep_changing_are_warned_of_and_give_no_score(
    small_drive: Path, tmp_path: Path
) -> None:
    recording = run(FALLING, small_drive, tmp_path / "r")
    findings = analyze([recording]).recordings[0]
    (rounds,) = findings.rounds
    assert rounds.is_steady is False
    assert rounds.range_pct is not None
    assert rounds.range_pct > 20
    assert any("did not become steady in 5 rounds" in note for note in findings.notes)
    (score,) = findings.scores
    assert score.value is None
    assert score.why == rounds.text


def test_a_run_that_is_stopped_within_a_round_keeps_the_whole_ones(
    small_drive: Path, tmp_path: Path
) -> None:
    with pytest.raises(RunInterrupted):
        run(QUIET, small_drive, tmp_path / "r", Watcher(stop_at="write/3"))
    findings = analyze([Recording.open(tmp_path / "r")]).recordings[0]
    (rounds,) = findings.rounds
    assert (rounds.taken, rounds.is_steady) == (2, False)
    assert "cannot be called steady: 2 whole rounds" in rounds.text
    assert findings.scores[0].why == rounds.text


def test_without_an_end_all_rounds_are_taken(small_drive: Path, tmp_path: Path) -> None:
    text = 'name = "x"\n' + SCORE + ROUNDS.replace("8", "3") + WRITE
    recording = run(text + 'span = "1GiB"\nruntime = "2s"\n', small_drive, tmp_path / "r")
    findings = analyze([recording]).recordings[0]
    (rounds,) = findings.rounds
    assert (rounds.taken, rounds.is_steady, rounds.text) == (3, None, "3 rounds")
    assert len(findings.scores[0].of_steps) == 3


def test_snia_takes_all_combinations_of_its_values_after_twice_the_capacity() -> None:
    snia = load("snia-pts")
    (rounds,) = snia.rounds
    names = [step.name for step in rounds.steps]
    assert len(set(names)) == len(names) == 49
    assert names[:2] == ["reads-100-1m", "reads-100-128k"]
    assert names[-1] == rounds.tracks == "reads-0-4k"
    last = rounds.steps[-1]
    assert isinstance(last, WorkloadStep)
    assert (last.bs, last.read_share, last.runtime_s) == (4096, 0.0, 60)
    assert len([s for s in snia.workload_steps if s.name == "reads-0-4k/25"]) == 1
    fills = [s for s in snia.steps if s.kind == "precondition"]
    assert len(fills) == 2
    assert all(isinstance(s, WorkloadStep) and s.bs == 131072 for s in fills)
    assert all(isinstance(s, WorkloadStep) and s.span.percent == 100 for s in fills)
    # all rounds are counted in a plan, which says how few there may be
    most = typical_plan(snia)
    least_s = most.least(lambda step: step.duration_s)
    assert most.duration_s - least_s == pytest.approx(20 * 49 * 60)
    changes = ["reads-0-*.runtime=5s", "rounds.at_most=7", "iodepth=8"]
    (rounds,) = apply_settings(snia, changes).rounds
    assert rounds.at_most == 7
    runtimes = {
        s.name: (s.runtime_s, s.iodepth) for s in rounds.steps if isinstance(s, WorkloadStep)
    }
    assert runtimes["reads-0-4k"] == (5, 8)
    assert runtimes["reads-5-4k"] == (60, 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STEADY.replace("8", "4") + WRITE, "at_most is 4: a steady state takes at least 5 rounds"),
        (STEADY.replace('"write"', '"wrte"') + WRITE, "tracks names 'wrte'.*did you mean 'write'"),
        (ROUNDS + 'until = "steady"\n' + WRITE, "until = 'steady' and tracks.*need each other"),
        (ROUNDS + WRITE + "vary = 3\n", "vary is a table of lists"),
        (ROUNDS + WRITE + 'vary.bs = ["4k", "8k"]\n', "two steps are named 'write'"),
        (
            ROUNDS + WRITE.replace('"write"', '"w-{size}"') + 'vary.bs = ["4k"]\n',
            "only what is varied may appear in braces, {bs}",
        ),
        (ROUNDS + WRITE + 'only_after = "x"\n', "'write' is taken only under a condition"),
        (ROUNDS + WRITE + WRITE, "two steps are named 'write'"),
        (
            ROUNDS + WRITE + '[[steps]]\nname = "write/2"\nrw = "read"\n',
            "two steps are named 'write/2'",
        ),
        (ROUNDS + WRITE.replace("iodepth", "iodpth"), "unknown key 'iodpth'.*did you mean"),
        (ROUNDS + WRITE.replace("steps.steps", "steps.step"), "unknown key 'step'|steps"),
    ],
)
def test_what_is_wrong_with_rounds_is_one_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parse_toml('name = "x"\n' + text, "mine.toml")
    assert str(caught.value).startswith("mine.toml: ")
    assert "\n" not in str(caught.value)
