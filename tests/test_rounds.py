"""Steps that are taken again and again, until the one that they track is steady."""

from pathlib import Path

import pytest
from heatsoak.analysis import analyze
from heatsoak.bench.conductor import conduct
from heatsoak.bench.plan import typical_plan
from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Latest
from heatsoak.errors import RunInterrupted, UsageError
from heatsoak.protocol import (
    Protocol,
    SingleStep,
    Step,
    WorkloadStep,
    apply_settings,
    load,
)
from heatsoak.protocol.source import parse_toml
from heatsoak.recording import Recording
from heatsoak.target import parse_place
from heatsoak.target.simulated import SimulatedTarget

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


class Watcher(Observer):
    """Takes down what begins, and stops the run at a step."""

    def __init__(self, stop_at: str | None = None) -> None:
        self.rounds: list[tuple[str, int]] = []
        self.stop_at = stop_at

    def on_step(self, index: int, step: Step, t_s: float) -> None:
        pass

    def on_round(self, step: SingleStep, number: int) -> None:
        self.rounds.append((step.name, number))
        if step.name == self.stop_at:
            raise KeyboardInterrupt

    def on_progress(self, t_s: float, latest: Latest) -> None:
        pass

    def on_note(self, level: str, text: str) -> None:
        pass


def run(protocol: Protocol, drive: Path, path: Path, watcher: Watcher | None = None) -> Recording:
    target = parse_place(f"sim:{drive}@open-bench").target(protocol)
    assert isinstance(target, SimulatedTarget)
    return conduct(protocol, target, {}, path, sensors=[], observer=watcher or Watcher())


def taken(recording: Recording) -> list[str | None]:
    return [e.step for e in recording.events if e.kind == "step-begin" and "round" in e.data]


def test_rounds_end_as_soon_as_five_are_steady(small_drive: Path, tmp_path: Path) -> None:
    watcher = Watcher()
    recording = run(parse_toml(QUIET, "x"), small_drive, tmp_path / "r", watcher)
    names = [f"{step}/{number}" for number in range(1, 6) for step in ("read", "write")]
    assert taken(recording) == names
    assert [name for name, _ in watcher.rounds] == names
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
    recording = run(parse_toml(FALLING, "x"), small_drive, tmp_path / "r")
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
        run(parse_toml(QUIET, "x"), small_drive, tmp_path / "r", Watcher(stop_at="write/3"))
    findings = analyze([Recording.open(tmp_path / "r")]).recordings[0]
    (rounds,) = findings.rounds
    assert (rounds.taken, rounds.is_steady) == (2, False)
    assert "cannot be called steady: 2 whole rounds" in rounds.text
    assert findings.scores[0].why == rounds.text


def test_without_an_end_all_rounds_are_taken(small_drive: Path, tmp_path: Path) -> None:
    text = 'name = "x"\n' + SCORE + ROUNDS.replace("8", "3") + WRITE
    protocol = parse_toml(text + 'span = "1GiB"\nruntime = "2s"\n', "x")
    findings = analyze([run(protocol, small_drive, tmp_path / "r")]).recordings[0]
    (rounds,) = findings.rounds
    assert (rounds.taken, rounds.is_steady, rounds.text) == (3, None, "3 rounds")
    assert len(findings.scores[0].of_steps) == 3


def test_a_step_may_stand_for_all_combinations_of_its_values() -> None:
    rounds = load("snia-pts").rounds[0]
    names = [step.name for step in rounds.steps]
    assert len(set(names)) == len(names) == 49
    assert names[:2] == ["reads-100-1m", "reads-100-128k"]
    assert names[-1] == rounds.tracks == "reads-0-4k"
    last = rounds.steps[-1]
    assert isinstance(last, WorkloadStep)
    assert (last.bs, last.read_share, last.runtime_s) == (4096, 0.0, 60)
    assert len([s for s in load("snia-pts").workload_steps if s.name == "reads-0-4k/25"]) == 1


def test_snia_writes_twice_the_capacity_before_its_rounds() -> None:
    fills = [s for s in load("snia-pts").steps if s.kind == "precondition"]
    assert len(fills) == 2
    assert all(isinstance(s, WorkloadStep) and s.bs == 131072 for s in fills)
    assert all(isinstance(s, WorkloadStep) and s.span.percent == 100 for s in fills)


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


def test_settings_reach_the_steps_of_rounds_and_how_many_there_are() -> None:
    protocol = apply_settings(
        load("snia-pts"), ["reads-0-*.runtime=5s", "rounds.at_most=7", "iodepth=8"]
    )
    rounds = protocol.rounds[0]
    assert rounds.at_most == 7
    runtimes = {
        s.name: (s.runtime_s, s.iodepth) for s in rounds.steps if isinstance(s, WorkloadStep)
    }
    assert runtimes["reads-0-4k"] == (5, 8)
    assert runtimes["reads-5-4k"] == (60, 8)


def test_a_plan_counts_all_rounds_and_says_how_few_there_may_be() -> None:
    most = typical_plan(load("snia-pts"))
    least = most.without_probes()
    assert most.duration_s - least.duration_s == pytest.approx(20 * 49 * 60)
