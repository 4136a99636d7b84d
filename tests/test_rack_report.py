"""``heatsoak rack report``: which drives are worse than others of their model, and who passes."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
import tiny
from command import complaint, done_here, heatsoak_here
from heatsoak.facts.effects import EffectsFit, Observations
from heatsoak.rack.results.reading import Results
from heatsoak.rack.results.report import report
from made_once import made_once
from rack_results import SLOTS, add_test, judged, make_rack, opened
from scipy import stats
from test_report_command import ocp_lines

SLOW = "S06"


@pytest.fixture(scope="session")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 drives in 4 hosts; slot 3 is 20 % slower than slot 1, and one drive than the others."""
    return made_once(
        tmp_path_factory, "rack", lambda directory: make_rack(directory, shares={SLOW: 0.88})
    )


@pytest.fixture(scope="module")
def results(rack: Path) -> Results:
    """What its recordings come to; judged once."""
    return opened(rack)


def test_a_slow_drive_is_told_from_a_slow_slot(rack: Path, results: Results) -> None:
    done = heatsoak_here("rack", "report", ".", cwd=rack)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith(f"15 of 16 drives pass; {SLOW} (host b2, slot 2): 1")
    assert "% slower (" in first
    assert first.endswith("than others of its model in write.")
    assert second.startswith("Mean speed in write differs by up to ")
    assert "between slots (" in second
    found = report(results)
    (outlier,) = found.outliers
    assert outlier.deviation.low <= -12 <= outlier.deviation.high < -5
    (speed,) = [one for one in found.measures if one.measure == "mean_mb_s"]
    slots = next(one for one in speed.places if one.label == "slot")
    assert slots.widest is not None
    assert slots.widest.low <= 20 <= slots.widest.high < 25
    assert slots.share_pct is not None
    assert slots.share_pct > 80


def test_a_drive_whose_runs_vary_is_said_to_vary(tmp_path: Path) -> None:
    found = judged(make_rack(tmp_path, visits=4, run_sds={"S07": 0.1}))
    (unlike,) = found.outliers
    assert unlike.drive == "S07"
    assert unlike.varies
    assert unlike.deviation.low < 10 < unlike.deviation.high
    assert found.passed == len(found.drives) - 1
    assert "S07" in found.sentence
    assert "its mean speed in write varies by " in found.sentence
    assert " from run to run (" in found.sentence


def test_a_warm_slot_is_told(tmp_path: Path) -> None:
    found = judged(
        make_rack(tmp_path, visits=2, slots=dict.fromkeys("12345", 1.0), warmer_k={"5": 5.0})
    )
    (said,) = [text for text in found.told if "K hotter" in text]
    assert said.startswith("Drives in slot 5 are the warmest: 5")
    assert said.endswith(") than in other slots in write.")
    assert not [text for text in found.told if "lowest in slot" in text]  # all are as fast


def test_a_hot_host_is_told(tmp_path: Path) -> None:
    found = judged(make_rack(tmp_path, warmer_k={"b3": 9.0}))
    (said,) = [text for text in found.told if "K hotter" in text]
    assert said.startswith("Drives in host b3 are the warmest: 9")
    assert "K hotter (" in said
    assert "than in other hosts in write." in said


def test_slow_drives_do_not_hide_each_other(tmp_path: Path) -> None:
    slow = {"S02": 0.8, "S07": 0.85, "S13": 0.75}
    found = judged(make_rack(tmp_path, shares=slow, slots=dict.fromkeys("1234", 1.0)))
    assert {one.drive for one in found.outliers} == set(slow)
    assert found.sentence.startswith("13 of 16 drives pass; S02 (host b1, slot 2): ")


def test_alike_drives_all_pass_and_too_few_of_a_model_are_said(tmp_path: Path) -> None:
    found = judged(make_rack(tmp_path / "alike", hosts=2, seed=5))
    assert found.sentence == "All 8 drives pass."
    assert found.outliers == []
    models = ("Samsung 990 PRO", "WD SN850X", "Crucial T705")
    few = judged(make_rack(tmp_path / "few", hosts=2, models=models))
    assert any("too few drives" in one and "Crucial T705 (2)" in one for one in few.not_compared)


def test_where_each_drive_has_its_own_place_nothing_is_told_of_either(tmp_path: Path) -> None:
    found = judged(make_rack(tmp_path, hosts=1, shares={"S02": 0.7}))
    (speed,) = [one for one in found.measures if one.measure == "mean_mb_s"]
    assert speed.places[0].widest is None
    (why,) = [one for one in found.not_compared if "tell the place from the drive" in one]
    assert why.endswith(" (write)")
    assert found.outliers == []
    assert any("cannot be told from its place" in one for one in found.not_compared)


