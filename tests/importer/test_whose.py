"""Whose a temperature, counter or alarm is: the loaded drive's, another's, or open."""

import json
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from heatsoak.analysis import analyze
from heatsoak.analysis.findings import Findings
from heatsoak.importer import Options, import_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NOON_S = 1_800_000_000
SECONDS = 480
#: MB/s, or C, by the second.
Course = Callable[[float], float]


def fast_then(slow: float, fast: float = 2400.0, at_s: float = 200.0) -> Course:
    return lambda t_s: (fast if t_s <= at_s else slow) * (1 + 0.004 * ((t_s * 7919) % 17 - 8) / 8)


def always(value: float) -> Course:
    return lambda _: value


def warming(to_c: float, at_s: float = 200.0, from_c: float = 40.0) -> Course:
    return lambda t_s: from_c + (to_c - from_c) * min(t_s / at_s, 1.0)


def _when(t_s: float) -> datetime:
    return datetime.fromtimestamp(NOON_S + t_s, UTC)


def iostat(drives: Mapping[str, Course], every_s: int = 2) -> str:
    blocks = ["Linux 6.1.0 (host)  01/15/2027  _x86_64_  (8 CPU)\n"]
    for t_s in range(every_s, SECONDS, every_s):
        rows = [
            f"{name} {4 * rate(t_s):.2f} {rate(t_s) / 1.048576:.3f} 0.00 0.00 99.00"
            for name, rate in drives.items()
        ]
        head = f"{_when(t_s):%m/%d/%Y %H:%M:%S}\nDevice r/s rMB/s w/s wMB/s %util"
        blocks.append("\n".join([head, *rows]) + "\n")
    return "\n".join(blocks)


def table(rate: Course) -> str:
    rows = [f"{NOON_S + t_s},{rate(t_s):.2f}" for t_s in range(1, SECONDS)]
    return "\n".join(["unix_time,read_mb_s", *rows]) + "\n"


def temps(celsius: Course, every_s: int = 5) -> str:
    rows = [f"{NOON_S + t_s},{celsius(t_s):.0f}" for t_s in range(0, SECONDS, every_s)]
    return "\n".join(["unix_time,temp_c", *rows]) + "\n"


def _moved_mb(rate: Course, t_s: int) -> float:
    return 1e7 + sum(rate(second + 0.5) for second in range(t_s))


def smartctl(
    celsius: Course,
    rate: Course | None = None,
    *,
    serial: str | None = None,
    limit_c: float | None = 84,
    head: str = "",
    every_s: int = 10,
) -> str:
    """A loop of smartctl; `head` stands above each output."""
    blocks = []
    for t_s in range(0, SECONDS, every_s):
        lines = [head] if head else []
        lines += ["smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.12.3] (local build)", ""]
        lines += ["=== START OF INFORMATION SECTION ==="]
        lines += [f"Serial Number:                      {serial}"] if serial else []
        lines += [f"Local Time is:                      {_when(t_s):%a %b %d %H:%M:%S %Y} UTC"]
        if limit_c is not None:
            lines += [f"Warning  Comp. Temp. Threshold:     {limit_c:.0f} Celsius"]
        lines += ["", "SMART/Health Information (NVMe Log 0x02)"]
        lines += [f"Temperature:                        {celsius(t_s):.0f} Celsius"]
        if rate is not None:
            units = int(_moved_mb(rate, t_s) / 0.512)
            lines += [f"Data Units Read:                    {units:,} [{units / 2e6:.1f} TB]"]
        blocks.append("\n".join([*lines, ""]))
    return "\n".join(blocks)


def smartctl_json(celsius: Course, rate: Course | None, device: str, every_s: int = 10) -> str:
    lines = []
    for t_s in range(0, SECONDS, every_s):
        health: dict[str, Any] = {"temperature": round(celsius(t_s)), "critical_warning": 0}
        if rate is not None:
            health["data_units_read"] = int(_moved_mb(rate, t_s) / 0.512)
        lines.append(
            json.dumps(
                {
                    "smartctl": {"version": [7, 4]},
                    "device": {"name": device, "protocol": "NVMe"},
                    "local_time": {"time_t": NOON_S + t_s},
                    "nvme_smart_health_information_log": health,
                }
            )
        )
    return "\n".join(lines) + "\n"


