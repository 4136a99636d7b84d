"""What is answered for logs of each kind that used to be answered wrongly, three of a kind."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from heatsoak.analysis import analyze
from heatsoak.importer import import_files

#: One row a second.
COUNT = 300


def _scatter(second: int, share: float = 0.01) -> float:
    return 1 + share * ((second * 7919) % 17 - 8) / 8


def _clock(second: float, begin_h: float = 10, day: str = "2026-11-24") -> str:
    at = int(3600 * begin_h + second)
    return f"{day}T{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"


def _table(header: str, row: Callable[[int], str], at: Callable[[int], str] = _clock) -> str:
    return "\n".join([f"time,{header}", *(f"{at(t)},{row(t)}" for t in range(COUNT))])


def _writes(course: Callable[[int], float], at: Callable[[int], str] = _clock) -> str:
    return _table("write_mb_s", lambda t: f"{course(t) * _scatter(t):.2f}", at)


def _iostat(
    rates: Callable[[int], tuple[float, float, float]],
    at: Callable[[int], str] = _clock,
    host: str = "host",
) -> str:
    blocks = [f"Linux 6.1.0 ({host})  11/24/2026  _x86_64_  (8 CPU)\n"]
    for t in range(COUNT):
        read, written, busy = (each * _scatter(t) for each in rates(t))
        row = f"{2 * read:.2f} {read:.2f} {2 * written:.2f} {written:.2f} {min(busy, 100):.2f}"
        blocks.append(f"{at(t)}\nDevice r/s rMB/s w/s wMB/s %util\nnvme0n1 {row}\n")
    return "\n".join(blocks)


def _smart(**values: str) -> str:
    given = {"critical_warning": "0", "temperature": "51 C", "power_on_hours": "8,000"} | values
    rows = [f"{name:<36}: {value}" for name, value in given.items()]
    return "\n".join(["Smart Log for NVME device:nvme0 namespace-id:ffffffff", *rows, ""])


def _counts(light: int, strong: int) -> dict[str, str]:
    return {
        "Thermal Management T1 Trans Count": str(light),
        "Thermal Management T2 Trans Count": str(strong),
        "Thermal Management T1 Total Time": str(60 * light),
        "Thermal Management T2 Total Time": str(15 * strong),
    }


def _by_name(name: str, row: Callable[[int, int], str], header: str, names: str) -> str:
    """Rows of two drives, or hosts, at each time."""
    rows = [
        f"{_clock(t)},{one},{row(number, t)}"
        for t in range(COUNT)
        for number, one in enumerate(names.split())
    ]
    return "\n".join([f"time,{name},{header}", *rows])


def _vmstat() -> str:
    words = "r b swpd free buff cache si so bi bo in cs us sy id wa st"
    rows = [
        f"1 1 0 9 9 9 0 0 0 {(900_000 if t < 150 else 300_000) * _scatter(t):.0f} 9 9 5 10 50 35 0"
        for t in range(COUNT)
    ]
    return "\n".join([words, *rows])


def _jc_vmstat() -> str:
    rows = [line.split() for line in _vmstat().splitlines()[1:]]
    keys = {"blocks_in": 8, "blocks_out": 9, "idle_time": 14, "io_wait_time": 15}
    return json.dumps(
        [{"timestamp": None} | {key: int(row[at]) for key, at in keys.items()} for row in rows]
    )


def _night(hours: float) -> Callable[[int], str]:
    """The clock of a Sunday's night, set by hours after 100 s."""
    return lambda t: _clock(t + 3600 * hours * (t >= 100), 2 + 5 / 6, "2026-10-25")


def _fell(low: float, high: float = 1500, at_s: int = 200) -> Callable[[int], float]:
    return lambda t: high if t < at_s else low


def _steady(mb_s: float) -> Callable[[int], float]:
    return lambda _: mb_s


