"""What other drives of a machine do in the same log is named where it explains a fall."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from heatsoak.analysis import analyze
from heatsoak.analysis.findings import RecordingFindings
from heatsoak.importer import import_files

SECONDS = range(0, 300, 2)
#: MB/s read and written.
Rates = tuple[float, float]
Course = Callable[[bool], Mapping[str, Rates]]


def _course(course: Course, second: int) -> Mapping[str, Rates]:
    """What each drive does: slow from 2 to 4 min, and with a scatter that repeats."""
    scatter = 1 + 0.01 * ((second * 7919) % 17 - 8) / 8
    return {
        name: (read * scatter, written * scatter)
        for name, (read, written) in course(120 <= second < 240).items()
    }


def _iostat(course: Course) -> str:
    blocks = ["Linux 6.1.0 (host)  03/01/2026  _x86_64_  (8 CPU)\n"]
    for t in SECONDS:
        rows = [
            f"{name} {2 * r:.2f} {r / 1.048576:.2f} {2 * w:.2f} {w / 1.048576:.2f} 99.00"
            for name, (r, w) in _course(course, t).items()
        ]
        head = "Device r/s rMB/s w/s wMB/s %util"
        blocks.append("\n".join([f"03/01/2026 10:{t // 60:02d}:{t % 60:02d}", head, *rows]) + "\n")
    return "\n".join(blocks)


def _counted(course: Course) -> dict[str, list[tuple[int, int, int]]]:
    """The bytes that each drive has read and written, second by second."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for t in SECONDS:
        for name, (read, written) in _course(course, t).items():
            own = found.setdefault(name, [(0, 0, 0)])
            _, before_read, before_written = own[-1]
            own.append((t, before_read + int(2e6 * read), before_written + int(2e6 * written)))
    return {name: own[1:] for name, own in found.items()}


def _telegraf(course: Course) -> str:
    rows = [
        {
            "name": "diskio",
            "tags": {"host": "h1", "name": name},
            "fields": {"read_bytes": read, "write_bytes": written},
            "timestamp": 1772359200 + t,
        }
        for name, own in _counted(course).items()
        for t, read, written in own
    ]
    rows.sort(key=lambda row: str(row["timestamp"]))
    return "\n".join(map(json.dumps, rows))


def _prometheus(course: Course) -> str:
    series = [
        {
            "metric": {"__name__": f"node_disk_{what}_bytes_total", "device": name},
            "values": [[1772359200 + row[0], str(row[at])] for row in own],
        }
        for name, own in _counted(course).items()
        for at, what in ((1, "read"), (2, "written"))
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})


def _resync(slow: bool) -> dict[str, Rates]:
    if slow:
        return {"sda": (175, 225), "sdb": (0, 400), "md0": (0, 225)}
    return {"sda": (0, 400), "sdb": (0, 400), "md0": (0, 400)}


def _one_switch(slow: bool) -> dict[str, Rates]:
    return {"nvme0n1": (0, 1500 if slow else 3000), "nvme1n1": (1600 * slow, 0)}


def _slow_array(slow: bool) -> dict[str, Rates]:
    rate = 225 if slow else 400
    return {"sda": (0, rate), "sdb": (0, rate), "md0": (0, rate)}


def _with_a_quiet_one(slow: bool) -> dict[str, Rates]:
    return {"nvme0n1": (0, 1500 if slow else 3000), "sda": (5, 5)}


def _written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "log.txt"
    file.write_text(text)
    return file


def _judged(tmp_path: Path, text: str) -> dict[str, RecordingFindings]:
    given = list(import_files([_written(tmp_path, text)]))
    names = [str(one.meta.drive.get("path")).removeprefix("/dev/") for one in given]
    return dict(zip(names, analyze(given).recordings, strict=True))


_LAYOUTS = [_iostat, _telegraf, _prometheus]


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize(("course", "slow"), [(_resync, "md0"), (_one_switch, "nvme0n1")])
def test_what_other_drives_did_explains_a_fall(
    tmp_path: Path, layout: Callable[[Course], str], course: Course, slow: str
) -> None:
    found = _judged(tmp_path, layout(course))
    (fall,) = found[slow].steps[0].episodes
    assert fall.cause == "interference"
    assert "the machine's other drives moved" in " ".join(fall.evidence)


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("course", [_slow_array, _with_a_quiet_one])
def test_others_that_did_no_more_than_before_explain_nothing(
    tmp_path: Path, layout: Callable[[Course], str], course: Course
) -> None:
    found = _judged(tmp_path, layout(course))
    falls = [fall for one in found.values() for step in one.steps for fall in step.episodes]
    assert falls
    assert all("the machine's drives moved" not in " ".join(fall.evidence) for fall in falls)


def test_a_drive_with_little_load_is_left_out_and_its_traffic_stays(tmp_path: Path) -> None:
    (one,) = import_files([_written(tmp_path, _telegraf(_with_a_quiet_one))])
    assert one.meta.drive["path"] == "nvme0n1"
    moved = one.samples()["other_drives_mb_s"].drop_nulls()
    assert moved.mean() == pytest.approx(10, rel=0.02)
    assert "run" not in one.meta.conditions


def test_a_log_is_read_alike_by_every_process(tmp_path: Path) -> None:
    """Sums of many drives are added up in the log's order, not in that of a process's hashes."""
    log = tmp_path / "iostat.txt"
    log.write_text(
        _iostat(lambda _: {f"sd{c}": (0.1, 100.3 / n) for n, c in enumerate("abcdefgh", 1)})
    )
    read = (
        "import sys; from pathlib import Path; from heatsoak.importer import import_files; "
        "print([r.samples().write_csv() for r in import_files([Path(sys.argv[1])])])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", read, log],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "012"
    ]
    assert told[0]
    assert told.count(told[0]) == len(told)


def _array_with_one_slow(slow: str) -> str:
    """What iostat shows of three members, of which one lags behind from the 30th second on."""
    lines = []
    for second in range(90):
        lines.append(f"\n03/03/2026 02:{second // 60 + 5:02d}:{second % 60:02d} PM")
        lines.append(
            "Device            r/s     w/s     rkB/s     wkB/s  w_await  aqu-sz  wareq-sz  %util"
        )
        for name in ("nvme0n1", "nvme1n1", "nvme2n1"):
            per_s, lat_ms = (3000, 2.7) if second < 30 else (1000, 31.0 if name == slow else 0.8)
            util = 88 if second < 30 else 100 if name == slow else 29
            queue = per_s * lat_ms / 1000
            lines.append(f"{name} 0.00 {per_s + second % 7} 0.00 {512 * per_s + second % 11} "
                         f"{lat_ms} {queue:.2f} 512.00 {util}.00")  # fmt: skip
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("slow", ["nvme0n1", "nvme2n1"])
def test_the_member_that_holds_the_others_up_is_named_first(tmp_path: Path, slow: str) -> None:
    given = list(import_files([_written(tmp_path, _array_with_one_slow(slow))]))
    found = analyze(given)
    assert f"In /dev/{slow}: " in found.answer.sentence
    assert "2 other drives fell at the same time and waited for this one" in found.answer.sentence
    held_up = [one for one in found.recordings if one.drive["path"] != f"/dev/{slow}"]
    assert {one.steps[0].verdict for one in held_up} == {"limited-by-host"}
    assert all(f"/dev/{slow} fell at the same" in one.answer.because[0] for one in held_up)
