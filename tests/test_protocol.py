import json
from pathlib import Path
from typing import Any

import pytest
from command import heatsoak_here, json_here
from heatsoak.errors import UsageError
from heatsoak.protocol import (
    Observed,
    Pause,
    Protocol,
    Purge,
    WorkloadStep,
    apply_settings,
    bundled,
    load,
)
from heatsoak.target.simulated import SimulatedTarget

STEP = 'name = "x"\n[[steps]]\nname = "a"\nrw = "read"\n'
PAUSE = '[[steps]]\nkind = "pause"\n'


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_protocol_is_valid_and_survives_a_round_trip(name: str) -> None:
    protocol = load(name)
    assert protocol.name == name
    assert protocol.description
    assert Protocol.model_validate_json(protocol.model_dump_json()) == protocol


def test_puget_is_the_published_matrix() -> None:
    cells = load("puget").cells()
    assert len(cells) == 14
    assert {"slot": "underside", "gpus": 2, "gpu_load": "idle"} not in cells
    judged = [s for s in load("puget").workload_steps if s.kind == "workload"]
    assert [step.rw for step in judged] == ["read", "write", "randread", "randwrite"]
    assert all(step.runtime_s == 300 for step in judged)
    pauses = [step for step in load("puget").steps if isinstance(step, Pause)]
    assert [pause.duration_s for pause in pauses] == [300] * 4
    (heat,) = load("puget").heat
    assert heat.is_on({"slot": "top", "gpu_load": "loaded"})
    assert not heat.is_on({"slot": "top", "gpu_load": "idle"})


def test_quick_takes_two_minutes_at_most_two_more_where_something_falls_and_never_purges() -> None:
    lengths = {True: 0.0, False: 0.0}
    for step in load("quick").steps:
        assert not isinstance(step, Purge)
        if isinstance(step, Pause):
            lengths[step.is_probe] += step.duration_s
        elif isinstance(step, WorkloadStep):
            lengths[step.is_probe] += step.runtime_s or 0
    assert 60 <= lengths[False] <= 120
    assert 60 <= lengths[True] <= 120


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STEP + 'runtme = "3s"\n', r"unknown key 'runtme' in steps\[1\] \(did you mean 'runtime'"),
        (STEP + "runtime = -3\n", r"steps\[1\].runtime: '-3' is not a time"),
        (STEP + "runtime = 0\n", r"steps\[1\].runtime.*greater than 0"),
        (STEP + "bs = 0\n", r"steps\[1\].bs.*greater than or equal to 512 \(is 0\)"),
        (STEP + 'bs = "4x"\n', r"steps\[1\].bs: '4x' is not a size"),
        (STEP + "rwmixread = 50\n", r"steps\[1\]: rwmixread needs rw=rw or rw=randrw"),
        (STEP + 'rw = "read"\n', "not valid TOML"),
        (STEP.replace('"read"', '"red"'), r"steps\[1\].rw"),
        (STEP.replace('"read"', '["read"]'), r"steps\[1\].rw"),
        (STEP + "size = 0\n", r"steps\[1\]: span is 0"),
        (STEP + 'size = "120%"\n', "more than 100%"),
        (STEP + '[[steps]]\nname = "a"\nrw = "write"\n', "two steps are named 'a'"),
        ('name = "x"\nsteps = []\n', "steps"),
        ('nme = "x"\n' + STEP, r"unknown key 'nme' \(did you mean 'name'"),
        ("schema = 2\n" + STEP, "schema"),
        (STEP + '[[steps]]\nkind = "paus"\n', r"steps\[2\].*'paus'"),
        (
            STEP + '[matrix]\nby_hand = ["slt"]\n[matrix.axes]\nslot = ["a"]\n',
            "by_hand names 'slt'",
        ),
        (
            STEP + '[matrix]\nenclosure = "p-{slt}"\n[matrix.axes]\nslot = ["a"]\n',
            "only axes may appear in braces, {slot}",
        ),
        (
            STEP + '[matrix]\nexclude = [{ slot = "a" }]\n[matrix.axes]\nslot = ["a"]\n',
            "exclude leaves no cell",
        ),
        (STEP + '[[heat]]\nsource = "command"\n', r"heat\[1\]: command is only for"),
        (
            STEP + PAUSE + 'only_if_drop_in = "aa"\n',
            r"steps\[2\], 'pause': only_if_drop_in names 'aa', and there is no such step "
            r"\(did you mean 'a'\?\): name an earlier one, a$",
        ),
        (
            STEP + 'only_if_drop_in = ["b"]\n[[steps]]\nname = "b"\nrw = "read"\n',
            r"steps\[1\], 'a': only_if_drop_in names 'b', which does not come before it",
        ),
        (STEP + 'only_if_drop_in = "a"\n', "names 'a', which does not come before it"),
        (
            STEP + PAUSE + PAUSE + 'only_if_drop_in = "pause"\n',
            r"steps\[3\].*names 'pause', which is a pause and not judged: name a workload",
        ),
        (
            STEP + 'kind = "precondition"\n' + PAUSE + 'only_if_drop_in = "a"\n',
            "names 'a', which is a precondition and not judged",
        ),
        (
            STEP + PAUSE + 'only_after = "purge"\n',
            r"steps\[2\], 'pause': only_after names 'purge', and there is no such step",
        ),
        (STEP + "only_if_drop_in = 3\n", r"steps\[1\].only_if_drop_in"),
        (
            STEP + 'only_if_drop = "a"\n',
            r"unknown key 'only_if_drop' in steps\[1\] \(did you mean 'only_if_drop_in'",
        ),
        (
            STEP + 'kind = "precondition"\nend_after_drop = "3s"\n',
            "end_after_drop is only for a workload",
        ),
        ("matrix = { axes = { air_c = [20, inf] } }\n" + STEP, r"matrix.axes.air_c\[2\]"),
        ("conditions = { air_c = nan }\n" + STEP, "conditions.air_c"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line_with_the_key(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        load(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "mine.toml"))
    assert "\n" not in str(caught.value)


def test_an_unknown_protocol_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"no protocol 'pugget' \(did you mean 'puget'\?\)"):
        load("pugget")
    with pytest.raises(UsageError, match="no such file"):
        load("nowhere/mine.toml")