def smart_log(celsius: Course, rate: Course | None, device: str, every_s: int = 10) -> str:
    blocks = []
    for t_s in range(0, SECONDS, every_s):
        lines = [str(NOON_S + t_s)]
        lines += [f"Smart Log for NVME device:{device} namespace-id:ffffffff"]
        lines += [
            "critical_warning                        : 0",
            f"temperature                             : {celsius(t_s):.0f} C",
        ]
        if rate is not None:
            lines += [
                f"data_units_read                         : {int(_moved_mb(rate, t_s) / 0.512)}"
            ]
        blocks.append("\n".join(lines))
    return "\n".join(blocks) + "\n"


def found(place: Path, files: Mapping[str, str], device: str | None = None) -> Findings:
    """What is found in files, in this order."""
    paths = []
    for name, text in files.items():
        paths.append(place / name)
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(text)
    return analyze(import_files(paths, Options(device=device)))


def notes(findings: Findings) -> str:
    return "\n".join(note for one in findings.recordings for note in one.notes)


LOADED = fast_then(1500.0)
HOT = warming(82.0)

#: Another drive's log, by what says that it is another's, beside nvme0n1.
ANOTHERS = {
    "its file's name": {"nvme1-smart.txt": smartctl(HOT)},
    "the name of a table's file": {"nvme1n1.csv": temps(HOT)},
    "a prompt": {"smart.txt": smartctl(HOT, head="root@host:~# smartctl -a /dev/nvme1")},
    "a heading": {"smart.txt": smartctl(HOT, head="=== /dev/nvme1 ===")},
    "its node in JSON": {"smart.json": smartctl_json(HOT, None, "/dev/nvme1")},
    "nvme-cli's first line": {"smart.log": smart_log(HOT, None, "nvme1")},
    "a hard disk's node": {"smart.txt": smartctl(HOT, head="=== /dev/sda ===")},
    "counters that go on evenly": {"smart.txt": smartctl(HOT, always(1900.0))},
    "counters that stand still": {"smart.txt": smartctl(HOT, always(0.0))},
    "counters of another fall": {"smart.txt": smartctl(HOT, fast_then(900.0, 2400.0, 350.0))},
    "half the load, and more": {"smart.txt": smartctl(HOT, lambda t_s: 0.8 * LOADED(t_s))},
}


@pytest.mark.parametrize("anothers", ANOTHERS.values(), ids=ANOTHERS)
@pytest.mark.parametrize("is_first", [False, True])
def test_another_drives_heat_is_no_evidence_of_the_loaded_one(
    tmp_path: Path, anothers: Mapping[str, str], is_first: bool
) -> None:
    own = {"iostat.log": iostat({"nvme0n1": LOADED})}
    alone = found(tmp_path, own)
    both = found(tmp_path, {**anothers, **own} if is_first else {**own, **anothers})
    assert both.answer == alone.answer
    (step,) = both.recordings[0].steps
    assert step.max_temp_c is None
    assert "is of another drive" in notes(both)
    assert "no evidence" in notes(both)


#: The loaded drive's own log, by what says so.
OWN = {
    "its file's name": {"nvme0-smart.txt": smartctl(HOT)},
    "a prompt": {"smart.txt": smartctl(HOT, head="$ smartctl -a /dev/nvme0")},
    "its node in JSON": {"smart.json": smartctl_json(HOT, LOADED, "/dev/nvme0")},
    "its counters": {"smart.txt": smartctl(HOT, LOADED)},
    "nothing": {"heat.csv": temps(HOT)},
}