def test_drives_that_moved_tell_place_from_drive(tmp_path: Path) -> None:
    found = judged(make_rack(tmp_path, hosts=1, visits=4, shares={"S02": 0.85}))
    assert found.place_labels == ["slot"]
    (speed,) = [one for one in found.measures if one.measure == "mean_mb_s"]
    (slots,) = speed.places
    by_name = {one.place: one.effect for one in slots.places}
    assert by_name["3"].high < by_name["1"].low
    assert speed.run_sd is not None
    assert speed.run_sd.high < 2
    assert [one.drive for one in found.outliers] == ["S02"]
    assert found.drives[0].where == "4 places"


def test_a_drive_that_falls_fails_and_says_so(tmp_path: Path) -> None:
    found = judged(make_rack(tmp_path, falls_to={"S05": 0.5}))
    (failed,) = [one for one in found.drives if not one.passes]
    assert failed.drive == "S05"
    assert failed.why[0].startswith("write ")
    assert "after 20 s, by 50 %" in failed.why[0]


def test_a_slot_that_slows_one_model_condemns_no_drive(tmp_path: Path) -> None:
    """Two of each of three models in each slot; those of model B fall in slot 3, by a quarter."""
    numbers = [4 * host + 2 for host in range(6) if (4 * host + 2) % 3 == 1]
    assert len(numbers) == 2
    rack = make_rack(
        tmp_path,
        hosts=6,
        models=("A", "B", "C"),
        falls_to={f"S{number + 1:02d}": 0.65 for number in numbers},
        temp_c=None,
    )
    found = judged(rack, by_place=["slot"])
    assert found.outliers == []
    names = "S11 (slot 3) and S23 (slot 3)"
    assert found.sentence == f"22 of 24 drives pass; 2 are open (B, in slot 3): {names}."
    assert [one.verdict for one in found.drives] == ["open"] * 2 + ["passes"] * 22
    # the slot is to blame for that model alone, and the drives are not
    speed = next(one for one in found.measures if one.measure == "mean_mb_s")
    assert "lowest for B in slot 3" in speed.sentence
    (slots,) = speed.places
    off = {one.place: one.effect for one in slots.places}
    assert len(off) == 12
    assert off["B in 3"].high < -10
    slow = [f"S{number + 1:02d}" for number in numbers]
    own = [one.own for one in speed.drives if one.drive in slow]
    assert all(one is not None and 0 in one for one in own)


def test_tests_without_a_recording_do_not_pass(tmp_path: Path) -> None:
    make_rack(tmp_path, hosts=2)
    add_test(tmp_path, host="b1", on="S01", state="finished", directory="b1/S01")
    refused = {"state": "refused", "why": "it is mounted", "directory": None}
    add_test(tmp_path, host="b3", on="S99\x1b[31m", labels={"slot": "2"}, **refused)
    done = done_here("rack", "report", str(tmp_path), cwd=tmp_path)
    assert done.stdout.startswith("8 of 9 drives pass; S99\\x1b[31m (host b3, slot 2): refused: ")
    assert "\x1b" not in done.stdout
    done_here("rack", "report", ".", "--fail-on", "throttle", cwd=tmp_path, code=1)
    add_test(tmp_path, host="b1", on="S77", state="finished", directory="b1/S77")
    whys = [one.why for one in judged(tmp_path).drives if not one.passes]
    assert ["lost: its recording is not there"] in whys
    (tmp_path / "b1" / "S02" / "0" / "recording.json").write_text("{")
    damaged = done_here("rack", "report", ".", cwd=tmp_path, code=3)
    assert "left out" in damaged.stderr
    assert "damaged" in damaged.stdout


def test_limits_decide_the_exit_code(rack: Path, results: Results) -> None:
    for below, holds in ((None, True), (1000, True), (1700, False)):
        assert report(results, fail_below_mb_s=below).limits_hold == holds
    slow = report(results, fail_below_mb_s=1700)
    slot_3 = [one for one in slow.drives if one.where.endswith("slot 3")]
    assert all("is below 1,700 MB/s" in one.why[0] for one in slot_3)
    for words, code in ((("--fail-below", "1700"), 1), (("--fail-on", "outlier"), 1),
                        (("--fail-on", "any"), 1)):  # fmt: skip
        assert heatsoak_here("rack", "report", ".", *words, cwd=rack).returncode == code