def test_a_setting_chooses_cells_of_the_matrix_or_changes_judged_steps_or_one_step() -> None:
    chosen = apply_settings(load("puget"), ["slot=top", "gpus=2"])
    assert chosen.cells() == [
        {"slot": "top", "gpus": 2, "gpu_load": load} for load in ("idle", "loaded")
    ]
    protocol = apply_settings(load("puget"), ["runtime=60s", "sequential-read.bs=1m"])
    by_name = {s.name: s for s in protocol.workload_steps if isinstance(s, WorkloadStep)}
    assert by_name["create-file"].runtime_s is None
    assert by_name["random-read"].runtime_s == 60
    assert by_name["sequential-read"].bs == 1 << 20
    assert by_name["sequential-write"].bs == 131072
    # any other is a label
    labels = ["heatsink=none", "ambient=22.5", "conditions.size=big"]
    protocol = apply_settings(load("quick"), labels)
    assert protocol.cells() == [{"heatsink": "none", "ambient": 22.5, "size": "big"}]


def test_a_step_may_be_taken_only_where_an_earlier_one_fell(tmp_path: Path) -> None:
    text = STEP + 'end_after_drop = "1m"\n' + PAUSE + 'only_if_drop_in = "a"\n'
    text += '[[steps]]\nname = "b"\nrw = "read"\nonly_if_drop_in = ["a"]\nonly_after = "pause"\n'
    protocol = load(written(tmp_path, text))
    first, pause, last = protocol.steps
    assert (first.is_probe, first.describe_condition()) == (False, "")
    assert isinstance(first, WorkloadStep)
    assert first.end_after_drop_s == 60
    assert pause.only_if_drop_in == last.only_if_drop_in == ("a",)
    assert pause.describe_condition() == "only if 'a' falls"
    assert last.describe_condition() == "only if 'a' falls and after 'pause'"
    assert Protocol.model_validate_json(protocol.model_dump_json()) == protocol
    # those from before there were probes are read
    protocol = load(written(tmp_path, STEP + PAUSE))
    old = json.loads(protocol.model_dump_json())
    for step in old["steps"]:
        for key in ("only_if_drop_in", "only_after", "asks", "end_after_drop_s"):
            step.pop(key, None)
    assert Protocol.model_validate(old) == protocol