@pytest.mark.parametrize("name", OWN)
def test_the_loaded_drives_own_heat_is(tmp_path: Path, name: str) -> None:
    both = found(tmp_path, {**OWN[name], "iostat.log": iostat({"nvme0n1": LOADED})})
    assert both.answer.throttles == "yes"
    assert len(both.recordings) == 1
    said = "as nothing says whose it is" in notes(both)
    assert said == (name == "nothing")


def test_one_load_beside_one_log_of_temperatures_is_taken_for_one_drive(tmp_path: Path) -> None:
    bw = "".join(
        f"{1000 * t_s}, {int(LOADED(t_s) * 1e6 / 1024)}, 0, 0, 0\n" for t_s in range(1, SECONDS)
    )
    paths = {"fio_bw.log": bw, "temps.csv": temps(HOT).replace("unix_time", "time_s")}
    for name, text in paths.items():
        (tmp_path / name).write_text(text)
    findings = analyze(import_files([tmp_path / name for name in paths], Options(shift_s=0.0)))
    assert findings.answer.throttles == "yes"
    assert "taken for the same drive's, as nothing says whose it is" in notes(findings)


HELD, WAITING = warming(82.0), warming(46.0)
ARRAY = {"nvme0n1": LOADED, "nvme1n1": LOADED}


@pytest.mark.parametrize(
    "logs",
    [
        {"nvme0.log": smartctl(WAITING, LOADED), "nvme1.log": smartctl(HELD, LOADED)},
        {"b-nvme1-temps.csv": temps(HELD), "a-nvme0-temps.csv": temps(WAITING)},
        {
            "x.json": smartctl_json(WAITING, LOADED, "/dev/nvme0")
            + smartctl_json(HELD, LOADED, "/dev/nvme1")
        },
        {
            "one.txt": smart_log(HELD, LOADED, "nvme1n1"),
            "two.txt": smart_log(WAITING, LOADED, "nvme0n1"),
        },
    ],
    ids=["file names", "tables", "one file of JSON", "nvme-cli"],
)
def test_each_member_of_an_array_gets_its_own_temperatures(
    tmp_path: Path, logs: Mapping[str, str]
) -> None:
    findings = found(tmp_path, {"iostat.log": iostat(ARRAY), **logs})
    hottest = {one.drive["path"]: one.steps[0].max_temp_c for one in findings.recordings}
    assert hottest == {"/dev/nvme0n1": pytest.approx(46), "/dev/nvme1n1": pytest.approx(82)}
    assert findings.answer.throttles == "yes"
    assert "not heat" not in findings.answer.sentence


@pytest.mark.parametrize("heat", [temps(HELD), smartctl(HELD, LOADED), smartctl(HELD, serial="S9")])
def test_a_log_that_may_be_of_either_drive_is_of_none_and_its_name_is_asked_for(
    tmp_path: Path, heat: str
) -> None:
    files = {"iostat.log": iostat(ARRAY), "heat.log": heat}
    findings = found(tmp_path, files)
    loaded = [one for one in findings.recordings if one.drive.get("path") in ARRAY or True][:2]
    assert [one.steps[0].max_temp_c for one in loaded] == [None, None]
    assert "nothing tells which drive it is of" in notes(findings)
    assert "--device" in notes(findings)
    chosen = found(tmp_path, files, device="nvme1n1")
    assert chosen.answer.throttles == "yes"
    assert len(chosen.recordings) == 1


def test_of_two_nameless_drives_neither_is_the_loaded_one(tmp_path: Path) -> None:
    logs = {"a.log": smartctl(HOT, serial="S1A"), "b.log": smartctl(WAITING, serial="S2B")}
    findings = found(tmp_path, {"iostat.log": iostat({"nvme0n1": LOADED}), **logs})
    assert findings.recordings[0].steps[0].max_temp_c is None
    assert "nothing tells which drive it is of" in notes(findings)
    own = {"a.log": smartctl(HOT, LOADED, serial="S1A"), "b.log": logs["b.log"]}
    known = found(tmp_path, {"iostat.log": iostat({"nvme0n1": LOADED}), **own})
    assert known.answer.throttles == "yes"
    assert len(known.recordings) == 1
    assert "b.log is of another drive (S2B, not S1A)" in notes(known)