def test_the_place_can_be_named(rack: Path, results: Results) -> None:
    assert report(results, by_place=["slot"]).place_labels == ["slot"]
    line = complaint(heatsoak_here("rack", "report", ".", "--by-place", "slt", cwd=rack), 2)
    assert "--by-place slt" in line
    assert "'slot'" in line or "slot" in line


def test_what_is_no_rack_is_one_line(tmp_path: Path) -> None:
    line = complaint(heatsoak_here("rack", "report", ".", cwd=tmp_path), 2)
    assert "has no recording in it" in line
    (tmp_path / "rack.json").write_text('{"tests": 3}')
    line = complaint(heatsoak_here("rack", "report", ".", cwd=tmp_path), 2)
    assert "rack.json: is damaged: run" in line
    line = complaint(heatsoak_here("rack", "report", ".", "-o", "x.png", cwd=tmp_path), 2)
    assert line.endswith("no report ends in '.png': use .html, .csv, .xml, .jsonl or .md")


def test_results_as_a_table_and_for_build_servers(rack: Path, tmp_path: Path) -> None:
    shown = heatsoak_here("rack", "report", str(rack), cwd=tmp_path).stdout
    assert shown.count("host b") == 1 + 8  # the slow one in the first sentence, and eight rows
    assert "and 8 more: -o FILE.csv has all" in shown
    for name in ("all.csv", "all.xml", "all.md", "all.jsonl"):
        done = done_here("rack", "report", str(rack), "-o", name, cwd=tmp_path)
        assert done.stdout.startswith(shown.split("\n\n")[0])
        assert "Passes?" not in done.stdout
    lines = (tmp_path / "all.md").read_text().split("\n")
    assert sum(line.startswith("| S") for line in lines) == 16
    assert any(
        line.startswith(f"| {SLOW} | Samsung 990 PRO | host b2, slot 2 | no | 1") for line in lines
    )
    table = pl.read_csv(tmp_path / "all.csv")
    assert table.height == 16
    assert table.filter(~pl.col("passes"))["drive"].to_list() == [SLOW]
    assert table.columns[:4] == ["date", "serial_number", "model", "capacity_bytes"]
    assert table.row(5)[:4] == ("1970-01-01", SLOW, "Samsung 990 PRO", 10**12)
    suites = ElementTree.parse(tmp_path / "all.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("16", "1", "0")
    assert ocp_lines(tmp_path / "all.jsonl")[-1]["result"] == "FAIL"


def test_ocp_lines_tell_of_each_drive_once_which_is_worse_and_what_came_to_nothing(
    rack: Path, results: Results, tmp_path: Path
) -> None:
    add_test(tmp_path, host="b5", on="S99", state="refused", why="it is mounted")
    done_here("rack", "report", str(rack), ".", "-o", "x.jsonl", cwd=tmp_path)
    first, *middle, last = ocp_lines(tmp_path / "x.jsonl")
    assert (last["status"], last["result"]) == ("ERROR", "NOT_APPLICABLE")
    pieces = first["dutInfo"]["hardwareInfos"]
    drives = {one["hardwareInfoId"]: one.get("serialNumber") for one in pieces}
    assert sorted(drives.values()) == [f"S{number:02d}" for number in (*range(1, 17), 99)]
    slow = next(one for one in pieces if one["serialNumber"] == SLOW)
    assert (slow["computerSystem"], slow["location"]) == ("b2", "host b2, slot 2")
    failed = [one for one in middle if one["kind"] == "diagnosis" and one["type"] == "FAIL"]
    assert [(drives[one["hardwareInfoId"]], one["verdict"]) for one in failed] == [(SLOW, "worse")]
    (error,) = [one for one in middle if one["kind"] == "error"]
    assert (error["symptom"], error["message"]) == ("refused", "refused: it is mounted")
    means = {drives[one["hardwareInfoId"]]: one for one in middle if one.get("name") == "mean_mb_s"}
    for test in results.tests:
        mean_mb_s = pytest.approx(test.values["write"]["mean_mb_s"], abs=0.001)
        assert means[test.drive]["value"] == mean_mb_s


def test_a_step_is_no_sentence_of_its_own(tmp_path: Path) -> None:
    """A drive that is slow in two steps is said to be so once, with both."""
    found = judged(make_rack(tmp_path, shares={SLOW: 0.85}, steps=("write", "read")))
    (why,) = next(one.why for one in found.drives if one.drive == SLOW)
    assert why.count("% slower (") == 2
    assert why.count("than others of its model") == 1
    assert why.count(" in write") == why.count(" in read") == 1


def test_hosts_that_are_solved_for_by_their_means_are_as_columns_would_have_them() -> None:
    """Least squares with a column for each model, host, slot and drive, some of which moved."""
    rng = np.random.default_rng(5)
    rows = [
        (f"d{number}", f"m{number % 2}", f"h{number // 6}", str((number + run) % 6))
        for number in range(30)
        for run in range(1 + number % 3)
    ]
    drives, models, hosts, slots = map(list, zip(*rows, strict=True))
    values = rng.normal(0, 1, len(rows))
    seen = Observations(values.tolist(), models, drives, {"host": hosts, "slot": slots}, 1e-9)
    fit, kinds = EffectsFit(seen), [models, hosts, slots]
    levels = [sorted(set(one)) for one in (*kinds, drives)]
    columns = [np.equal.outer(one, of) for one, of in zip((*kinds, drives), levels, strict=True)]
    fixed, both = (np.hstack(of).astype(float) for of in (columns[:3], columns))
    ranks = [np.linalg.matrix_rank(one) for one in (fixed, both)]
    assert (fit.drive_df, fit.run_df) == (ranks[1] - ranks[0], len(rows) - ranks[1])
    left, free = seen.unexplained(by_drive=False)
    project = fixed @ np.linalg.pinv(fixed)
    assert left == pytest.approx((values - project @ values) ** 2)
    assert free == pytest.approx(1 - np.diag(project))


def test_a_balanced_rack_has_the_intervals_of_an_analysis_of_variance() -> None:
    """Two slots with five drives each, run three times: Student's test on the drives' means."""
    rng = np.random.default_rng(4)
    own = rng.normal(0, 1.0, 10)
    values = 5 + own[:, None] + rng.normal(0, 0.05, (10, 3))
    drives = [f"d{i}" for i in range(10) for _ in range(3)]
    slots = [str(i % 2) for i in range(10) for _ in range(3)]
    seen = Observations(values.ravel().tolist(), ["m"] * 30, drives, {"slot": slots}, 1e-9)
    found = EffectsFit(seen).places("slot")
    assert found is not None
    means = values.mean(axis=1)
    test = stats.ttest_ind(means[::2], means[1::2])
    half = test.confidence_interval()
    assert 2 * found["0"].low == pytest.approx(half.low, rel=0.01)
    assert 2 * found["0"].high == pytest.approx(half.high, rel=0.01)


@pytest.mark.slow
def test_a_protocol_run_on_simulated_drives_is_judged(
    tmp_path: Path, small_drive_text: str
) -> None:
    """Eight drives in two hosts: slot 4 and one drive read slower."""
    (tmp_path / "tiny.toml").write_text(tiny.READ.replace("runtime", "iodepth = 32, runtime"))
    noise = np.random.default_rng(7).normal(0, 0.005, 8)
    for number in range(8):
        host, slot, serial = f"h{number // 4 + 1}", number % 4 + 1, f"D{number + 1}"
        mb_s = 2400 * np.exp(noise[number]) * (0.85 if slot == 4 else 1)
        mb_s *= 0.7 if serial == "D2" else 1
        text = small_drive_text.replace(
            "\nread_mb_s = { value = 2500", f"\nread_mb_s = {{ value = {mb_s:.1f}"
        )
        assert text != small_drive_text
        (tmp_path / "drive.toml").write_text(text)
        labels = {"host": host, "slot": slot, "serial": serial}
        words = [word for key, value in labels.items() for word in ("--set", f"{key}={value}")]
        place = f"rack/{host}/{serial}"
        done = done_here(
            "run", "tiny.toml", "--on", "sim:drive.toml", *words, "-o", place, cwd=tmp_path
        )
    done = done_here("rack", "report", "rack", "-o", "rack.html", cwd=tmp_path)
    # three seconds are too short to show throttling
    assert done.stdout.startswith("None of 8 drives pass; D2 (host h1, slot 2): ")
    assert "7 are open: D1 (host h1, slot 1), " in done.stdout.split("\n")[0]
    assert "between slots" in done.stdout
    assert (tmp_path / "rack.html").stat().st_size < 1_500_000
    found = json.loads(
        heatsoak_here("rack", "report", "rack", "--format", "json", cwd=tmp_path).stdout
    )
    (outlier,) = [one for one in found["outliers"] if one["measure"] == "mean_mb_s"]
    assert outlier["deviation"]["low"] <= -30 <= outlier["deviation"]["high"]
    assert len(SLOTS) == len(found["measures"][0]["places"][1]["places"])