def _kinds() -> Iterator[tuple[str, str, str | bytes, set[str], str]]:
    """The kind, which one, the log, what may be answered, and words of the answer."""
    fell = "fell by"
    # a fall is no border between two steady steps
    yield "A", "writes", _iostat(lambda t: (30, _fell(100)(t), 99)), {"cannot-tell"}, fell
    yield "A", "reads", _iostat(lambda t: (_fell(60, 520)(t), 25, 99)), {"cannot-tell"}, fell
    hot = _table(
        "write_mb_s,temp_c", lambda t: f"{_fell(80, 9000)(t) * _scatter(t)},{50 + min(t / 6, 32)}"
    )
    yield "A", "a trickle", hot, {"yes"}, "throttles"
    # what a drive counted
    yield "B", "counted", _smart(**_counts(15, 2)), {"yes"}, "15 light and 2 strong"
    warned = _smart(critical_warning="0x1", **_counts(0, 0))
    yield "B", "none, and a warning", warned, {"cannot-tell"}, "spare area"
    minutes = _smart(**{"Warning Temperature Time": "200"})
    yield "B", "minutes of heat", minutes, {"cannot-tell"}, "3 h 20 min"
    # several drives or hosts
    counted = _by_name(
        "instance",
        lambda n, t: f"{int(1e12 * n + t * 1e8 * (n + 1))}",
        "bytes_written",
        "a:9100 b:9100",
    )
    yield "C", "hosts", counted, {"no"}, "any of 2 recordings"
    both = "\n".join(
        f"{host} | CHANGED | rc=0 >>\n" + _iostat(lambda _: (0, 500, 99), host=host)
        for host in ("h1", "h2")
    )
    yield "C", "ansible", both, {"no"}, "any of 2 recordings"
    # activity that is too light, too short or too patchy to judge as a load
    yield "D", "bursts", _writes(lambda t: 900 * (t % 20 < 5)), {"cannot-tell"}, "bursts"
    holes = _table("bytes_written", lambda t: f"{int(1e12 + t * 8e8)}" if t % 4 == 0 else "")
    yield "D", "holes in a counter", holes, {"no"}, "held its speed"
    few = _table(
        "read_iops,read_mb_s", lambda t: f"{180 * _scatter(t):.0f},{0.7 * _scatter(t):.2f}"
    )
    yield "D", "a hard disk's small reads", few, {"cannot-tell"}, "how busy"
    yield "D", "few MB/s", _writes(_steady(3)), {"cannot-tell"}, "how busy"
    idle = _table("write_mb_s,busy_pct", lambda t: f"{3 * _scatter(t):.2f},2")
    yield "D", "few MB/s while idle", idle, {"not-loaded"}, "busy 2 %"
    # units
    yield "E", "bytes for MB", _writes(_steady(4.9e8)), {"cannot-tell"}, "which no drive can do"
    guessed = _table("reads,writes", lambda t: f"0,{_fell(26_000, 52_000)(t) * _scatter(t):.0f}")
    yield "E", "writes alone", guessed, {"cannot-tell"}, fell
    pcp = _table("disk.dev.write_bytes", lambda t: f"{_fell(2e5, 5e5)(t) * _scatter(t):.0f}")
    yield "E", "PCP's bytes are KiB", pcp, {"cannot-tell"}, "from 512 to 205 MB/s"
    # reports
    yield "F", "vmstat", _vmstat(), {"cannot-tell"}, fell
    yield "F", "jc's vmstat", _jc_vmstat(), {"cannot-tell"}, fell
    lines = _iostat(lambda t: (0, _fell(500)(t), 99)).splitlines()[2:]
    grepped = [lines[1], *(line for line in lines if line.startswith("nvme"))]
    yield "F", "iostat without times", "\n".join(grepped), {"cannot-tell"}, fell
    # encodings
    rows = "\n".join(
        json.dumps({"time": _clock(t), "write_mb_s": 800 * _scatter(t)}) for t in range(COUNT)
    )
    for name in ("utf-8-sig", "utf-16"):
        yield "G", name, rows.encode(name), {"no"}, "held its speed"
    yield (
        "G",
        "utf-16-be",
        f"\ufeff{_writes(_steady(800))}".encode("utf-16-be"),
        {"no"},
        "held",
    )
    # clocks
    yield "I", "an hour back", _writes(_fell(500), _night(-1)), {"cannot-tell"}, "after 3 min"
    yield "I", "an hour on", _writes(_fell(500), _night(1)), {"cannot-tell"}, "after 3 min"
    back = _iostat(lambda t: (0, _fell(500)(t), 99), _night(-1))
    yield "I", "an hour back, iostat", back, {"cannot-tell"}, "after 3 min"
    set_back = _writes(_fell(500, at_s=100), lambda t: _clock(t - 50 * (t >= 100)))
    yield "I", "set back at the fall", set_back, {"cannot-tell"}, "clock goes back"
    corrected = _writes(_fell(500), lambda t: _clock(t - 5 * (t >= 100)))
    yield "I", "set back by 5 s before", corrected, {"cannot-tell"}, "after 3 min"


@pytest.mark.parametrize(
    ("log", "throttles", "words"),
    [pytest.param(*rest, id=f"{kind}: {name}") for kind, name, *rest in _kinds()],
)
def test_it_is_answered_as_a_careful_person_would(
    tmp_path: Path, log: str | bytes, throttles: set[str], words: str
) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(log.encode() if isinstance(log, str) else log)
    answer = analyze(import_files([file])).answer
    assert answer.throttles in throttles
    assert words in answer.sentence


def test_no_throughput_is_said_of_a_log_without_any_whatever_else_is_uncertain(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.csv"
    rows = [f"{_clock(t)},{50 + t // 30}" for t in range(COUNT)]
    rows[40:44] = ["2026-13-45 99:99,torn"] * 4
    file.write_text("\n".join(["time,temp_c", *rows, ""]))
    found = analyze(import_files([file]))
    assert found.recordings[0].reservations
    assert "no throughput was logged" in found.answer.sentence