def test_a_setting_changes_probes_and_pauses_as_other_steps() -> None:
    settings = ["write-rested.runtime=7s", "rest*.duration=10m", "write.end_after_drop=5m"]
    protocol = apply_settings(load("why"), [*settings, "write*.rw=randwrite", "*-rested.bs=4k"])
    by_name = {step.name: step for step in protocol.steps}
    rested = by_name["write-rested"]
    assert isinstance(rested, WorkloadStep)
    assert (rested.runtime_s, rested.rw, rested.bs) == (7, "randwrite", 4096)
    assert rested.only_if_drop_in == ("write",)
    writes = [step for step in protocol.workload_steps if step.name.startswith("write")]
    assert len(writes) == 5
    assert all(step.rw == "randwrite" for step in writes)
    assert {s.rw for s in protocol.workload_steps if s.name.startswith("read")} == {"read"}
    pauses = {step.name: step.duration_s for step in protocol.steps if isinstance(step, Pause)}
    assert (pauses["rest"], pauses["rest-again"], pauses["gap"]) == (600, 600, 10)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("runtime", "write KEY=VALUE"),
        ("slot=botom", r"one of bottom, top.*did you mean 'bottom'"),
        ("runtme=3", "did you mean 'runtime'"),
        ("runtime=-3", "is not a time"),
        ("nowhere.bs=4k", "no step 'nowhere'"),
        ("random-read.bz=4k", "no key 'bz'.*did you mean 'bs'"),
        ("pause.runtime=4", "no key 'runtime'.*in the pause 'pause'"),
        ("random-read.duration=4", "no key 'duration'.*in the workload 'random-read'"),
        ("duration=4", r"belongs to one step: write STEP.duration=4; .*conditions.duration=4"),
        ("pause.duration=-4", "is not a time"),
    ],
)
def test_a_wrong_setting_is_one_line(setting: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        apply_settings(load("puget"), [setting])


def test_a_step_says_what_it_does_in_a_few_words() -> None:
    step = WorkloadStep(name="m", rw="randrw", rwmixread=70, bs=4096, iodepth=3, numjobs=2)
    assert step.describe() == "random mix, 70 % reads, 4k, QD3 x 2 jobs"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"rw": "randrw", "rwmixread": 70, "bs": 4096, "iodepth": 3, "numjobs": 2},
         "random mix, 70 % reads, 4k, QD3 x 2 jobs"),
        ({"rw": "randrw", "bs": 4096}, "random mix, 4k"),
        ({"rw": "read", "numjobs": 4}, "sequential read, 4 jobs"),
        ({"writes": False, "iodepth": 8, "about": "of a game"}, "reads, QD8, of a game"),
        ({"about": "of a game"}, "of a game"),
        ({"bs": 4096}, "load not described, 4k"),
    ],
)  # fmt: skip
def test_a_load_that_was_observed_says_the_same_as_far_as_it_is_known(
    known: dict[str, Any], said: str
) -> None:
    assert Observed(name="m", **known).describe() == said