def test_a_hard_disk_is_not_the_drive_that_moves_gigabytes_a_second(tmp_path: Path) -> None:
    attribute = "194 Temperature_Celsius     0x0022   116   100   000    Old_age   Always       -"
    blocks = [
        f"{_when(t_s):%Y-%m-%d %H:%M:%S}\nDevice Model:     Ardent HD4 4TB\n"
        "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE UPDATED WHEN_FAILED RAW"
        f"\n{attribute}       {33 + t_s // 200}\n"
        for t_s in range(0, SECONDS, 10)
    ]
    own = {"load.csv": table(fast_then(3000.0, 5000.0))}
    for name, text in (("disk.txt", "\n".join(blocks)), ("smart-sda.csv", temps(always(33.0)))):
        both = found(tmp_path, {**own, name: text})
        assert both.answer == found(tmp_path, own).answer
        assert "is of another drive" in notes(both)


# --- several drives in one file, and one in several ----------------------------------------------

OUTPUT = """Warning  Comp. Temp. Threshold:     {limit} Celsius
Critical Comp. Temp. Threshold:     {critical} Celsius
Temperature:                        {temp} Celsius
Warning  Comp. Temperature Time:    {minutes}
Critical Comp. Temperature Time:    0
"""


@pytest.mark.parametrize(
    ("heads", "limits"),
    [
        (
            ("$ smartctl -a /dev/nvme0 | grep -i temp", "$ smartctl -a /dev/nvme1 | grep -i temp"),
            (80, 80),
        ),
        (("Drive A", "Drive B"), (80, 80)),
        (("=== Drive A (boot) ===", "=== Drive B (data) ==="), (80, 80)),
        (("nvme0n1:", "nvme1n1:"), (80, 80)),
        (("", ""), (77, 73)),
    ],
)
def test_two_drives_in_one_file_are_two(
    tmp_path: Path, heads: tuple[str, str], limits: tuple[int, int]
) -> None:
    text = "\n".join(
        f"{head}\n{OUTPUT.format(limit=limit, critical=limit + 4, temp=temp, minutes=minutes)}"
        for head, limit, temp, minutes in zip(heads, limits, (33, 71), (0, 2417), strict=True)
    )
    findings = found(tmp_path, {"grep.txt": text})
    assert len(findings.recordings) == 2
    assert "2 of 2 recordings" in findings.answer.sentence
    assert "rose by" not in notes(findings)


def test_one_drive_in_a_loop_below_one_prompt_is_one(tmp_path: Path) -> None:
    outputs = [OUTPUT.format(limit=80, critical=84, temp=40 + n, minutes=n) for n in range(9)]
    text = "\n".join(["$ watch_drive /dev/nvme0", *outputs])
    (recording,) = found(tmp_path, {"loop.txt": text}).recordings
    assert recording.drive["path"] == "/dev/nvme0"


