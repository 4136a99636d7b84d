"""A recording that was changed after it was made is said to be before anything else, or refused."""

import io
import json
import math
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import heatsoak
import polars as pl
import pytest
from command import done_here, heatsoak_here, json_here
from heatsoak.bench.resume import reopen
from heatsoak.recording import Recording, RecordingWriter
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET
from heatsoak.recording.writer import NO_CHECKSUMS
from heatsoak.serve.library import Library, Shelf
from made_recording import make_recording, of_older_version
from mutations import mutated

SAID = "this recording was changed after it was made: "
FIRST = f"Cannot tell whether it throttles: {SAID}"
ANSWER = "Heat throttles the drive"

Damage = Callable[[bytes, bytes], bytes | None]


def recorded(path: Path, slot: str, *, falls: float = 0.5, first_s: int = 400) -> Recording:
    """Record a drive that heat throttles, and two steps."""
    t_s = [float(second) for second in range(1, 601)]
    hot = [min(40 + second / 4, 82.0) for second in t_s]
    samples = pl.DataFrame(
        {
            "t_s": t_s,
            "step": ["write"] * first_s + ["again"] * (600 - first_s),
            "interval_s": [1.0] * 600,
            "write_bw_mb_s": [
                2000.0 * (falls if temp_c >= 82 else 1) + 9 * math.sin(second)
                for second, temp_c in zip(t_s, hot, strict=True)
            ],
            "temp_c.composite": hot,
            "throttle_count.tmt1": [max(second // 10 - 16, 0.0) for second in t_s],
        }
    )
    return make_recording(path, samples, rw="write", bs="128k", conditions={"slot": slot})


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of which one is damaged by the tests, in copies, and the other is as it was."""
    place = tmp_path_factory.mktemp("two")
    recorded(place / "r", "top")
    recorded(place / "other", "bottom", falls=0.7, first_s=500)
    return place


@pytest.fixture
def copied(two: Path, tmp_path: Path) -> Path:
    shutil.copytree(two, tmp_path / "two")
    return tmp_path / "two"


def flipped(share: float, bit: int) -> Damage:
    def damage(data: bytes, _: bytes) -> bytes:
        at = round(share * (len(data) - 1))
        return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]

    return damage


def drawn(number: int) -> Damage:
    def damage(data: bytes, other: bytes) -> bytes:
        chance = random.Random(f"damage {number}")
        while (found := mutated(data, chance, [other], 1 << 22)) == data:
            pass
        return found

    return damage


#: What a file may become, from what it was and what another recording has in its place.
ANY: dict[str, Damage] = {
    **{f"bit {n} flipped at {n}/7": flipped(n / 7, n) for n in range(8)},
    **{f"damage {n}": drawn(n) for n in range(12)},
    "swapped with another's": lambda _, other: other,
    "emptied": lambda *_: b"",
    "its first half": lambda data, _: data[: len(data) // 2],
    "its second half": lambda data, _: data[len(data) // 2 :],
    "its last byte gone": lambda data, _: data[:-1],
    "a byte more at the end": lambda data, _: data + b"x",
    "zeroes at the end": lambda data, _: data[:-200] + bytes(200),
    "twice": lambda data, _: data * 2,
    "half another's": lambda data, other: data[: len(data) // 2] + other[len(other) // 2 :],
    "two parts exchanged": lambda data, _: data[:50] + data[90:130] + data[50:90] + data[130:],
    "a line twice": lambda data, _: data[: data.find(b"\n") + 1] + data,
    "missing": lambda *_: None,
}


def of_samples(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Damage:
    def damage(data: bytes, _: bytes) -> bytes:
        file = io.BytesIO()
        change(pl.read_parquet(io.BytesIO(data))).write_parquet(file)
        return file.getvalue()

    return damage


RATE, T_S = pl.col("write_bw_mb_s"), pl.col("t_s")
#: Samples that can be read as well as those that were recorded.
SAMPLES = {
    "rates negated": of_samples(lambda frame: frame.with_columns(-RATE)),
    "rates of 1000 times": of_samples(lambda frame: frame.with_columns(RATE * 1000)),
    "rates reversed": of_samples(lambda frame: frame.with_columns(RATE.reverse())),
    "a third of the rows gone": of_samples(lambda frame: frame.head(400)),
    "rows reversed": of_samples(lambda frame: frame.reverse()),
    "rows twice": of_samples(lambda frame: pl.concat([frame, frame])),
    "an hour later": of_samples(lambda frame: frame.with_columns(T_S + 3600)),
    "ten times as slow": of_samples(lambda frame: frame.with_columns(T_S * 10)),
    "no temperatures": of_samples(
        lambda frame: frame.with_columns(pl.lit(None, pl.Float64).alias("temp_c.composite"))
    ),
    "one step": of_samples(lambda frame: frame.with_columns(step=pl.lit("write"))),
}


def of_lines(change: Callable[[list[dict[str, object]]], object]) -> Damage:
    def damage(data: bytes, _: bytes) -> bytes:
        rows = [json.loads(line) for line in data.splitlines()]
        change(rows)
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    return damage


EVENT = {
    "times of an hour later": of_lines(lambda rows: [row.update(t_s=3600.0) for row in rows]),
    "steps exchanged": of_lines(lambda rows: rows[0].update(step="again")),
    "another kind": of_lines(lambda rows: rows[0].update(kind="step-end")),
    "a warning more": of_lines(lambda rows: rows.append({"t_s": 1.0, "kind": "warning"})),
}


def of_document(**changes: object) -> Damage:
    return lambda data, _: json.dumps(json.loads(data) | changes).encode()


def misspelt(key: str) -> Damage:
    return lambda data, _: data.replace(key.encode(), key.title().encode())


DOCUMENT = {
    "another slot": of_document(conditions={"slot": "bottom"}),
    "another drive": of_document(drive={"model": "another"}),
    "interrupted": of_document(status="interrupted"),
    "running": of_document(status="running"),
    "another time": of_document(started_unix_s=1e9),
    "another length": of_document(duration_s=6000.0),
    "a key more": of_document(note="x"),
    **{f"{key} misspelt": misspelt(key) for key in NO_CHECKSUMS},
    "only spaces": lambda data, _: json.dumps(json.loads(data)).encode(),
}


@pytest.mark.parametrize(
    ("file", "ways"), [(PARQUET, ANY | SAMPLES), (EVENTS, ANY | EVENT), (META, ANY | DOCUMENT)]
)
def test_whatever_becomes_of_a_file_is_said_first_or_refused(
    copied: Path, file: str, ways: dict[str, Damage]
) -> None:
    assert len(ways) >= 36
    path, other = copied / "r" / file, (copied / "other" / file).read_bytes()
    whole = path.read_bytes()
    wrong = []
    for name, damage in ways.items():
        data = damage(whole, other)
        if name == "a line twice" and b"\n" not in whole:
            continue
        assert data != whole, name
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        done = heatsoak_here("analyze", "r", cwd=copied)
        is_said = done.returncode == 3 and done.stdout.startswith(FIRST)
        is_refused = done.returncode == 2 and not done.stdout and len(done.stderr.splitlines()) == 1
        if not (is_said or is_refused) or ANSWER in done.stdout:
            wrong.append((name, done.returncode, done.stdout[:300], done.stderr))
        path.write_bytes(whole)
    assert not wrong
    # and as it was, it is what it was
    assert heatsoak_here("analyze", "r", cwd=copied).stdout.startswith(ANSWER)


def damage(directory: Path) -> None:
    """Lose the second step's begin: what is left can be read."""
    lines = (directory / EVENTS).read_bytes().splitlines(keepends=True)
    (directory / EVENTS).write_bytes(lines[0])


CHANGED = f"{SAID}{EVENTS} is not what was recorded"


@pytest.fixture
def damaged(copied: Path) -> Path:
    """One of the two was damaged so that what is left can be read."""
    damage(copied / "r")
    return copied


def test_documents_and_reports_say_it_and_damaged_reads_what_is_there(damaged: Path) -> None:
    found = json_here("analyze", "r", cwd=damaged, code=3)
    for answer in (found["answer"], found["recordings"][0]["answer"]):
        assert answer["throttles"] == "cannot-tell"
        assert answer["sentence"] == f"Cannot tell whether it throttles: {CHANGED}."
    (reservation,) = found["recordings"][0]["reservations"]
    assert reservation == {"text": CHANGED, "touches": ["recording"], "settles": None}
    assert found["recordings"][0]["steps"] == []
    said = done_here("analyze", "r", "--damaged", cwd=damaged).stdout
    assert said.startswith(f"Cannot tell whether it throttles: {CHANGED}.")
    assert f"as read: {ANSWER[:1].lower()}{ANSWER[1:].rstrip('.')}" in " ".join(said.split())
    for line in ("report r -o out.html --damaged", "export r -o out.csv --damaged"):
        done = done_here(*line.split(), cwd=damaged)
        assert done.stderr.startswith(f"heatsoak: r: {CHANGED}"), line
    assert f"throttles: {CHANGED}." in (damaged / "out.html").read_text("utf-8")
    # such a recording is not resumed
    before = {path.name: path.read_bytes() for path in (damaged / "r").iterdir()}
    with pytest.raises(heatsoak.errors.ChangedError, match=CHANGED):
        reopen(Recording.open(damaged / "r"), None)
    assert {path.name: path.read_bytes() for path in (damaged / "r").iterdir()} == before


def test_among_others_it_is_named_and_no_evidence(damaged: Path) -> None:
    done = done_here("analyze", "r", "other", cwd=damaged, code=3)
    assert done.stdout.startswith("Changed after they were made: 1 of 2 recordings. Heat slows")
    assert done.stderr.startswith(f"heatsoak: left out: r: {CHANGED}")
    damage(damaged / "other")
    answer = json_here("analyze", ".", cwd=damaged, code=3)["answer"]
    assert answer["throttles"] == "cannot-tell"
    changed = "Changed after they were made: 2 of 2 recordings. Cannot tell in 2"
    assert answer["sentence"].startswith(changed)


@pytest.mark.parametrize("file", [PARQUET, META])
def test_nothing_is_written_of_it(copied: Path, file: str) -> None:
    shutil.copy(copied / "other" / file, copied / "r" / file)
    for line in ("report r -o out.html", "report r -o out.csv", "fit r -o out.x"):
        done = done_here(*line.split(), cwd=copied, code=3)
        assert done.stderr.startswith(f"heatsoak: r: {SAID}{PARQUET} is not what was recorded")
        assert sorted(path.name for path in copied.iterdir()) == ["other", "r"]


def test_it_is_left_out_of_comparisons_exports_and_histories(damaged: Path) -> None:
    for line, code in (
        ("compare r other --by slot", 2),
        ("compare . --by slot", 2),
        ("export r -o -", 3),
        ("fit .", 3),
    ):
        done = heatsoak_here(*line.split(), cwd=damaged)
        assert f"r: {CHANGED}" in done.stderr.splitlines()[0], line
        assert done.returncode == code, line
        assert ANSWER not in done.stdout
    done = done_here("export", ".", "-o", "all.csv", cwd=damaged, code=3)
    heatsoak_here("export", "other", "-o", "other.csv", cwd=damaged)
    assert (damaged / "all.csv").read_text() == (damaged / "other.csv").read_text()
    done = done_here("history", ".", "--format", "json", cwd=damaged, code=3)
    assert done.stderr.startswith(f"heatsoak: left out: r: {CHANGED}")
    with pytest.raises(heatsoak.errors.ChangedError):
        heatsoak.compare(heatsoak.open(damaged / "r"), damaged / "other", by="slot")


def test_the_list_of_a_server_says_it_and_no_page_shows_it(damaged: Path) -> None:
    entries, _ = Library(damaged).contents()
    shelf = Shelf()
    for entry in entries:
        shelf.judge(entry)
    assert shelf.answers(entries)["r"].sentence.endswith(f" {CHANGED}.")  # type: ignore[union-attr]
    assert "r" not in [one.findings.path for one in shelf.show(entries).page.recordings]
    with pytest.raises(heatsoak.errors.ChangedError, match=CHANGED):
        shelf.show([entry for entry in entries if entry.name == "r"])


def test_what_older_versions_recorded_is_read_as_ever(copied: Path) -> None:
    kept = json.loads((copied / "r" / META).read_text())["samples_sha256"]
    of_older_version(copied / "r")
    assert heatsoak_here("analyze", "r", cwd=copied).stdout.startswith(ANSWER)
    meta = json.loads((copied / "r" / META).read_text()) | {"samples_sha256": kept}
    (copied / "r" / META).write_text(json.dumps(meta))
    damage(copied / "r")
    assert heatsoak_here("analyze", "r", cwd=copied).returncode == 0
    shutil.copy(copied / "other" / PARQUET, copied / "r" / PARQUET)
    done = done_here("analyze", "r", cwd=copied, code=3)
    assert done.stdout.startswith(f"{FIRST}{PARQUET} is not")


def test_what_heatsoak_makes_and_goes_on_with_is_unchanged(copied: Path) -> None:
    log = "time,write_mb_s\n" + "".join(f"{second},{500 + second % 7}\n" for second in range(90))
    (copied / "log.csv").write_text(log)
    meter = "time,power_w\n" + "".join(f"{second},{3 + second % 5}\n" for second in range(600))
    (copied / "meter.csv").write_text(meter)
    for line in ("import log.csv -o imported", "import meter.csv --into r --shift 0 -o joined"):
        done_here(*line.split(), cwd=copied)
    for name in ("r", "imported", "joined"):
        recording = Recording.open(copied / name)
        assert recording.changes is None
        assert recording.meta.meta_sha256 is not None
    with RecordingWriter(copied / "stopped", Recording.open(copied / "r").meta) as writer:
        writer.append(Recording.open(copied / "r").samples())
        assert Recording.open(copied / "stopped").changes is None
        writer.finish("interrupted", 600.0)
    stopped = Recording.open(copied / "stopped")
    assert stopped.changes is None
    assert stopped.meta.meta_sha256 is not None
    # killed before it goes on, it is one that was cut
    assert reopen(stopped, None)[0].changes is None
    assert Recording.open(copied / "stopped").meta.meta_sha256 is None


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A journal of several blocks, which was cut."""
    recorded(tmp_path / "whole", "top")
    whole = Recording.open(tmp_path / "whole")
    meta = whole.meta.model_copy(update={"status": "running"})
    with RecordingWriter(tmp_path / "cut", meta) as writer:
        for row in whole.samples().iter_slices(20):
            writer.append(row)
    assert Recording.open(tmp_path / "cut").samples().equals(whole.samples())
    return tmp_path / "cut"


def test_a_journal_whose_rates_were_edited_is_said_to_be_changed(cut: Path) -> None:
    journal = cut / JOURNAL
    rate = re.compile(rb'(?<="write_bw_mb_s":)\d+')
    journal.write_bytes(rate.sub(b"3500", journal.read_bytes()))
    said = heatsoak_here("analyze", "cut", cwd=cut.parent).stderr
    assert f"{SAID}{JOURNAL} is not what was recorded" in said
    with pytest.raises(heatsoak.errors.ChangedError):
        reopen(Recording.open(cut), None)


@pytest.mark.parametrize("block", [0, 1, 2])
def test_a_line_of_any_sealed_block_that_is_gone_is_noticed(cut: Path, block: int) -> None:
    lines = (cut / JOURNAL).read_bytes().splitlines(keepends=True)
    seals = [at for at, line in enumerate(lines) if line.startswith(b'{"sha256"')]
    assert len(seals) > 3
    (cut / JOURNAL).write_bytes(b"".join(lines[: seals[block] - 1] + lines[seals[block] :]))
    assert Recording.open(cut).changes is not None


def test_a_journal_that_was_torn_or_goes_on_is_not_said_to_be_changed(cut: Path) -> None:
    whole = Recording.open(cut)
    text = (cut / JOURNAL).read_bytes()
    for torn in (text[:-30], text + b'{"t_s": 5', text[:100] + bytes(60) + text[160:]):
        (cut / JOURNAL).write_bytes(torn)
        assert Recording.open(cut).changes is None
    (cut / JOURNAL).write_bytes(text)
    recording, _ = reopen(whole, None)
    with RecordingWriter(cut, recording.meta, resumed=True) as writer:
        for more in whole.samples().with_columns(pl.col("t_s") + 600).iter_slices(20):
            writer.append(more)
    assert Recording.open(cut).changes is None
    assert Recording.open(cut).samples().height == 1200
    (cut / JOURNAL).write_bytes((cut / JOURNAL).read_bytes().replace(b'"t_s":7.0', b'"t_s":7.1'))
    assert Recording.open(cut).changes is not None