def test_what_a_recording_kept_of_loads_reads_as_it_did() -> None:
    step = {
        **{"kind": "observed", "name": "m", "reads": True, "writes": False, "rw": "randread"},
        **{"bs": 4096, "iodepth": None, "numjobs": None, "rwmixread": None, "about": ""},
        **{"watched": False, "idle": False},
    }
    assert Observed.model_validate(step).model_dump() == step
    asked = WorkloadStep.model_validate({"name": "m", "rw": "readwrite", "runtime": "60s"})
    assert asked.model_dump(mode="json") == {
        **{"only_if_drop_in": [], "only_after": None, "asks": "", "name": "m"},
        **{"end_after_drop_s": None, "rw": "rw", "rwmixread": None, "bs": 4096, "iodepth": 1},
        **{"numjobs": 1, "span": "100%", "offset": "0", "io_size": None, "runtime_s": 60.0},
        **{"rate": None, "rate_iops": None, "compress_pct": 0, "fio": {}, "kind": "workload"},
        "beside": [],
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STEP + "[[steps]]\nkind = 'puase'", "steps[2]: there is no kind 'puase' (did you mean"),
        (STEP + "[[steps]]\nkind = 'rounds'\nat_most = 5\nsteps = [3]", "should be a table (is 3)"),
        ("steps = 'x'\n" + STEP.partition("\n")[0], "steps: input should be a list (is 'x')"),
        (STEP + "only_if_drop_in = {a = 1}", "steps[1].only_if_drop_in: input should be a list"),
        (STEP + "beside = [3]", "steps[1].beside[1]: input should be a table (is 3)"),
        (STEP + "[conditions]\nslot = [1]", "mine.toml: conditions.slot: input should be a valid"),
        (
            STEP + "[[scores]]\nname = 'a'\ndefinition = 'b'\nmetric = 'iops'\nsteps = []",
            "should have at least 1 it",
        ),
        (STEP + STEP.partition("\n")[2], "mine.toml: two steps are named 'a'"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_file(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(written(tmp_path, text))
    assert said in str(caught.value)


def test_a_protocol_that_is_too_long_is_refused_in_one_line(tmp_path: Path) -> None:
    many = "".join(f'[[steps]]\nname = "{i}"\nrw = "read"\n' for i in range(10_001))
    with pytest.raises(UsageError, match=r"mine.toml: steps: more than 10,000 steps"):
        load(written(tmp_path, f'name = "x"\n{many}'))
    axes = ", ".join(f"{key} = {list(range(1, 1000))}" for key in ("bs", "iodepth", "numjobs"))
    rounds = (
        'name = "x"\n[[steps]]\nkind = "rounds"\nat_most = 5\n[[steps.steps]]\n'
        f'name = "{{bs}} {{iodepth}} {{numjobs}}"\nrw = "read"\nvary = {{ {axes} }}\n'
    )
    with pytest.raises(UsageError, match=r"steps\[1\].steps: more than 10,000 steps"):
        load(written(tmp_path, rounds))


def test_of_a_long_protocol_a_few_loads_are_tried_and_the_first_steps_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    cost_of = SimulatedTarget.cost_of

    def counted(target: SimulatedTarget, step: WorkloadStep) -> float:
        tried.append(step.name)
        return cost_of(target, step)

    monkeypatch.setattr(SimulatedTarget, "cost_of", counted)
    steps = "".join(
        f'[[steps]]\nname = "step {i}"\nrw = "read"\nruntime = "{1 + i % 4}s"\n'
        + ("" if i == 0 else f'only_if_drop_in = "step {i - 1}"\n' if i % 2 else "")
        for i in range(1000)
    )
    written(tmp_path, f'name = "x"\n{steps}')
    words = ("run", "mine.toml", "--on", "sim:samsung-950-pro-512", "--dry-run")
    done = heatsoak_here(*words, cwd=tmp_path)
    assert len(tried) == 2
    assert "and 800 steps more" in done.stdout
    assert "step 199 " in done.stdout
    assert "step 200 " not in done.stdout
    assert len(json_here(*words, cwd=tmp_path)[0]["steps"]) == 1000
    tried.clear()
    written(tmp_path, 'name = "x"\n' + "".join(_unlike(400)))
    assert json_here(*words, cwd=tmp_path)[0]["simulation_s"] > 0
    assert len(tried) == 200


def _unlike(count: int) -> list[str]:
    return [
        f'[[steps]]\nname = "{i}"\nrw = "read"\nruntime = "{5 + i}s"\nrate_iops = {10 + i}\n'
        for i in range(count)
    ]


def test_a_step_reads_and_writes_whatever_runs_beside_it_does() -> None:
    beside = [{"rw": "randwrite", "bs": "4k"}]
    step = WorkloadStep.model_validate({"name": "s", "rw": "read", "beside": beside})
    assert (step.reads, step.writes, step.changes_data) == (True, True, True)
    alone = step.model_copy(update={"beside": ()})
    assert (alone.reads, alone.writes, alone.changes_data) == (True, False, False)
