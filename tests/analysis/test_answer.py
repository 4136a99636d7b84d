"""What a person wanted to know comes first: in one sentence, right or not at all."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import Findings, analyze
from heatsoak.importer import Options, open_all
from heatsoak.recording import Recording
from idle_logs import FOLLOWED_S, idle_log
from made_recording import make_recording, remake
from numpy.typing import NDArray

Array = NDArray[np.float64]
T_S: Array = np.arange(1.0, 1801.0)
CHANCE = np.random.default_rng(5)


def noisy(level: Array, share: float = 0.01) -> Array:
    return level * (1 + share * CHANCE.standard_normal(len(level)))


def log(path: Path, **columns: object) -> Path:
    """Write a table with a row a second; a text is the same in all rows."""
    header = ",".join(["time_s", *columns])
    rows = [
        ",".join([f"{t:.0f}", *(c if isinstance(c, str) else f"{c[i]:.2f}" for c in parts)])  # type: ignore[index]
        for i, t in enumerate(T_S)
        for parts in [list(columns.values())]
    ]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def judged(*paths: Path) -> Findings:
    return analyze(open_all(list(paths), Options()))


def arriving(at_c: float, from_s: float = 300.0) -> Array:
    """A temperature that rises until `from_s` and is then held."""
    return np.where(from_s > T_S, 40 + (at_c - 40) * T_S / from_s, at_c)


def fall_after(seconds: float) -> Array:
    return noisy(np.where(seconds > T_S, 2000.0, 900.0))


#: Hot from its first second, and cooling since it fell.
COOLING_C = np.where(T_S < 300, 74.0, np.maximum(74 - (T_S - 300) / 30, 50))
SLOW = noisy(np.where(T_S < 300, 200.0, 30.0))
SLOW_LOAD = {"write_mb_s": SLOW, "write_iops": SLOW * 244.0}
HELD = {"read_mb_s": noisy(np.full(len(T_S), 500.0))}
FELL = {"write_mb_s": fall_after(300)}
DIPPED = noisy(np.where((T_S > 900) & (T_S <= 910), 460.0, 500.0), 0.002)
SWINGS = noisy(np.where(T_S % 200 < 120, 2000.0, 900.0))
WALK = noisy(np.repeat(CHANCE.uniform(50, 2700, 60), 30), 0.3)


@pytest.mark.parametrize(
    ("columns", "throttles", "said"),
    [
        pytest.param({**FELL, "temp_c": arriving(78)}, "yes", ["fell by 55 %", "5 min", "78 C"],
                     id="heat that the log shows"),
        pytest.param({**HELD, "temp_c": arriving(52)}, "no",
                     ["Did not throttle: it held its speed, at 52 C at most."], id="it holds"),
        pytest.param({**HELD, "temp_c": arriving(66, 1800.0)}, "no",
                     ["the drive was still warming when 'reads' ended, by 8 K in the last third."],
                     id="it holds, and is not as hot yet as it will be"),
        pytest.param({"read_mb_s": DIPPED}, "no", [], id="one short dip in half an hour"),
        pytest.param({**SLOW_LOAD, "temp_c": COOLING_C}, "cannot-tell",
                     ["74 C from its first second", "fell by 85 %"], id="hot from the start"),
        pytest.param({**SLOW_LOAD, "temp_c": COOLING_C - 30}, "no", [], id="cool from the start"),
        pytest.param({"read_mb_s": SWINGS}, "cannot-tell", ["Cannot tell"], id="no temperature"),
        pytest.param({"read_mb_s": WALK}, "cannot-tell", [], id="too uneven to be steady"),
        # the drive's own counters outrank a frozen temperature
        pytest.param({**FELL, "temp_c": np.full(len(T_S), 45.0),
                      "thm_temp1_total_time": np.maximum(T_S - 300, 0.0)}, "yes", [],
                     id="it counts its throttling"),
        pytest.param({**FELL, "temp_c": arriving(45)}, "cannot-tell or no", [], id="it was cool"),
        *(pytest.param({**columns, "temp_c": np.full(len(T_S), 37.0)}, "cannot-tell", [],
                       id=f"cool by a sensor that stands still, {name}")
          for name, columns in (("a fall", FELL), ("uneven", {"read_mb_s": WALK}))),
        # the processor's own temperature stands at its limit
        pytest.param({**FELL, "temp_c": arriving(50, 290.0),
                      "temp_c.cpu": np.where(T_S < 300, 45.0, 80.0)}, "no", [],
                     id="a processor that gets hot is no sensor of the drive's"),
        pytest.param({"write_mb_s": noisy(np.where((T_S < 300) | (T_S % 20 < 6), 2000.0, 900.0)),
                      "temp_c": arriving(66, 290.0) - np.where(T_S < 300, 0.0, 20.0)},
                     "cannot-tell or no", [], id="it swings, and never gets as hot again"),
        # a drive governs below the limit that it states, and counts no minutes above it
        pytest.param({**FELL, "temp_c": arriving(78),
                      "throttle_time_s.warning": np.full(len(T_S), 600.0)}, "yes", [],
                     id="minutes above the warning limit are no throttling"),
        pytest.param({**FELL, "temp_c": arriving(84)}, "yes", ["84 C"],
                     id="a sensor that a governor holds is not stuck"),
    ],
)  # fmt: skip
def test_one_log_has_an_answer(
    columns: dict[str, object], throttles: str, said: list[str], tmp_path: Path
) -> None:
    found = judged(log(tmp_path / "a.csv", **columns))
    assert found.answer.throttles in throttles.split(" or ")
    assert all(words in found.answer.sentence for words in said)
    assert "not there" not in found.answer.sentence
    assert len(found.answer.because) <= 3
    if throttles == "yes":
        assert found.answer.because
        assert found.answer.next
    if "read_mb_s" in columns and throttles == "no":
        (step,) = found.recordings[0].steps
        assert (step.verdict, step.episodes) == ("steady", [])


def test_of_several_falls_the_one_whose_cause_is_open_leaves_the_answer_open(
    tmp_path: Path,
) -> None:
    is_saturated = (T_S > 300) & (T_S <= 700)
    rate = np.where(is_saturated, 1000.0, np.where(T_S > 1200, 1700.0, 2000.0))
    cpu_pct = np.where(is_saturated, 99.0, 20.0)
    found = judged(log(tmp_path / "a.csv", write_mb_s=noisy(rate), cpu_pct=cpu_pct))
    assert [one.cause for one in found.recordings[0].steps[0].episodes] == [
        "limited-by-host",
        "unknown",
    ]
    opened, besides = found.answer.sentence.split(" Besides, ")
    assert "fell by 15 %" in opened
    assert "fell by 50 %" in besides
    assert besides.endswith("the host asked for less or could not do more.")


def test_of_several_recordings_it_is_counted_what_their_no_leaves_open(tmp_path: Path) -> None:
    logs = [
        log(tmp_path / f"{end_c}.csv", **HELD, temp_c=arriving(end_c, hot_s))
        for end_c, hot_s in ((66, 1800.0), (52, 300.0), (61, 1800.0))
    ]
    answer = judged(*logs).answer
    assert answer.throttles == "no"
    assert answer.sentence == (
        "The drive did not throttle in any of 3 recordings; "
        "in 2 of them it was still warming when a load ended."
    )


@pytest.mark.parametrize("gap_s", [4.0, 8.0])
def test_a_pause_that_two_coarse_samples_share_is_no_fall(tmp_path: Path, gap_s: float) -> None:
    """A load that stops for some seconds, as means over ten."""
    fine_s = np.arange(0, 1200, 0.1)
    load = np.where((fine_s >= 603) & (fine_s < 603 + 10 + gap_s), 0.05, 1.0)
    means = 500 * load.reshape(-1, 100).mean(axis=1)
    rows = [f"{10 * (i + 1)},{mb_s:.1f}" for i, mb_s in enumerate(noisy(means, 0.003))]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["time_s,read_mb_s", *rows]) + "\n")
    assert judged(path).answer.throttles == "no"


def test_a_drive_that_nobody_loaded_was_not_loaded(tmp_path: Path) -> None:
    found = judged(idle_log(tmp_path / "a.csv"))
    assert found.answer.throttles == "not-loaded"
    assert found.recordings[0].steps == []
    idle = found.recordings[0].unloaded
    assert idle is not None
    assert idle.follows == "the graphics card"
    assert idle.follows_column == "temp_c.gpu"
    assert idle.time_constant_s == pytest.approx(FOLLOWED_S, rel=0.35)
    assert idle.max_temp_c == pytest.approx(59, abs=1)


@pytest.mark.parametrize(("temp_c", "throttles"), [(38.0, "no"), (72.0, "cannot-tell")])
def test_bursts_of_a_cool_drive_were_not_throttled(
    tmp_path: Path, temp_c: float, throttles: str
) -> None:
    rates = np.where(T_S % 200 < 9, 120.0, 0.0)
    found = judged(
        log(tmp_path / "a.csv", write_mb_s=rates, temp_c=np.linspace(temp_c - 3, temp_c, len(T_S)))
    )
    assert "in bursts of" in found.answer.sentence
    assert found.answer.throttles == throttles


def pair(tmp_path: Path, here: Mapping[str, str], there: Mapping[str, str], there_s: float) -> str:
    """Return the cause of a fall after 300 s, given the same load under other labels."""
    one = log(tmp_path / "a.csv", write_mb_s=fall_after(300), **here)
    other = log(tmp_path / "b.csv", write_mb_s=fall_after(there_s), **there)
    return judged(one, other).recordings[0].steps[0].verdict


def test_columns_of_unknown_meaning_prove_nothing(tmp_path: Path) -> None:
    assert pair(tmp_path, {"hash": "a1"}, {"hash": "b2"}, 900.0) != "thermal"
    assert pair(tmp_path, {"pattern_details": "x"}, {"pattern_details": "y"}, 900.0) != "thermal"


@pytest.mark.parametrize(("none_s", "tower_s"), [(300, 900), (900, 300)])
def test_other_cooling_shows_heat_where_the_better_moves_the_fall_back_but_never_for_certain(
    none_s: float, tower_s: float, tmp_path: Path
) -> None:
    one = log(tmp_path / "a.csv", write_mb_s=fall_after(none_s), heatsink="none")
    other = log(tmp_path / "b.csv", write_mb_s=fall_after(tower_s), heatsink="tower")
    (episode,) = judged(one, other).recordings[0].steps[0].episodes
    moves = any("moves with the cooling" in line for line in episode.evidence)
    assert moves == (none_s < tower_s)
    assert episode.confidence <= 0.9


def test_a_drive_throttled_throughout_shows_beside_a_cooler_run(tmp_path: Path) -> None:
    hot = log(
        tmp_path / "a.csv",
        read_mb_s=noisy(np.full(len(T_S), 700.0)),
        temp_c=np.full(len(T_S), 76.0) + (T_S % 2),
        heatsink="none",
    )
    cool = log(
        tmp_path / "b.csv",
        read_mb_s=noisy(np.full(len(T_S), 2000.0)),
        temp_c=arriving(48),
        heatsink="tower",
    )
    found = judged(hot, cool)
    assert found.recordings[0].steps[0].verdict == "thermal"
    assert found.recordings[0].steps[0].claim.loss_pct == pytest.approx(65, abs=2)
    assert found.recordings[1].answer.throttles == "no"
    assert found.answer.throttles == "yes"
    alone = judged(hot)
    assert alone.answer.throttles == "cannot-tell"


@pytest.mark.parametrize("at_s", [120.0, 900.0])
def test_a_drive_that_slows_for_a_stuck_sensor_needs_firmware_and_no_heatsink(
    at_s: float, tmp_path: Path
) -> None:
    rate = noisy(np.where(at_s > T_S, 2000.0, 300.0))
    warm = 38 + 5 * (1 - np.exp(-T_S / 100))
    temps = np.where(at_s > T_S, warm, 84.0)
    found = judged(log(tmp_path / "a.csv", write_mb_s=rate, temp_c=temps))
    assert found.answer.throttles == "yes"
    assert "a heat that is not there" in found.answer.sentence
    assert found.answer.next is not None
    assert "firmware" in found.answer.next
    (sensor,) = found.recordings[0].sensors
    assert sensor.trust == "poor"


DIRECTORY = "/mnt/my drive"


def own_run(path: Path, rate: Array, temp_c: Array, on: str = DIRECTORY) -> Recording:
    """A run of quick, a fifth as long, in a directory of a drive."""
    columns = {"interval_s": np.ones(len(T_S)), "write_bw_mb_s": rate, "temp_c.composite": temp_c}
    frame = pl.DataFrame({"t_s": T_S, "step": "write", **columns})
    made = make_recording(path, frame, rw="write").meta.protocol.model_dump(mode="json")
    kind = "block" if on.startswith("/dev") else "file"
    drive = {"kind": kind, "path": on, "model": "a drive", "size_bytes": 4096}
    return remake(path, protocol=made | {"name": "quick", "scale": 0.2}, drive=drive)


@pytest.mark.parametrize(
    ("rate", "temp_c", "on", "command"),
    [
        (fall_after(300), arriving(78), DIRECTORY,
         "then: heatsoak run quick --on '/mnt/my drive' --set heatsink=new --scale 0.2"),
        (fall_after(300), arriving(78), "sim:wd-sn570-1tb@open-bench",
         "heatsoak predict wd-sn570-1tb --cooling --place open-bench"),
        (noisy(np.full(len(T_S), 500.0)), arriving(66, 1800.0), DIRECTORY,
         "a longer load: heatsoak run why --on '/mnt/my drive'"),
        (SLOW, COOLING_C, DIRECTORY,
         "let it cool, then: heatsoak run quick --on '/mnt/my drive' --scale 0.2"),
        (WALK, arriving(60), DIRECTORY,
         "a longer, even load: heatsoak run why --on '/mnt/my drive'"),
        (WALK, arriving(60), "/dev/loop0",
         "a longer, even load: heatsoak run why --on /dev/loop0 --erase /dev/loop0:4096"),
    ],
)  # fmt: skip
def test_after_a_run_the_next_step_is_a_command_to_paste(
    tmp_path: Path, rate: Array, temp_c: Array, on: str, command: str
) -> None:
    answer = analyze([own_run(tmp_path / "r", rate, temp_c, on)]).answer
    assert (answer.next or "").endswith(command)
    assert command.endswith(answer.command or "nothing")


@pytest.mark.parametrize(
    ("more", "lacks"),
    [
        ({}, "the drive's temperature and throttling counters"),
        ({"temp_c": arriving(60)}, "the drive's throttling counters"),
        ({"temp_c": arriving(60), "thm_temp1_total_time": np.zeros(len(T_S))}, None),
    ],
)
def test_a_log_is_not_asked_for_what_it_has(
    tmp_path: Path, more: dict[str, Array], lacks: str | None
) -> None:
    answer = judged(log(tmp_path / "a.csv", read_mb_s=WALK, **more)).answer
    assert answer.throttles == "cannot-tell"
    assert answer.next == "log an even load" + (f", and beside it {lacks}" if lacks else "")


class ReadOnce(Recording):
    """A recording whose samples may be read once."""

    def samples(self, columns: Iterable[str] | None = None) -> pl.DataFrame:
        assert not self._known.get("read")
        self._known["read"] = 1
        return super().samples(columns)


def test_the_samples_of_a_recording_are_read_once(tmp_path: Path) -> None:
    own_run(tmp_path / "r", fall_after(300), arriving(78))
    assert analyze([ReadOnce.open(tmp_path / "r")]).answer.throttles == "yes"


def test_one_of_two_causes_is_only_said_to_be_likely(tmp_path: Path) -> None:
    half = noisy(np.where(T_S < 300, 1000.0, 500.0), 0.04)
    cooling_c = np.where(
        T_S < 300, 26 + 17 * np.minimum(T_S / 100, 1), 34 + 9 * np.exp((300 - T_S) / 60)
    )
    (found,) = judged(
        log(tmp_path / "half.csv", write_mb_s=half, write_iops=8 * half, temp_c=cooling_c)
    ).recordings
    assert found.steps[0].episodes[0].cause == "unknown"
    two = "the host asked for less or could not do more or its write cache was full"
    assert f": not heat; probably {two}" in found.answer.sentence


@pytest.mark.parametrize(("reads", "throttles"), [("83", "cannot-tell"), ("330", "no")])
def test_a_sensor_that_stands_still_may_be_right_and_one_in_kelvins_may_not(
    tmp_path: Path, reads: str, throttles: str
) -> None:
    found = judged(log(tmp_path / "log.csv", **HELD, ssd_temp_c=reads))
    assert found.answer.throttles == throttles
    assert ("cannot be trusted" in found.answer.sentence) == (throttles == "cannot-tell")


@pytest.mark.parametrize(("top_c", "throttles"), [(45.0, "no"), (78.0, "yes")])
def test_a_power_state_of_a_cool_drive_is_the_hosts_word(
    tmp_path: Path, top_c: float, throttles: str
) -> None:
    temps_c = np.round(np.minimum(top_c, 29 + (top_c - 29) * T_S / 280))
    state = np.where(T_S > 300, 1.0, 0.0)
    rates = noisy(np.where(T_S > 300, 4900.0, 7000.0), 0.005)
    found = judged(
        log(tmp_path / "log.csv", read_mb_s=rates, ssd_temp_c=temps_c, power_state=state)
    )
    assert found.answer.throttles == throttles


def test_the_evidence_of_a_fall_in_steps_is_not_what_one_of_them_lost(tmp_path: Path) -> None:
    rates = np.select([T_S < 540, T_S < 700, T_S < 900], [5000.0, 4550.0, 4140.0], 3650.0)
    temps_c = np.round(np.minimum(88 - 48 * np.exp(-T_S / 300), 80))
    found = judged(log(tmp_path / "log.csv", write_mb_s=noisy(rates), temp_c=temps_c))
    (fell,) = found.recordings[0].steps[0].episodes
    assert (fell.cause, fell.shape) == ("thermal", "step")
    assert fell.depth_pct > 20
    said = [line for line in fell.evidence if "of its speed" in line]
    assert all(f"lost {fell.depth_pct:.0f} %" in line for line in said)