@pytest.mark.parametrize("names", [("before.txt", "after.txt"), ("z.txt", "a.txt")])
def test_a_serial_that_is_seen_again_is_the_same_drives_course(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    texts = []
    for minute, temp, count in ((5, 40, 2), (25, 77, 9)):
        texts.append(
            "smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.8.0] (local build)\n"
            "Serial Number:                      QX71\n"
            f"Local Time is:                      Tue Mar  3 14:{minute:02d}:10 2026 UTC\n"
            f"Temperature:                        {temp} Celsius\n"
            f"Thermal Temp. 1 Transition Count:   {count}\n"
        )
    findings = found(tmp_path, dict(zip(names, texts, strict=True)))
    (recording,) = findings.recordings
    assert "7 light" in findings.answer.sentence
    assert any("by its serial" in note for note in recording.notes)


# --- any log, any neighbour ----------------------------------------------------------------------

RATES = st.one_of(
    st.builds(always, st.floats(300, 3000)),
    st.builds(fast_then, st.floats(200, 1500), st.floats(2000, 3000), st.floats(100, 350)),
)
TEMPS = st.builds(warming, st.floats(45, 90), st.floats(50, 400), st.floats(25, 40))
LOGS: dict[str, Callable[[Course], dict[str, str]]] = {
    "iostat": lambda rate: {"iostat.log": iostat({"nvme0n1": rate})},
    "table": lambda rate: {"nvme0n1-load.csv": table(rate)},
}
NEIGHBOURS: dict[str, Callable[[Course, Course], dict[str, str]]] = {
    "named": lambda c, _: {"nvme3-temps.csv": temps(c)},
    "text": lambda c, rate: {"t.txt": smartctl(c, rate, head="# smartctl -x /dev/nvme3n1")},
    "json": lambda c, rate: {"t.json": smartctl_json(c, rate, "/dev/nvme3")},
    "nvme-cli": lambda c, rate: {"t.log": smart_log(c, rate, "nvme3")},
    "serial": lambda c, _: {"t.txt": smartctl(c, serial="OTHER77", limit_c=71)},
    "counters": lambda c, _: {"t.txt": smartctl(c, always(5.0))},
}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    log=st.sampled_from(list(LOGS)),
    kind=st.sampled_from(list(NEIGHBOURS)),
    rates=st.tuples(RATES, RATES),
    celsius=st.tuples(TEMPS, TEMPS),
    has_own=st.booleans(),
    is_first=st.booleans(),
)
def test_any_log_has_the_same_answer_with_another_drives_temperatures_beside_it(
    tmp_path: Path,
    log: str,
    kind: str,
    rates: tuple[Course, Course],
    celsius: tuple[Course, Course],
    has_own: bool,
    is_first: bool,
) -> None:
    own = LOGS[log](rates[0])
    if has_own or kind == "serial":  # a serial contradicts another
        own |= {"nvme0.txt": smartctl(celsius[0], serial="OWN1234")}
    anothers = NEIGHBOURS[kind](celsius[1], rates[1])
    both = found(tmp_path, {**anothers, **own} if is_first else {**own, **anothers})
    alone = found(tmp_path, own)
    assert both.answer == alone.answer
    assert [one.steps for one in both.recordings] == [one.steps for one in alone.recordings]


