"""``heatsoak predict``: what a drive would do, from the catalog and from a twin."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from command import complaint, heatsoak_here, json_here
from heatsoak import catalog, words
from heatsoak.analysis import analyze
from heatsoak.catalog.left_out import fitted_numbers
from heatsoak.catalog.loader import own_tables
from heatsoak.recording import Recording
from heatsoak.twin.case import POWER, RESISTANCE, Cooling, WorkloadCase, cooled_place, spreads_of
from heatsoak.twin.named import step_of

if TYPE_CHECKING:
    from twinned import Twinned

pytest_plugins = ["twinned"]

HOT = ("samsung-950-pro-512", "--place", "puget-top-2gpu-loaded", "--for", "40s")


WEAR = """
schema = 1
name = "wear"
steps = [
  { kind = "precondition", name = "fill", rw = "write", bs = "128k", iodepth = 32 },
  { name = "random-write", rw = "randwrite", bs = "4k", iodepth = 32, runtime = "2m" },
]
"""


def predicted(*words: str, cwd: Path) -> dict[str, Any]:
    found: dict[str, Any] = json_here("predict", *words, cwd=cwd)
    return found


@pytest.mark.slow
def test_a_simulated_run_runs_out_of_spare_area_when_it_was_predicted(tmp_path: Path) -> None:
    (tmp_path / "wear.toml").write_text(WEAR)
    drive, place = "samsung-950-pro-256", "wings-px1"
    load = ("--workload", "wear.toml:random-write", "--place", place)
    found = predicted(drive, *load, cwd=tmp_path)
    words = ("run", "wear.toml", "--on", f"sim:{drive}@{place}", "-o", "r")
    assert heatsoak_here(*words, cwd=tmp_path).returncode == 0
    (recording,) = analyze([Recording.open(tmp_path / "r")]).recordings
    (judged,) = [one for one in recording.steps if one.step == "random-write"]
    assert found["throttles"] <= 0.5
    assert found["first"] == "spare-area"
    (spare,) = [one for one in judged.episodes if one.cause == "spare-area"][:1]
    assert found["cliff"]["onset_s"] == pytest.approx(spare.onset_s, rel=0.1)


def test_products_differ_by_their_kinds_spread_and_so_many_k_per_w_have_a_mass() -> None:
    place = catalog.load_enclosure("ribbed-heatsink")
    drive, (read, _) = catalog.load_drive("kingston-nv2-1tb"), step_of("read")
    likely = WorkloadCase.of(drive, read, 5.0, enclosure=place.id).likely
    ways = [one.place["links"]["heatsink_air"]["k_per_w"] for one in likely]
    assert place.spread is not None
    assert np.std(np.log(ways)) == pytest.approx(place.spread.value, rel=0.4)
    added = cooled_place(likely[0].place, Cooling(heatsink=10.0))["nodes"]["added"]
    assert 15 < added["j_per_k"] < 60


def test_drives_differ_by_where_their_numbers_come_from() -> None:
    differ = {
        "kingston-nv2-1tb": (0.05, 5.0),  # fitted, and nobody knows where it throttles
        "samsung-960-evo-1tb": (0.15, 1.0),  # stated
        "corsair-mp400-1tb": (0.19, 2.5),  # of its first power state, and of its family
        "pcie5-tlc-2tb": (0.28, 5.0),  # the class's
    }
    assert {one: spreads_of(catalog.load_drive(one)) for one in differ} == differ


def test_power_differs_by_as_much_as_fits_were_off_what_was_expected_of_them() -> None:
    off: dict[bool, list[float]] = {True: [], False: []}
    # what was expected of the Hellfire is of its first power state
    for drive_id in {*catalog.drive_ids()} - {"patriot-hellfire-480"}:
        for number in fitted_numbers(own_tables(drive_id)):
            if number.path in {("rated", "read_w"), ("rated", "write_w")}:
                # Samsung's data sheets state averages; the others were of their class
                is_stated = drive_id.startswith("samsung")
                off[is_stated].append(np.log(number.value / number.expect[0]))
    for is_stated, spread in ((True, POWER[1]), (False, POWER[2])):
        # what a place is off was fitted with it
        rms = np.sqrt(np.mean(np.square(off[is_stated])))
        assert rms == pytest.approx(np.hypot(spread, RESISTANCE), rel=0.15)


def test_hotter_air_is_never_better_and_a_heatsink_never_worse(tmp_path: Path) -> None:
    def along(option: str, *values: str) -> list[dict[str, Any]]:
        return [predicted(*HOT, option, value, cwd=tmp_path) for value in values]

    airs = [one["throttles"] for one in along("--ambient", "15", "25", "35", "55")]
    assert airs == sorted(airs)
    assert airs[0] < airs[-1]
    warmer = [one["throttles"] for one in along("--warmer", "-20", "0")]
    assert warmer[0] < warmer[1]
    sinks = [one["max_reported_temp_c"][1] for one in along("--heatsink", "1", "3", "9", "27")]
    assert sinks == sorted(sinks)
    winds = [one["hidden_temp_c"][1] for one in along("--airflow", "0", "0.5", "2")]
    assert winds == sorted(winds, reverse=True)


def test_it_says_the_same_each_time_and_answers_first(tmp_path: Path) -> None:
    found, again = (predicted(*HOT, cwd=tmp_path) for _ in range(2))
    assert found == again
    text = heatsoak_here("predict", *HOT, cwd=tmp_path).stdout
    assert text.splitlines()[0] == found["answer"]
    assert found["answer"].startswith("Throttles after ")
    assert found["first"] == "heat"
    cool = predicted("samsung-950-pro-512", "--place", "wings-px1", cwd=tmp_path)
    assert cool["answer"].startswith("Does not throttle in 10 min: ")
    none = ("onset_s", "onset_gb", "depth_pct", "throttled_mb_s", "holds", "cliff", "first")
    assert [cool[key] for key in none] == [None] * len(none)


def test_a_drive_that_gets_too_hot_to_go_on_is_said_to_shut_down(tmp_path: Path) -> None:
    found = predicted("pcie5-tlc-2tb", "--place", "laptop", "--for", "3m", cwd=tmp_path)
    assert found["shuts_down"] > 0.5
    assert found["shutdown_s"][1] > found["onset_s"][1]
    assert ", and shuts itself down" in found["answer"]


def test_a_full_cache_is_told_by_its_first_fall_and_not_as_heat(tmp_path: Path) -> None:
    place = ("samsung-970-evo-plus-1tb", "--place", "beside-card", "--for")
    short, long = (predicted(*place, length, cwd=tmp_path) for length in ("30s", "5m"))
    assert short["cliff"]["onset_s"] == pytest.approx(long["cliff"]["onset_s"], rel=0.1)
    # what heat takes is told of what is left by then
    free, left = long["unheated_mb_s"][1], 1 - long["depth_pct"][1] / 100
    assert long["throttled_mb_s"][1] == pytest.approx(free * left, rel=0.05)
    assert f"{words.rate_text(free, 1)} become " in long["answer"]
    # as well as what only some likely drives do
    assert 0 == short["throttles"] < long["throttles"] < 0.5
    assert f"({words.share_text(1 - long['throttles'])} likely)" in long["answer"]
    for length, has_rows in (("30s", False), ("5m", True)):
        said = heatsoak_here("predict", *place, length, cwd=tmp_path).stdout
        assert ("begins to throttle after" in said) == has_rows


def test_a_load_that_ends_with_its_data_is_told_how_long_it_takes(tmp_path: Path) -> None:
    step = 'name = "all"\nrw = "write"\nbs = "1m"\niodepth = 8\nsize = "600g"\n'
    (tmp_path / "copy.toml").write_text(f'schema = 1\nname = "copy"\n[[steps]]\n{step}')
    drive = ("crucial-t700-2tb", "--workload", "copy.toml")
    places = ("board-heatsink", "laptop")
    cool, hot = (predicted(*drive, "--place", place, cwd=tmp_path) for place in places)
    assert 600e3 / cool["full_mb_s"] < cool["takes_s"][1] < cool["duration_s"] + 2 < 600
    assert cool["answer"].startswith("Takes ")
    assert hot["takes_s"][1] > 1.2 * cool["takes_s"][1]


def test_a_drive_that_nobody_measured_is_said_to_be_one_and_differs_more(tmp_path: Path) -> None:
    place = ("--place", "laptop", "--for", "2m")
    known, own = (
        predicted(drive, *place, cwd=tmp_path) for drive in ("kingston-nv2-1tb", "kingston-nv3-1tb")
    )
    assert "nobody measured it" in own["assumed"][0]
    assert "nobody measured it" not in known["assumed"][0]
    widths_k = [np.ptp(one["max_reported_temp_c"]) for one in (known, own)]
    assert widths_k[1] > 2 * widths_k[0]


def test_a_recorder_is_told_whether_its_rate_is_held(tmp_path: Path) -> None:
    capture = ("--workload", "capture-4k60", "--for", "90s", "--holds", "1490MB/s")
    hot = ("samsung-950-pro-512", "--place", "puget-top-2gpu-loaded", *capture)
    found = predicted(*hot, cwd=tmp_path)
    assert found["holds"] == 0
    assert heatsoak_here("predict", *hot, "--min-probability", "0.9", cwd=tmp_path).returncode == 1
    cool = ("samsung-950-pro-512", "--place", "wings-px1", *capture, "--min-probability", "0.9")
    assert heatsoak_here("predict", *cool, cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_a_twin_predicts_the_drive_that_it_is_of(twinned: "Twinned", tmp_path: Path) -> None:
    twin = str(twinned.path("slower"))
    found = predicted(twin, "--workload", "write", "--for", "4m", cwd=tmp_path)
    (recording,) = analyze([twinned.recording("bench")]).recordings
    (full,) = recording.steps[0].episodes
    assert found["throttles"] == 1
    assert found["onset_s"][1] == pytest.approx(full.onset_s, rel=0.25)
    assert found["throttled_mb_s"][1] == pytest.approx(full.during_mb_s, rel=0.2)
    assert not np.isnan(found["hidden_temp_c"]).any()
    # elsewhere it is cooler
    cool = predicted(twin, "--place", "wings-px1", "--for", "4m", cwd=tmp_path)
    assert cool["throttles"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "there is no simulated drive 'nothing'"),
        (("samsung-950-pro-512", "--workload", "wrte"), "is no load (did you mean 'write'?)"),
        (("samsung-950-pro-512", "--workload", "quick:wrte"), "did you mean 'write'?"),
        (("samsung-950-pro-512", "--workload", "storage-bench-heavy"), "has no step with a workl"),
        (("samsung-950-pro-512", "--place", "nowhere"), "no simulated place 'nowhere'"),
        (("samsung-950-pro-512", "--heatsink", "0"), "'0' is no resistance in K/W"),
        (("samsung-950-pro-512", "--heatsink", "nan"), "'nan' is no resistance in K/W"),
        (("samsung-950-pro-512", "--holds", "fast"), "'fast' is not a rate such as 500MB/s"),
        (("samsung-950-pro-512", "--for", "3d"), "--for 72 h 00 min: must be between 1s and 6h"),
        (("samsung-950-pro-512", "--ambient", "nan"), "'--ambient': 'nan' is not a number in C"),
        (("samsung-950-pro-512", "--ambient", "400"), "'400' is not between -40 and 150 C"),
        (("samsung-950-pro-512", "--airflow", "inf"), "'--airflow': 'inf' is not a number in m/s"),
        (("samsung-950-pro-512", "--ambient", "30", "--warmer", "5"), "give one of the two"),
        (("samsung-950-pro-512", "--heatsink", "px2"), "there is no simulated place 'px2'"),
        (("samsung-950-pro-512", "--price", "75"), "is not HEATSINK=PRICE"),
        (("samsung-950-pro-512", "--price", "board=-1"), "is not"),
        (("samsung-950-pro-512", "--price", "ice=3"), "no such heatsink"),
        (("sim:wd-sn570-1tb@moon",), "no simulated place 'moon'"),
        (("broken.toml",), "broken.toml: is not valid TOML"),
    ],
)
def test_what_cannot_be_predicted_is_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.toml").write_text("[uncertainty\n")
    more = ("--cooling",) if "--price" in words else ()
    assert said in complaint(heatsoak_here("predict", *words, *more, cwd=tmp_path), 2)


def advised(*words: str, cwd: Path) -> dict[str, Any]:
    return predicted(*words, "--cooling", cwd=cwd)


@pytest.mark.slow
def test_what_is_advised_is_enough_and_a_little_less_is_not(tmp_path: Path) -> None:
    place = ("--place", "puget-underside-1gpu-idle", "--for", "2m")
    found = advised("samsung-950-pro-512", *place, cwd=tmp_path)
    assert found["matters"] == "yes"
    sink, flow = found["heatsink_k_per_w"], found["airflow_m_s"]
    for option, enough, less in (("--heatsink", sink, 1.3 * sink), ("--airflow", flow, flow / 1.3)):
        at = [
            predicted("samsung-950-pro-512", *place, option, f"{value:.6g}", cwd=tmp_path)
            for value in (0.98 * enough if option == "--heatsink" else 1.02 * enough, less)
        ]
        assert at[0]["throttles"] <= 0.1 < at[1]["throttles"]
    # more air is needed where it is hotter
    flows = [one["airflow_m_s"] for one in found["curve"]]
    known = [m_s for m_s in flows if m_s is not None]
    assert len(flows) == 8
    assert known == sorted(known)
    assert flows[: len(known)] == known
    offers = [offer["throttles"] for offer in found["offers"]]
    assert offers == sorted(offers)
    assert found["needs_k_per_w"][0] <= sink <= found["needs_k_per_w"][1]
    smallest = [offer["heatsink"] for offer in found["offers"] if offer["throttles"] <= 0.1][-1]
    assert f"such as '{smallest}'; likely drives need " in found["answer"]


@pytest.mark.slow
def test_a_drive_that_keeps_its_speed_needs_nothing(tmp_path: Path) -> None:
    place = ("--place", "wings-px1", "--for", "2m")
    words = ("samsung-950-pro-512", *place, "--price", "board=75")
    found = advised(*words, cwd=tmp_path)
    assert (found["matters"], found["heatsink_k_per_w"], found["airflow_m_s"]) == ("no", None, None)
    (board,) = [offer for offer in found["offers"] if offer["heatsink"] == "board"]
    assert board["price"] == 75
    text = heatsoak_here("predict", "--cooling", *words, cwd=tmp_path).stdout
    assert text.startswith("Needs no more cooling: it keeps its speed for 2 min as it is.\n")


def test_a_drive_is_named_as_for_a_run(tmp_path: Path) -> None:
    words = ("--workload", "read", "--for", "1m")
    as_run = predicted("sim:wd-sn570-1tb@laptop", *words, cwd=tmp_path)
    assert as_run == predicted("wd-sn570-1tb", "--place", "laptop", *words, cwd=tmp_path)
    plan = ("run", "quick", "--dry-run", "--format", "json", "--on")
    (run,) = json.loads(heatsoak_here(*plan, "wd-sn570-1tb@laptop", cwd=tmp_path).stdout)
    assert run["target"] == "sim:wd-sn570-1tb@laptop"


def test_what_is_unlikely_or_measured_by_nobody_is_not_said_firmly(tmp_path: Path) -> None:
    found = predicted("kioxia-exceria-plus-1tb", "--for", "10m", cwd=tmp_path)
    assert 0 < found["throttles"] < 0.5
    assert found["answer"].startswith(
        "Nobody measured this drive; by its data sheet and class: "
        "probably does not throttle in 10 min ("
    )
    assert "; if it does, after " in found["answer"]
