"""Files beside each other: which of a directory's are logs, which are of one run or one drive."""

import json
from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, import_files, read
from heatsoak.importer.formats.fio.run import join_fio
from hypothesis import given
from hypothesis import strategies as st
from samples import DATA, written

BW = "500, 1000, 0, 0, 0\n1000, 1100, 0, 0, 0\n"


def test_files_of_a_directory_that_are_not_logs_are_named_by_reason(tmp_path: Path) -> None:
    (tmp_path / "a_bw.1.log").write_text(BW)
    (tmp_path / "same_bw.1.log").write_text(BW)
    (tmp_path / "b-nmon.txt").write_text("AAA,progname,nmon\n")
    for name in ("job.fio", "z.sh"):
        (tmp_path / name).write_text("[section]\n")
    (tmp_path / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (recording,) = import_files([tmp_path])
    said = [event.text for event in recording.events if event.text.startswith("left out")]
    assert said == [
        "left out: b-nmon.txt: holds a header, and no rows below it",
        "left out: job.fio and z.sh: is not in a format that can be imported",
        "left out: plot.png: is not a text file",
        f"left out: {tmp_path / 'same_bw.1.log'}: the same as {tmp_path / 'a_bw.1.log'}",
    ]
    (recording,) = import_files([tmp_path / "a_bw.1.log", tmp_path / "a_bw.1.log"])


def test_a_directory_of_nothing_says_why_each_file_was_refused(tmp_path: Path) -> None:
    fio = "job: (g=0): rw=write, bs=4096B\nfio-3.33\n"
    for name, text in (("a.txt", fio), ("b.txt", fio), ("c.csv", "a,b\nx,y\n")):
        (tmp_path / name).write_text(text)
    with pytest.raises(
        UsageError, match=r"a\.txt and b\.txt: is fio's text, .*; c\.csv: is not in"
    ):
        import_files([tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there is no file in it"):
        import_files([tmp_path / "empty"])


def test_a_directory_stands_for_what_is_below_it_too(tmp_path: Path) -> None:
    for last, run in enumerate(("one", "two", ".cache")):
        (tmp_path / run).mkdir()
        (tmp_path / run / "a_bw.1.log").write_text(BW.replace("1000,", f"100{last},", 1))
    assert [recording.path.parent.name for recording in import_files([tmp_path])] == ["one", "two"]


# --- elbencho ---


def test_the_files_of_one_run_of_elbencho_are_one_recording(tmp_path: Path) -> None:
    for end in ("csv", "json", "txt"):  # the live file has no mix
        kept = (DATA / f"elbencho/res.{end}").read_text().partition("RWMIX50     ")[0]
        lines = [line for line in kept.splitlines() if "RWMIX50" not in line]
        (tmp_path / f"a.{end}").write_text("\n".join(lines))
    # an older version: without dates
    rows = [line.split(",") for line in (DATA / "elbencho/live.csv").read_text().splitlines()]
    (tmp_path / "a.live.csv").write_text("\n".join(",".join(row[1:]) for row in rows))
    (recording,) = import_files([tmp_path])
    write, _ = recording.meta.protocol.workload_steps
    assert write.describe() == "sequential write, 1m, QD4 x 2 jobs"
    times = recording.samples()["t_s"].to_list()
    assert times == pytest.approx([2, 4, 6, 8.127, 10.127, 12.127], abs=1e-3)
    assert recording.meta.started_unix_s == pytest.approx(1795257106.714)


def test_two_drives_that_were_tested_at_once_are_two_recordings(tmp_path: Path) -> None:
    for drive, wrote_ms in (("a", "6052"), ("b", "6031")):
        for name in ("csv", "json"):
            text = (DATA / f"elbencho/res.{name}").read_text().replace("6052", wrote_ms)
            (tmp_path / f"of-{drive}.{name}").write_text(text)
    assert len(import_files([tmp_path])) == 2


# --- fio ---

#: What is made of files, each with the KiB/s of its job and its seconds; of logs, with samples.
CASES = {
    "each has its own": (
        "bare/fio.json 1000 100, bare/seq_bw.1.log 1000 100, "
        "finned/fio.json 1500 100, finned/seq_bw.1.log 1500 100",
        "bare/fio.json 1000 100, finned/fio.json 1500 100",
    ),
    "equal rates": (
        "bare/fio.json 1000 100, bare/seq_bw.1.log 1000 100, "
        "again/fio.json 1001 100, again/seq_bw.1.log 1001 100",
        "again/fio.json 1001 100, bare/fio.json 1000 100",
    ),
    "one has no JSON": (
        "bare/fio.json 1000 100, bare/seq_bw.1.log 1000 100, finned/seq_bw.1.log 1500 100",
        "bare/fio.json 1000 100, finned/seq_bw.1.log 1500 100",
    ),
    "one has no JSON, another no log": (
        "bare/fio.json 1000 100, bare/seq_bw.1.log 1000 100, finned/fio.json 1500 100, "
        "old/seq_bw.1.log 1600 100",
        "bare/fio.json 1000 100, finned/fio.json 1500 1, old/seq_bw.1.log 1600 100",
    ),
    "a JSON elsewhere is as long": (
        "bare/fio.json 1000 150, bare/seq_bw.1.log 1000 100, finned/fio.json 1000 100",
        "bare/fio.json 1000 1, bare/seq_bw.1.log 1000 100, finned/fio.json 1000 1",
    ),
    "logs below their JSON, or beside it": (
        "bare/fio.json 1000 100, bare/logs/seq_bw.1.log 1000 100, bare/hot/fio.json 2000 100, "
        "bare/hot/logs/seq_bw.1.log 2000 100, finned/json/fio.json 1500 100, "
        "finned/logs/seq_bw.1.log.xz 1500 100",
        "bare/fio.json 1000 100, bare/hot/fio.json 2000 100, finned/json/fio.json 1500 100",
    ),
    "the only JSON": (
        "json/fio.json 1000 100, bare/seq_bw.1.log 1000 100",
        "json/fio.json 1000 100",
    ),
    "two logs for one JSON": (
        "fio.json 1000 100, bare/seq_bw.1.log 1000 100, again/seq_bw.1.log 1000 100",
        "again/seq_bw.1.log 1000 100, bare/seq_bw.1.log 1000 100, fio.json 1000 1",
    ),
    "two JSON for one log": (
        "a/fio.json 1000 100, b/fio.json 1001 100, bare/seq_bw.1.log 1000 100",
        "a/fio.json 1000 1, b/fio.json 1001 1, bare/seq_bw.1.log 1000 100",
    ),
    "another log beside": (
        "bare/fio.json 1000 100, bare/seq_bw.1.log 1000 100, bare/old_bw.1.log 1000 100",
        "bare/fio.json 1000 100, bare/old_bw.1.log 1000 100",
    ),
    "a directory with the name of logs": (
        "bare_bw.1.log 1000 100, bare/bw.1.log 1500 100",
        "bare/bw.1.log 1500 100, bare_bw.1.log 1000 100",
    ),
}


def _file_of(name: str, kib: int, seconds: int) -> bytes:
    """A log of a job, or its JSON, which is of another day for each rate."""
    if not name.endswith(".json"):
        return "".join(f"{1000 * i}, {kib}, 1, 0\n" for i in range(1, seconds + 1)).encode()
    job = {
        "jobname": "seq",
        "elapsed": seconds + 1,
        "job options": {"rw": "write", "write_bw_log": "seq"},
        "write": {"io_bytes": 1024 * kib * seconds, "total_ios": 1, "runtime": 1000 * seconds},
    }
    about = {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_000_000 + 86_400_000 * kib}
    return json.dumps({**about, "jobs": [job]}).encode()


def _files_of(words: str) -> list[tuple[str, bytes]]:
    found = [file.split() for file in words.split(", ")]
    return [(name, _file_of(name, int(kib), int(s))) for name, kib, s in found]


def _joined(files: list[tuple[str, bytes]]) -> list[Log]:
    return join_fio([log for name, data in files for log in read(Source.of_bytes(name, data))])


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
def test_a_run_has_the_logs_of_its_own_directory_in_whatever_order_they_are_given(
    case: str, data: st.DataObject
) -> None:
    files, expected = CASES[case]
    logs = _joined(data.draw(st.permutations(_files_of(files))))
    means = [float(log.samples["write_bw_mb_s"].mean() or 0) for log in logs]  # type: ignore[arg-type]
    shown = [
        f"{log.source} {round(mean / 1.024e-3)} {log.samples.height}"
        for log, mean in zip(logs, means, strict=True)
    ]
    assert ", ".join(sorted(shown)) == expected


def test_a_log_of_one_of_four_jobs_is_kept_apart_from_the_json_of_all() -> None:
    _, log = _joined(_files_of("fio.json 4000 100, seq_bw.1.log 1000 100"))
    assert log.source == "seq_bw.1.log"
    assert log.remarks[-1].text == (
        "seq_bw.1.log was kept apart from fio.json: its bytes are not those that fio counted"
    )


def test_what_is_uncertain_of_many_files_is_said_once() -> None:
    text = written("«1..9»«1000 * i», 50000000, 0, 0").encode()
    (log,) = _joined([(f"x_lat.{job}.log", text) for job in range(1, 13)])
    assert [remark.text for remark in log.remarks if "taken as ns" in remark.text] == [
        "x_lat.1.log and 11 more: latencies are taken as ns, as fio 3 writes them; "
        "the log does not state its version"
    ]


def test_other_logs_pass_the_joining_of_fios() -> None:
    (one,) = read(Source.of_bytes("x_bw.1.log", BW.encode()))
    other = Log(format="other", source="o", samples=one.samples)
    assert join_fio([other, one])[0] is other
    assert join_fio([]) == []


def test_a_directory_is_the_same_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"{CASES['each has its own'][0]}, finned/seq_iops.1.log 700 100"
    for name, data in _files_of(words):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "link").symlink_to("finned")
    monkeypatch.chdir(tmp_path)
    logs = ["link/seq_bw.1.log", "bare/../finned/seq_iops.1.log", "bare/seq_bw.1.log"]
    jsons = [tmp_path / "bare" / "fio.json", tmp_path / "finned" / "fio.json"]
    bare, finned = import_files([*jsons, *map(Path, logs)])
    assert bare.samples()["write_bw_mb_s"].max() == pytest.approx(1.024)
    assert finned.samples()["write_bw_mb_s"].max() == pytest.approx(1.536)
    assert finned.samples()["write_iops"].max() == 700
    assert len(import_files([Path(name) for name in logs])) == 2