@pytest.mark.parametrize("seed", range(5))
def test_each_of_many_drives_gets_its_own_log(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    numbers = rng.sample(range(12), rng.randint(2, 6))
    tops = {number: 45.0 + 4 * place for place, number in enumerate(numbers)}
    rates = {f"nvme{number}n1": fast_then(rng.uniform(500, 1500)) for number in numbers}
    logs: list[tuple[str, str]] = [("iostat.log", iostat(rates, 4))]
    for place, number in enumerate(numbers):
        rate, heat = rates[f"nvme{number}n1"], warming(tops[number])
        logs.append(
            rng.choice(
                [
                    (f"nvme{number}.csv", temps(heat)),
                    (f"{place}.txt", smartctl(heat, head=f"$ smartctl -a /dev/nvme{number}")),
                    (f"{place}.json", smartctl_json(heat, rate, f"/dev/nvme{number}n1")),
                    (f"{place}.log", smart_log(heat, rate, f"nvme{number}")),
                ]
            )
        )
    rng.shuffle(logs)
    findings = found(tmp_path, dict(logs))
    hottest = {one.drive["path"]: one.steps[0].max_temp_c for one in findings.recordings}
    assert hottest == {f"/dev/nvme{n}n1": pytest.approx(tops[n], abs=0.6) for n in numbers}


# --- neighbours, and what is open -----------------------------------------------------------------


def test_another_drives_temperatures_are_kept_as_a_neighbours(tmp_path: Path) -> None:
    files = {"iostat.log": iostat({"nvme0n1": LOADED}), "nvme1-smart.txt": smartctl(HOT)}
    (one,) = found(tmp_path, files).recordings
    (recording,) = import_files([tmp_path / name for name in files])
    column = "temp_c.neighbour nvme1-smart composite"
    assert recording.samples(["t_s", column])[column].max() == 82
    assert [sensor.name for sensor in one.sensors] == [column.removeprefix("temp_c.")]
    assert one.steps[0].max_temp_c is None
    assert "no temperature was logged" in (one.no_temp or "")


@pytest.mark.parametrize(("mb_s", "is_anothers"), [(40.0, False), (2000.0, True)])
def test_counters_that_stand_still_are_anothers_only_where_any_would_have_moved(
    tmp_path: Path, mb_s: float, is_anothers: bool
) -> None:
    still = {"smart.txt": smartctl(HOT, always(0.0))}
    findings = found(tmp_path, {"iostat.log": iostat({"sda": always(mb_s)}), **still})
    assert ("is of another drive" in notes(findings)) == is_anothers
    assert (findings.recordings[0].steps[0].max_temp_c is None) == is_anothers


def lm_sensors(*celsius: Course) -> str:
    blocks = []
    for t_s in range(0, SECONDS, 10):
        blocks.append(f"{_when(t_s):%Y-%m-%d %H:%M:%S}")
        blocks += [
            f"nvme-pci-0{number}00\nAdapter: PCI adapter\nComposite:    +{course(t_s):.1f}°C  "
            "(low  = -273.1°C, high = +84.8°C)\n"
            for number, course in enumerate(celsius, 1)
        ]
    return "\n".join(blocks)


def test_of_two_chips_beside_a_load_without_a_name_one_is_asked_for(tmp_path: Path) -> None:
    files = {"load.csv": table(LOADED), "sensors.txt": lm_sensors(HOT, always(38.0))}
    findings = found(tmp_path, files)
    assert findings.recordings[0].steps[0].max_temp_c is None
    assert "choose one drive with --device" in (findings.recordings[0].no_temp or "")
    chosen = found(tmp_path, files, device="nvme-pci-0100")
    assert chosen.answer.throttles == "yes"
    alone = found(tmp_path, {"load.csv": table(LOADED), "sensors.txt": lm_sensors(HOT)})
    assert alone.answer.throttles == "yes"


def fio_bw(rate: Course) -> str:
    lines = (f"{1000 * t_s}, {int(rate(t_s) * 1e6 / 1024)}, 0, 0, 0" for t_s in range(1, SECONDS))
    return "\n".join(lines) + "\n"


def test_two_nameless_loads_of_one_time_do_not_share_a_nameless_log(tmp_path: Path) -> None:
    texts = {"a_bw.log": fio_bw(LOADED), "b_bw.log": fio_bw(always(900.0)), "t.csv": temps(HOT)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text.replace("unix_time", "time_s"))
    findings = analyze(import_files([tmp_path / name for name in texts], Options(shift_s=0.0)))
    assert [one.steps[0].max_temp_c for one in findings.recordings[:2]] == [None, None]
    assert "nothing tells which drive it is of" in notes(findings)
    alone = analyze(import_files([tmp_path / "a_bw.log", tmp_path / "t.csv"], Options(shift_s=0.0)))
    assert alone.answer.throttles == "yes"


def test_heat_counts_with_the_probability_that_it_is_the_loaded_drives(tmp_path: Path) -> None:
    def heat(name: str) -> float:
        warm = warming(66.0, 400.0)
        one = found(tmp_path, {"iostat.log": iostat({"nvme0n1": LOADED}), name: temps(warm)})
        (episode,) = one.recordings[0].steps[0].episodes
        return episode.likelihoods["thermal"]

    named, open_, without = heat("nvme0.csv"), heat("heat.csv"), heat("nvme1.csv")
    assert named != pytest.approx(without, abs=0.02)
    assert open_ == pytest.approx(0.98 * named + 0.02 * without, abs=1e-3)
